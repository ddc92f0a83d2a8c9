/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PARTITION_PARTITION_H
#define PARTITION_PARTITION_H

/*
 * DOC: Partitions
 *
 * OpenSM's partitions.conf, parsed from memory into a table:
 *
 *	Default=0x7fff, ipoib, mtu=4 : ALL=full;	# name = P_Key, flags : members ;
 *	Lab=0x8001, ipoib, defmember=full : 0x0002c90300000001, "h1 HCA-1", SELF;
 *
 * Flags are ipoib, indx0, defmember=full|limited|both, mtu= rate= sl= scope= Q_Key= TClass= and
 * FlowLabel=. Members are port GUIDs, ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS and SELF, each with
 * =full, =limited or =both. As an extension to OpenSM's syntax, a member may also be a
 * NodeDescription in quotes: either the whole text or its first word. A line mgid=... defines a
 * multicast group, whose parameters follow as flags. Several definitions of the same P_Key are
 * merged. Comments start with #. Other syntax of OpenSM is an error. The message names the file,
 * the line and the expected text.
 *
 * The default partition 0x7fff always exists. A port for which the definitions of the default
 * partition have no rule is a limited member, and the SM's own port is always a full member.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ib.h"

#define SM_QKEY_DEFAULT 0x80000b1bu /* OpenSM's 0x0b1b, with bit 31 for a controlled Q_Key */

enum sm_membership {
	SM_MEMBER_NONE,
	SM_MEMBER_LIMITED,
	SM_MEMBER_FULL,
	SM_MEMBER_BOTH,
};

enum sm_member_kind {
	SM_MEMBER_GUID,
	SM_MEMBER_NAME,
	SM_MEMBER_SELF,
	SM_MEMBER_ALL,
	SM_MEMBER_ALL_CAS,
	SM_MEMBER_ALL_SWITCHES,
	SM_MEMBER_ALL_ROUTERS,
};

struct sm_partition_rule {
	enum sm_member_kind kind;
	enum sm_membership membership;
	uint64_t guid;
	char name[65];
};

/* A multicast group of a partition, the broadcast group included. */
struct sm_partition_group {
	ib_gid mgid;
	bool broadcast;
	uint8_t mtu_code, rate_code, sl, scope, tclass;
	uint32_t qkey, flow_label;
};

struct sm_partition {
	char name[64];
	uint16_t pkey; /* low 15 bits of the P_Key; 0x7fff for the default partition */
	bool ipoib, indx0;
	unsigned int line; /* line of its first definition */
	struct sm_partition_rule *rule;
	size_t nrules;
	struct sm_partition_group *group;
	size_t ngroups;
};

struct sm_partitions {
	struct sm_partition *part;
	size_t n;
};

/*
 * sm_partitions_default() - Make the table that is used without a file. Its only partition is
 * 0x7fff. All ports are full members of this partition, and it has a broadcast group. Return: NULL
 * if out of memory
 */
struct sm_partitions *sm_partitions_default(void);

/**
 * sm_partitions_parse() - Read a configuration from memory
 * @name:	name of the file, for messages
 * @err:	on failure, a line "NAME:LINE: " with the error and the expected text
 *
 * Return: 0; -EINVAL, @err says why; -ENOMEM
 */
int sm_partitions_parse(struct sm_partitions **ret, const char *name, const char *text, size_t len,
			char *err, size_t err_len);

void sm_partitions_free(struct sm_partitions *ps);

/* sm_partitions_find() - Find a partition by the low 15 bits of @pkey; NULL if there is none */
const struct sm_partition *sm_partitions_find(const struct sm_partitions *ps, uint16_t pkey);

/* sm_partitions_sl() - Return the SL of a partition's broadcast group; 0 without such a group */
uint8_t sm_partitions_sl(const struct sm_partitions *ps, uint16_t pkey);

#endif

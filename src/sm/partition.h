/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_PARTITION_H
#define SM_PARTITION_H

/*
 * DOC: Partitions
 *
 * OpenSM's partitions.conf, parsed from memory into a table:
 *
 *	Default=0x7fff, ipoib, mtu=4 : ALL=full;	# name = P_Key, flags : members ;
 *	Lab=0x8001, ipoib, defmember=full : 0x0002c90300000001, "h1 HCA-1", SELF;
 *
 * Flags: ipoib, indx0, defmember=full|limited|both, mtu= rate= sl= scope= Q_Key= TClass=
 * FlowLabel=. Members: port GUIDs, ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS, SELF, each with
 * =full, =limited or =both; ours: "NodeDescription" in quotes, whole or its first
 * word. Groups: a line mgid=... with the parameters as flags. Definitions of the same
 * P_Key add up. Comments start with #. Whatever else OpenSM may know is an error that names
 * file, line and what was expected.
 *
 * The default partition 0x7fff always exists: without a rule for it, or with one that leaves
 * ports out, those are limited members; the SM's own port is a full one.
 */

#include <stddef.h>

#include "sm/db.h"
#include "util/list.h"

#define SM_QKEY_DEFAULT 0x80000b1bu /* controlled, R16: OpenSM's 0x0b1b with bit 31 */

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
	uint16_t pkey; /* 15 bits: 0x7fff the default */
	bool ipoib, indx0;
	unsigned int line; /* of its first definition */
	struct sm_partition_rule *rule;
	size_t nrules;
	struct sm_partition_group *group;
	size_t ngroups;
};

struct sm_partitions {
	struct sm_partition *part;
	size_t n;
};

/* sm_partitions_default() - What holds without a file: 0x7fff, ALL full, a broadcast group. NULL: no memory */
struct sm_partitions *sm_partitions_default(void);

/**
 * sm_partitions_parse() - Read a configuration from memory
 * @name:	of the file, for messages
 * @err:	on failure, a line "NAME:LINE: what is wrong, what was expected"
 *
 * Return: 0; -EINVAL, @err says why; -ENOMEM
 */
int sm_partitions_parse(struct sm_partitions **ret, const char *name, const char *text, size_t len,
			char *err, size_t err_len);

void sm_partitions_free(struct sm_partitions *ps);

/* sm_partitions_find() - By the low 15 bits of @pkey; NULL */
const struct sm_partition *sm_partitions_find(const struct sm_partitions *ps, uint16_t pkey);

/* sm_partitions_sl() - The SL of a partition: its broadcast group's; 0 without one. R19, R54 */
uint8_t sm_partitions_sl(const struct sm_partitions *ps, uint16_t pkey);

/* sm_partition_membership() - What @p may be in a partition; the most specific rules add up */
enum sm_membership sm_partition_membership(const struct sm_partition *part, const struct sm_port *p,
					   bool is_self);

#endif

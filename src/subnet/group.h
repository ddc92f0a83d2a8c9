/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_GROUP_H
#define SUBNET_GROUP_H

/* The data of a multicast group and of its members. sm/group.c makes and changes these data. */

#include "util/hash.h"
#include "util/list.h"
#include "wire/records.h"

struct sm_mcmember {
	struct list link;
	struct hlink by_guid;
	ib_gid port_gid; /* port GID as given in the join */
	uint64_t port_guid;
	uint8_t join_state; /* JoinState bits, MCM_JOIN_* */
	bool proxy;
	/*
	 * .at_switch is the index of the switch to which the member is attached, .at_port is the
	 * port of this switch. subnet/tree.c looked up both in the database of sweep .at_sweep, and
	 * stored them because each join visits all members.
	 */
	uint8_t at_port;
	uint32_t at_switch;
	uint64_t at_sweep;
};

struct sm_group {
	struct list link; /* link in the list of all groups, in order of creation */
	struct hlink by_mgid;
	/*
	 * MGID, Q_Key, MLID, MTU, TClass, P_Key (full form), rate, life, SL, FlowLabel, HopLimit
	 * and scope of the group. Port GID, join state and selectors are zero.
	 */
	struct ib_mcmember_rec rec;
	bool admin; /* true if the administrator made the group */
	bool broadcast; /* true for the IPoIB broadcast group of a partition */
	/*
	 * MTU code in the last log line that named a port whose MTU is below .rec.mtu_code, so that
	 * the port cannot join; 0: there was no such line
	 */
	uint8_t mtu_said;
	uint64_t creator; /* port GUID of the port that made the group; 0: the administrator */
	struct list members; /* struct sm_mcmember in order of joining */
	struct htab by_port; /* struct sm_mcmember by port GUID */
	uint32_t nmembers;
	uint32_t root; /* index of the switch that is the root of the tree */
	uint64_t root_sweep; /* number of the sweep in whose database .root is an index */
	uint32_t unreached; /* members that the latest tree did not reach */
};

#endif

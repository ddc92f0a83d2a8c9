/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_WORLD_H
#define CONFORM_WORLD_H

/*
 * The subnet that the suite plays. One thread runs it: while a case waits (world_wait(), expect()), the world answers
 * everything that the DUT sends, as SM, SA or peer. A case changes members of the world to make it behave otherwise, and
 * changes them back before it ends.
 *
 *	LID	who
 *	1	port 0 of the switch, with the SM and the SA
 *	16	the DUT, unless a case changes it
 *	32..	peers, two LIDs each
 *	0xc001..	groups
 */

#include "world/io.h"
#include "world/log.h"
#include "world/wire.h"
#include "udp/link.h"
#include "wire/cm_sidr.h"
#include "wire/records.h"
#include "wire/smp.h"

#define WORLD_SM_LID 1
#define WORLD_DUT_LID 16
#define WORLD_PEER_LID 32
#define WORLD_MLID 0xc001
#define WORLD_SWITCH_GUID 0x0002c9c0f0000001ull
#define WORLD_PKEY IB_PKEY_DEFAULT

/*
 * Values of the broadcast group and of paths. They are unlike any default, so that a DUT that does not take them from
 * the SA's answers is seen.
 */
#define WORLD_QKEY 0x80c0f0a1u
#define WORLD_QKEY_LATER 0x80c0f0a2u /* after the case that changes it */
#define WORLD_RATE 3 /* 10 Gb/s */
#define WORLD_GROUP_SL 2
#define WORLD_PATH_SL 1
#define WORLD_TCLASS 0x24
#define WORLD_FLOW 0x5a5a1
#define WORLD_SCOPE_LINK 2
/* Values that SIDR gives, which count where they differ from those of the SA */
#define WORLD_SIDR_TCLASS 0x42
#define WORLD_SIDR_FLOW 0x2b2b2
#define WORLD_SIDR_HOP_LIMIT 3
#define WORLD_SCOPE_GLOBAL 14

#define WORLD_GROUPS 160 /* those of peers, and of the DUT */
#define WORLD_PEERS 64
#define WORLD_SUBSCRIPTIONS 16
#define WORLD_REPORTS 8

/* The longest time that a document gives for what the suite waits for: back-off of 16 s, and a margin. */
#define WORLD_LONGEST NS_SEC(18)

struct world_group {
	bool exists;
	bool admin; /* exists without members, too */
	uint16_t refuse; /* status with which joins are refused; 0: granted */
	uint8_t dut_state; /* the DUT's JoinState bits */
	uint8_t asked; /* all bits that it ever asked for: it may not have seen that they were refused */
	unsigned int left; /* how often it has left */
	uint64_t granted; /* packet of the first answer that granted a join; 0: none */
	struct ib_mcmember_rec rec;
};

struct world_peer {
	uint16_t lid; /* and lid + 1 */
	uint16_t path_lid; /* DLID of PathRecords */
	uint8_t path_mtu; /* code of their MTU */
	ib_gid gid;
	uint32_t qpn;
	uint32_t qkey; /* in its link-layer address, where that has one; 0: the group's */
	uint8_t ip4[4], ip6[16];
	uint8_t addr_flags; /* reserved octet, or capabilities, of its link-layer address */
	void (*put_opt)(uint8_t *p, uint8_t type,
			const struct world_lladdr
				*a); /* another form of its option; NULL: that of the wire */
	uint16_t reserved; /* Reserved of the encapsulation header of what it sends */
	bool no_grh; /* it sends unicasts without a GRH; else with one */
	bool path_silent; /* the SA does not answer queries for its path */
};

struct world_subscription {
	struct mad_inform_info info;
	uint64_t n; /* packet of the request */
};

struct world_report {
	struct world *w;
	struct timer timer;
	unsigned int left; /* times that it may still be sent */
	uint8_t mad[MAD_LEN];
};

/* The answer to a SubnAdmGetTable that is under way */
struct world_table {
	struct ib_ud_hdr to; /* headers of the request */
	struct mad_hdr mad;
	struct sa_hdr sa;
	uint32_t sent; /* segments */
	size_t len;
	uint8_t data[WORLD_GROUPS * 56];
};

/* The server of SIDR, and what the DUT has registered as one */
struct world_sidr {
	bool silent; /* it does not answer */
	uint8_t status; /* of its answers */
	uint8_t ver; /* of their private data; 0: 1 */
	bool registered;
	struct ib_service_rec service;
};

/* What the SMA said, and what the SM set */
struct world_dut {
	struct smp_node_info node;
	struct smp_port_info port;
	ib_gid gid;
	uint16_t lid;
	uint16_t pkey; /* entry 0 of its P_Key table, which the link uses */
	bool active; /* the port was set Active since the link came up */
	uint32_t qpn; /* of its IPoIB interface; 0: unknown */
	uint8_t ip4[4], ip6[16];
};

struct world_cfg {
	struct ip_endpoint dut; /* the DUT's end of the link */
	const struct world_wire *wire;
	uint8_t scope; /* of the link's groups; 0: link-local, or global with a subnet number */
	uint16_t subnet; /* number of the IP subnet in the groups; 0: none */
	uint8_t ip4[4], ip6[16]; /* the DUT's addresses; 10.9.0.1 and fd09::1 where they are 0 */
};

struct world {
	const struct world_io *io;
	const struct world_wire *wire;
	struct world_map map;
	uint8_t mtu_code, old_mtu_code; /* of the link's group, and before it was changed */
	unsigned int mtu, ip_mtu; /* of the link, in octets */
	struct timers timers;
	struct udp_link link;
	bool up;
	bool interrupted;
	unsigned int downs; /* how often the link went down */
	ns_t now;
	struct world_log log;
	struct seen *
		kept; /* copies of the packets that the functions below returned, until the case ends */
	void (*watch)(void *ctx, const struct seen *s); /* gets each packet of the DUT */
	void *watch_ctx;
	struct world_dut dut;
	uint64_t tid;

	/* SM */
	uint64_t mkey;
	bool trap_silent; /* the SM does not repress traps */
	uint64_t answer_tid; /* transaction that waits for an answer; 0: none */
	const struct seen *answer;

	/* SA */
	struct world_group group[WORLD_GROUPS];
	/*
	 * The broadcast group's Q_Key before a change, which packets may have until the DUT has joined again; otherwise the
	 * same as the group's
	 */
	uint32_t old_qkey;
	struct world_subscription sub[WORLD_SUBSCRIPTIONS];
	unsigned int nsubs;
	struct world_report report[WORLD_REPORTS];
	struct world_table table;

	struct world_sidr sidr;

	const struct world_peer *dhcp; /* the peer that is a DHCP server; NULL: none */

	struct world_peer peer[WORLD_PEERS];
	unsigned int npeers;
	uint16_t ip_id;
};

int world_init(struct world *w, const struct world_io *io, const struct world_cfg *cfg);
void world_fini(struct world *w);

/* world_send() - Send a packet to the DUT and log it. It is lost if the link is down. Lengths and CRCs are computed. */
void world_send(struct world *w, const struct ib_ud_hdr *h, const void *payload, size_t len);
/* world_send_raw() - Send these octets */
void world_send_raw(struct world *w, const uint8_t *raw, size_t len);

/* world_set_mtu() - All groups, and the paths to all peers, have the MTU of this code; the DUT learns it when it joins again */
void world_set_mtu(struct world *w, uint8_t code);
/* world_sidr_group() - What SIDR says about the link's group */
struct sidr_group world_sidr_group(const struct world *w);
/* world_turn() - Wait for one datagram or timer, at most until @deadline, and act on it. False: @deadline has come, or the user interrupted */
bool world_turn(struct world *w, ns_t deadline);
/* world_pass() - Let @time pass */
void world_pass(struct world *w, ns_t time);
/* world_wait() - Let time pass until @done is true, at most @timeout. Return: @done(@arg) */
bool world_wait(struct world *w, bool (*done)(const struct world *w, const void *arg),
		const void *arg, ns_t timeout);
/* world_link_up() - Wait until the link is up. False: in vain */
bool world_link_up(struct world *w);
/* world_expect() - Wait for a packet of the DUT, of number @from or later. NULL: none came */
const struct seen *world_expect(struct world *w, uint64_t from, seen_match *match, const void *arg,
				ns_t timeout);

#endif

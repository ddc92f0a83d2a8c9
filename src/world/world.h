/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFORM_WORLD_H
#define CONFORM_WORLD_H

/*
 * The InfiniBand subnet that the conformance suite plays for the device under test (DUT). One
 * thread runs the subnet: while a case waits (world_wait(), expect()), the world answers everything
 * that the DUT sends, as SM, SA or peer. To make the subnet behave otherwise, a test case changes
 * members of struct world, and restores them before the case ends.
 *
 *	LID	who
 *	1	port 0 of the switch, with the SM and the SA
 *	16	the DUT, unless a case gives it another LID
 *	32..	peers, two LIDs each
 *	0xc001..	groups
 *
 * The DUT's link has the P_Key 0xffff; part.h has the P_Key of a second link.
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
 * Values of the broadcast group and of paths. They differ from every default, so that a DUT that does not take them
 * from the SA's answers is noticed.
 */
#define WORLD_QKEY 0x80c0f0a1u
/* Q_Key of the broadcast group after the case that changes it */
#define WORLD_QKEY_LATER 0x80c0f0a2u
#define WORLD_RATE 3 /* rate code of 10 Gb/s */
#define WORLD_GROUP_SL 2
#define WORLD_PATH_SL 1
#define WORLD_TCLASS 0x24
#define WORLD_FLOW 0x5a5a1
#define WORLD_SCOPE_LINK 2
/*
 * Values of the broadcast group in the answers of the SIDR server. A DUT that uses SIDR must use
 * these values in place of the SA's values.
 */
#define WORLD_SIDR_TCLASS 0x42
#define WORLD_SIDR_FLOW 0x2b2b2
#define WORLD_SIDR_HOP_LIMIT 3
#define WORLD_SCOPE_GLOBAL 14

#define WORLD_GROUPS 160 /* largest number of multicast groups, of the peers and the DUT together */
#define WORLD_PEERS 64
#define WORLD_SUBSCRIPTIONS 16
#define WORLD_REPORTS 8

/*
 * Longest time for which the suite waits for an action of the DUT: the longest time that a document
 * allows, which is a back-off of 16 s, and a margin
 */
#define WORLD_LONGEST NS_SEC(18)

struct world_group {
	bool exists;
	bool admin; /* the group exists even without members */
	uint16_t refuse; /* status with which the SA refuses joins; 0 if it grants them */
	bool silent; /* the SA does not answer joins */
	uint8_t dut_state; /* the DUT's JoinState bits */
	/*
	 * all JoinState bits that the DUT has ever requested, also in refused joins, because the
	 * refusal may have been lost
	 */
	uint8_t asked;
	unsigned int left; /* number of times that the DUT has left */
	/*
	 * number of the packet in which the SA first granted a join; 0: the SA has granted no join
	 */
	uint64_t granted;
	struct ib_mcmember_rec rec;
};

struct world_peer {
	uint16_t lid; /* base LID; the peer also has lid + 1 */
	uint16_t path_lid; /* DLID of the SA's paths to the peer */
	uint8_t path_mtu; /* MTU code of the SA's paths to the peer */
	ib_gid gid;
	uint32_t qpn;
	/*
	 * Q_Key in the peer's link-layer address, if the profile's addresses have a Q_Key; 0: use
	 * the broadcast group's Q_Key
	 */
	uint32_t qkey;
	uint8_t ip4[4], ip6[16];
	uint8_t addr_flags; /* reserved octet, or capabilities, of the peer's link-layer address */
	/*
	 * writes the peer's link-layer address option of Neighbour Discovery; NULL: put_opt() of
	 * struct world_wire writes the option
	 */
	void (*put_opt)(uint8_t *p, uint8_t type, const struct world_lladdr *a);
	uint16_t reserved; /* reserved field in the encapsulation of the peer's packets */
	bool no_grh; /* true: the peer sends unicasts without a GRH; false: with one */
	bool path_silent; /* the SA does not answer queries for the path to the peer */
	bool path_refused; /* true if the SA answers that it knows no path to the peer */
	uint16_t pkey; /* full P_Key of the peer's link */
};

struct world_subscription {
	struct mad_inform_info info;
	uint64_t n; /* number in the log of the request's packet */
};

struct world_report {
	struct world *w;
	struct timer timer;
	unsigned int left; /* number of times that the Report may still be sent */
	uint8_t mad[MAD_LEN];
};

/* The answer to a SubnAdmGetTable, while it is being sent */
struct world_table {
	struct ib_ud_hdr to; /* headers of the request */
	struct mad_hdr mad;
	struct sa_hdr sa;
	uint32_t sent; /* number of segments sent */
	size_t len;
	uint8_t data[WORLD_GROUPS * 56];
};

/* The suite's SIDR server, and the DUT's registration as a server */
struct world_sidr {
	bool silent; /* the server does not answer */
	uint8_t status; /* field Status of the server's answers */
	uint8_t ver; /* version in the private data of the answers; 0 stands for version 1 */
	bool registered;
	struct ib_service_rec service;
};

/* Values that the DUT's SMA has reported, and values that the SM has set */
struct world_dut {
	struct smp_node_info node;
	struct smp_port_info port;
	ib_gid gid;
	uint16_t lid;
	uint16_t pkey; /* entry 0 of the DUT's P_Key table; the link uses this key */
	bool active; /* true if the SM has set the DUT's port Active since the link came up */
	uint32_t qpn; /* QPN of the DUT's IPoIB interface; 0: unknown */
	uint8_t ip4[4], ip6[16];
};

/* The state of the DUT's link in the second partition of its port, see part.h */
struct world_part {
	/*
	 * true if the P_Key of the second partition is now, or was earlier, in the DUT's P_Key
	 * table
	 */
	bool known;
	uint32_t qpn; /* QPN of the DUT's interface; 0: unknown */
	uint8_t ip4[4];
};

/* Settings of the DUT that influence the packets which it sends */
struct world_dut_conf {
	bool pkey_list; /* the DUT has a list of P_Keys: 0x7fff and 0x0014 */
	/* time in ms after which the DUT repeats a join that got no answer; 0: not known */
	unsigned int mcast_timeout;
	/* number of times that a join without an answer is repeated */
	unsigned int mcast_retry_cnt;
};

struct world_cfg {
	struct ip_endpoint dut; /* address of the DUT's end of the UDP link */
	const struct world_wire *wire;
	/* scope of the link's groups; 0: global if .subnet is set, otherwise link-local */
	uint8_t scope;
	uint16_t subnet; /* number of the IP subnet in the groups; 0: none */
	uint8_t ip4[4], ip6[16]; /* the DUT's addresses; zeros mean 10.9.0.1 and fd09::1 */
	struct world_dut_conf conf;
};

struct world {
	const struct world_io *io;
	const struct world_wire *wire;
	struct world_map map;
	/* MTU code of the link's group, now and before the last change */
	uint8_t mtu_code, old_mtu_code;
	unsigned int mtu, ip_mtu; /* MTU of the link and its IP MTU, in octets */
	struct timers timers;
	struct udp_link link;
	bool up;
	bool interrupted;
	unsigned int downs; /* number of times that the link went down */
	ns_t now;
	struct world_log log;
	/*
	 * list of the copies of packets that world_expect() and world_sm_ask() have returned; the
	 * list is released when the case ends
	 */
	struct seen *kept;
	void (*watch)(void *ctx, const struct seen *s); /* called with each packet of the DUT */
	void *watch_ctx;
	struct world_dut dut;
	struct world_part part;
	struct world_dut_conf conf;
	uint64_t tid;

	/* SM */
	uint64_t mkey;
	bool trap_silent; /* true: the SM does not repress traps */
	/* TID of the transaction that waits for an answer; 0: no transaction waits */
	uint64_t answer_tid;
	const struct seen *answer;

	/* SA */
	struct world_group group[WORLD_GROUPS];
	/*
	 * Q_Key of the broadcast group before the last change. Packets may have this Q_Key until the DUT has joined
	 * again. If the Q_Key was never changed, .old_qkey is the present Q_Key
	 */
	uint32_t old_qkey;
	/*
	 * entry of the DUT's P_Key table before the last change. Packets with this P_Key may still
	 * be under way, so the suite accepts them. src/clauses/limited.c ends this: it sets
	 * .old_pkey to WORLD_PKEY
	 */
	uint16_t old_pkey;
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

/*
 * world_send() - Send a packet to the DUT and log the packet. The function fills in lengths and
 * CRCs. The packet is lost if the link is down.
 */
void world_send(struct world *w, const struct ib_ud_hdr *h, const void *payload, size_t len);
/* world_send_raw() - Send the octets @raw unchanged */
void world_send_raw(struct world *w, const uint8_t *raw, size_t len);

/*
 * world_set_mtu() - Set the MTU of all groups, and of the paths to all peers, to the MTU with the code @code. The
 * DUT learns the MTU when it joins again
 */
void world_set_mtu(struct world *w, uint8_t code);
/*
 * world_sidr_group() - Return: the broadcast group as the SIDR server describes it in its answers
 */
struct sidr_group world_sidr_group(const struct world *w);
/*
 * world_turn() - Wait for one datagram or timer, at most until @deadline, and handle the datagram
 * or timer. Return: false if @deadline has come, or the user interrupted the run
 */
bool world_turn(struct world *w, ns_t deadline);
/* world_pass() - Let @time pass */
void world_pass(struct world *w, ns_t time);
/* world_wait() - Let time pass until @done is true, at most @timeout. Return: @done(@arg) */
bool world_wait(struct world *w, bool (*done)(const struct world *w, const void *arg),
		const void *arg, ns_t timeout);
/* world_link_up() - Wait until the link is up. Return: false if the link did not come up in time */
bool world_link_up(struct world *w);
/*
 * world_expect() - Wait for a packet of the DUT that @match accepts and whose number in the log is
 * @from or higher. Return: NULL if no such packet came in time
 */
const struct seen *world_expect(struct world *w, uint64_t from, seen_match *match, const void *arg,
				ns_t timeout);

#endif

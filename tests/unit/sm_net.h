/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SM_NET_H
#define TESTS_SM_NET_H

/*
 * A subnet for tests of the SM on virtual time: nodes that answer SMPs as the specification
 * requires, links that can be cut, and SMs on any of the nodes. The checks read the tables that the
 * nodes have, not the SM's copies of these tables.
 */

#include "mad/ep.h"
#include "sm/sm.h"
#include "util/prng.h"

#define NET_MLIDS 128
#define NET_PKEYS 64

struct net_node;

struct net_port {
	struct net_node *node;
	struct net_port *peer;
	uint8_t num;
	uint64_t guid;
	struct smp_port_info pi;
	uint16_t pkeys[NET_PKEYS];
	uint8_t sltovl[16]; /* only CAs use this table */
	bool cut; /* true: the link is down, although the cable is connected */
	unsigned int reregisters; /* number of Sets with ClientReregister */
	unsigned int pkey_sets, pi_sets;
};

struct net_node {
	struct net *net;
	struct smp_node_info info;
	char desc[65];
	struct net_port *port; /* nports + 1 elements, from port 0 */
	struct smp_switch_info si; /* SwitchInfo of a switch */
	uint8_t *lft; /* [0xc000] */
	uint8_t (*sltovl)[16]; /* indexed by [in * (nports + 1) + out] */
	unsigned int sltovl_sets;
	uint64_t (*mft)[4]; /* [NET_MLIDS] */
	bool dead; /* true: the node neither answers nor forwards any SMP */
	/*
	 * true: the node refuses to set a port Armed, changes nothing, and answers with the
	 * PortInfo of the request
	 */
	bool refuses_arm;
	/* number of SMPs to the node after which it stops answering; 0: never */
	unsigned int die_after;
	unsigned int lft_sets, mft_sets, si_sets;
	/*
	 * 0 for an ordinary node. Otherwise the node is an abyss, which behaves like an endless
	 * subnet. It answers every SMP that reaches it, whatever the rest of the directed route is.
	 * By default its answer is that of a switch with this number of ports and a new GUID.
	 */
	unsigned int abyss_ports;
	bool abyss_mute; /* true: the abyss answers nothing but Get(NodeInfo) */
	ns_t abyss_delay; /* time that the abyss takes for an answer */
	/*
	 * Properties of the nodes that an abyss pretends to contain. .abyss_guid and .abyss_type do
	 * not apply to a node at one hop from the SM: this node is a switch with a GUID of its own.
	 */
	uint64_t abyss_guid; /* GUID of all nodes inside the abyss; 0: each has a GUID of its own */
	uint8_t abyss_type; /* NodeType of all nodes inside the abyss; 0: a switch */
	uint16_t abyss_status; /* MAD status of answers to Set */
	struct mad_ep *ep; /* endpoint of port 0, or of port 1 of a CA; made by net_ep() */
};

struct net {
	struct timers timers;
	ns_t now;
	ns_t latency; /* time that an SMP or its answer needs per hop */
	struct prng rnd;
	ns_t held; /* delay that an abyss adds to the MAD that is being routed */
	/* share of SMPs that are lost between sender and receiver, in parts per million */
	uint32_t loss_ppm;
	struct net_node **node;
	unsigned int n;
	struct log_sink log;
	unsigned int errors; /* number of lines of LOG_LVL_ERR */
	char last_err[512], last_warn[512];
	uint64_t smps;
	/* number of TrapRepress MADs whose TID is that of a trap that the rig sent */
	unsigned int represses;
	uint64_t next_guid;
	/* number of ports that became Active while their switch had fewer than two LFT entries */
	uint64_t active_unrouted;
};

void net_init(struct net *net);
void net_fini(struct net *net);

/* CAs are named "hN", switches "sN", counted from 1 over all nodes of the kind. */
struct net_node *net_switch(struct net *net, unsigned int nports);
struct net_node *net_ca(struct net *net, unsigned int nports);
void net_link(struct net_node *a, unsigned int ap, struct net_node *b, unsigned int bp);
/* net_join() - Connect the lowest free ports of both nodes; false if a node has no free port */
bool net_join(struct net_node *a, struct net_node *b);
/*
 * Cut a link (@cut true) or restore it. If an end of the link is a switch, this switch sets
 * PortStateChange and sends trap 128 to the LID of its SM.
 */
void net_cut(struct net_node *a, unsigned int ap, bool cut);
/* Put the node into its power-up state: no LID, empty tables, ports in Init. */
void net_reset(struct net_node *n);

/* Make a connected random subnet of switches of 36 ports, with loops and parallel links. */
void net_random(struct net *net, uint64_t seed, unsigned int switches, unsigned int cas,
		unsigned int max_ca_ports);

/* Make a ring of three switches @s, each with one CA. */
void net_ring(struct net *net, struct net_node *s[3]);

/*
 * Make two switches s1 and s2, which @parallel cables join. Each has two hosts: h1 and h2 are on
 * s1, h3 and h4 on s2. net->node[0] and [1] are the switches, [2] to [5] the hosts.
 */
void net_two_switches(struct net *net, unsigned int parallel);

/*
 * Return the MAD endpoint of a node. The first call makes the endpoint. A call with
 * @is_sm true, whether it is the first or not, sets the capability bit IsSM of the node.
 */
struct mad_ep *net_ep(struct net_node *n, bool is_sm);

/* net_sm() - Start an SM on @n */
struct sm *net_sm(struct net_node *n, const struct sm_cfg *cfg);

void net_run(struct net *net, ns_t until);
/*
 * net_until_up() - Run until @sm has published generation @gen of its database; false if this takes
 * more than 30 s of virtual time
 */
bool net_until_up(struct net *net, struct sm *sm, uint64_t gen);

/*
 * Return the port whose LID leads to @p: port 0 of the switch if @p is a port of a switch, and @p
 * itself if @p is a port of a CA.
 */
struct net_port *net_end(struct net_port *p);

/*
 * net_walk() - Follow a unicast packet to @dlid from @src through the LFTs. All ports on its way
 * must be Active. Returns the number of hops, or -1 if the packet does not arrive at @dst.
 */
int net_walk(const struct net_port *src, const struct net_port *dst, uint16_t dlid);

/*
 * net_flood() - Follow a multicast packet from @src through the MFTs
 *
 * @hit:	called for each end port that gets a copy
 *
 * Return: number of copies on links; -1 if the packet went in a loop
 */
int net_flood(const struct net_port *src, uint16_t mlid, void (*hit)(void *, struct net_port *),
	      void *ctx);

/*
 * Check the LFTs: every end port that answers SMPs must reach every other such end port, by each
 * LID of the destination.
 */
void net_assert_connected(struct net *net);

#endif

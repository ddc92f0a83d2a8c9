/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SM_NET_H
#define TESTS_SM_NET_H

/*
 * A subnet for tests of the SM on virtual time: nodes that answer SMPs as IBA.md says, links
 * that can be cut, and SMs on any of them. It keeps its own tables, so tests walk what
 * the switches hold and not what the SM believes.
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
	uint8_t sltovl[16]; /* CAs */
	bool cut; /* the cable is there, the link is not */
	unsigned int reregisters; /* Sets with ClientReregister */
	unsigned int pkey_sets, pi_sets;
};

struct net_node {
	struct net *net;
	struct smp_node_info info;
	char desc[65];
	struct net_port *port; /* [0 .. nports] */
	struct smp_switch_info si; /* switches */
	uint8_t *lft; /* [0xc000] */
	uint8_t (*sltovl)[16]; /* [in * (nports + 1) + out] */
	unsigned int sltovl_sets;
	uint64_t (*mft)[4]; /* [NET_MLIDS] */
	bool dead; /* answers and forwards nothing */
	unsigned int die_after; /* goes dead after so many SMPs for itself; 0: never */
	unsigned int lft_sets, mft_sets, si_sets;
	struct mad_ep *ep; /* of port 0, or port 1 of a CA; made by net_ep() */
};

struct net {
	struct timers timers;
	ns_t now;
	ns_t latency; /* of an SMP and of its answer, per hop */
	struct prng rnd;
	uint32_t loss_ppm; /* of each SMP on its whole way */
	struct net_node **node;
	unsigned int n;
	struct log_sink log;
	unsigned int errors; /* lines of LOG_LVL_ERR */
	char last_err[512], last_warn[512];
	uint64_t smps;
	unsigned int represses; /* TrapRepress with the TID of our traps */
	uint64_t next_guid;
	uint64_t active_unrouted; /* ports made Active while their switch's LFT was empty */
};

void net_init(struct net *net);
void net_fini(struct net *net);

/* CAs are named "hN", switches "sN", counted from 1 over all nodes of the kind. */
struct net_node *net_switch(struct net *net, unsigned int nports);
struct net_node *net_ca(struct net *net, unsigned int nports);
void net_link(struct net_node *a, unsigned int ap, struct net_node *b, unsigned int bp);
/* net_join() - Link by the lowest free ports of both; false if one has none */
bool net_join(struct net_node *a, struct net_node *b);
/* A switch notices: PortStateChange, trap 128 to the SM that its SM LID names. */
void net_cut(struct net_node *a, unsigned int ap, bool cut);
/* Back to power-up: no LID, empty tables, ports in Init. */
void net_reset(struct net_node *n);

/* A connected random subnet of switches of 36 ports, with loops and parallel links. */
void net_random(struct net *net, uint64_t seed, unsigned int switches, unsigned int cas,
		unsigned int max_ca_ports);

/* The MAD endpoint of a node; made on first use, with the capability IsSM if @is_sm. */
struct mad_ep *net_ep(struct net_node *n, bool is_sm);

/* net_sm() - An SM on @n, started */
struct sm *net_sm(struct net_node *n, const struct sm_cfg *cfg);

void net_run(struct net *net, ns_t until);
/* net_until_up() - Run until generation @gen of @sm is published; false after 30 s */
bool net_until_up(struct net *net, struct sm *sm, uint64_t gen);

/* End ports of the subnet; the LID lives there. */
struct net_port *net_end(struct net_port *p);

/*
 * net_walk() - Follow a unicast packet through the LFTs; hops, or -1 if it does not
 * arrive at @dst. Ports must be Active.
 */
int net_walk(const struct net_port *src, const struct net_port *dst, uint16_t dlid);

/*
 * net_flood() - Follow a multicast packet from @src through the MFTs
 * @hit:	called for each end port that gets a copy
 *
 * Return: copies on links; -1 if it went round in circles
 */
int net_flood(const struct net_port *src, uint16_t mlid, void (*hit)(void *, struct net_port *),
	      void *ctx);

/* Asserts that every pair of live end ports reaches each other by all their LIDs. */
void net_assert_connected(struct net *net);

#endif

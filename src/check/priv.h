/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CHECK_PRIV_H
#define CHECK_PRIV_H

#include "check/check.h"
#include "util/text.h"

/* The owner of a LID: an end port */
struct chk_owner {
	const struct chk_node *node; /* the node that has the LID; NULL if no node has it */
	const struct chk_port *port;
};

/* An end port and its port GUID */
struct chk_port_guid {
	uint64_t guid;
	const struct chk_node *node;
	const struct chk_port *port;
};

/* Data that several checks need. chk_index() computes the data from the fabric. */
struct chk {
	const struct chk_fabric *f;
	struct chk_report *r;
	struct chk_owner *by_lid; /* for each unicast LID, its first owner */
	const struct chk_node **sw; /* the .nsw switches of the fabric */
	uint32_t nsw;
	/*
	 * the .nby_guid end ports that have a port GUID, sorted by GUID; ports with the same GUID
	 * are sorted by node index and port number
	 */
	struct chk_port_guid *by_guid;
	uint32_t nby_guid;
	/*
	 * by node index: number of the part of the fabric to which the node belongs; links that
	 * carry data connect the nodes of a part
	 */
	uint32_t *part;
	bool no_memory;
	uint64_t steps; /* as chk_report.steps */
};

/*
 * chk_index() - Fill in by_lid, sw, by_guid and part, which chk_index_fini() frees. Return: 0,
 * -ENOMEM
 */
int chk_index(struct chk *c);
void chk_index_fini(struct chk *c);

/* chk_find_port() - Return: the first end port with this port GUID; NULL: there is none */
const struct chk_port_guid *chk_find_port(const struct chk *c, uint64_t guid);

/* chk_has_cas() - Tell whether a CA is connected to the switch by a link that can carry data */
bool chk_has_cas(const struct chk *c, const struct chk_node *n);

/*
 * chk_add() - Add a finding. @about becomes the member .about of struct chk_finding; @port -1 means
 * the whole node
 */
void chk_add(struct chk *c, enum chk_kind kind, const struct chk_node *n, int port, uint64_t about,
	     const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* chk_add_where() - Add a finding whose place is a text of the caller */
void chk_add_where(struct chk *c, enum chk_kind kind, const char *where, uint64_t about,
		   const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* chk_name() - Append the name of a node: its description, or its GUID */
void chk_name(struct text *t, const struct chk_node *n);
/* chk_name_port() - Append NODE/PORT; only NODE for port 0 of a switch */
void chk_name_port(struct text *t, const struct chk_node *n, unsigned int port);
/* chk_name_link() - Append "NODE/PORT to NODE/PORT" */
void chk_name_link(struct text *t, const struct chk_fabric *f, const struct chk_node *n,
		   unsigned int port);

/*
 * chk_sends() - Tell whether switch @n sends packets of a multicast group to @port. @at is the MLID
 * minus 0xc000
 */
static inline bool chk_sends(const struct chk_node *n, unsigned int at, unsigned int port)
{
	return n->sw && at < n->sw->mft_len && n->sw->mft[at][port / 64] >> (port % 64) & 1;
}

/*
 * A credit loop. Packets on the link behind the egress port of turn i wait for the link behind the
 * egress port of turn i + 1. Packets of the last turn wait for the link of the first turn.
 */
struct chk_loop {
	struct chk_turn *turn; /* the .n turns of the loop; the caller frees them by free() */
	uint32_t n; /* 0: there is no loop */
	/* number of links that are in some credit loop, or on a route from one loop to another */
	uint32_t links;
};

/*
 * chk_find_loop() - Find a credit loop. The number of switches visited is added to c->steps.
 * Return: false: out of memory
 */
bool chk_find_loop(struct chk *c, struct chk_loop *ret);

/* CHK_WAY_CIRCLES: the route is a loop, which lft.c reports */
enum chk_way_end { CHK_WAY_UNSEEN, CHK_WAY_CIRCLES, CHK_WAY_ENDS };

/*
 * The part of a route at one switch: the port by which packets of CAs to the LID arrive, and the
 * next switch on the route
 */
struct chk_way {
	enum chk_way_end end; /* CHK_WAY_UNSEEN: no packet of a CA comes to this switch */
	/* first switch in chk_routes.leaf from whose CAs packets come to this switch */
	const struct chk_node *leaf;
	/* switch to which the packets go next; NULL if there is none */
	const struct chk_node *next;
	uint8_t in; /* port by which the packets of .leaf come in; 0 if .leaf is this switch */
	uint8_t out; /* port that leads to .next */
};

/* Routes to one LID from all switches that have a CA with a LID */
struct chk_routes {
	const struct chk *c;
	const struct chk_node **leaf; /* the .nleaves switches that have a CA with a LID */
	uint32_t nleaves;
	struct chk_way *way; /* by node index */
	const struct chk_node **sw; /* the .n switches on the routes */
	uint32_t n;
	uint64_t steps; /* sum of .n over all calls of chk_routes_to(), a measure of the work */
};

/*
 * chk_routes_init() - Prepare @r for calls of chk_routes_to(). Return: false if memory ran out. The
 * caller calls chk_routes_fini() in either case
 */
bool chk_routes_init(struct chk_routes *r, const struct chk *c);
void chk_routes_fini(struct chk_routes *r);
/* chk_routes_to() - Fill in .way, .sw and .n with the routes to the LID @lid */
void chk_routes_to(struct chk_routes *r, unsigned int lid);

/*
 * chk_next_switch() - Return the switch to which @n sends packets for a LID, through port *@ret_out; NULL: there is
 * none
 */
const struct chk_node *chk_next_switch(const struct chk *c, const struct chk_node *n,
				       unsigned int lid, uint8_t *ret_out);
/*
 * chk_find_ca() - Find a CA that is connected to switch @n and has a LID. Store this LID in
 * *@ret_lid, and in *@ret_port the port of @n to which the CA is connected. Return: false if there
 * is no such CA
 */
bool chk_find_ca(const struct chk *c, const struct chk_node *n, uint16_t *ret_lid,
		 uint8_t *ret_port);
/* chk_is_ca_lid() - Tell whether a CA or a router has this LID */
static inline bool chk_is_ca_lid(const struct chk *c, unsigned int lid)
{
	return c->by_lid[lid].node && !c->by_lid[lid].node->sw;
}

/* The checks. Each function checks one subject and adds its findings. */
void chk_silences(struct chk *c);
void chk_guids(struct chk *c);
void chk_lids(struct chk *c);
void chk_links(struct chk *c);
void chk_managers(struct chk *c);
void chk_lft(struct chk *c);
void chk_credits(struct chk *c);
void chk_mft(struct chk *c);
void chk_members(struct chk *c);
void chk_partitions(struct chk *c, const struct sm_partitions *ps);
void chk_enforcement(struct chk *c);
void chk_growth(struct chk *c);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SUBNET_DB_H
#define SUBNET_DB_H

/*
 * DOC: The subnet manager's database
 *
 * A database has the results of one sweep and the decisions of the SM: nodes, ports, links, LIDs,
 * P_Keys, forwarding tables. A heavy sweep fills a new database. At the end of the sweep, when the
 * subnet is configured, the new database replaces the old one. So a reader never sees the results
 * of an unfinished heavy sweep. Pointers into a database are invalid after the next sweep, so
 * callers store GUIDs instead.
 *
 * Multicast groups outlive sweeps, so the SM keeps them elsewhere (sm/group.h).
 */

#include "subnet/fdb.h"
#include "util/hash.h"
#include "wire/smp.h"

#define SM_LID_TOP_MAX 0xbfff
#define SM_PKEYS_MAX 512 /* largest number of entries of a P_Key table that the SM uses */

/* blocks of VL arbitration, numbered from 1: two of low priority, two of high priority */
#define SM_VLARB_BLOCKS 4

struct sm_node;
struct sm_routes;

/*
 * Tables of a port that sm/learn.c read, in wire form. A block that the port refused, or for which
 * it did not answer, is all zeros.
 */
struct sm_tables {
	uint8_t asked; /* kinds of tables that were requested, a bit for each enum sm_table */
	uint8_t (*pkey)[SMP_DATA_LEN]; /* blocks of the P_Key table, [npkey] */
	uint8_t (*sltovl)[8]; /* SLtoVL tables by ingress port, [nsltovl]; a CA port has one */
	uint8_t (*vlarb)[SMP_DATA_LEN]; /* blocks of VL arbitration, [SM_VLARB_BLOCKS] */
	uint8_t (*guid)[SMP_DATA_LEN]; /* blocks of GUIDInfo, [nguid] */
	uint16_t npkey, nsltovl, nguid;
};

/*
 * How a link has changed, as the running partial sweep found. The routes of the published database
 * were computed before the change. In the database of a heavy sweep, every link is SM_LINK_KEPT
 */
enum sm_link_change {
	SM_LINK_KEPT,
	SM_LINK_CAME, /* the link is new, and no route leads over it */
	SM_LINK_BACK, /* the link was down for a while; routes lead over it */
	SM_LINK_GONE, /* the link is down, but routes still lead over it */
};

/* How the Set(PortInfo) that arms a port changes the port's enforcement of partitions. */
enum sm_enforce { SM_ENFORCE_KEEP, SM_ENFORCE_ON, SM_ENFORCE_OFF };

struct sm_port {
	struct sm_node *node;
	/*
	 * other end of the link; NULL: none; the port itself with a loopback plug. While .change is not
	 * SM_LINK_KEPT, use sm_port_peer_routed() or sm_port_peer_now() instead
	 */
	struct sm_port *peer;
	uint64_t guid; /* port GUID of an end port, 0 for other ports */
	uint16_t lid; /* base LID that the SM assigned to an end port, 0: none; see sm_port_lid() */
	uint8_t num;
	uint8_t lmc;
	uint8_t mtu_code; /* MTU code of the link: the lower MTUCap of both ends, at most sm_cfg.max_mtu_code */
	uint8_t rate_code; /* rate code of the link */
	bool known; /* true if PortInfo was read, so the port was reached */
	uint8_t change; /* enum sm_link_change, the same at both ends of a link */
	/* PortInfo in the last answer of the port, answers to Set included */
	struct smp_port_info pi;
	/*
	 * P_Key table as the SM wrote it, for end ports and for switch ports that check P_Keys; 0:
	 * empty entry
	 */
	uint16_t *pkeys;
	uint16_t npkeys; /* entries in .pkeys */
	uint8_t vls_mapped; /* number of VLs for which SLtoVL was written; 0: it was not written */
	uint8_t enforce; /* enum sm_enforce */
	/* tables that a client of the SA requested; NULL: no table was read */
	struct sm_tables *tables;
	struct hlink by_guid;
};

/* Forwarding state of a switch. */
struct sm_switch {
	struct smp_switch_info si;
	uint32_t index; /* index in sm_db.sw[], and row of sm_db.hops */
	/* linear forwarding table for LIDs 0 .. lft_top; NULL: not computed yet */
	struct sm_lft *lft;
	uint16_t lft_top;
	/* forwarding entries that the switch has and should have, subnet/fdb.h */
	struct sm_fdb *fdb;
};

struct sm_node {
	/* NodeInfo; its local_port is the port by which discovery found the node */
	struct smp_node_info info;
	char desc[65];
	struct sm_port *port; /* ports of the node, [0 .. info.nports] */
	struct sm_switch *sw; /* forwarding state; NULL: the node is a CA or a router */
	uint32_t index; /* index in sm_db.node[] */
	uint8_t nhops; /* length of the directed route from the SM, path[1 .. nhops] */
	uint8_t path[64];
	/*
	 * number, from 1, of the external port that leads to the node; 0: the node is not behind an
	 * external port
	 */
	uint16_t outside;
	/*
	 * true if the node stopped answering during the sweep. Such a node is not configured and
	 * gets no routes
	 */
	bool lost;
	struct hlink by_guid;
};

struct sm_db {
	uint64_t generation; /* number of the published database, from 1 */
	uint64_t sweep; /* number of the sweep that filled the database */
	uint64_t prefix; /* subnet prefix of all GIDs */
	struct sm_node **node; /* nodes in the order of discovery; [0] is the SM's own */
	uint32_t nnodes;
	uint32_t nports; /* number of entries in the port arrays of all nodes */
	struct sm_node **sw; /* switches, by sm_switch.index */
	uint32_t nswitches;
	struct sm_port *self; /* the SM's end port */
	/* port of each LID, all LIDs of an LMC range included; [SM_LID_TOP_MAX + 1] */
	struct sm_port **by_lid;
	uint16_t top_lid; /* highest LID in use */
	/* hops between switches, [nswitches][nswitches]; SM_HOPS_NONE: unreachable */
	uint8_t *hops;
	/* the input from which the routes were computed, subnet/routes.h; NULL: no routes were computed */
	struct sm_routes *routes;
	uint8_t life; /* PacketLifeTime code of all paths */
	uint32_t nlinks;
	uint32_t nends; /* number of end ports that were reached, set before publication */
	struct htab nodes, ports; /* struct sm_node and struct sm_port by GUID */
};

#define SM_HOPS_NONE 255

/*
 * The functions below return NULL if the object does not exist. The functions that return a port
 * find end ports only.
 */
struct sm_node *sm_db_node(const struct sm_db *db, uint64_t node_guid);
/*
 * sm_db_changes_unread() - Tell whether PortStateChange was set at a switch and was not cleared
 * before the ports of this switch were read
 */
bool sm_db_changes_unread(const struct sm_db *db);
struct sm_port *sm_db_port_by_guid(const struct sm_db *db, uint64_t port_guid);
struct sm_port *sm_db_port_by_lid(const struct sm_db *db, unsigned int lid);
/* @gid may have the subnet's own prefix, or any prefix whose first 9 bits are those of fe80::/64, as in OpenSM. */
struct sm_port *sm_db_port_by_gid(const struct sm_db *db, const ib_gid *gid);

/*
 * sm_db_end_port() - Return the end port after @prev among the end ports that the sweep reached; with NULL, the
 * first one. The physical ports of a switch are node->port[1 .. nports]; ->known marks the ports that were reached
 */
struct sm_port *sm_db_end_port(const struct sm_db *db, const struct sm_port *prev);

/* sm_db_end_ports() - Return the number of end ports that were reached */
static inline uint32_t sm_db_end_ports(const struct sm_db *db)
{
	return db->nends;
}

static inline bool sm_node_is_switch(const struct sm_node *n)
{
	return n->sw != NULL;
}

/* Return the end port that stands for @p: the port itself on a CA, port 0 on a switch. */
static inline struct sm_port *sm_port_end(const struct sm_port *p)
{
	return &p->node->port[sm_node_is_switch(p->node) ? 0 : p->num];
}

static inline bool sm_port_is_end(const struct sm_port *p)
{
	return sm_node_is_switch(p->node) ? p->num == 0 : p->num > 0;
}

/* sm_port_lid() - Return the LID of the end port of @p, as NodeRecord and PortInfoRecord have it */
static inline uint16_t sm_port_lid(const struct sm_port *p)
{
	return sm_port_end(p)->lid;
}

static inline ib_gid sm_port_gid(const struct sm_db *db, const struct sm_port *p)
{
	return ib_gid_of(db->prefix, sm_port_end(p)->guid);
}

static inline bool sm_port_has_lid(const struct sm_port *p, unsigned int lid)
{
	return p->lid && lid >= p->lid && lid < p->lid + (1u << p->lmc);
}

/*
 * sm_port_pkey() - Return an entry of @p's P_Key table whose low 15 bits are those of @pkey,
 * preferably a full member's entry; 0: there is none
 */
uint16_t sm_port_pkey(const struct sm_port *p, uint16_t pkey);

/*
 * sm_ports_share_pkey() - Return the first P_Key in @a's table by which @a and @b may communicate;
 * 0: there is none. Two entries permit communication if their low 15 bits are the same, and at
 * least one of the entries is a full member's
 */
uint16_t sm_ports_share_pkey(const struct sm_port *a, const struct sm_port *b);

struct sm_path {
	uint16_t slid, dlid;
	uint8_t mtu_code, rate_code; /* lowest values of all links */
	uint8_t sl;
	uint8_t life; /* PacketLifeTime code */
	uint8_t hops; /* number of links; 0: loopback */
};

/**
 * sm_db_path() - Find the path of packets from @src to @dlid by following the LFTs
 * @src:	end port; its base LID is returned as slid
 * @dst:	end port that has @dlid
 * @dlid:	0: @dst's base LID
 *
 * For the reverse direction (Reversible) call it with @src and @dst exchanged.
 * Return: 0; -EHOSTUNREACH: there is no route, or one of its links is not Active; -EINVAL: @dlid is not a LID of
 * @dst
 */
int sm_db_path(const struct sm_db *db, const struct sm_port *src, const struct sm_port *dst,
	       unsigned int dlid, struct sm_path *ret);

/*
 * sm_switch_lft() - Return the egress port of a switch for @lid; SMP_LFT_NONE: the packet is
 * dropped
 */
static inline uint8_t sm_switch_lft(const struct sm_switch *s, unsigned int lid)
{
	return s->lft && lid <= s->lft_top ? s->lft->port[lid] : SMP_LFT_NONE;
}

/* sm_tables_of() - Return the tables of @p that were read; NULL: none */
static inline const struct sm_tables *sm_tables_of(const struct sm_port *p)
{
	return p->tables;
}

/*
 * sm_port_carries() - Tell whether @p is a port for data packets, whatever its state: it has a
 * link, or is port 0 of a switch
 */
static inline bool sm_port_carries(const struct sm_port *p)
{
	return p->known && (p->num == 0 || (p->peer && p->peer != p && p->peer->known));
}

/* sm_port_up() - Tell whether the link of @p had trained when PortInfo of @p was read */
static inline bool sm_port_up(const struct sm_port *p)
{
	return p->pi.port_state >= IB_PORT_INIT;
}

/*
 * sm_port_peer_routed() - Return the port at the other end of the link at @p; NULL if there is
 *	none, or if the published routes do not use the link
 * sm_port_peer_now() - Return the port at the other end of the link at @p; NULL if there is none,
 *	or if the running sweep found that the link is gone
 */
static inline struct sm_port *sm_port_peer_routed(const struct sm_port *p)
{
	return p->change == SM_LINK_CAME ? NULL : p->peer;
}

static inline struct sm_port *sm_port_peer_now(const struct sm_port *p)
{
	return p->change == SM_LINK_GONE ? NULL : p->peer;
}

/*
 * sm_port_switch_behind() - Return the switch at the other end of a switch port's link; NULL if there is no
 * switch, if the published routes do not use the link, or if the cable leads back to the same switch
 */
struct sm_node *sm_port_switch_behind(const struct sm_port *p);
/*
 * sm_port_attachment() - Return the switch to which packets for a port's LIDs are routed: the port's own node, or the
 * switch to which a CA port is connected
 * @p:		NULL is accepted
 * @ret_port:	port of the switch that leads to the LIDs; 0 for the switch's own LID
 *
 * Return: NULL if there is none, as for a CA that is connected to a CA
 */
struct sm_node *sm_port_attachment(const struct sm_port *p, uint8_t *ret_port);

/* --- functions for the sweep that fills or changes the database */

/*
 * sm_db_droutes() - Compute the directed routes to all nodes again, over the links that exist now,
 * by a breadth-first search. Return: false if a switch cannot be reached, or if memory ran out
 */
bool sm_db_droutes(struct sm_db *db);
/* sm_droute_over() - Tell whether the last hop of the directed route to the node of @q is from @p to @q */
bool sm_droute_over(const struct sm_port *p, const struct sm_port *q);

/* sm_db_create() - Make an empty database. Return: NULL if memory ran out */
struct sm_db *sm_db_create(uint64_t prefix);
/* sm_db_destroy() - Free a database; NULL is accepted */
void sm_db_destroy(struct sm_db *db);
/*
 * sm_db_add_node() - Add a node with the number of ports in @info. Return: NULL if memory ran out
 */
struct sm_node *sm_db_add_node(struct sm_db *db, const struct smp_node_info *info);
/* sm_same_node() - Tell whether two NodeInfos can be those of one node, seen from different ports */
bool sm_same_node(const struct smp_node_info *a, const struct smp_node_info *b);
/* sm_db_add_port_guid() - Set the GUID of @p, so that @p is found by it. Return: 0 or -ENOMEM */
int sm_db_add_port_guid(struct sm_db *db, struct sm_port *p, uint64_t guid);
/*
 * sm_db_cut() - Remove the link at @p. If an end of the link is a port of a CA, but not the port by
 * which discovery found the CA, this port counts as not reached
 */
void sm_db_cut(struct sm_db *db, struct sm_port *p);
/*
 * sm_db_drop_port() - Remove a CA port that another SM manages. If its node has no other known port, the node is
 * marked as lost
 */
void sm_db_drop_port(struct sm_db *db, struct sm_port *p);
/*
 * sm_node_forget_tables() - Free those tables of all ports of @n that were read for clients of the
 * SA
 */
void sm_node_forget_tables(struct sm_node *n);
/* sm_db_drop_lost() - Unlink and free lost nodes, but never the SM's own node */
void sm_db_drop_lost(struct sm_db *db);
/*
 * sm_db_index_switches() - Number the switches: fill sm_db.sw and sm_switch.index. Return: 0 or
 * -ENOMEM
 */
int sm_db_index_switches(struct sm_db *db);
uint64_t sm_guid_hash(uint64_t guid);

#endif

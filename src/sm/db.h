/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SM_DB_H
#define SM_DB_H

/*
 * DOC: The subnet manager's database
 *
 * What one sweep found and what the SM decided about it: nodes, ports, links,
 * LIDs, P_Keys, forwarding tables. A sweep fills a database of its own and puts it
 * in the place of the old one when the subnet is programmed, so a reader never
 * sees half a sweep. Pointers into it die with the next generation: keep GUIDs.
 *
 * Multicast groups outlive sweeps and live in sm/group.h.
 */

#include "util/hash.h"
#include "wire/smp.h"

#define SM_LID_TOP_MAX 0xbfff
#define SM_PKEYS_MAX 512 /* entries of a P_Key table that we use */

struct sm_node;
struct sm_fdb;
struct sm_tables;

/* A port of a node, 0 .. nports (0 of a CA is unused). */
struct sm_port {
	struct sm_node *node;
	struct sm_port *peer; /* the other end of the link; NULL; itself with a loopback plug */
	uint64_t guid; /* end ports: port GUID, else 0 */
	uint16_t lid; /* end ports: base LID the SM assigned, 0 none; see sm_port_lid() */
	uint8_t num;
	uint8_t lmc;
	uint8_t mtu_code; /* of the link: the lower MTUCap of both ends */
	uint8_t rate_code; /* of the link */
	bool known; /* PortInfo was read: the port was reached */
	struct smp_port_info pi; /* what the port last answered, Sets included */
	uint16_t *
		pkeys; /* table as written, index by index, 0 = empty; end ports and enforcing ports */
	uint16_t npkeys; /* entries in it */
	uint8_t vls_mapped; /* VLs that SLtoVL was written for; 0 not */
	struct sm_tables *tables; /* read because somebody asked: sm/learn.h; NULL */
	struct hnode by_guid;
};

/* A switch's forwarding. */
struct sm_switch {
	struct smp_switch_info si;
	uint32_t index; /* 0 .. nswitches - 1: row of the hop matrix */
	uint8_t *lft; /* [lft_top + 1], SMP_LFT_NONE: no way; in 64s */
	uint16_t lft_top;
	struct sm_fdb *fdb; /* what the switch acknowledged: sm/fdb.h */
};

struct sm_node {
	struct smp_node_info info; /* local_port: by which it was found */
	char desc[65];
	struct sm_port *port; /* [0 .. info.nports] */
	struct sm_switch *sw; /* NULL: CA or router */
	uint32_t index; /* place in sm_db.node[] */
	uint8_t nhops; /* directed route from the SM: path[1 .. nhops] */
	uint8_t path[64];
	bool lost; /* stopped answering in mid-sweep: not configured, not routed to */
	struct hnode by_guid;
};

struct sm_db {
	uint64_t generation; /* counts published databases, from 1 */
	uint64_t sweep; /* number of the sweep that made it */
	uint64_t prefix; /* subnet prefix of all GIDs */
	struct sm_node **node; /* in the order they were found; [0] is the SM's own */
	uint32_t nnodes;
	struct sm_node **sw; /* switches, by sm_switch.index */
	uint32_t nswitches;
	struct sm_port *self; /* the SM's end port */
	struct sm_port **by_lid; /* [SM_LID_TOP_MAX + 1]: every LID of the 2^LMC ranges */
	uint16_t top_lid; /* highest LID in use */
	uint8_t *hops; /* [nswitches][nswitches], SM_HOPS_NONE unreachable */
	uint8_t life; /* PacketLifeTime code of all paths */
	uint32_t nlinks;
	uint32_t nends; /* end ports that were reached, when it is published */
	struct htab nodes, ports; /* by GUID */
};

#define SM_HOPS_NONE 255

/* All return NULL if there is none; end ports only. */
struct sm_node *sm_db_node(const struct sm_db *db, uint64_t node_guid);
struct sm_port *sm_db_port_by_guid(const struct sm_db *db, uint64_t port_guid);
struct sm_port *sm_db_port_by_lid(const struct sm_db *db, unsigned int lid);
/* The prefix fe80:: means the subnet's (I21), and so does every other that begins with its 9 bits: as OpenSM has it. */
struct sm_port *sm_db_port_by_gid(const struct sm_db *db, const ib_gid *gid);

/*
 * sm_db_end_port() - Walk all end ports that were reached: start with NULL. For records: external
 * ports of switches are node->port[1 .. nports] with ->known.
 */
struct sm_port *sm_db_end_port(const struct sm_db *db, const struct sm_port *prev);

/* sm_db_end_ports() - How many there are */
static inline uint32_t sm_db_end_ports(const struct sm_db *db)
{
	return db->nends;
}

static inline bool sm_node_is_switch(const struct sm_node *n)
{
	return n->sw != NULL;
}

/* The end port that manages @p: itself on a CA, port 0 on a switch. */
static inline struct sm_port *sm_port_end(const struct sm_port *p)
{
	return &p->node->port[sm_node_is_switch(p->node) ? 0 : p->num];
}

static inline bool sm_port_is_end(const struct sm_port *p)
{
	return sm_node_is_switch(p->node) ? p->num == 0 : p->num > 0;
}

/* sm_port_lid() - The LID of the end port of @p: what NodeRecord and PortInfoRecord carry */
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

/* sm_port_pkey() - The table entry of @p whose low 15 bits are @pkey's, full preferred; 0 if none */
uint16_t sm_port_pkey(const struct sm_port *p, uint16_t pkey);

/*
 * sm_ports_share_pkey() - The first P_Key of @a's table by which @a and @b may talk (same 15 bits, at
 * least one full); in the form @a has it. 0 if none
 */
uint16_t sm_ports_share_pkey(const struct sm_port *a, const struct sm_port *b);

struct sm_path {
	uint16_t slid, dlid;
	uint8_t mtu_code, rate_code; /* minimum over all links (I16) */
	uint8_t sl;
	uint8_t life; /* PacketLifeTime code */
	uint8_t hops; /* links crossed; 0: loopback */
};

/**
 * sm_db_path() - The way packets go from @src to @dlid, by walking the LFTs
 * @src:	end port; its base LID is reported as slid
 * @dst:	end port that owns @dlid
 * @dlid:	0: @dst's base LID
 *
 * For the reverse direction (Reversible) call it with both swapped.
 * Return: 0; -EHOSTUNREACH no route or a link on it is not active; -EINVAL @dlid is not @dst's
 */
int sm_db_path(const struct sm_db *db, const struct sm_port *src, const struct sm_port *dst,
	       unsigned int dlid, struct sm_path *ret);

/* sm_switch_lft() - Egress port of a switch for @lid, SMP_LFT_NONE if it drops it */
static inline uint8_t sm_switch_lft(const struct sm_switch *s, unsigned int lid)
{
	return s->lft && lid <= s->lft_top ? s->lft[lid] : SMP_LFT_NONE;
}

/* sm_switch_mft() - The acknowledged port mask of @mlid; bit p of word p/64 */
void sm_switch_mft(const struct sm_switch *s, uint16_t mlid, uint64_t ret[4]);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CHECK_MODEL_H
#define CHECK_MODEL_H

/*
 * DOC: The fabric that is checked
 *
 * A struct chk_fabric holds data about nodes, ports, links and tables as it was read from a file or
 * from the agents of a live fabric. It holds no computed data. Data that was not read is marked as
 * unknown, and no check concludes anything from it.
 *
 * This model and the checks over it share no code with the subnet manager (src/subnet, src/sm). A
 * fault in shared code would be in both, so no check would notice it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/hash.h"
#include "wire/pma.h"
#include "wire/smp.h"

#define CHK_NO_NODE UINT32_MAX
#define CHK_NODES_MAX 65536
/*
 * Largest memory of a fabric in octets unless the caller chooses another bound; a fabric of 46,000 HCAs on 2,000
 * switches needs less than a third of this memory
 */
#define CHK_OCTETS_MAX ((size_t)1 << 30)
#define CHK_NO_VL 255
#define CHK_MLIDS (IB_LID_MCAST_MAX - IB_LID_MCAST_MIN + 1)

struct topo;

/* Two readings of the counters of a port */
struct chk_counters {
	struct pma_port_counters first, last;
	uint64_t at_ms[2]; /* time when the agent answered, in milliseconds of any clock */
	uint8_t nread; /* number of readings that the agent answered: 0 to 2 */
};

/* A port of a node, 0 .. nports (0 of a CA is unused). */
struct chk_port {
	/*
	 * index of the node that was found at the other end of this port's link, or CHK_NO_NODE. The
	 * port at the other end may have another .peer; then link.c does not compare the two ends
	 */
	uint32_t peer;
	uint8_t peer_port;
	uint8_t num;
	uint8_t lmc;
	bool known; /* .pi was read */
	/*
	 * true if the node behind the port was not read: its agent did not answer, a bound was
	 * reached, or the node has the GUID of another node
	 */
	bool mute;
	uint16_t lid; /* base LID of an end port; 0: none */
	uint64_t guid; /* port GUID of an end port; 0: not known, or no end port */
	struct smp_port_info pi;
	/* P_Key table with .npkeys entries; an entry that is 0 is empty. NULL: not read */
	uint16_t *pkeys;
	uint16_t npkeys;
	bool pkeys_gaps; /* a part of the P_Key table was not read */
	/*
	 * VL on which packets of each SL leave by this port. A switch has a row for each ingress
	 * port, 0 to chk_node.nports; a CA has one row. CHK_NO_VL or NULL: not read
	 */
	uint8_t (*sltovl)[16];
	struct chk_counters *counters; /* NULL: not read */
};

struct chk_switch {
	bool known; /* .si was read */
	struct smp_switch_info si;
	/*
	 * egress ports of the LIDs below .lft_len; higher LIDs have none (SMP_LFT_NONE). NULL: not
	 * read
	 */
	uint8_t *lft;
	uint32_t lft_len;
	bool lft_gaps; /* a part of the LFT was not read */
	/*
	 * bit masks of the egress ports of the first .mft_len MLIDs, from 0xc000 on; further MLIDs
	 * have none
	 */
	uint64_t (*mft)[4];
	uint32_t mft_len;
	bool mft_known; /* the MFT was read */
	bool mft_gaps; /* a part of the MFT was not read */
};

struct chk_node {
	struct hlink by_guid;
	uint32_t index;
	enum ib_node_type type;
	uint8_t nports;
	uint64_t guid, sys_guid;
	uint16_t pkey_cap; /* NodeInfo:PartitionCap */
	/* NodeDescription, or the name in the topology file that was checked; may be "" */
	char desc[65];
	struct chk_port *port; /* [0] to [nports] */
	struct chk_switch *sw; /* data of a switch; NULL for a CA or a router */
	/* directed route from the port that reads the fabric, in path[1] to path[nhops] */
	uint8_t nhops;
	uint8_t path[IB_MAX_HOPS + 1];
	uint8_t arrived; /* port of this node at which the directed route .path arrives */
};

/* A subnet manager that answered SMInfo */
struct chk_manager {
	uint32_t node; /* node and port at which the subnet manager runs */
	uint8_t port;
	struct smp_sm_info info;
};

/* Tells whether the members of multicast groups are known, or why they are not known */
enum chk_members {
	CHK_MEMBERS_UNASKED, /* the SA was not asked, or the port that reads knows no SA */
	CHK_MEMBERS_SILENT, /* the SA did not answer */
	CHK_MEMBERS_REFUSED, /* the SA refused the request, or its answer was not a list of groups */
	/* the SA listed groups without their members, as it does for requests without the SM_Key */
	CHK_MEMBERS_UNNAMED,
	CHK_MEMBERS_CUT, /* a bound on memory was reached, so some members are missing */
	CHK_MEMBERS_KNOWN,
};

/* A member of a multicast group, as the SA reports it */
struct chk_member {
	uint16_t mlid;
	uint64_t port_guid;
	/* bits: 0 FullMember, 1 NonMember, 2 SendOnlyNonMember, 3 SendOnlyFullMember */
	uint8_t join_state;
	ib_gid mgid;
};

/* SL of the path between two LIDs, from the SA's answer */
struct chk_path {
	uint16_t slid, dlid;
	uint8_t sl;
};

/*
 * The node behind a port has the same GUID as a node that was found earlier, but the two are
 * different nodes.
 */
struct chk_twin {
	uint32_t node; /* index of the node that was found first */
	uint32_t behind; /* node and port whose link leads to the second node */
	uint8_t behind_port;
};

/* A request that was not answered, or that was refused */
struct chk_silence {
	/*
	 * node that did not answer; if .behind, the node to whose port .port the silent node is
	 * connected
	 */
	uint32_t node;
	uint8_t port;
	bool behind; /* true if the node behind the port did not answer */
	uint16_t attr; /* attribute of the request */
	bool pma; /* true if the attribute belongs to performance management */
	uint16_t status; /* MAD status of the refusal; 0: no answer */
	uint32_t count; /* number of requests of this kind */
};

struct chk_fabric {
	struct chk_node **node;
	uint32_t n, cap;
	struct htab guids;
	struct chk_member *member;
	uint32_t nmembers;
	enum chk_members members;
	struct chk_manager *manager;
	uint32_t nmanagers;
	struct chk_path *path;
	uint32_t npaths;
	struct chk_twin *twin;
	uint32_t ntwins;
	struct chk_silence *silence;
	uint32_t nsilences;
	size_t octets, octets_max; /* memory in use, and its bound */
	bool cut; /* true if data is missing because a bound on memory was reached */
	bool late; /* true if data is missing because the time limit of the reading was reached */
};

/*
 * chk_fabric_create() - Make an empty fabric of at most @octets_max octets. Return: NULL if memory
 * ran out
 */
struct chk_fabric *chk_fabric_create(size_t octets_max);
/* chk_fabric_free() - Free a fabric; NULL is accepted */
void chk_fabric_free(struct chk_fabric *f);

/*
 * chk_alloc(), chk_grow() - Allocate as calloc() and realloc() do. New octets are zeros. All memory
 * to which the fabric refers comes from these functions, and the fabric has a bound for it. Return:
 * NULL if memory ran out, or if the bound is reached. In the second case f->cut becomes true
 */
void *chk_alloc(struct chk_fabric *f, size_t n, size_t size);
void *chk_grow(struct chk_fabric *f, void *p, size_t old_n, size_t new_n, size_t size);

/*
 * chk_add_node() - Add a node without links. Return: 0; -EEXIST: a node has this GUID; -ENOSPC: a bound is reached;
 * -EINVAL: the node has no port; -ENOMEM
 */
int chk_add_node(struct chk_fabric *f, const struct smp_node_info *i, const char *desc,
		 struct chk_node **ret);
/* chk_find() - Return the node with this node GUID, or NULL */
struct chk_node *chk_find(const struct chk_fabric *f, uint64_t guid);

/* The functions below return 0, -ENOMEM or -ENOSPC. */
int chk_add_twin(struct chk_fabric *f, uint32_t node, uint32_t behind, uint8_t behind_port);
int chk_add_silence(struct chk_fabric *f, const struct chk_silence *s);
int chk_add_path(struct chk_fabric *f, const struct chk_path *p);
int chk_add_member(struct chk_fabric *f, const struct chk_member *m);
int chk_add_manager(struct chk_fabric *f, const struct chk_manager *m);
/* chk_set_lft() - Set the egress port for a LID in the LFT of a switch. The LFT grows as needed */
int chk_set_lft(struct chk_fabric *f, struct chk_switch *sw, unsigned int lid, uint8_t port);
/*
 * chk_set_mft() - Add egress ports for an MLID to the MFT of a switch. Bit 0 of @mask stands for
 * port 16 * @position, bit 1 for the next port, and so on
 */
int chk_set_mft(struct chk_fabric *f, struct chk_switch *sw, unsigned int mlid,
		unsigned int position, uint16_t mask);

/* chk_link() - Connect both ends of a link in the model */
void chk_link(struct chk_node *a, uint8_t a_port, struct chk_node *b, uint8_t b_port);

/**
 * chk_from_topo() - Make the fabric that a topology file describes: nodes, links and LIDs, without states and tables
 *
 * Return: 0, -ENOMEM, -ENOSPC
 */
int chk_from_topo(struct chk_fabric **ret, const struct topo *t, size_t octets_max);

/* Error of a file of tables: "FILE:LINE: expected ..., found ..." */
struct chk_err {
	char text[320];
};

/*
 * chk_read_tables() - Add the forwarding tables that a program printed
 * @name:	name of the file, for messages
 * @err:	the error and its place, written on failure
 *
 * The text may be:
 * - the output of ibroute, dump_lfts.sh, dump_mfts.sh or dump_fts (unicast or multicast)
 * - a dump of OpenSM: opensm.fdbs, opensm.mcfdbs or opensm-lfts.dump
 *
 * Tables of switches that the fabric does not have are counted in *@ret_unknown.
 *
 * Return: 0; -EINVAL: the text has another format, or an error; -ENOMEM; -ENOSPC
 */
int chk_read_tables(struct chk_fabric *f, const char *name, const char *text, size_t len,
		    unsigned int *ret_unknown, struct chk_err *err);

/* --- questions about a fabric */

static inline bool chk_is_end(const struct chk_node *n, const struct chk_port *p)
{
	return n->sw ? p->num == 0 : p->num > 0;
}

/* chk_end() - Return the end port that manages a port: the port itself, or port 0 of a switch */
static inline const struct chk_port *chk_end(const struct chk_node *n, const struct chk_port *p)
{
	return n->sw ? &n->port[0] : p;
}

/* chk_peer() - Return the node at the other end of a port's link, or NULL */
static inline struct chk_node *chk_peer(const struct chk_fabric *f, const struct chk_port *p)
{
	return p->peer < f->n ? f->node[p->peer] : NULL;
}

/*
 * chk_carries() - Return: false if the port certainly carries no data, because nothing is connected
 * to it or it is not Active
 */
bool chk_carries(const struct chk_fabric *f, const struct chk_port *p);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_TOPO_H
#define FABRIC_TOPO_H

/*
 * DOC: Topologies
 *
 * Nodes, ports and cables as a file or a program describes them; no state of a running
 * fabric. The text form is what `ibnetdiscover` prints and what ibsim reads: one grammar,
 * since ibsim's net files are ibnetdiscover's output with less in it:
 *
 *	vendid=0x2c9				of the next node; so are devid, sysimgguid
 *	switchguid=0x2c90200000100(2c90200000100)
 *	Switch	24 "S-0002c90200000100"		# "leaf 1" enhanced port 0 lid 3 lmc 0
 *	[1]	"H-0002c90200000200"[1](2c90200000201)	# "h1" lid 5 4xQDR
 *	[2]	"Switch2"[7]	w=2 s=4 e=1	ibsim: masks of what is enabled
 *
 * A cable may be given at one of its ends or at both, which must agree. A peer without
 * a port means its port 1, as in ibsim. GUIDs that are not given count from 0x100000 (CAs: one for the
 * node and one for each port) and from 0x200000 (switches: one), as ibsim counts. `module "M"` puts
 * "M#" before the names that follow; `include "FILE"` needs a reader. Console commands (`do`), port
 * aliases (`@`) and routers are refused.
 *
 * A reader may be lenient (topo_parse_found()): what production prints has lines of tools that met a
 * time-out, routers, cables that one end denies. It leaves those out and says so.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/hash.h"
#include "wire/ib.h"

#define TOPO_NAME_MAX 85 /* ibsim: a prefix of 20, '#', a node id of 64 */
#define TOPO_DESC_MAX 64 /* NodeDescription */
#define TOPO_NO_PEER UINT32_MAX
#define TOPO_MAX_NODES 65536

/*
 * Masks as PortInfo has them: width 1 1x, 2 4x, 4 8x, 8 12x, 16 2x; speed 1 SDR, 2 DDR, 4 QDR; ext 1 FDR, 2 EDR,
 * 4 HDR, 8 NDR. What PortInfo cannot say is kept as a name: FDR10 of what runs as QDR, XDR of NDR.
 */
struct topo_rate {
	uint8_t width, speed, ext;
	uint8_t also; /* TOPO_ALSO_* */
};

#define TOPO_ALSO_FDR10 1
#define TOPO_ALSO_XDR 2

struct topo_port {
	uint32_t peer; /* index of the node at the other end, or TOPO_NO_PEER */
	uint8_t peer_port;
	uint8_t lmc;
	uint16_t lid; /* 0: none given */
	uint64_t guid; /* CA: of this port; switch: of port 0, others 0 */
	struct topo_rate rate; /* what this end enables */
	unsigned int line; /* where it was written; 0: nowhere */
};

struct topo_node {
	struct hnode by_name, by_guid;
	uint32_t index;
	char name[TOPO_NAME_MAX + 1];
	char desc[TOPO_DESC_MAX + 1];
	enum ib_node_type type; /* CA or switch */
	uint8_t nports;
	bool enhanced_port0;
	uint16_t device_id;
	uint32_t vendor_id;
	uint64_t node_guid, sys_guid;
	struct topo_port *port; /* [0 .. nports]; [0] unused by a CA */
	unsigned int line;
};

struct topo {
	struct topo_node **node; /* in the order of their definition */
	uint32_t n, cap;
	struct htab names, guids;
	uint64_t next_ca_guid, next_switch_guid;
};

/* What is wrong: "lab.topo:12: expected ..., found ..." without a newline. */
struct topo_err {
	char text[320];
};

enum topo_note {
	TOPO_NOTE_LEFT_OUT, /* a line, a node or a cable that could not be taken */
	TOPO_NOTE_ONE_SIDED, /* a cable that one end's lines do not have */
	TOPO_NOTE_SAME_DESC, /* a CA described as another */
	TOPO_NOTE_SAME_LID,
	TOPO_NOTE_CUT_DESC, /* longer than a NodeDescription can be */
	TOPO_NOTE_SLOWER, /* a rate that our ports do not have: the next below is taken */
	TOPO_NOTE_ALONE, /* a node without a cable */
	TOPO_NOTE_MAX,
};

/* Where remarks go, each a line like topo_err's. */
struct topo_sink {
	void (*note)(void *ctx, enum topo_note kind, const char *text);
	void *ctx;
};

/* Where `include` finds files. */
struct topo_reader {
	/* @ret_text: malloc()ed, the parser frees it. 0 or -errno */
	int (*read)(void *ctx, const char *file, char **ret_text, size_t *ret_len);
	void *ctx;
};

/* topo_create() - An empty topology, or NULL */
struct topo *topo_create(void);
/* NULL is accepted. */
void topo_free(struct topo *t);

/**
 * topo_parse() - Read a topology
 * @ret:	written only on success; topo_free() it
 * @name:	of the file, for messages
 * @text:	@len octets, not necessarily terminated
 * @reader:	NULL: `include` is refused
 * @err:	what is wrong and where, written on failure
 *
 * Return: 0; -EINVAL the text is wrong; -ENOMEM; what @reader returned
 */
int topo_parse(struct topo **ret, const char *name, const char *text, size_t len,
	       const struct topo_reader *reader, struct topo_err *err);

/**
 * topo_parse_found() - The same, leniently: for what was found, not written
 * @sink:	hears of all that is left out
 *
 * Still refused is what would make no fabric at all: no node, port GUIDs that two ports claim, more end
 * ports than LIDs, a thousand lines left out.
 */
int topo_parse_found(struct topo **ret, const char *name, const char *text, size_t len,
		     const struct topo_sink *sink, struct topo_err *err);

/**
 * topo_print() - Write a topology as `ibnetdiscover` would
 * @keep_names:	nodes keep their names; false: they are called S-GUID and H-GUID as
 *		ibnetdiscover does, and only their description says the name
 *
 * Return: malloc()ed text of *@ret_len octets and a NUL, or NULL
 */
char *topo_print(const struct topo *t, bool keep_names, size_t *ret_len);

/**
 * topo_add_node() - Add a CA or a switch
 * @name:	1..TOPO_NAME_MAX octets: no quotes, "@" or control characters
 * @desc:	NULL: the name; at most TOPO_DESC_MAX octets are kept
 * @ret:	its index
 *
 * GUIDs are the next ones; change them with topo_set_guids().
 * Return: 0; -EEXIST the name is taken; -EINVAL name, type or ports (1..254); -ENOSPC; -ENOMEM
 */
int topo_add_node(struct topo *t, enum ib_node_type type, unsigned int nports, const char *name,
		  const char *desc, uint32_t *ret);

/* topo_set_guids() - Give a node its GUID; a CA's ports follow it. 0; -EEXIST taken; -EINVAL zero */
int topo_set_guids(struct topo *t, uint32_t node, uint64_t node_guid);

/* topo_link() - Connect two ports. 0; -ENOENT, -ERANGE no such node or port; -EBUSY connected; -EINVAL to itself */
int topo_link(struct topo *t, uint32_t a, unsigned int a_port, uint32_t b, unsigned int b_port);

/* topo_find() - Index of the node named @name; else of the only one with that description; -ENOENT */
int topo_find(const struct topo *t, const char *name, uint32_t *ret);

/*
 * topo_rate() - What the link of a port runs at: the best that both ends enable, one bit in
 * each; ext 0 below FDR. An unconnected port: its own best.
 */
struct topo_rate topo_rate(const struct topo *t, uint32_t node, unsigned int port);

/* "4xQDR" as ibnetdiscover says it */
char *topo_rate_print(char *buf, size_t size, struct topo_rate r);

/* --- generators, for the demo and for tests; NULL if out of memory or the arguments are out of range */

/*
 * topo_gen_demo() - @hosts CAs Hca1.. with one port each, spread over @switches switches Switch1..,
 * which form a ring (two switches: two parallel cables), so that there is a loop; each switch keeps one
 * port free
 */
struct topo *topo_gen_demo(unsigned int hosts, unsigned int switches);

struct topo_gen_random {
	uint64_t seed;
	unsigned int cas, switches;
	unsigned int max_ca_ports; /* each CA has 1..this many ports, all connected */
	unsigned int extra_links; /* cables beyond a spanning tree: loops and parallel links */
};
/* topo_gen_random() - A connected topology, the same for the same parameters */
struct topo *topo_gen_random(const struct topo_gen_random *g);

#endif

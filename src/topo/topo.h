/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOPO_TOPO_H
#define TOPO_TOPO_H

/*
 * DOC: Topologies
 *
 * A topology has the nodes, ports and cables that a file or a program describes, and no state of a
 * running fabric. The text form is the format that `ibnetdiscover` prints and ibsim reads. One
 * grammar covers both, because the net files of ibsim are an abridged output of ibnetdiscover:
 *
 *	vendid=0x2c9				setting for the next node; so are devid, sysimgguid
 *	switchguid=0x2c90200000100(2c90200000100)
 *	Switch	24 "S-0002c90200000100"		# "leaf 1" enhanced port 0 lid 3 lmc 0
 *	[1]	"H-0002c90200000200"[1](2c90200000201)	# "h1" lid 5 4xQDR
 *	[2]	"Switch2"[7]	w=2 s=4 e=1	ibsim: masks of enabled widths and speeds
 *
 * A file may list a cable at one of its ends or at both; two listings of a cable must agree. A peer
 * without a port number means port 1 of the peer, as in ibsim. Nodes without a GUID get consecutive
 * GUIDs as in ibsim: from 0x100000 for CAs (one for the node and one for each port), and from
 * 0x200000 for switches (one each). `module "M"` puts "M#" before the names that follow. `include
 * "FILE"` is allowed only with a struct topo_reader. Console commands (`do`), port aliases (`@`)
 * and routers are refused.
 *
 * topo_parse_found() is lenient, because the output of tools on a production fabric may contain
 * error messages, routers, and cables that contradict each other. The function leaves these lines
 * out and reports them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/hash.h"
#include "wire/ib.h"

#define TOPO_NAME_MAX 85 /* octets of a name, as in ibsim: prefix of 20, '#', node id of 64 */
#define TOPO_DESC_MAX 64 /* octets of a NodeDescription */
#define TOPO_NO_PEER UINT32_MAX
#define TOPO_MAX_NODES 65536

/*
 * Masks of bits, as in PortInfo. Width: 1 is 1x, 2 is 4x, 4 is 8x, 8 is 12x, 16 is 2x. Speed: 1 is
 * SDR, 2 is DDR, 4 is QDR. Ext: 1 is FDR, 2 is EDR, 4 is HDR, 8 is NDR. PortInfo has no bits for
 * FDR10 and XDR. On uipoib's fabric, FDR10 runs as QDR, and XDR runs as NDR. .also stores FDR10 and
 * XDR, so that topo_rate_print() can print them.
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
	uint16_t lid; /* LID of the port; 0: not given */
	uint64_t guid; /* GUID of the port; 0 for ports of a switch other than port 0 */
	struct topo_rate rate; /* widths and speeds that this end enables */
	unsigned int line; /* line of the file that describes the port; 0: there is no such line */
};

struct topo_node {
	struct hlink by_name, by_guid;
	uint32_t index;
	char name[TOPO_NAME_MAX + 1];
	char desc[TOPO_DESC_MAX + 1];
	enum ib_node_type type; /* CA or switch */
	uint8_t nports;
	bool enhanced_port0;
	uint16_t device_id;
	uint32_t vendor_id;
	uint64_t node_guid, sys_guid;
	struct topo_port *port; /* ports [0] to [nports]; a CA does not use [0] */
	unsigned int line;
};

struct topo {
	struct topo_node **node; /* nodes in the order of their definition */
	uint32_t n, cap;
	struct htab names, guids;
	uint64_t next_ca_guid, next_switch_guid;
};

/* Message of an error: "lab.topo:12: expected ..., found ..." without a newline. */
struct topo_err {
	char text[320];
};

enum topo_note {
	TOPO_NOTE_LEFT_OUT, /* a line, a node or a cable was left out */
	TOPO_NOTE_ONE_SIDED, /* a cable is listed at one of its ends only */
	TOPO_NOTE_SAME_DESC, /* two CAs have the same NodeDescription */
	TOPO_NOTE_SAME_LID,
	TOPO_NOTE_CUT_DESC, /* a NodeDescription was cut to 64 octets */
	TOPO_NOTE_SLOWER, /* uipoib's ports do not support the rate, so a lower rate is used */
	TOPO_NOTE_ALONE, /* a node has no cable */
	TOPO_NOTE_MAX,
};

/* Receiver of remarks. @text is one line without a newline, like topo_err.text. */
struct topo_sink {
	void (*note)(void *ctx, enum topo_note kind, const char *text);
	void *ctx;
};

/* Reader of the files that `include` names. */
struct topo_reader {
	/* Read a file into malloc()ed memory, which the parser frees. Return: 0, -errno */
	int (*read)(void *ctx, const char *file, char **ret_text, size_t *ret_len);
	void *ctx;
};

/* topo_create() - Make an empty topology. Return: NULL if out of memory */
struct topo *topo_create(void);
/* topo_free() - Free a topology, or NULL */
void topo_free(struct topo *t);

/**
 * topo_parse() - Read a topology
 * @ret:	the topology, written only on success; the caller frees it with topo_free()
 * @name:	name of the file, for messages
 * @text:	@len octets, not necessarily terminated
 * @reader:	reader of included files; NULL: `include` is refused
 * @err:	the error and its place, written on failure
 *
 * Return: 0; -EINVAL: the text is wrong; -ENOMEM; the error of @reader
 */
int topo_parse(struct topo **ret, const char *name, const char *text, size_t len,
	       const struct topo_reader *reader, struct topo_err *err);

/**
 * topo_parse_found() - Read leniently the topology that a tool found on a fabric
 * @sink:	receiver of a remark for each line, node or cable that is left out
 *
 * Some faults are still errors: no node at all, two ports with the same port GUID, more end ports
 * than LIDs, and more than a thousand lines left out.
 */
int topo_parse_found(struct topo **ret, const char *name, const char *text, size_t len,
		     const struct topo_sink *sink, struct topo_err *err);

/**
 * topo_print() - Write a topology as `ibnetdiscover` would
 * @keep_names:	true to keep the names of nodes, if a file can contain all of them; false to
 *		call the nodes S-GUID and H-GUID as ibnetdiscover does
 *
 * Return: malloc()ed text of *@ret_len octets and a NUL, or NULL
 */
char *topo_print(const struct topo *t, bool keep_names, size_t *ret_len);

/**
 * topo_add_node() - Add a CA or a switch
 * @name:	1..TOPO_NAME_MAX octets: no quotes, "@" or control characters
 * @desc:	NodeDescription, of which TOPO_DESC_MAX octets are kept; NULL: the name
 * @ret:	index of the node
 *
 * The node gets the next free GUIDs; topo_set_guids() changes them.
 * Return: 0; -EEXIST: another node has the name or the GUID; -EINVAL: wrong name, description, type
 * or number of ports (1 to 254); -ENOSPC; -ENOMEM
 */
int topo_add_node(struct topo *t, enum ib_node_type type, unsigned int nports, const char *name,
		  const char *desc, uint32_t *ret);

/*
 * topo_set_guids() - Give a node a GUID; port n of a CA gets @node_guid + n. Return: 0; -EEXIST:
 * another node has that GUID; -EINVAL: the GUID is 0, or there is no such node; -ENOMEM
 */
int topo_set_guids(struct topo *t, uint32_t node, uint64_t node_guid);

/*
 * topo_link() - Connect two ports. Return: 0; -ENOENT, -ERANGE: no such node or port; -EBUSY: an end
 * is connected already; -EINVAL: both ends are the same port
 */
int topo_link(struct topo *t, uint32_t a, unsigned int a_port, uint32_t b, unsigned int b_port);

/*
 * topo_find() - Find the index of a node by its name, or by its NodeDescription if only one node
 * has it.
 * Return: 0, -ENOENT
 */
int topo_find(const struct topo *t, const char *name, uint32_t *ret);

/*
 * topo_rate() - Return the rate at which the link of a port runs: the highest width and speed that
 * both ends enable. One bit of each mask is set; .ext is 0 below FDR. For an unconnected port,
 * return the port's own highest rate.
 */
struct topo_rate topo_rate(const struct topo *t, uint32_t node, unsigned int port);

/* Print a rate as ibnetdiscover does: "4xQDR". Return: @buf */
char *topo_rate_print(char *buf, size_t size, struct topo_rate r);

/* --- generators, for the demo and for tests; NULL if out of memory or the arguments are out of range */

/*
 * topo_gen_demo() - Make a ring of @switches switches (Switch1 ...) with @hosts CAs (Hca1 ...)
 * spread over them. Each CA has one port. If there are just two switches, two parallel cables
 * connect them, so that there is a loop. Each switch keeps at least one port free
 */
struct topo *topo_gen_demo(unsigned int hosts, unsigned int switches);

struct topo_gen_random {
	uint64_t seed;
	unsigned int cas, switches;
	/* largest number of ports of a CA; each CA has 1 or more, all connected */
	unsigned int max_ca_ports;
	unsigned int extra_links; /* number of cables beyond a spanning tree, which make loops */
};
/* topo_gen_random() - Make a connected topology, which depends on the parameters alone */
struct topo *topo_gen_random(const struct topo_gen_random *g);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_TOPO_PRIV_H
#define FABRIC_TOPO_PRIV_H

/* What the files of the topology reader share. */

#include "fabric/topo.h"
#include "fabric/topo_lex.h"

/* One port line: "A/port is connected to this". Resolved when everything has been read. */
struct topo_plink {
	const char *file;
	unsigned int line;
	uint32_t node;
	uint8_t port, peer_port;
	bool has_rate; /* w=, s=, e= or "4xQDR" */
	uint16_t peer_lid; /* 0: not said */
	uint64_t guid, peer_guid; /* in parentheses; 0: not given */
	char peer[TOPO_NAME_MAX + 1];
};

struct topo_parser {
	struct topo *t;
	const struct topo_reader *reader;
	const struct topo_sink *sink; /* NULL: strict */
	unsigned int left_out;
	struct topo_err *err;
	const char *file;
	unsigned int line, depth;
	char **files; /* names of all files read, for messages */
	unsigned int nfiles;
	struct topo_plink *links;
	size_t nlinks, cap_links;

	/* of the next node */
	uint32_t vendor_id;
	uint16_t device_id; /* stays for the nodes after it, as in ibsim */
	uint64_t sys_guid, port0_guid;
	/* of all that follows */
	uint64_t ca_base, switch_base;
	struct topo_rate rate;
	char module[21]; /* ibsim: at most 20 octets */
	/* of the port lines */
	uint32_t node; /* TOPO_NO_PEER: none is open */
	bool skipping; /* the node that they belong to was left out */
};

/* Write "file:line: ..." to the caller's error; returns -EINVAL. */
int topo_fail(struct topo_parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int topo_fail_at(struct topo_parser *p, const char *file, unsigned int line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

int topo_fail_expected(struct topo_parser *p, const struct topo_cur *c, const char *what);
/* topo_left_out() - What topo_fail() wrote is a remark and no error: true if the reader is lenient */
bool topo_left_out(struct topo_parser *p);
void topo_note(struct topo_parser *p, enum topo_note kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* topo_node.c: behind Switch, Ca or Hca */
int topo_parse_node(struct topo_parser *p, struct topo_cur *c, enum ib_node_type type);
/* What was said for the next node is for no other. */
void topo_next_node(struct topo_parser *p);
/* topo_port.c: a line that starts with '[' */
int topo_parse_port(struct topo_parser *p, struct topo_cur *c);
/* "lid 5 lmc 0" anywhere in a comment */
void topo_comment_lid(const struct topo_cur *c, uint16_t *ret_lid, uint8_t *ret_lmc);

/* topo_resolve.c: connect the ports, settle GUIDs, check it all. 0, -EINVAL, -ENOMEM */
int topo_resolve(struct topo_parser *p);

#endif

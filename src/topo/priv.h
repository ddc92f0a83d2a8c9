/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOPO_PRIV_H
#define TOPO_PRIV_H

/* Declarations that the files of the topology reader share. */

#include "topo/topo.h"
#include "topo/lex.h"

/*
 * A port line, which names the port to which a port of a node is connected. The lines are resolved
 * after the whole text was read.
 */
struct topo_plink {
	const char *file;
	unsigned int line;
	uint32_t node;
	uint8_t port, peer_port;
	bool has_rate; /* true if the line has a rate, by w=, s=, e= or "4xQDR" */
	uint16_t peer_lid; /* LID of the other end; 0: not given */
	uint64_t guid, peer_guid; /* port GUIDs of both ends, in parentheses; 0: not given */
	char peer[TOPO_NAME_MAX + 1];
};

struct topo_parser {
	struct topo *t;
	const struct topo_reader *reader;
	const struct topo_sink *sink; /* receiver of remarks; NULL: the parser is not lenient */
	unsigned int left_out;
	struct topo_err *err;
	const char *file;
	unsigned int line, depth;
	char **files; /* names of all files read, for messages */
	unsigned int nfiles;
	struct topo_plink *links;
	size_t nlinks, cap_links;

	/* settings for the next node only, apart from device_id */
	uint32_t vendor_id;
	uint16_t device_id; /* stays valid for later nodes, too, as in ibsim */
	uint64_t sys_guid, port0_guid;
	/* settings for all nodes that follow */
	uint64_t ca_base, switch_base;
	struct topo_rate rate;
	char module[21]; /* prefix of names, at most 20 octets as in ibsim */
	/* state for the port lines */
	uint32_t node; /* node to which the next port lines belong; TOPO_NO_PEER: none */
	bool skipping; /* true while port lines are skipped, because their node was left out */
};

/* Write the message "file:line: ..." into the struct topo_err of the caller of topo_parse(). Return: -EINVAL */
int topo_fail(struct topo_parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int topo_fail_at(struct topo_parser *p, const char *file, unsigned int line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

int topo_fail_expected(struct topo_parser *p, const struct topo_cur *c, const char *what);
/*
 * topo_left_out() - If the parser is lenient, report as a remark the error that topo_fail() wrote,
 * and skip the line. Return: false if it remains an error
 */
bool topo_left_out(struct topo_parser *p);
void topo_note(struct topo_parser *p, enum topo_note kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* node.c: read the rest of a line that begins with Switch, Ca or Hca. */
int topo_parse_node(struct topo_parser *p, struct topo_cur *c, enum ib_node_type type);
/* Reset the settings that hold for one node only. */
void topo_next_node(struct topo_parser *p);
/* port.c: read a line that starts with '['. */
int topo_parse_port(struct topo_parser *p, struct topo_cur *c);
/* Find "lid 5 lmc 0" anywhere in a comment. */
void topo_comment_lid(const struct topo_cur *c, uint16_t *ret_lid, uint8_t *ret_lmc);

/*
 * resolve.c: connect the ports by the port lines, assign the GUIDs, and check the result. Return:
 * 0, -EINVAL, -ENOMEM
 */
int topo_resolve(struct topo_parser *p);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UMAD_PRIV_H
#define UMAD_PRIV_H

/*
 * DOC: Inside umad
 *
 *	srv.c		connections: messages in and out
 *	agent.c		agents of a file
 *	send.c		a write() of a file
 *	queue.c		what a file's read() will get
 *	attr.c		sysfs
 *	attr_show.c	content of its files
 */

#include "umad/umad.h"
#include "wire/rmpp.h"

/* Octets of a class's headers before its data, as ib_get_mad_data_offset() */
static inline size_t umad_data_off(uint8_t mgmt_class)
{
	size_t hdr = rmpp_hdr_len(mgmt_class);

	return hdr ? hdr : MAD_HDR_LEN;
}

/* A port that somebody has open. */
struct umad_port {
	struct list link; /* umad_srv.ports */
	struct node_port *np;
	unsigned int users;
	struct mad_quota quota;
	const struct umad_conn *issm; /* who has its issm file; NULL: nobody */
};

struct umad_srv {
	const struct umad_srv_ops *ops;
	void *ctx;
	struct umad_limits lim;
	struct list ports;
	unsigned int nconns;
	size_t queue_octets;
	struct umad_stats closed;
};

struct umad_agent {
	struct umad_conn *conn;
	struct mad_agent *mad; /* NULL: the id is free */
	uint8_t qp;
	bool rmpp; /* by us, not by the program */
	bool rmpp_only; /* sends classes with RMPP only, as ib_mad has it */
};

/* A MAD that waits to be read. */
struct umad_out {
	struct list link; /* umad_conn.queue */
	struct umad_mad m;
	uint8_t data[];
};

struct umad_conn {
	struct umad_srv *srv;
	void *ctx;
	enum umad_kind kind; /* 0: no hello yet */
	struct umad_view view; /* kind ATTR */
	struct umad_port *port; /* kinds MAD and ISSM */
	unsigned int dev;
	struct mad_quota quota;
	struct umad_agent agent[UMAD_AGENTS_MAX];
	struct list queue;
	unsigned int nqueue;
	size_t queue_octets;
	struct umad_stats st;
};

/* umad_agent_add() - 0 with the id; -EINVAL, -ENOMEM as the kernel says */
int umad_agent_add(struct umad_conn *c, const struct umad_register *r, uint32_t *ret_id);
/* umad_agent_del() - 0; -EINVAL no such agent */
int umad_agent_del(struct umad_conn *c, uint32_t id);

/**
 * umad_send() - What write() does
 * @data:	@len octets
 *
 * Return: 0; -EINVAL; -EBUSY; -ENOMEM: also given back as status, if an answer was expected
 */
int umad_send(struct umad_conn *c, const struct umad_mad *m, const uint8_t *data, size_t len,
	      ns_t now);

/* umad_queue_recv() - A MAD for agent @id */
void umad_queue_recv(struct umad_conn *c, uint32_t id, const struct mad_addr *from, const void *mad,
		     size_t len);
/* umad_queue_back() - A send comes back with @status, an errno; with the header of its MAD */
void umad_queue_back(struct umad_conn *c, const struct umad_mad *m, const uint8_t *mad,
		     uint32_t status);
void umad_queue_clear(struct umad_conn *c);

#endif

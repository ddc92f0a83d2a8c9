/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UMAD_PRIV_H
#define UMAD_PRIV_H

/*
 * DOC: Inside umad
 *
 *	srv.c		connections, ports, messages from the library
 *	agent.c		registration of agents
 *	send.c		MADs that a program has written
 *	queue.c		MADs that wait until a program reads them
 *	attr.c		paths of sysfs
 *	attr_show.c	content of the files of sysfs
 */

#include "umad/umad.h"
#include "wire/rmpp.h"

/*
 * Returns how many octets of headers come before the data of a MAD of this class, as the kernel's
 * ib_get_mad_data_offset() does.
 */
static inline size_t umad_data_off(uint8_t mgmt_class)
{
	size_t hdr = rmpp_hdr_len(mgmt_class);

	return hdr ? hdr : MAD_HDR_LEN;
}

/* A port that at least one connection has open. */
struct umad_port {
	struct list link; /* link in umad_srv.ports */
	struct node_port *np;
	unsigned int users;
	struct mad_quota quota;
	/* connection that has the device issmN of this port open; NULL: none */
	const struct umad_conn *issm;
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
	/* registration at the MAD endpoint of the port; NULL: this agent id is free */
	struct mad_agent *mad;
	uint8_t qp;
	/* true if the daemon handles RMPP for this agent, false if the program does it */
	bool rmpp;
	/* true if the agent may send only MADs of classes that have RMPP, as in ib_mad */
	bool rmpp_only;
};

/* A MAD that waits in the queue of a connection until the program reads it */
struct umad_out {
	struct list link; /* link in umad_conn.queue */
	struct umad_mad m;
	uint8_t data[];
};

struct umad_conn {
	struct umad_srv *srv;
	void *ctx;
	enum umad_kind kind; /* kind that UMAD_HELLO asked for; 0 before this message */
	struct umad_view view; /* the CAs and switches that the program sees */
	struct umad_port *port; /* port that the connection has opened; NULL for kind ATTR */
	unsigned int dev;
	struct mad_quota quota;
	struct umad_agent agent[UMAD_AGENTS_MAX];
	struct list queue;
	unsigned int nqueue;
	size_t queue_octets;
	struct umad_stats st;
};

/*
 * umad_agent_add() - Register an agent. Return: 0; -EINVAL or -ENOMEM in the cases in which the
 * kernel returns this error
 */
int umad_agent_add(struct umad_conn *c, const struct umad_register *r, uint32_t *ret_id);
/* umad_agent_del() - Unregister an agent. Return: 0; -EINVAL: no such agent */
int umad_agent_del(struct umad_conn *c, uint32_t id);

/**
 * umad_send() - Send a MAD that the program has written
 * @data:	the MAD, @len octets
 *
 * If @m has a time-out, the program waits for an answer. If such a MAD cannot be sent, it is put
 * into the queue of MADs for the program, with the error as its status.
 * Return: 0; -EINVAL; -EBUSY; -ENOMEM; or another reason for which the MAD could not be sent
 */
int umad_send(struct umad_conn *c, const struct umad_mad *m, const uint8_t *data, size_t len,
	      ns_t now);

/* umad_queue_recv() - Queue a received MAD for agent @id of the program */
void umad_queue_recv(struct umad_conn *c, uint32_t id, const struct mad_addr *from, const void *mad,
		     size_t len);
/*
 * umad_queue_back() - Return to the program a MAD that it has sent. Only the 24 octets of its
 * header are returned, with the errno @status
 */
void umad_queue_back(struct umad_conn *c, const struct umad_mad *m, const uint8_t *mad,
		     uint32_t status);
void umad_queue_clear(struct umad_conn *c);

#endif

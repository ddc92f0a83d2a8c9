/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UMAD_UMAD_H
#define UMAD_UMAD_H

/*
 * DOC: ib_umad for programs with libuipoib-umad.so
 *
 * The daemon's side of umad/proto.h, without sockets: connections, the files of ib_umad
 * behind them, and what sysfs would show. The owner brings messages in by umad_conn_recv()
 * and takes MADs out by umad_conn_next(). What a file does is what the kernel's does: agents
 * with their methods, the high half of TIDs, RMPP in both directions, sends that time out and come
 * back, IsSM while an issm file is open.
 *
 * A connection that is not read keeps a bounded queue; one that sends without end has a bounded
 * number of requests under way; both are counted and hurt nobody else.
 */

#include "node/node.h"
#include "umad/proto.h"

#define UMAD_CAS_MAX 64
#define UMAD_PORTS_MAX 256 /* through all CAs of a view */
#define UMAD_AGENTS_MAX 32 /* of a file, as IB_UMAD_MAX_AGENTS */

/* The CAs (or switches) that a program sees: uipoib0, uipoib1 ... */
struct umad_view {
	struct node *node[UMAD_CAS_MAX];
	unsigned int n;
};

/* umad_view_port() - The port of umadN or issmN; NULL if there is none. @ret_ca may be NULL */
struct node_port *umad_view_port(const struct umad_view *v, unsigned int dev, unsigned int *ret_ca);

/**
 * umad_attr_read() - A file or directory of sysfs
 * @path:	below /sys: "class/infiniband/uipoib0/ports/1/lid"
 * @ret_dir:	a directory: @buf has its names, each with a final zero
 *
 * Return: octets in @buf; -ENOENT; -ENOSPC
 */
int umad_attr_read(const struct umad_view *v, const char *path, char *buf, size_t size,
		   bool *ret_dir);

struct umad_srv;
struct umad_conn;

struct umad_srv_ops {
	/* The CAs of a hello. 0; -ENOENT no such host or node, or it is not clear which */
	int (*view)(void *ctx, const char *host, const char *node, struct umad_view *ret);
	/* @conn_ctx has something for umad_conn_next(), and had nothing before; it may take it at once. */
	void (*ready)(void *ctx, void *conn_ctx);
};

struct umad_limits {
	unsigned int max_conns;
	unsigned int max_queue; /* MADs that wait for a connection to read */
	size_t max_queue_octets; /* of one; a single MAD may be larger */
	size_t max_all_octets; /* of all */
	unsigned int max_open; /* requests and RMPP replies of one under way */
	unsigned int min_open; /* so many whatever the others on the port have */
	size_t max_open_octets; /* of RMPP messages among them */
	unsigned int port_max_open; /* of all connections on a port */
	size_t port_max_open_octets;
};
extern const struct umad_limits umad_limits_default;

/* @lim NULL: the default. NULL if out of memory */
struct umad_srv *umad_srv_create(const struct umad_srv_ops *ops, void *ctx,
				 const struct umad_limits *lim);
/* Its connections must be closed; NULL is accepted. */
void umad_srv_destroy(struct umad_srv *s);

/* umad_conn_open() - 0; -ENOSPC too many; -ENOMEM */
int umad_conn_open(struct umad_srv *s, void *conn_ctx, struct umad_conn **ret);
/* Its agents and requests end, IsSM is cleared; NULL is accepted. */
void umad_conn_close(struct umad_conn *c, ns_t now);

/* One message that came in. */
struct umad_in {
	const void *msg;
	size_t len;
	const void
		*big; /* content of the memfd that came along; NULL: none, or not worth reading */
	size_t big_len; /* 0: none */
	bool has_socket; /* some other descriptor came along: where an answer may go */
};

enum umad_to {
	UMAD_TO_NOBODY,
	UMAD_TO_CONN,
	UMAD_TO_SOCKET, /* the one that came with the message */
};

struct umad_answer {
	enum umad_to to;
	size_t len;
	uint8_t msg[sizeof(struct umad_content) + UMAD_ATTR_MAX];
};

/**
 * umad_conn_takes() - Whether a memfd is worth reading: agent, RMPP and what it has under way allow it
 * @head:	its first UMAD_HEAD_LEN octets
 */
#define UMAD_HEAD_LEN 64
bool umad_conn_takes(const struct umad_conn *c, const void *msg, size_t len,
		     const uint8_t head[UMAD_HEAD_LEN], size_t big_len);

/**
 * umad_conn_recv() - A message of a connection
 * @ret:	what is to be sent, before anything that umad_conn_next() has
 *
 * Return: 0; -EPROTO the connection makes no sense and is to be closed (after the answer)
 */
int umad_conn_recv(struct umad_conn *c, const struct umad_in *in, struct umad_answer *ret,
		   ns_t now);

/**
 * umad_conn_next() - The MAD to be sent next; NULL: none
 * @ret_data:	its data, hdr->data_len octets
 *
 * hdr->msg.len counts the data as if they were inline.
 */
const struct umad_mad *umad_conn_next(const struct umad_conn *c, const void **ret_data);
/* umad_conn_sent() - It was sent */
void umad_conn_sent(struct umad_conn *c);
/* umad_conn_lost() - It could not be sent and is dropped */
void umad_conn_lost(struct umad_conn *c);

enum umad_drop {
	UMAD_DROP_QUEUE, /* the program does not read */
	UMAD_DROP_MEM, /* all queues together are too long, or no memory */
	UMAD_DROP_MALFORMED, /* sent: lengths, agent, P_Key index */
	UMAD_DROP_BUSY, /* sent: too many under way, or this TID is */
	UMAD_DROP_DOWN, /* sent without expecting an answer, and not possible now */
	UMAD_DROP_MAX,
};
const char *umad_drop_name(enum umad_drop d);

struct umad_stats {
	uint64_t sent, received; /* MADs, as the program sees it */
	uint64_t timeouts;
	uint64_t drops[UMAD_DROP_MAX];
};

/* umad_srv_closed() - What closed connections have counted */
const struct umad_stats *umad_srv_closed(const struct umad_srv *s);

struct umad_conn_info {
	enum umad_kind kind; /* 0: no hello yet */
	const struct node_port *port; /* NULL: none */
	unsigned int dev, agents, queued;
	struct umad_stats st;
};
void umad_conn_info(const struct umad_conn *c, struct umad_conn_info *ret);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UMAD_UMAD_H
#define UMAD_UMAD_H

/*
 * DOC: ib_umad for programs with libuipoib-umad.so
 *
 * The daemon's side of umad/proto.h without the sockets. This code keeps the connections, each of
 * which represents an open device file of ib_umad, and makes the content of sysfs. The owner passes
 * received messages to umad_conn_recv(), and gets MADs to send from umad_conn_next(). A device file
 * behaves like that of the kernel: agents register for methods, and the high half of a TID belongs
 * to the agent. RMPP works in both directions. Requests that time out are returned. IsSM is set
 * while an issm file is open.
 *
 * A program possibly never reads its MADs, so the queue of a connection is limited. The number of
 * open requests of a connection is limited, too. MADs over these limits are dropped and counted.
 * Other connections are not affected.
 */

#include "node/node.h"
#include "umad/proto.h"

#define UMAD_CAS_MAX 64
/* largest number of ports that all CAs of a struct umad_view have together */
#define UMAD_PORTS_MAX 256
/* largest number of agents of one open device file, as the kernel's IB_UMAD_MAX_AGENTS */
#define UMAD_AGENTS_MAX 32

/* The CAs (or switches) that a program sees as uipoib0, uipoib1 ... */
struct umad_view {
	struct node *node[UMAD_CAS_MAX];
	unsigned int n;
};

/*
 * umad_view_port() - Return the port of umadN or issmN, where N is @dev; NULL if there is none.
 * *@ret_ca is set to the index of the port's CA; @ret_ca may be NULL
 */
struct node_port *umad_view_port(const struct umad_view *v, unsigned int dev, unsigned int *ret_ca);

/**
 * umad_attr_read() - Read a file or directory of sysfs
 * @path:	path relative to /sys, for example "class/infiniband/uipoib0/ports/1/lid"
 * @ret_dir:	true if @path is a directory; @buf then has its names, each with a zero at its end
 *
 * Return: octets in @buf; -ENOENT; -ENOSPC
 */
int umad_attr_read(const struct umad_view *v, const char *path, char *buf, size_t size,
		   bool *ret_dir);

struct umad_srv;
struct umad_conn;

struct umad_srv_ops {
	/*
	 * Find the CAs that a hello requests. Return: 0; -ENOENT: there is no such host or node; or
	 * the host has only real CAs; or the hello names neither a host nor a node, and the
	 * instance does not have exactly one host
	 */
	int (*view)(void *ctx, const char *host, const char *node, struct umad_view *ret);
	/*
	 * Called when a connection whose queue was empty has a MAD for the program. The callback
	 * may take this MAD at once, by umad_conn_next().
	 */
	void (*ready)(void *ctx, void *conn_ctx);
};

struct umad_limits {
	unsigned int max_conns;
	unsigned int max_queue; /* largest number of MADs in the queue of a connection */
	/* largest number of octets in the queue of a connection; but an empty queue takes a MAD of any length */
	size_t max_queue_octets;
	/*
	 * largest number of octets in the queues of all connections together; but while all are empty, a MAD of
	 * any length is taken
	 */
	size_t max_all_octets;
	/* largest number of open requests and RMPP replies of a connection */
	unsigned int max_open;
	/* number of requests that each connection may have open even if port_max_open is reached */
	unsigned int min_open;
	/* largest number of octets of the RMPP messages that a connection is sending at a time */
	size_t max_open_octets;
	/* largest number of open requests and RMPP replies of all connections to a port together */
	unsigned int port_max_open;
	/* largest number of octets of the RMPP messages that all connections to a port are sending at a time */
	size_t port_max_open_octets;
};
extern const struct umad_limits umad_limits_default;

/*
 * umad_srv_create() - Make the daemon's side. @lim is NULL for umad_limits_default. Return: NULL if
 * out of memory
 */
struct umad_srv *umad_srv_create(const struct umad_srv_ops *ops, void *ctx,
				 const struct umad_limits *lim);
/* umad_srv_destroy() - Free @s, whose connections must have been closed. NULL is accepted */
void umad_srv_destroy(struct umad_srv *s);

/* umad_conn_open() - Make a connection. Return: 0; -ENOSPC: max_conns is reached; -ENOMEM */
int umad_conn_open(struct umad_srv *s, void *conn_ctx, struct umad_conn **ret);
/*
 * umad_conn_close() - Free a connection, end its agents and requests, and clear IsSM if the
 * connection has set it. NULL is accepted
 */
void umad_conn_close(struct umad_conn *c, ns_t now);

/* A received message. */
struct umad_in {
	const void *msg;
	size_t len;
	/*
	 * content of the memfd that came with the message; NULL: there was no memfd, or it was not
	 * read
	 */
	const void *big;
	size_t big_len; /* octets in the memfd that came with the message; 0: there was no memfd */
	bool has_socket; /* true if the message came with a socket for the answer */
};

enum umad_to {
	UMAD_TO_NOBODY,
	UMAD_TO_CONN,
	UMAD_TO_SOCKET, /* the socket that came with the message */
};

struct umad_answer {
	enum umad_to to;
	size_t len;
	uint8_t msg[sizeof(struct umad_content) + UMAD_ATTR_MAX];
};

/**
 * umad_conn_takes() - Tell whether a MAD in a memfd could be sent, so that the memfd is worth
 * reading
 * @head:	first UMAD_HEAD_LEN octets of the memfd
 * @big_len:	octets in the memfd
 *
 * The result is false if the agent does not exist, or if the RMPP messages that the connection is
 * sending leave too little room for the MAD. It is also false if the MAD does not use RMPP, because
 * such a MAD has at most 256 octets and needs no memfd.
 */
#define UMAD_HEAD_LEN 64
bool umad_conn_takes(const struct umad_conn *c, const void *msg, size_t len,
		     const uint8_t head[UMAD_HEAD_LEN], size_t big_len);

/**
 * umad_conn_recv() - Handle a message that arrived on a connection
 * @ret:	the answer, which is to be sent before the MADs of umad_conn_next()
 *
 * Return: 0; -EPROTO: the message was invalid or refused, and the connection is to be closed after
 * the answer
 */
int umad_conn_recv(struct umad_conn *c, const struct umad_in *in, struct umad_answer *ret,
		   ns_t now);

/**
 * umad_conn_next() - Return the next MAD for the program; NULL if the queue is empty
 * @ret_data:	data of the MAD, .data_len octets
 *
 * .msg.len of the result includes the data, even if they are to be sent in a memfd.
 */
const struct umad_mad *umad_conn_next(const struct umad_conn *c, const void **ret_data);
/*
 * umad_conn_sent() - Remove from the queue the MAD that umad_conn_next() returned, after this MAD
 * was sent
 */
void umad_conn_sent(struct umad_conn *c);
/*
 * umad_conn_lost() - Remove from the queue the MAD that umad_conn_next() returned, because it could
 * not be sent, and count it
 */
void umad_conn_lost(struct umad_conn *c);

enum umad_drop {
	/* the queue of the connection is full, because the program does not read */
	UMAD_DROP_QUEUE,
	/* the queues of all connections together are too long, or there is no memory */
	UMAD_DROP_MEM,
	UMAD_DROP_MALFORMED, /* the program wrote a MAD with a wrong length, agent, index or TID */
	UMAD_DROP_BUSY, /* the program wrote a MAD while too many of its requests were open */
	UMAD_DROP_DOWN, /* a MAD that the program wrote could not be sent for another reason */
	UMAD_DROP_MAX,
};
const char *umad_drop_name(enum umad_drop d);

struct umad_stats {
	/*
	 * .sent: MADs that the program has sent; .received: MADs that were queued for the program
	 */
	uint64_t sent, received;
	uint64_t timeouts;
	uint64_t drops[UMAD_DROP_MAX];
};

/* umad_srv_closed() - Return the sum of the counters of all closed connections */
const struct umad_stats *umad_srv_closed(const struct umad_srv *s);

struct umad_conn_info {
	enum umad_kind kind; /* kind that UMAD_HELLO asked for; 0 before this message */
	const struct node_port *port; /* port that the connection has opened; NULL: none */
	unsigned int dev, agents, queued;
	struct umad_stats st;
};
void umad_conn_info(const struct umad_conn *c, struct umad_conn_info *ret);

#endif

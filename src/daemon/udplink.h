/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_UDPLINK_H
#define DAEMON_UDPLINK_H

/*
 * DOC: Links over UDP
 *
 * A port of a fabric, whose cable leads to a socket: an external end of fabric/, the machine of
 * udp/link.h, a socket of netdev/. What comes in is checked by the machine and put
 * on the link; what goes out waits in two queues, management first, until inst_settle()
 * flushes it in batches.
 */

#include "daemon/inst.h"
#include "netdev/udp_sock.h"
#include "udp/link.h"

struct inst_udp {
	struct list link; /* in inst.udps */
	struct inst *inst;
	char name[CONF_NAME_MAX]; /* "vm1", or "udp:127.0.0.1:5001" */
	struct inst_fabric *fab;
	struct fabric_port *port; /* of the fabric */
	struct fabric_port *end;
	struct udp_link machine;
	struct udp_sock sock;
	struct loop_fd fd;
	struct ip_endpoint bound;
	struct pkt_queue mgmt; /* VL15 and QP1 */
	struct pkt_queue data;
	bool blocked; /* the socket takes no more: wait for EPOLLOUT */
	bool starved; /* no buffer for what has come: not read until @feed */
	struct timer feed;
};

/* udplink_add() - What a [udp-link] says. 0; -EINVAL, -errno of the socket, with @err */
int udplink_add(struct inst *in, const struct conf_udp_link *c, char err[INST_ERR_MAX]);

/*
 * udplink_hca() - The fabric of a udp: port: one CA and its link, made on first use. 0; -errno
 * with @err. @host names the CA's host in its NodeDescription; "": this machine
 */
int udplink_hca(struct inst *in, const struct conf_port *where, const char *host,
		char err[INST_ERR_MAX]);

/*
 * udplink_attach() - A link at a free port for a client that made both sockets; @fd is taken in any case
 * @fresh:	the peer is new and begins without silence
 *
 * Return: 0; -EBUSY the port has a cable, -EINVAL and others, with @err
 */
int udplink_attach(struct inst_udp **ret, struct inst_fabric *f, struct fabric_port *port,
		   const char *name, int fd, const struct ip_endpoint *peer, bool fresh,
		   char err[INST_ERR_MAX]);
void udplink_close(struct inst_udp *u);

/* udplink_flush_all() - Send what waits */
void udplink_flush_all(struct inst *in, ns_t now);

/* udplink_find() - By the port of the fabric; or NULL */
struct inst_udp *udplink_find(struct inst *in, const struct fabric_port *port);

/* udplink_close_all() - Before their fabrics go */
void udplink_close_all(struct inst *in);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_UDPLINK_H
#define INST_UDPLINK_H

/*
 * DOC: Links over UDP
 *
 * A link over UDP is a port of a fabric whose cable leads to a UDP socket. It consists of an external end of fabric/,
 * the state machine of udp/link.h and a socket of netdev/. The state machine checks each incoming packet before
 * fabric/ gets it. Outgoing packets wait in a queue (udp/queue.h) until inst_work() flushes them in batches.
 */

#include "fabric/fabric.h"
#include "inst/inst.h"
#include "netdev/udp_sock.h"
#include "udp/link.h"
#include "udp/queue.h"

struct inst_udp {
	struct list link; /* link in udp_links.links */
	struct inst *inst;
	char name[CONF_NAME_MAX]; /* name of the link, for example "vm1" or "udp:127.0.0.1:5001" */
	struct log_sink log; /* log of .fab, with the name of this link */
	struct inst_fabric *fab;
	struct fabric_port *port; /* port of .fab that the link occupies */
	struct fabric_port *end;
	struct udp_link machine;
	struct udp_sock sock;
	struct loop_fd fd;
	struct ip_endpoint bound;
	struct udp_queue queue; /* packets to send */
	/* true from a send that found the socket full until the loop reports EPOLLOUT */
	bool blocked;
	/*
	 * True while there is no buffer to receive into; the socket is not read until the timer .feed expires
	 */
	bool starved;
	struct timer feed;
};

/*
 * udplink_add() - Make the link of a [udp-link] section. Return: 0; -EINVAL or -errno of the socket, with a
 * message in @err
 */
int udplink_add(struct inst *in, const struct conf_udp_link *c, char err[INST_ERR_MAX]);

/*
 * udplink_hca() - Make the fabric for a port of the form udp:ADDRESS, unless this fabric exists
 * already. The fabric has one CA, and a link over UDP at the CA
 * @host:	name of the host in the CA's NodeDescription; "" for the name of this machine
 *
 * Return: 0; -errno, with a message in @err
 */
int udplink_hca(struct inst *in, const struct conf_port *where, const char *host,
		char err[INST_ERR_MAX]);

/*
 * udplink_attach() - Make a link at a free port for a client, which has made the sockets of both ends
 * @fd:		socket of this end; the function owns it, also on failure
 * @fresh:	true if the peer is new, so that the link need not begin with a period of silence
 *
 * Return: 0; -EBUSY: the port has a cable; -EINVAL or another -errno. After each of these errors,
 * @err has a message
 */
int udplink_attach(struct inst_udp **ret, struct inst_fabric *f, struct fabric_port *port,
		   const char *name, int fd, const struct ip_endpoint *peer, bool fresh,
		   char err[INST_ERR_MAX]);
void udplink_close(struct inst_udp *u);

/* udplink_flush_all() - Send the packets that wait in the queues of all links */
void udplink_flush_all(struct udp_links *l);

/* udplink_find() - Find the link at a port of a fabric; NULL if there is none */
struct inst_udp *udplink_find(const struct udp_links *l, const struct fabric_port *port);

/* udplink_close_all() - Close all links; call it before their fabrics are destroyed */
void udplink_close_all(struct udp_links *l);

#endif

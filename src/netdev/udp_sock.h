/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_UDP_SOCK_H
#define NETDEV_UDP_SOCK_H

/*
 * DOC: UDP sockets for packets in batches
 *
 * Sending: one sendmmsg() sends a batch (netdev/udp_batch.h), in which a run of packets of the same
 * length is one message with UDP_SEGMENT (GSO).
 *
 * Receiving: one recvmmsg() reads several messages. With UDP_GRO, one message can consist of many
 * datagrams. A message that fills a large part of its buffer stays in this buffer. Shorter messages
 * are copied one after the other into one buffer, so that a waiting packet does not keep a whole
 * buffer in use.
 *
 * ICMP errors mean that a peer does not exist. The errors are counted and have no other effect.
 */

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "netdev/udp_batch.h"
#include "util/endpoint.h"
#include "util/pkt.h"

#define UDP_SOCK_BUF (8 * 1024 * 1024) /* size to request by SO_RCVBUF and SO_SNDBUF */
#define UDP_SOCK_MSGS 16 /* largest number of messages of one recvmmsg() */
/* Largest number of datagrams in one received message: UDP_MAX_SEGMENTS of Linux 6.9 and later */
#define UDP_SOCK_RX_SEGS 128
/* largest number of datagrams that one udp_sock_recv() returns */
#define UDP_SOCK_MAX (UDP_SOCK_MSGS * UDP_SOCK_RX_SEGS)

#define UDP_RX_RETIRED 8

struct udp_sock_stats {
	uint64_t recv_calls, recv_msgs, send_calls, send_msgs;
	/* number of ICMP errors received, for example if no socket is bound to a peer's address */
	uint64_t icmp_errors;
	/*
	 * number of messages with more than UDP_SOCK_RX_SEGS datagrams; the datagrams beyond this
	 * number are lost
	 */
	uint64_t recv_cut;
	/* 1 if UDP_SEGMENT was refused; from then on each packet is sent as a message of its own */
	uint64_t gso_refused;
};

struct udp_sock {
	int fd;
	uint8_t family; /* IP version, 4 or 6 */
	bool gso; /* true while the kernel, the route and the device accept UDP_SEGMENT */
	bool gro;
	int rcvbuf, sndbuf; /* buffer sizes in octets that the kernel granted */
	struct udp_sock_stats stats;
};

struct udp_dgram {
	struct ip_endpoint from;
	/*
	 * buffer that holds the datagram; valid until the next udp_sock_recv(), unless the caller
	 * took a reference to it
	 */
	struct pkt_buf *buf;
	const uint8_t *data;
	uint32_t len;
};

/* Buffers for receiving, which all sockets of a thread share. */
struct udp_rx {
	struct pkt_pool *pool;
	struct pkt_buf *slot[UDP_SOCK_MSGS];
	/* buffer into which short messages are copied one after the other */
	struct pkt_buf *packed;
	uint32_t used;
	struct pkt_buf *retired[UDP_RX_RETIRED]; /* buffers that are full, to which .v may refer */
	unsigned int nretired;
	struct udp_dgram v[UDP_SOCK_MAX];
};

/*
 * udp_rx_create() - Make buffers for receiving, which are taken from @pool when they are needed.
 * Return: NULL if out of memory
 */
struct udp_rx *udp_rx_create(struct pkt_pool *pool);
void udp_rx_destroy(struct udp_rx *rx);

/**
 * udp_sock_open() - Open a bound, non-blocking socket in this process's network namespace
 * @listen:	address to bind to; port 0 lets the kernel choose
 * @ret_bound:	address to which the socket is bound; may be NULL
 *
 * Buffers larger than net.core.rmem_max need CAP_NET_ADMIN; s->rcvbuf has the granted size.
 * Return: 0; -EADDRINUSE, -EADDRNOTAVAIL and other negative errnos
 */
int udp_sock_open(struct udp_sock *s, const struct ip_endpoint *listen,
		  struct ip_endpoint *ret_bound);
/*
 * udp_sock_adopt() - Use a bound UDP socket that another process made. The buffer sizes of the
 * socket stay as they are
 * @fd:	taken; closed on failure
 *
 * Return: 0; -EINVAL: @fd is no bound UDP socket; -errno
 */
int udp_sock_adopt(struct udp_sock *s, int fd, struct ip_endpoint *ret_bound);
/* udp_sock_close() - Close the socket; may be called again */
void udp_sock_close(struct udp_sock *s);

/**
 * udp_sock_recv() - Read the datagrams that are waiting
 * @ret:	datagrams, which @rx owns
 *
 * Return: number of datagrams, 0 if none waits; -ENOBUFS: there is no buffer; -errno
 */
int udp_sock_recv(struct udp_sock *s, struct udp_rx *rx, const struct udp_dgram **ret);

/**
 * udp_cut() - Cut a message of UDP_GRO into the datagrams of which it consists
 * @v:		room for UDP_SOCK_RX_SEGS datagrams
 * @size:	length of each datagram but the last, which may be shorter; 0 or less: the message is one datagram
 *
 * A virtual machine can send a message of very many datagrams, for example of one octet each. The
 * datagrams beyond UDP_SOCK_RX_SEGS are left out.
 * Return: number of datagrams, at least 1
 */
unsigned int udp_cut(struct udp_dgram *v, const struct udp_dgram *msg, int size);

/**
 * udp_sock_send() - Send the packets of a batch, in order
 *
 * Return: number of packets that were sent, at least 1. A negative errno: no packet was sent
 *	-EAGAIN		there is no room now; the caller waits for EPOLLOUT
 *	-EOPNOTSUPP	the kernel, the route or its device refuses UDP_SEGMENT. s->gso is now
 *			false, and the caller makes the batch again without UDP_SEGMENT
 *	others		the first packet cannot be sent
 */
int udp_sock_send(struct udp_sock *s, const struct ip_endpoint *to, struct udp_batch *b);

/* udp_sock_send_empty() - Send a datagram without content. Return: 0 or -errno */
int udp_sock_send_empty(struct udp_sock *s, const struct ip_endpoint *to);

/* udp_sock_errors() - Read and count the socket's ICMP errors. Call this function after EPOLLERR */
void udp_sock_errors(struct udp_sock *s);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_UDP_SOCK_H
#define NETDEV_UDP_SOCK_H

/*
 * DOC: UDP sockets for packets in batches
 *
 * Out: packets go as they are, headers, slices and tail as parts of one message. Runs of
 * packets to the same peer with the same length, the last may be shorter, are one message
 * with UDP_SEGMENT (GSO); several messages go by one sendmmsg().
 *
 * In: one recvmmsg() reads several messages, each of which UDP_GRO may have made of many
 * datagrams. A message that fills a good part of its buffer is handed on where it lies; others
 * are copied behind each other, so that a packet that waits holds its share of a buffer.
 *
 * Errors that ICMP tells belong to a peer that is not there: they are counted, and nothing else.
 */

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "util/endpoint.h"
#include "util/pkt.h"

#define UDP_SOCK_BUF (8 * 1024 * 1024) /* SO_RCVBUF, SO_SNDBUF */
#define UDP_SOCK_MSGS 16 /* messages of one recvmmsg() */
#define UDP_SOCK_SEGS 64 /* datagrams of one message, as every kernel takes them */
#define UDP_SOCK_RX_SEGS 128 /* the same, as a kernel makes them: UDP_MAX_SEGMENTS since 6.9 */
#define UDP_SOCK_MAX (UDP_SOCK_MSGS * UDP_SOCK_RX_SEGS) /* datagrams of one udp_sock_recv() */

#define UDP_RX_RETIRED 8

struct udp_sock_stats {
	uint64_t recv_calls, recv_msgs, send_calls, send_msgs;
	uint64_t icmp_errors; /* a peer that is not there */
	uint64_t recv_cut; /* messages of more than UDP_SOCK_RX_SEGS datagrams: the rest is lost */
};

struct udp_sock {
	int fd;
	uint8_t family; /* 4 or 6 */
	bool gso; /* the kernel, the route and the device take UDP_SEGMENT */
	bool gro;
	int rcvbuf, sndbuf; /* octets that the kernel granted */
	struct udp_sock_stats stats;
};

struct udp_dgram {
	struct ip_endpoint from;
	struct pkt_buf
		*buf; /* where it lies; valid until the next udp_sock_recv(), unless referenced */
	const uint8_t *data;
	uint32_t len;
};

/* Buffers for receiving, shared by all sockets of a thread. */
struct udp_rx {
	struct pkt_pool *pool;
	struct pkt_buf *slot[UDP_SOCK_MSGS];
	struct pkt_buf *packed; /* small ones, behind each other */
	uint32_t used;
	struct pkt_buf *retired[UDP_RX_RETIRED]; /* full ones that v[] may refer to */
	unsigned int nretired;
	struct udp_dgram v[UDP_SOCK_MAX];
};

/* udp_rx_create() - NULL if out of memory; buffers are taken from @pool when they are needed */
struct udp_rx *udp_rx_create(struct pkt_pool *pool);
void udp_rx_destroy(struct udp_rx *rx);

/**
 * udp_sock_open() - A bound, non-blocking socket of this process's network namespace
 * @listen:	port 0: any
 * @ret_bound:	what it is bound to; may be NULL
 *
 * Buffers larger than net.core.rmem_max need CAP_NET_ADMIN: see s->rcvbuf.
 * Return: 0; -EADDRINUSE, -EADDRNOTAVAIL and other negative errnos
 */
int udp_sock_open(struct udp_sock *s, const struct ip_endpoint *listen,
		  struct ip_endpoint *ret_bound);
/*
 * udp_sock_adopt() - The same of a bound UDP socket that somebody else made, buffers as they are; @fd is
 * taken, on failure closed
 *
 * Return: 0; -EINVAL @fd is something else; -errno
 */
int udp_sock_adopt(struct udp_sock *s, int fd, struct ip_endpoint *ret_bound);
/* udp_sock_close() - May be called again */
void udp_sock_close(struct udp_sock *s);

/**
 * udp_sock_recv() - Read what is there
 * @ret:	datagrams, those of @rx
 *
 * Return: how many, 0 if there is none; -ENOBUFS no buffer; -errno
 */
int udp_sock_recv(struct udp_sock *s, struct udp_rx *rx, const struct udp_dgram **ret);

/**
 * udp_sock_send() - Send packets
 * @v:		stay the caller's; @n at most PKT_BATCH
 *
 * Return: how many went, at least 1; -EAGAIN no room now, wait for EPOLLOUT; another negative
 * errno: the first one cannot be sent
 */
int udp_sock_send(struct udp_sock *s, const struct ip_endpoint *to, struct pkt *const *v,
		  unsigned int n);

/* udp_sock_send_empty() - A datagram without content. 0 or -errno */
int udp_sock_send_empty(struct udp_sock *s, const struct ip_endpoint *to);

/* udp_sock_errors() - Read and count what ICMP told: after EPOLLERR */
void udp_sock_errors(struct udp_sock *s);

#endif

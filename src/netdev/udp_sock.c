/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/udp_sock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/sockaddr.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/*
 * A message of this length or more stays in the buffer into which it was received; a shorter one is
 * copied
 */
#define KEEP_OCTETS (16 * 1024)
static_assert((PKT_BUF_SIZE - KEEP_OCTETS) * UDP_RX_RETIRED > UDP_SOCK_MSGS * KEEP_OCTETS,
	      "what is packed of one udp_sock_recv() fits");

/* number of tries of a system call; each pending ICMP error makes one call fail */
#define RETRIES 4

/* --- the socket */

static int set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) < 0 ? -errno : 0;
}

static int get_int(int fd, int name)
{
	socklen_t len = sizeof(int);
	int value = 0;

	return getsockopt(fd, SOL_SOCKET, name, &value, &len) < 0 ? -errno : value;
}

static void grow(int fd, int force, int plain)
{
	if (set_int(fd, SOL_SOCKET, force, UDP_SOCK_BUF))
		set_int(fd, SOL_SOCKET, plain, UDP_SOCK_BUF);
}

static void set_options(struct udp_sock *s)
{
	bool v6 = s->family == 6;

	/*
	 * Allow fragmentation by IP, because an Ethernet path cannot carry a packet of 2 KB in one
	 * piece.
	 */
	if (v6)
		set_int(s->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DONT);
	else
		set_int(s->fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT);
	set_int(s->fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVERR : IP_RECVERR, 1);
	s->gro = !set_int(s->fd, IPPROTO_UDP, UDP_GRO, 1);
	s->gso = !set_int(s->fd, IPPROTO_UDP, UDP_SEGMENT, 0);
	/* the kernel returns twice the requested size, because it counts its own overhead */
	s->rcvbuf = get_int(s->fd, SO_RCVBUF) / 2;
	s->sndbuf = get_int(s->fd, SO_SNDBUF) / 2;
}

int udp_sock_open(struct udp_sock *s, const struct ip_endpoint *listen,
		  struct ip_endpoint *ret_bound)
{
	union sockaddr_ip a;
	socklen_t len = sockaddr_of(&a, listen);
	int fd = socket(a.sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	*s = (struct udp_sock){ .fd = -1, .family = listen->family };
	if (fd < 0)
		return -errno;
	if (listen->family == 6)
		set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (bind(fd, &a.sa, len) < 0 || getsockname(fd, &a.sa, &len) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	s->fd = fd;
	grow(fd, SO_RCVBUFFORCE, SO_RCVBUF);
	grow(fd, SO_SNDBUFFORCE, SO_SNDBUF);
	set_options(s);
	if (ret_bound)
		*ret_bound = endpoint_of(&a);
	return 0;
}

int udp_sock_adopt(struct udp_sock *s, int fd, struct ip_endpoint *ret_bound)
{
	union sockaddr_ip a = { 0 };
	socklen_t len = sizeof(a);
	int status = get_int(fd, SO_TYPE) == SOCK_DGRAM && get_int(fd, SO_PROTOCOL) == IPPROTO_UDP
			     ? 0
			     : -EINVAL;

	*s = (struct udp_sock){ .fd = -1 };
	if (!status && (getsockname(fd, &a.sa, &len) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0))
		status = -errno;
	if (status) {
		close(fd);
		return status;
	}
	*ret_bound = endpoint_of(&a);
	s->family = ret_bound->family;
	s->fd = fd;
	set_options(s);
	return 0;
}

void udp_sock_close(struct udp_sock *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

/*
 * Tell whether ICMP reported the error for an earlier datagram, so that the error does not concern
 * the present call.
 */
static bool is_icmp(int err)
{
	return err == ECONNREFUSED || err == EHOSTUNREACH || err == ENETUNREACH ||
	       err == EHOSTDOWN || err == EPROTO || err == EMSGSIZE;
}

void udp_sock_errors(struct udp_sock *s)
{
	char control[512];
	struct msghdr m;

	for (unsigned int i = 0; i < UDP_BATCH_SEGS; i++) {
		m = (struct msghdr){ .msg_control = control, .msg_controllen = sizeof(control) };
		if (recvmsg(s->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return;
		s->stats.icmp_errors++;
	}
}

/* --- receiving */

struct udp_rx *udp_rx_create(struct pkt_pool *pool)
{
	struct udp_rx *rx = calloc(1, sizeof(*rx));

	if (rx)
		rx->pool = pool;
	return rx;
}

static void put(struct pkt_buf **b)
{
	if (*b)
		pkt_buf_put(*b);
	*b = NULL;
}

/* Free the buffers of the last udp_sock_recv(), except those that packets still refer to. */
static void release(struct udp_rx *rx)
{
	while (rx->nretired)
		put(&rx->retired[--rx->nretired]);
	if (rx->packed && rx->packed->refs == 1)
		rx->used = 0;
}

void udp_rx_destroy(struct udp_rx *rx)
{
	if (!rx)
		return;
	for (unsigned int i = 0; i < UDP_SOCK_MSGS; i++)
		put(&rx->slot[i]);
	release(rx);
	put(&rx->packed);
	free(rx);
}

/*
 * Puts a buffer to which no packet refers into each slot. Returns the number of slots that have
 * one: less than UDP_SOCK_MSGS if the pool is empty.
 */
static unsigned int fill_slots(struct udp_rx *rx)
{
	unsigned int n = 0;

	for (; n < UDP_SOCK_MSGS; n++) {
		if (rx->slot[n] && rx->slot[n]->refs > 1)
			put(&rx->slot[n]);
		if (!rx->slot[n])
			rx->slot[n] = pkt_buf_alloc(rx->pool);
		if (!rx->slot[n])
			break;
	}
	return n;
}

/*
 * Returns room for @len octets after the other messages in rx->packed; NULL if there is no buffer
 */
static uint8_t *pack(struct udp_rx *rx, size_t len)
{
	uint8_t *at;

	if (rx->packed && PKT_BUF_SIZE - rx->used < len) {
		rx->retired[rx->nretired++] = rx->packed;
		rx->packed = NULL;
	}
	if (!rx->packed) {
		rx->packed = pkt_buf_alloc(rx->pool);
		rx->used = 0;
		if (!rx->packed)
			return NULL;
	}
	at = rx->packed->data + rx->used;
	rx->used += (uint32_t)(len + 63) & ~63u;
	if (rx->used > PKT_BUF_SIZE)
		rx->used = PKT_BUF_SIZE;
	return at;
}

/*
 * Returns the length that UDP_GRO reports for the datagrams of the message; 0: the message is one
 * datagram
 */
static int segment_of(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		int size;

		if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO)
			continue;
		memcpy(&size, CMSG_DATA(c), sizeof(size));
		return size;
	}
	return 0;
}

unsigned int udp_cut(struct udp_dgram *v, const struct udp_dgram *msg, int size)
{
	uint32_t seg = size > 0 ? (uint32_t)size : msg->len, off = 0;
	unsigned int n = 0;

	do {
		v[n] = *msg;
		v[n].data = msg->data + off;
		v[n].len = msg->len - off < seg ? msg->len - off : seg;
		off += v[n++].len;
	} while (off < msg->len && n < UDP_SOCK_RX_SEGS);
	return n;
}

/*
 * Stores the datagrams of one message in rx->v, from rx->v[n] on. Returns the new number of
 * datagrams in rx->v
 */
static unsigned int take(struct udp_sock *s, struct udp_rx *rx, unsigned int n, struct mmsghdr *m,
			 unsigned int slot)
{
	struct udp_dgram msg = {
		.from = endpoint_of(m->msg_hdr.msg_name),
		.buf = rx->slot[slot],
		.data = rx->slot[slot]->data,
		.len = m->msg_len,
	};
	unsigned int cut;

	if (msg.len && msg.len < KEEP_OCTETS) {
		uint8_t *at = pack(rx, msg.len);

		if (at) {
			memcpy(at, msg.data, msg.len);
			msg.data = at;
			msg.buf = rx->packed;
		}
	}
	cut = udp_cut(&rx->v[n], &msg, segment_of(&m->msg_hdr));
	n += cut;
	s->stats.recv_cut += rx->v[n - 1].data + rx->v[n - 1].len < msg.data + msg.len;
	return n;
}

static int read_msgs(struct udp_sock *s, struct mmsghdr *m, unsigned int n)
{
	int got = 0;

	for (unsigned int i = 0; i < RETRIES; i++) {
		got = recvmmsg(s->fd, m, n, MSG_DONTWAIT, NULL);
		s->stats.recv_calls++;
		if (got >= 0)
			break;
		if (!is_icmp(errno) && errno != EINTR)
			break;
	}
	if (got >= 0)
		return got;
	return errno == EAGAIN || is_icmp(errno) || errno == EINTR ? 0 : -errno;
}

int udp_sock_recv(struct udp_sock *s, struct udp_rx *rx, const struct udp_dgram **ret)
{
	union {
		char octets[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control[UDP_SOCK_MSGS];
	unsigned int slots, n = 0;
	struct mmsghdr m[UDP_SOCK_MSGS];
	struct iovec iov[UDP_SOCK_MSGS];
	union sockaddr_ip from[UDP_SOCK_MSGS];
	int got;

	release(rx);
	slots = fill_slots(rx);
	if (!slots)
		return -ENOBUFS;
	for (unsigned int i = 0; i < slots; i++) {
		iov[i] = (struct iovec){ rx->slot[i]->data, PKT_BUF_SIZE };
		m[i].msg_hdr = (struct msghdr){
			.msg_name = &from[i],
			.msg_namelen = sizeof(from[i]),
			.msg_iov = &iov[i],
			.msg_iovlen = 1,
			.msg_control = control[i].octets,
			.msg_controllen = sizeof(control[i].octets),
		};
	}
	got = read_msgs(s, m, slots);
	if (got < 0)
		return got;
	for (int i = 0; i < got; i++)
		n = take(s, rx, n, &m[i], (unsigned int)i);
	s->stats.recv_msgs += (unsigned int)got;
	*ret = rx->v;
	return (int)n;
}

/* --- sending */

union segment {
	char octets[CMSG_SPACE(sizeof(uint16_t))];
	struct cmsghdr align;
};

static void set_segment(struct msghdr *h, union segment *control, uint16_t size)
{
	struct cmsghdr *c;

	h->msg_control = control->octets;
	h->msg_controllen = sizeof(control->octets);
	c = CMSG_FIRSTHDR(h);
	c->cmsg_level = IPPROTO_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(c), &size, sizeof(size));
}

static int send_msgs(struct udp_sock *s, struct mmsghdr *m, unsigned int n)
{
	int sent = -1;

	for (unsigned int i = 0; i < RETRIES && sent < 0; i++) {
		sent = sendmmsg(s->fd, m, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		s->stats.send_calls++;
		if (sent < 0 && errno != ECONNREFUSED && errno != EINTR && (!is_icmp(errno) || i))
			break;
	}
	return sent < 0 ? -errno : sent;
}

/*
 * Tells whether the first message was refused because of UDP_SEGMENT. The kernel refuses
 * UDP_SEGMENT if the datagrams are longer than the device's MTU (EINVAL, EMSGSIZE), or if the
 * route's device has no checksum offload (EIO)
 */
static bool gso_refused(const struct udp_batch *b, int err)
{
	return b->msg[0].packets > 1 && (err == -EINVAL || err == -EIO || err == -EMSGSIZE);
}

int udp_sock_send(struct udp_sock *s, const struct ip_endpoint *to, struct udp_batch *b)
{
	struct mmsghdr m[PKT_BATCH];
	union segment control[PKT_BATCH];
	union sockaddr_ip a;
	socklen_t len = sockaddr_of(&a, to);
	unsigned int packets = 0;
	int sent;

	for (unsigned int i = 0; i < b->nmsgs; i++) {
		m[i].msg_hdr = (struct msghdr){
			.msg_name = &a,
			.msg_namelen = len,
			.msg_iov = &b->part[b->msg[i].first_part],
			.msg_iovlen = b->msg[i].nparts,
		};
		if (b->msg[i].packets > 1)
			set_segment(&m[i].msg_hdr, &control[i], b->msg[i].seg);
	}
	sent = send_msgs(s, m, b->nmsgs);
	if (sent < 0 && gso_refused(b, sent)) {
		s->gso = false;
		s->stats.gso_refused++;
		return -EOPNOTSUPP;
	}
	if (sent < 0)
		return sent;
	s->stats.send_msgs += (unsigned int)sent;
	for (int i = 0; i < sent; i++)
		packets += b->msg[i].packets;
	return (int)packets;
}

int udp_sock_send_empty(struct udp_sock *s, const struct ip_endpoint *to)
{
	union sockaddr_ip a;
	struct mmsghdr m = { .msg_hdr = { .msg_name = &a, .msg_namelen = sockaddr_of(&a, to) } };
	int sent = send_msgs(s, &m, 1);

	return sent < 0 ? sent : 0;
}

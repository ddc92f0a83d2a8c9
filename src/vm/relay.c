/* SPDX-License-Identifier: BSD-2-Clause */
#include "vm/relay.h"

#include <errno.h>
#include <string.h>

void relay_init(struct relay *r, int eth, const int *udp, unsigned int nudp)
{
	memset(r, 0, sizeof(*r));
	r->eth = eth;
	r->udp = udp;
	r->nudp = nudp;
}

static bool later(int err)
{
	/* If the queue of the other end is full, an AF_UNIX socket may fail with ENOBUFS instead of EAGAIN. */
	return err == EAGAIN || err == EWOULDBLOCK || err == ENOBUFS || err == EINTR;
}

static void prepare(struct relay *r, unsigned int i, void *base, size_t len)
{
	r->iov[i][0] = (struct iovec){ base, len };
	r->msg[i].msg_hdr = (struct msghdr){ .msg_iov = r->iov[i], .msg_iovlen = 1 };
}

/* --- to the guest */

int relay_flush(struct relay *r)
{
	while (r->at < r->n) {
		int sent = sendmmsg(r->eth, r->msg + r->at, r->n - r->at, MSG_DONTWAIT);

		if (sent < 0)
			return later(errno) ? 0 : -errno;
		r->at += (unsigned int)sent;
	}
	return 0;
}

int relay_to_guest(struct relay *r, unsigned int hca)
{
	int got;

	if (relay_blocked(r))
		return 0;
	for (unsigned int i = 0; i < RELAY_BATCH; i++)
		prepare(r, i, r->slot[i].data, VM_NET_DATA_MAX);
	/* An error of this call was reported by ICMP for an earlier datagram. Ignore it, because the link has its own time-out. */
	got = recvmmsg(r->udp[hca], r->msg, RELAY_BATCH, MSG_DONTWAIT, NULL);
	r->n = got > 0 ? (unsigned int)got : 0;
	r->at = 0;
	for (unsigned int i = 0; i < r->n; i++) {
		vm_net_wrap(r->slot[i].hdr, hca, r->msg[i].msg_len);
		r->iov[i][0] = (struct iovec){ r->slot[i].hdr, VM_NET_HDR_LEN };
		r->iov[i][1] = (struct iovec){ r->slot[i].data, r->msg[i].msg_len };
		r->msg[i].msg_hdr.msg_iovlen = 2;
	}
	return relay_flush(r);
}

/* --- from the guest */

/*
 * Sends the datagrams of one HCA. When sendmmsg() fails, its first datagram is lost, as can happen
 * on any UDP link, and the loop continues with the next datagram. The lost datagram need not be the
 * cause: the error may be an ICMP error about an earlier datagram.
 */
static void send_all(int udp, struct mmsghdr *msg, unsigned int n)
{
	for (unsigned int at = 0; at < n;) {
		int sent = sendmmsg(udp, msg + at, n - at, MSG_DONTWAIT);

		at += sent > 0 ? (unsigned int)sent : 1;
	}
}

int relay_from_guest(struct relay *r)
{
	struct relay_slot slot[RELAY_BATCH];
	struct iovec iov[RELAY_BATCH];
	struct mmsghdr msg[RELAY_BATCH] = { 0 };
	unsigned int n = 0,
		     last = 0; /* msg[0] to msg[n - 1], from HCA number @last, are to be sent */
	int got;

	for (unsigned int i = 0; i < RELAY_BATCH; i++) {
		iov[i] = (struct iovec){ slot[i].data, sizeof(slot[i].data) };
		msg[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i], .msg_iovlen = 1 };
	}
	got = recvmmsg(r->eth, msg, RELAY_BATCH, MSG_DONTWAIT, NULL);
	if (got < 0)
		return later(errno) ? 0 : -errno;
	for (int i = 0; i < got; i++) {
		unsigned int hca;
		size_t len;
		const uint8_t *data = vm_net_unwrap(slot[i].data, msg[i].msg_len, &hca, &len);

		if (!data || hca >= r->nudp)
			continue;
		if (hca != last) {
			send_all(r->udp[last], msg, n);
			n = 0;
			last = hca;
		}
		iov[n] = (struct iovec){ slot[i].data + (data - slot[i].data), len };
		msg[n].msg_hdr = (struct msghdr){ .msg_iov = &iov[n], .msg_iovlen = 1 };
		n++;
	}
	send_all(r->udp[last], msg, n);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <rdma/ib_user_mad.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit/verbs_fake_priv.h"
#include "util/be.h"

/*
 * Imitates the kernel's handling of MADs on a umad device whose agents handle RMPP. The imitation
 * replaces the upper half of a request's TID, refuses a request with the TID of an open request,
 * and passes responses on with the TID that was on the wire.
 */

struct umad {
	struct ib_user_mad_hdr h;
	uint8_t mad[MAD_LEN];
};

int fake_umad_open(struct fake_dev *d)
{
	struct mad_agent_cfg c = { .qp = 1 };
	int s[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, s),
			 0);
	fake_umad_close(d);
	assert_int_equal(mad_agent_add(hca_node(d->end->hca)->port[1].ep, &c, &d->agent), 0);
	d->umad = s[1];
	return s[0];
}

void fake_umad_close(struct fake_dev *d)
{
	mad_agent_del(d->agent);
	d->agent = NULL;
	if (d->umad >= 0)
		close(d->umad);
	d->umad = -1;
}

static void to_user(const struct fake_dev *d, const struct umad *u, size_t len)
{
	ssize_t n = d->umad < 0 ? 0 : send(d->umad, u, sizeof(u->h) + len, MSG_NOSIGNAL);

	assert_true(n >= 0 || errno == EPIPE); /* the other end has perhaps been closed */
}

static void answered(void *ctx, int status, const struct mad_addr *from, const void *mad,
		     size_t len, ns_t now)
{
	const struct fake_dev *d = ctx;
	struct umad u = { .h = { .status = ETIMEDOUT } };

	if (status) {
		to_user(d, &u, MAD_HDR_LEN);
		return;
	}
	u.h = (struct ib_user_mad_hdr){ .sl = from->sl, .path_bits = from->path_bits };
	be32_put(&u.h.qpn, from->qpn);
	be32_put(&u.h.qkey, from->qkey);
	be16_put(&u.h.lid, from->lid);
	memcpy(u.mad, mad, MAD_LEN);
	to_user(d, &u, MAD_LEN);
}

static void from_user(struct fake_dev *d, const struct umad *u)
{
	struct mad_addr to = mad_addr_gmp(be16_at(&u->h.lid), u->h.sl);
	struct mad_req q = {
		.to = to,
		.mad = u->mad,
		.keep_tid = true,
		.len = MAD_LEN,
		.timeout_ms = u->h.timeout_ms,
		.retries = u->h.retries,
		.done = answered,
		.ctx = d,
	};
	int err;

	assert_int_equal(u->h.id, 0);
	assert_int_equal(be32_at(&u->h.qpn), 1);
	assert_int_equal(be32_at(&u->h.qkey), 0x80010000);
	q.to.pkey = hca_node(d->end->hca)->port[1].pkeys[u->h.pkey_index];
	err = u->h.timeout_ms ? mad_request(d->agent, &q, NULL, d->env->now)
			      : mad_reply(d->agent, &q.to, u->mad, MAD_LEN, d->env->now);
	fake.refused_mads += err != 0;
}

bool fake_umad_work(struct fake_dev *d)
{
	struct umad u;
	bool moved = false;

	while (d->umad >= 0 && recv(d->umad, &u, sizeof(u), MSG_DONTWAIT) == sizeof(u)) {
		from_user(d, &u);
		moved = true;
	}
	return moved;
}

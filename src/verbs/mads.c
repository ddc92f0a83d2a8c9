/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <rdma/ib_user_mad.h>
#include <string.h>
#include <unistd.h>

#include "util/be.h"
#include "verbs/priv.h"

/*
 * A MAD endpoint over umad. The endpoint repeats requests and assembles RMPP messages itself. So the kernel
 * repeats no MAD, and the agents are registered as agents that handle RMPP themselves.
 *
 * The kernel replaces the upper half of a request's TID by a number of the agent. It passes on only
 * responses to requests that are open at the agent. It refuses a request with the TID of an open
 * request, so a repeated request needs a new TID. For these reasons, each MAD that is sent for a
 * request gets a lower half of its own. This half consists of a counter and of the index of the
 * request in the table of open requests. When a response arrives, the endpoint's TID is restored
 * from the entry with this index.
 */

#define KERNEL_TIMEOUT_MS 10000 /* time for which the kernel waits for the response to a MAD */
#define MADS_AT_ONCE 64 /* largest number of MADs that one ca_dispatch() reads */

/* A MAD with the layout that read() and write() of a umad device use */
struct umad {
	struct ib_user_mad_hdr h;
	uint8_t mad[MAD_LEN];
};

/* --- TIDs */

static struct verbs_mad *slot_of(struct verbs_mads *m, uint64_t tid)
{
	return &m->open[tid & (VERBS_MADS - 1)];
}

/*
 * Return the TID with which to send a request. An older request in the same entry of the table is
 * deleted.
 */
static uint64_t tid_of_request(struct verbs_mads *m, uint64_t tid, uint16_t lid)
{
	struct verbs_mad *s = slot_of(m, tid);

	s->sent =
		((s->sent + VERBS_MADS) & ~(VERBS_MADS - 1u)) | (uint32_t)(tid & (VERBS_MADS - 1));
	if (s->tid != tid)
		*s = (struct verbs_mad){
			.tid = tid, .first = s->sent, .sent = s->sent, .lid = lid
		};
	return s->sent;
}

/*
 * Return the TID with which to send a MAD whose method is that of a response:
 *  - If the MAD acknowledges RMPP segments of a response to a request of this endpoint: the TID of
 *    the segment that arrived last.
 *  - If the MAD answers a request of the other end: @tid, the TID of that request.
 */
static uint64_t tid_of_response(struct verbs_mads *m, uint64_t tid, uint16_t lid)
{
	const struct verbs_mad *s = slot_of(m, tid);

	return s->tid == tid && s->wire && s->lid == lid ? s->wire : tid;
}

/*
 * Restores the TID of the request to which @mad is a response. Return: false if the table has no such
 * request any more.
 */
static bool restore_tid(struct verbs_mads *m, uint8_t *mad)
{
	uint64_t wire = be64_at(mad + 8);
	struct verbs_mad *s = slot_of(m, wire);
	uint32_t age = s->sent - (uint32_t)wire;

	if (!s->tid || age % VERBS_MADS || age > s->sent - s->first)
		return false;
	s->wire = wire;
	be64_put(mad + 8, s->tid);
	return true;
}

/* --- sending */

static int pkey_index(const struct verbs_port *p, uint16_t pkey)
{
	int limited = -ENOENT;

	for (unsigned int i = 0; i < p->attr.pkey_tbl_len; i++) {
		if ((p->pkeys[i] ^ pkey) & 0x7fff)
			continue;
		if (p->pkeys[i] == pkey)
			return (int)i;
		limited = (int)i;
	}
	return limited;
}

static void address(struct ib_user_mad_hdr *h, const struct mad_addr *to)
{
	be32 qpn = be32_of(to->qpn), qkey = be32_of(to->qkey), flow = be32_of(to->flow_label);
	be16 lid = be16_of(to->lid);

	memcpy(&h->qpn, &qpn, sizeof(qpn));
	memcpy(&h->qkey, &qkey, sizeof(qkey));
	memcpy(&h->lid, &lid, sizeof(lid));
	h->sl = to->sl;
	h->path_bits = to->path_bits;
	if (!to->has_grh)
		return;
	h->grh_present = 1;
	h->gid_index = to->gid_index;
	h->hop_limit = to->hop_limit;
	h->traffic_class = to->tclass;
	memcpy(h->gid, to->gid.raw, sizeof(h->gid));
	memcpy(&h->flow_label, &flow, sizeof(flow));
}

static int mad_send(void *ctx, const struct mad_addr *to, const void *mad, ns_t now)
{
	struct verbs_port *p = ctx;
	struct verbs_mads *m = &p->mads;
	bool response = mad_method_is_response(mad_method(mad));
	int index = pkey_index(p, to->pkey);
	struct umad u = { .h = { .id = (uint32_t)m->agent } };
	uint64_t tid = be64_at((const uint8_t *)mad + 8);

	(void)now;
	if (m->fd < 0 || to->qp != IB_QP1 || index < 0) {
		p->stats.mad_refused++;
		return -ENETDOWN;
	}
	tid = response ? tid_of_response(m, tid, to->lid) : tid_of_request(m, tid, to->lid);
	memcpy(u.mad, mad, MAD_LEN);
	be64_put(u.mad + 8, tid);
	address(&u.h, to);
	u.h.pkey_index = (uint16_t)index;
	/* A message of the class CM has the method Send, so it has no response. */
	u.h.timeout_ms = response || mad_method(mad) == MAD_METHOD_SEND ? 0 : KERNEL_TIMEOUT_MS;
	if (write(m->fd, &u, sizeof(u)) == (ssize_t)sizeof(u))
		return 0;
	p->stats.mad_refused++;
	return -errno;
}

/* --- receiving */

static struct mad_addr sender(const struct verbs_port *p, const struct ib_user_mad_hdr *h)
{
	struct mad_addr a = {
		.qp = IB_QP1,
		.port = p->num,
		.sl = h->sl,
		.path_bits = h->path_bits,
		.lid = be16_at(&h->lid),
		.pkey = h->pkey_index < p->attr.pkey_tbl_len ? p->pkeys[h->pkey_index]
							     : IB_PKEY_DEFAULT,
		.qpn = be32_at(&h->qpn),
		.qkey = be32_at(&h->qkey),
		.has_grh = h->grh_present,
		.gid_index = h->gid_index,
		.hop_limit = h->hop_limit,
		.tclass = h->traffic_class,
		.flow_label = be32_at(&h->flow_label),
	};

	memcpy(a.gid.raw, h->gid, sizeof(a.gid.raw));
	return a;
}

static void received(struct verbs_port *p, struct umad *u, ns_t now)
{
	struct mad_addr from = sender(p, &u->h);

	/*
	 * Ignore a request that the kernel returns because no response came; the endpoint has its
	 * own timers.
	 */
	if (u->h.status)
		return;
	if (mad_method_is_response(mad_method(u->mad)) && !restore_tid(&p->mads, u->mad)) {
		p->stats.mad_late++;
		return;
	}
	mad_ep_recv(p->mads.ep, &from, u->mad, now);
}

void verbs_mads_recv(struct verbs_port *p, ns_t now)
{
	struct umad u;

	for (unsigned int i = 0; i < MADS_AT_ONCE && p->mads.fd >= 0; i++) {
		ssize_t n = read(p->mads.fd, &u, sizeof(u));

		if (n == (ssize_t)sizeof(u)) {
			received(p, &u, now);
			continue;
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n >= 0 && (size_t)n >= sizeof(u.h)) /* a request came back unanswered */
			continue;
		verbs_unwatch(p, p->mads.fd);
		close(p->mads.fd);
		p->mads.fd = -1;
		verbs_died(p, "the umad device was removed", now);
	}
}

/* --- agents */

/*
 * Register an agent. It is not an error if another program has registered an agent for the same
 * method already: the endpoint only misses the MADs that the other agent gets. In this case the
 * kernel returns -EBUSY or -EINVAL. (For a wrong class it returns -EINVAL, too.)
 */
static int agent(struct verbs_port *p, uint8_t mgmt_class, uint8_t version, uint8_t method,
		 const char *what)
{
	uint64_t methods[2] = { 0 };
	int id;

	methods[method >> 6 & 1] |= 1ull << (method & 63);
	id = p->lib->umad_register(p->mads.fd, mgmt_class, version, methods);
	if (id == -EBUSY || id == -EINVAL)
		log_to(p->log, LOG_LVL_INFO, "port %s: no %s, which another program gets", p->name,
		       what);
	else if (id < 0)
		log_to(p->log, LOG_LVL_WARN, "port %s: no %s: %s", p->name, what, strerror(-id));
	return id;
}

int verbs_mads_init(struct verbs_port *p)
{
	static const struct mad_ep_ops ops = { .send = mad_send };

	p->mads.ep = mad_ep_create(&ops, p, p->timers, p->log);
	return p->mads.ep ? 0 : -ENOMEM;
}

int verbs_mads_open(struct verbs_port *p)
{
	struct verbs_mads *m = &p->mads;
	const uint64_t none[2] = { 0 };

	m->fd = p->lib->umad_open(p->device, p->num);
	if (m->fd < 0)
		return m->fd;
	m->agent = p->lib->umad_register(m->fd, 0, 0, none);
	if (m->agent < 0)
		return m->agent;
	m->sa_agent = agent(p, MAD_CLASS_SA, 2, MAD_METHOD_REPORT, "Reports of the SA");
	m->cm_agent = agent(p, MAD_CLASS_CM, 2, MAD_METHOD_SEND, "messages of the CM");
	return 0;
}

void verbs_mads_close(struct verbs_port *p)
{
	if (p->mads.fd >= 0)
		close(p->mads.fd);
	p->mads.fd = -1;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * An SA answers with any octets. The answer to each request is the next piece of the input, with
 * the request's TID, class and method, so that the client accepts the answer. Reports arrive
 * between answers. The client must not crash, leak memory or send requests without end.
 */

#include <stdlib.h>

#include "sac/sac.h"
#include "wire/mgid.h"

struct world {
	struct timers timers;
	struct mad_ep *ep;
	struct sac *sac;
	const uint8_t *data;
	size_t len;
	uint8_t pending[64][MAD_LEN];
	unsigned int npending;
	ns_t now;
};

static size_t take(struct world *w, uint8_t *dst, size_t n)
{
	if (n > w->len)
		n = w->len;
	memcpy(dst, w->data, n);
	w->data += n;
	w->len -= n;
	return n;
}

static int ep_send(void *ctx, const struct mad_addr *to, const void *mad, ns_t now)
{
	struct world *w = ctx;

	if (w->npending < 64)
		memcpy(w->pending[w->npending++], mad, MAD_LEN);
	return 0;
}

static void answer_all(struct world *w)
{
	struct mad_addr from = mad_addr_gmp(sac_port(w->sac)->sm_lid, 0);
	unsigned int n = w->npending;
	uint8_t todo[64][MAD_LEN];

	memcpy(todo, w->pending, sizeof(todo));
	w->npending = 0;
	for (unsigned int i = 0; i < n; i++) {
		uint8_t *m = todo[i];
		uint8_t how = 0;

		take(w, &how, 1);
		if (how & 1)
			continue; /* the answer gets lost */
		m[3] = (m[3] == MAD_METHOD_SET ? MAD_METHOD_GET : m[3]) | MAD_METHOD_RESP;
		if (how & 2)
			take(w, m + 4, 2); /* status */
		if (how & 4)
			take(w, m + 16, 8); /* attribute */
		if (how & 8)
			take(w, m + SA_RMPP_OFF, SA_RMPP_LEN);
		if (how & 16)
			take(w, m + SA_DATA_OFF, 64);
		mad_ep_recv(w->ep, &from, m, w->now);
	}
}

static void report(struct world *w)
{
	struct mad_addr from = mad_addr_gmp(1, 0);
	struct mad_hdr h = { 1,	       MAD_CLASS_SA,
			     2,	       MAD_METHOD_REPORT,
			     .tid = 9, .attr_id = SA_ATTR_NOTICE };
	struct sa_hdr sa = { 0 };
	uint8_t mad[MAD_LEN];

	sa_mad_encode(mad, &h, &sa);
	take(w, mad + SA_DATA_OFF, MAD_NOTICE_GID_LEN);
	mad_ep_recv(w->ep, &from, mad, w->now);
}

static void group_done(struct sac_group_ref *r, int status, const struct ib_mcmember_rec *rec,
		       ns_t now)
{
}

static void path_done(struct sac_path_wait *w, int status, const struct ib_path_rec *rec, ns_t now)
{
}

static void ask_done(struct sac_group_query *q, int status, const struct ib_mcmember_rec *rec,
		     ns_t now)
{
}

static void event(struct sac_user *u, enum sac_event ev, const ib_gid *gid, ns_t now)
{
}

static void step(struct world *w, uint8_t op, struct sac_group_ref *refs,
		 struct sac_path_wait *waits, struct sac_group_query *q)
{
	uint8_t i = op >> 4 & 3, addr[4] = { 239, 0, 0, i };
	struct sac_join j = { .create = true,
			      .rec = { .pkey = 0x8001, .join_state = MCM_JOIN_FULL } };
	struct sac_path_key key = { ib_gid_of(1, 5), ib_gid_of(1, 100 + i), 0x8001, 0 };
	struct sac_port port = { IB_PORT_ACTIVE, 0, 5, 1, ib_gid_of(1, 5) };
	struct ib_path_rec rec;

	mgid_from_ipv4(&j.rec.mgid, addr, 0x8001, 2);
	switch (op & 7) {
	case 0:
		if (!refs[i].group)
			sac_group_join(w->sac, &refs[i], &j, w->now);
		break;
	case 1:
		sac_group_leave(w->sac, &refs[i], w->now);
		break;
	case 2:
		if (!waits[i].waiting)
			sac_path_get(w->sac, &key, &waits[i], &rec, w->now);
		break;
	case 3:
		if (op & 8)
			sac_group_list(w->sac, q, 0x8001, w->now);
		else
			sac_group_ask(w->sac, q, &j.rec.mgid, w->now);
		break;
	case 4:
		sac_reregister(w->sac, w->now);
		break;
	case 5:
		port.state = i ? IB_PORT_ACTIVE : IB_PORT_DOWN;
		port.sm_lid = 1 + i;
		sac_port_update(w->sac, &port, w->now);
		break;
	case 6:
		report(w);
		break;
	default:
		w->now += NS_MSEC(200) << i;
		break;
	}
	timers_run(&w->timers, w->now);
	answer_all(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct mad_ep_ops ops = { .send = ep_send };
	struct world w = { .data = data, .len = size, .now = NS_SEC(1) };
	struct sac_cfg cfg = { .timers = &w.timers, .seed = 1 };
	struct sac_group_ref refs[4] = { 0 };
	struct sac_path_wait waits[4] = { 0 };
	struct sac_group_query q = { .done = ask_done };
	struct sac_user u = { .event = event };
	uint8_t op;

	timers_init(&w.timers);
	w.ep = cfg.ep = mad_ep_create(&ops, &w, &w.timers, NULL);
	if (sac_create(&w.sac, &cfg))
		abort();
	sac_user_add(w.sac, &u);
	for (int i = 0; i < 4; i++) {
		refs[i].done = group_done;
		waits[i].done = path_done;
	}
	step(&w, 0x15, refs, waits, &q); /* the port comes up */
	while (take(&w, &op, 1))
		step(&w, op, refs, waits, &q);
	sac_destroy(w.sac);
	mad_ep_destroy(w.ep);
	timers_fini(&w.timers);
	return 0;
}

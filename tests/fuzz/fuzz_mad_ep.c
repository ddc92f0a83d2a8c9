/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "mad/ep.h"
#include "wire/sa.h"

/*
 * A MAD endpoint with agents and open requests. The endpoint receives MADs made from the input,
 * some of which have the TID of an open request. A step of the input has 23 octets: event (1),
 * choice of TID (1), method (1), RMPP header (12), octets of the MAD from offset 36 on (8).
 */

#define STEP 23

struct world {
	struct timers timers;
	struct log_sink log;
	struct mad_ep *ep;
	struct mad_agent *sa, *vendor, *plain;
	struct mad_tx *open;
	uint64_t tid; /* TID of the last MAD sent */
	unsigned int calls;
	ns_t now;
};

static int sent(void *ctx, const struct mad_addr *to, const void *mad, ns_t now)
{
	struct world *w = ctx;

	(void)now;
	w->tid = mad_tid(mad);
	/*
	 * A MAD that the endpoint sends to LID 1 comes back at once, as if this were the endpoint's
	 * own LID.
	 */
	if (to->lid == 1)
		mad_ep_recv(w->ep, to, mad, w->now);
	return to->lid == 3 ? -1 : 0;
}

static const struct mad_ep_ops ops = { .send = sent };

/* Read every octet of the MAD, so that the sanitizer notices octets that must not be read. */
static void look(struct world *w, const void *mad, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	if (copy && mad)
		memcpy(copy, mad, len);
	free(copy);
	w->calls++;
}

static void heard(void *ctx, const struct mad_addr *from, const void *mad, size_t len, ns_t now)
{
	struct world *w = ctx;
	uint8_t reply[MAD_LEN];

	look(w, mad, len);
	memcpy(reply, mad, len < MAD_LEN ? len : MAD_LEN);
	reply[3] |= MAD_METHOD_RESP;
	if (len >= MAD_LEN && w->calls % 2)
		mad_reply(w->sa, from, reply, MAD_LEN, now);
}

static void done(void *ctx, int status, const struct mad_addr *from, const void *mad, size_t len,
		 ns_t now)
{
	struct world *w = ctx;

	(void)from;
	(void)now;
	if (status == 0)
		look(w, mad, len);
	w->open = NULL;
}

static struct mad_agent *agent(struct world *w, uint8_t mgmt_class, uint32_t oui, bool rmpp)
{
	struct mad_agent_cfg c = {
		.qp = !mad_class_is_smp(mgmt_class),
		.mgmt_class = mgmt_class,
		.class_version = 1,
		.oui = oui,
		.rmpp = rmpp,
		.methods = { ~0ull, ~0ull },
		.recv = heard,
		.ctx = w,
	};
	struct mad_agent *a = NULL;

	if (mad_agent_add(w->ep, &c, &a))
		abort();
	return a;
}

static void make(uint8_t *mad, const uint8_t *s, uint64_t tid)
{
	static const uint8_t classes[] = { MAD_CLASS_SA, 0x30, MAD_CLASS_PERF, MAD_CLASS_SM_LID };
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = classes[s[0] >> 6],
		.class_version = 1,
		.method = s[2],
		.tid = tid,
	};

	memset(mad, 0, MAD_LEN);
	mad_hdr_encode(mad, &h);
	memcpy(mad + SA_RMPP_OFF, s + 3, SA_RMPP_LEN);
	memcpy(mad + SA_HDR_OFF, s + 15, 8);
}

static void request(struct world *w, const uint8_t *s)
{
	static uint8_t msg[4000];
	struct mad_req req = {
		.to = mad_addr_gmp(s[1] & 3, 0),
		.mad = msg,
		.len = s[1] & 4 ? sizeof(msg) : MAD_LEN,
		.timeout_ms = 100,
		.retries = s[1] >> 6,
		.done = done,
		.ctx = w,
	};

	make(msg, s, 0);
	msg[1] = MAD_CLASS_SA;
	/*
	 * The completion of any request clears w->open, even if w->open is another request. So
	 * w->open can be NULL while a request is still open.
	 */
	if (!w->open)
		(void)mad_request(w->sa, &req, &w->open, w->now);
}

static void step(struct world *w, const uint8_t *s)
{
	struct mad_addr from = mad_addr_gmp((uint16_t)(1 + (s[1] & 3)), 0);
	uint8_t mad[MAD_LEN];

	switch (s[0] & 7) {
	case 0:
		request(w, s);
		break;
	case 1:
		w->now += NS_MSEC(s[1]) * (s[2] + 1ull);
		timers_run(&w->timers, w->now);
		break;
	case 2:
		if (w->open)
			mad_cancel(w->open);
		w->open = NULL;
		break;
	case 3:
		make(mad, s, w->tid);
		mad[1] = MAD_CLASS_SA;
		mad_reply(w->sa, &from, mad, SA_DATA_OFF + (s[1] & 0x7f), w->now);
		break;
	default:
		make(mad, s, s[1] & 4 ? w->tid : s[1] >> 4);
		from.qp = !mad_class_is_smp(mad_class(mad));
		mad_ep_recv(w->ep, &from, mad, w->now);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mad_ep_limits lim = { .max_tx = 16, .max_rmpp_rx = 4, .max_rmpp_len = 1u << 16 };
	struct world w = { .now = 1 };

	timers_init(&w.timers);
	w.ep = mad_ep_create(&ops, &w, &w.timers, &w.log);
	if (!w.ep)
		abort();
	mad_ep_set_limits(w.ep, &lim);
	w.sa = agent(&w, MAD_CLASS_SA, 0, true);
	w.vendor = agent(&w, 0x30, 0, true);
	w.plain = agent(&w, MAD_CLASS_PERF, 0, false);
	agent(&w, MAD_CLASS_SM_LID, 0, false);
	for (; size >= STEP; data += STEP, size -= STEP)
		step(&w, data);
	if (size & 1)
		mad_agent_del(w.vendor);
	mad_ep_destroy(w.ep);
	/* Destroying an endpoint cancels all its timers. */
	if (timers_next(&w.timers) != NS_NEVER)
		abort();
	timers_fini(&w.timers);
	return 0;
}

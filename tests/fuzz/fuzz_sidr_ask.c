/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "sidr/sidr.h"

/*
 * A port has an SA client, a CM agent that sends and answers SIDR requests, and a registered
 * service. The port receives MADs made from the input. Each has the TID of the MAD that the port
 * sent last, and some are valid answers to that MAD. A step of the input has 48 octets: event (1),
 * choices (1), octets of the MAD from offset 24 on (46).
 */

#define STEP 48
#define ID 0x0200000000001234ull
#define PKEY 0x8123

struct world {
	struct timers timers;
	struct mad_ep *ep;
	struct cm *cm;
	struct cm_service service;
	struct sac *sac;
	struct sac_port port;
	struct sac_service *registered;
	struct sidr_ask ask;
	uint8_t sent[MAD_LEN]; /* the MAD sent last */
	unsigned int replies; /* SIDR_REPs sent */
	ns_t now;
};

static int sent(void *ctx, const struct mad_addr *to, const void *mad, ns_t now)
{
	struct world *w = ctx;

	(void)to;
	(void)now;
	memcpy(w->sent, mad, MAD_LEN);
	w->replies += mad_class(mad) == MAD_CLASS_CM && mad_attr(mad) == CM_ATTR_SIDR_REP;
	return 0;
}

static const struct mad_ep_ops ops = { .send = sent };

static void answer(struct cm_service *v, const struct mad_addr *from, const struct sidr_req *req,
		   struct sidr_rep *ret, ns_t now)
{
	(void)v;
	(void)from;
	(void)now;
	ret->status = req->priv[0];
}

/*
 * Check the result of a request: if it contains a group, the group must fulfil the guarantees of
 * sidr.h.
 */
static void done(struct sidr_ask *a, const struct sidr_result *r, ns_t now)
{
	char text[SIDR_RESULT_LEN];

	(void)now;
	sidr_result_print(text, sizeof(text), r);
	if (!memchr(text, '\0', sizeof(text)))
		abort();
	if (r->why == SIDR_OK &&
	    (r->group.ver != 1 || !ib_gid_is_mcast(&r->group.dgid) ||
	     !ib_lid_is_mcast(r->group.dlid) || (r->group.pkey ^ a->pkey) & 0x7fff))
		abort();
}

/*
 * Make the SA's answer to the MAD that was sent last. If s[1] has bit 0x20, the status is from the
 * input; otherwise it is 0. If s[1] has bit 0x40, the answer contains the requested record, with a
 * GID or a DLID from the input.
 */
static void answer_sa(const struct world *w, const uint8_t *s, uint8_t *mad, struct mad_hdr *h)
{
	const struct sa_hdr sa = { .attr_offset = SERVICE_REC_LEN / 8 };

	h->method = mad_method(w->sent) == MAD_METHOD_SET ? MAD_METHOD_GET_RESP
							  : mad_method(w->sent) | MAD_METHOD_RESP;
	h->attr_id = mad_attr(w->sent);
	h->status = s[1] & 0x20 ? be16_at(s + 2) : 0;
	memset(mad + SA_RMPP_OFF, 0, SA_RMPP_LEN);
	if (!(s[1] & 0x40))
		return;
	sa_hdr_encode(mad + SA_HDR_OFF, &sa);
	memcpy(mad + SA_DATA_OFF, w->sent + SA_DATA_OFF, SA_DATA_LEN);
	if (h->attr_id == SA_ATTR_SERVICE_RECORD)
		mad[SA_DATA_OFF + 8 + 15] = s[2] | 1; /* GID */
	else
		be16_put(mad + SA_DATA_OFF + 40, 2 + (s[2] & 1)); /* DLID */
}

/*
 * Make a message of the CM. If s[1] has bit 0x20, the message has the ServiceID ID, and the
 * RequestID of the MAD that was sent last. If s[1] also has bit 0x80, the Status of a SIDR_REP is
 * 0.
 */
static void answer_cm(const struct world *w, const uint8_t *s, uint8_t *mad, struct mad_hdr *h)
{
	if (s[1] & 0x20) {
		memcpy(mad + 24, w->sent + 24, 4);
		be64_put(mad + (h->attr_id == CM_ATTR_SIDR_REQ ? 32 : 36), ID);
		if (s[1] & 0x80)
			mad[28] = 0;
	} else if (s[1] & 0x40) {
		h->attr_id = be16_at(s + 2);
	}
}

static void receive(struct world *w, const uint8_t *s)
{
	struct mad_addr from = mad_addr_gmp((uint16_t)(2 + (s[1] & 3)), 0);
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = s[0] & 8 ? MAD_CLASS_SA : MAD_CLASS_CM,
		.class_version = 2,
		.method = MAD_METHOD_SEND,
		.attr_id = s[1] & 0x10 ? CM_ATTR_SIDR_REQ : CM_ATTR_SIDR_REP,
		.tid = mad_tid(w->sent),
	};
	uint8_t mad[MAD_LEN] = { 0 };

	memcpy(mad + MAD_HDR_LEN, s + 2, STEP - 2);
	memcpy(mad + SA_DATA_OFF, s + 2, STEP - 2);
	memcpy(mad + 120, s + 2, STEP - 2); /* private data of a SIDR_REP */
	if (h.mgmt_class == MAD_CLASS_SA)
		answer_sa(w, s, mad, &h);
	else
		answer_cm(w, s, mad, &h);
	mad_hdr_encode(mad, &h);
	mad_ep_recv(w->ep, &from, mad, w->now);
}

static void step(struct world *w, const uint8_t *s)
{
	switch (s[0] & 7) {
	case 0:
		sidr_start(w->cm, w->sac, &w->ask, ID, PKEY, w->now);
		break;
	case 1:
		sidr_stop(&w->ask);
		break;
	case 2:
		w->port.state = s[1] & 1 ? IB_PORT_ACTIVE : IB_PORT_DOWN;
		sac_port_update(w->sac, &w->port, w->now);
		if (s[1] & 2)
			sac_reregister(w->sac, w->now);
		break;
	case 3:
		sidr_again(&w->ask, w->now);
		if (s[1] & 4)
			sidr_good(&w->ask);
		if (s[1] & 1)
			cm_service_del(&w->service);
		else
			cm_service_add(w->cm, &w->service);
		if (s[1] & 2) {
			sac_service_withdraw(w->registered, w->now);
			w->registered = NULL;
		} else if (!w->registered) {
			sac_service_register(w->sac, ID, PKEY, "IBARP", &w->registered, w->now);
		}
		break;
	case 4:
	case 5:
		w->now += NS_MSEC(s[1]) * (s[2] + 1ull);
		timers_run(&w->timers, w->now);
		break;
	default:
		receive(w, s);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {
		.now = NS_SEC(1),
		.service = { .id = ID, .pkey = PKEY, .answer = answer },
		.port = { .lid = 5, .sm_lid = 2, .gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, 5) },
		.ask = { .done = done },
	};

	timers_init(&w.timers);
	w.ep = mad_ep_create(&ops, &w, &w.timers, NULL);
	if (!w.ep ||
	    cm_create(&w.cm, &(struct cm_cfg){ .ep = w.ep, .timers = &w.timers, .seed = 1 }) ||
	    sac_create(&w.sac, &(struct sac_cfg){ .ep = w.ep, .timers = &w.timers, .seed = 1 }))
		abort();
	for (; size >= STEP; data += STEP, size -= STEP)
		step(&w, data);
	sidr_stop(&w.ask);
	sac_destroy(w.sac);
	cm_destroy(w.cm);
	mad_ep_destroy(w.ep);
	/* No timer may be armed after everything was destroyed. */
	if (timers_next(&w.timers) != NS_NEVER)
		abort();
	timers_fini(&w.timers);
	return 0;
}

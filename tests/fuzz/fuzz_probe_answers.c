/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port, managers and a peer answer a probe (src/probe) with any octets. The first piece of the
 * input is the configuration of the probe. Each further piece is the answer to a request. The
 * target gives the answer the request's TID, class and attribute, so that the probe accepts it. The
 * probe must end within its bound of requests, and the texts of its findings must keep within their
 * bounds.
 */
#include <assert.h>
#include <string.h>

#include "input.h"
#include "probe/probe.h"
#include "wire/sa.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUESTS_MAX 60 /* 18 requests; two of them are sent for each of up to 16 P_Key blocks */
#define ANSWER_MAX 4096

static struct probe_cfg config(struct input *in)
{
	struct probe_cfg cfg = { .patience = NS_SEC(1) };
	uint8_t how[8] = { 0 };

	take(in, how, sizeof(how));
	cfg.pkey = be16_at(how);
	cfg.has_peer = how[2] & 1;
	cfg.neigh = (how[2] >> 1) % 4;
	memcpy(cfg.address, "10.4.0.9", 9);
	if (how[2] & 8)
		memcpy(cfg.ifc.name, "ib0", 4);
	cfg.ifc.up = how[2] & 16;
	cfg.ifc.carrier = how[2] & 32;
	cfg.ifc.connected = how[2] & 64;
	cfg.ifc.pkey = be16_at(how + 4);
	cfg.ifc.mtu = be16_at(how + 6);
	take(in, cfg.peer.raw, sizeof(cfg.peer.raw));
	if (how[3] & 1)
		take(in, cfg.ifc.broadcast.raw, sizeof(cfg.ifc.broadcast.raw));
	return cfg;
}

/*
 * Answer a request. Then let *@now advance to the probe's next deadline, so that the request is over
 * even if the probe has not accepted the answer.
 */
static void answer(struct input *in, struct probe *p, const struct survey_mad *m, ns_t *now)
{
	uint8_t mad[ANSWER_MAX] = { 0 }, how = 1;
	size_t off = m->qpn ? SA_RMPP_OFF : SMP_DATA_OFF, len;

	take(in, &how, 1);
	*now += NS_MSEC(how);
	memcpy(mad, m->mad, MAD_LEN);
	mad[MAD_OFF_METHOD] |= MAD_METHOD_RESP;
	if (how & 1) {
		probe_lost(p, mad, MAD_HDR_LEN, *now);
		return;
	}
	if (how & 2) /* change the status */
		take(in, mad + MAD_OFF_STATUS, 2);
	if (how & 4) /* damage the header of the MAD */
		take(in, mad, MAD_HDR_LEN);
	len = off + take(in, mad + off, how & 8 ? sizeof(mad) - off : MAD_LEN - off);
	if (len < MAD_LEN && !(how & 16))
		len = MAD_LEN;
	probe_recv(p, mad, len, *now);
	if (!probe_done(p) && probe_deadline(p) > *now)
		*now = probe_deadline(p);
}

static void judge(const struct probe *p)
{
	struct probe_report r;

	probe_judge(p, &r);
	assert(r.n <= PROBE_FINDINGS_MAX && r.nfacts <= PROBE_FACTS_MAX);
	assert(r.faults + r.notes == r.n);
	for (unsigned int i = 0; i < r.n; i++) {
		assert(r.finding[i].kind < PROBE_KINDS);
		assert(memchr(r.finding[i].what, 0, sizeof(r.finding[i].what)));
		assert(r.finding[i].what[0]);
	}
	for (unsigned int i = 0; i < r.nfacts; i++)
		assert(memchr(r.fact[i].text, 0, sizeof(r.fact[i].text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct probe_cfg cfg = config(&in);
	struct probe *p = probe_create(&cfg);
	unsigned int sent = 0;
	struct survey_mad m;
	ns_t now = 0;

	assert(p);
	while (!probe_done(p)) {
		if (probe_next(p, &m, now)) {
			assert(++sent <= REQUESTS_MAX);
			answer(&in, p, &m, &now);
		} else if (!probe_done(p)) {
			assert(probe_deadline(p) != NS_NEVER);
			if (probe_deadline(p) > now)
				now = probe_deadline(p);
		}
	}
	judge(p);
	probe_free(p);
	return 0;
}

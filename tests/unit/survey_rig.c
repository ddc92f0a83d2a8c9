/* SPDX-License-Identifier: BSD-2-Clause */
#include "survey_rig.h"

#define RTT NS_USEC(200)
#define SENT_MAX 200000

/* --- agents */

struct ask {
	struct chk_node *n;
	uint8_t arrived;
	const uint8_t *mad;
	uint8_t *data;
	uint32_t mod;
};

static void node_info(const struct ask *a)
{
	const struct chk_node *n = a->n;
	const struct smp_node_info i = {
		.base_version = 1,
		.class_version = 1,
		.node_type = (uint8_t)n->type,
		.nports = n->nports,
		.sys_guid = n->sys_guid,
		.node_guid = n->guid,
		.port_guid = n->sw ? n->port[0].guid : n->port[a->arrived].guid,
		.pkey_cap = 32,
		.local_port = a->arrived,
	};

	smp_node_info_encode(a->data, &i);
}

static void switch_info(const struct ask *a)
{
	struct smp_switch_info si = a->n->sw->si;

	si.lft_cap = 0xc000;
	si.mft_cap = 64;
	si.enforce_cap = 32;
	if (!si.lft_top)
		si.lft_top = (uint16_t)(a->n->sw->lft_len - 1);
	smp_switch_info_encode(a->data, &si);
}

static void port_info(const struct ask *a)
{
	struct smp_port_info pi = a->n->port[a->mod].pi;

	pi.lid = a->n->port[a->mod].lid;
	pi.lmc = a->n->port[a->mod].lmc;
	smp_port_info_encode(a->data, &pi);
}

static void lft(const struct ask *a)
{
	for (unsigned int i = 0; i < 64; i++) {
		unsigned int lid = a->mod * 64 + i;

		a->data[i] = lid < a->n->sw->lft_len ? a->n->sw->lft[lid] : SMP_LFT_NONE;
	}
}

static void mft(const struct ask *a)
{
	unsigned int position = a->mod >> 28, block = a->mod & 0x1ff;
	uint16_t mask[32] = { 0 };

	for (unsigned int i = 0; i < 32; i++)
		if (block * 32 + i < a->n->sw->mft_len)
			mask[i] = (uint16_t)(a->n->sw->mft[block * 32 + i][position / 4] >>
					     (16 * (position % 4)));
	smp_mft_block_encode(a->data, mask);
}

static void pkeys(const struct ask *a)
{
	const struct chk_port *p = &a->n->port[a->n->sw ? a->mod >> 16 : a->arrived];
	uint16_t v[32] = { 0 };

	for (unsigned int i = 0; i < 32 && i < p->npkeys; i++)
		v[i] = p->pkeys[i];
	smp_pkey_block_encode(a->data, v);
}

/* Write an SLtoVLMappingTable in which SL n uses VL n mod 4. */
static void sltovl(const struct ask *a)
{
	uint8_t vl[16];

	assert_in_range(a->mod & 0xff, 1, a->n->nports);
	assert_in_range(a->mod >> 8, 1, a->n->nports);
	for (unsigned int sl = 0; sl < 16; sl++)
		vl[sl] = sl % 4;
	smp_sltovl_encode(a->data, vl);
}

static bool sm_info(const struct rig *r, const struct ask *a)
{
	for (uint32_t i = 0; i < r->real->nmanagers; i++)
		if (r->real->manager[i].node == a->n->index) {
			smp_sm_info_encode(a->data, &r->real->manager[i].info);
			return true;
		}
	return false;
}

static bool answer_smp(const struct ask *a, uint16_t attr)
{
	switch (attr) {
	case SMP_ATTR_NODE_INFO:
		node_info(a);
		return true;
	case SMP_ATTR_NODE_DESC:
		memcpy(a->data, a->n->desc, 64);
		return true;
	case SMP_ATTR_SWITCH_INFO:
		switch_info(a);
		return true;
	case SMP_ATTR_PORT_INFO:
		assert_in_range(a->mod, 0, a->n->nports);
		/*
		 * The port number in a CA's PortInfo request must be that of the port at which the
		 * request arrived, because many HCAs refuse any other port number.
		 */
		assert_true(a->n->sw || a->mod == a->arrived);
		port_info(a);
		return true;
	case SMP_ATTR_LFT:
		lft(a);
		return true;
	case SMP_ATTR_MFT:
		mft(a);
		return true;
	case SMP_ATTR_SLTOVL:
		sltovl(a);
		return true;
	case SMP_ATTR_PKEY_TABLE:
		pkeys(a);
		return true;
	}
	return false;
}

/* --- routes */

static bool walk(const struct rig *r, const uint8_t *mad, struct chk_node **ret, uint8_t *ret_port)
{
	struct chk_node *n = r->real->node[r->own];
	uint8_t at = n->sw ? 0 : 1;

	assert_int_equal(mad[SMP_OFF_HOP_PTR], 0);
	for (unsigned int i = 1; i <= mad[SMP_OFF_HOP_CNT]; i++) {
		uint8_t out = mad[SMP_OFF_INITIAL_PATH + i];
		const struct chk_port *p = &n->port[out];

		assert_in_range(out, 1, n->nports);
		assert_true(n->sw || n->index == r->own); /* CAs do not forward */
		if (!chk_peer(r->real, p) || p->pi.port_state < IB_PORT_INIT)
			return false;
		n = chk_peer(r->real, p);
		at = p->peer_port;
	}
	*ret = n;
	*ret_port = at;
	return true;
}

static struct chk_node *by_lid(const struct rig *r, uint16_t lid)
{
	for (uint32_t i = 0; i < r->real->n; i++)
		for (unsigned int p = 0; p <= r->real->node[i]->nports; p++)
			if (r->real->node[i]->port[p].lid == lid)
				return r->real->node[i];
	fail_msg("nobody has LID %u", lid);
	return NULL;
}

static bool serve(struct rig *r, struct survey_mad *m)
{
	struct ask a = { .mad = m->mad, .mod = mad_attr_mod(m->mad) };
	uint16_t attr = mad_attr(m->mad);
	bool hit;

	assert_int_equal(mad_method(m->mad), MAD_METHOD_GET);
	if (m->qpn) {
		a.n = by_lid(r, m->dlid);
		assert_int_equal(attr, PMA_ATTR_PORT_COUNTERS);
	} else if (!walk(r, m->mad, &a.n, &a.arrived)) {
		return false;
	}
	hit = (!r->times || r->hits < r->times) && r->silent && !strcmp(r->silent, a.n->desc) &&
	      (!r->silent_attr || r->silent_attr == attr);
	r->hits += hit;
	if (hit && !r->status)
		return false;
	m->mad[3] = MAD_METHOD_GET_RESP;
	be16_put(m->mad + MAD_OFF_STATUS,
		 (uint16_t)((m->qpn ? 0 : MAD_STATUS_DR_D) | (hit ? r->status : 0)));
	/* write an agent id into the upper half of the TID, as the kernel's umad does */
	be32_put(m->mad + MAD_OFF_TID, 0xabcd);
	a.data = m->mad + SMP_DATA_OFF;
	if (m->qpn) {
		const struct chk_counters *k = a.n->port[a.data[1]].counters;
		struct pma_port_counters c = { .port_select = a.data[1] };

		if (k)
			c = k->first;
		pma_port_counters_encode(a.data, &c);
	} else if (attr == SMP_ATTR_SM_INFO ? !sm_info(r, &a) : !answer_smp(&a, attr)) {
		return false;
	}
	if (r->twist)
		r->twist(m->mad);
	return true;
}

/* --- time */

void rig_init(struct rig *r, struct chk_fabric *real)
{
	*r = (struct rig){ .real = real,
			   .own = rig_node(real, "h1")->index,
			   .cfg = survey_cfg_default() };
	r->cfg.counter_ms = 1000;
}

struct wire {
	struct survey_mad m;
	ns_t at;
	bool answered;
};

static void send(struct rig *r, struct survey *s, struct wire *q, unsigned int *tail, ns_t *times,
		 uint64_t *sent)
{
	struct survey_mad m;

	while (survey_next(s, &m, r->now)) {
		struct wire *w = &q[(*tail)++ % SURVEY_WINDOW_MAX];

		w->m = m;
		w->at = r->now + RTT;
		w->answered = serve(r, &w->m);
		r->open++;
		if (r->open > r->most_open)
			r->most_open = r->open;
		assert_true(*sent < SENT_MAX);
		times[(*sent)++] = r->now;
	}
}

static void measure(struct rig *r, const ns_t *times, uint64_t sent)
{
	for (uint64_t i = 0, j = 0; i < sent; i++) {
		while (times[i] - times[j] >= NS_MSEC(100))
			j++;
		if (i - j + 1 > r->most_in_100ms)
			r->most_in_100ms = i - j + 1;
	}
}

struct chk_fabric *rig_read(struct rig *r)
{
	struct survey *s = survey_create(&r->cfg);
	struct wire *q = calloc(SURVEY_WINDOW_MAX, sizeof(*q));
	ns_t *times = calloc(SENT_MAX, sizeof(*times)), waited;
	unsigned int head = 0, tail = 0;
	struct chk_fabric *f;
	uint64_t sent = 0;

	while (send(r, s, q, &tail, times, &sent), !survey_done(s)) {
		ns_t at = survey_deadline(s);

		if (head != tail)
			at = ns_min(at, q[head % SURVEY_WINDOW_MAX].at);
		assert_true(at != NS_NEVER);
		waited = at > r->now ? at - r->now : 0;
		r->now += waited;
		/*
		 * A survey waits longer than 300 ms only between its two readings of the counters.
		 */
		if (r->between && waited > NS_MSEC(300))
			r->between(r);
		while (head != tail && q[head % SURVEY_WINDOW_MAX].at <= r->now) {
			struct wire *w = &q[head++ % SURVEY_WINDOW_MAX];

			r->open--;
			if (w->answered)
				survey_recv(s, w->m.mad, sizeof(w->m.mad), r->now);
			else
				survey_lost(s, w->m.mad, MAD_HDR_LEN, r->now);
		}
	}
	measure(r, times, sent);
	r->st = *survey_stats(s);
	f = survey_take(s);
	survey_free(s);
	free(q);
	free(times);
	chk_fabric_free(r->real);
	return f;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/sa_priv.h"

#include "util/list.h"

const struct world_subscription *world_subscribed(const struct world *w, enum mad_trap trap)
{
	for (unsigned int i = 0; i < w->nsubs; i++) {
		const struct mad_inform_info *f = &w->sub[i].info;

		if (f->generic && (f->trap == trap || f->trap == 0xffff))
			return &w->sub[i];
	}
	return NULL;
}

bool sa_has_subscribed(const struct world *w, const void *arg)
{
	return world_subscribed(w, MAD_TRAP_MC_CREATED) && world_subscribed(w, MAD_TRAP_MC_DELETED);
}

static bool same(const struct mad_inform_info *a, const struct mad_inform_info *b)
{
	return ib_gid_equal(&a->gid, &b->gid) && a->lid_begin == b->lid_begin &&
	       a->lid_end == b->lid_end && a->generic == b->generic && a->trap == b->trap;
}

void sa_inform(struct world *w, const struct seen *s, const struct sa_mad *q)
{
	struct mad_inform_info f;
	unsigned int i = 0;

	if (q->mad.method != MAD_METHOD_SET || mad_inform_info_decode(&f, q->data, q->data_len)) {
		sa_answer(w, s, q, MAD_STATUS_BAD_ATTR, NULL, 0);
		return;
	}
	while (i < w->nsubs && !same(&w->sub[i].info, &f))
		i++;
	if (!f.subscribe && i < w->nsubs) {
		w->sub[i] = w->sub[--w->nsubs];
	} else if (f.subscribe && i < WORLD_SUBSCRIPTIONS) {
		w->sub[i] = (struct world_subscription){ f, s->n };
		w->nsubs += i == w->nsubs;
	}
	sa_answer(w, s, q, 0, q->data, MAD_INFORM_INFO_LEN);
}

static void report_send(struct timer *t, ns_t now)
{
	struct world_report *r = container_of(t, struct world_report, timer);
	struct ib_ud_hdr to = { .lrh.slid = r->w->dut.lid,
				.bth.pkey = WORLD_PKEY,
				.deth.src_qp = IB_QP1 };

	if (!r->left)
		return;
	r->left--;
	sa_send_gmp(r->w, &to, r->mad);
	timer_arm(&r->w->timers, t, now + NS_SEC(1));
}

void world_group_tell(struct world *w, const ib_gid *g, enum mad_trap trap)
{
	struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = SA_CLASS_VERSION,
		.method = MAD_METHOD_REPORT,
		.tid = ++w->tid,
		.attr_id = MAD_ATTR_NOTICE,
	};
	struct mad_notice n = {
		.generic = true, .type = MAD_NOTICE_TYPE_SM, .producer = 4, .trap = (uint16_t)trap
	};
	struct world_report *r = w->report;

	if (!world_subscribed(w, trap))
		return;
	while (r < w->report + WORLD_REPORTS - 1 && r->left)
		r++;
	n.issuer_lid = WORLD_SM_LID;
	n.issuer_gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, WORLD_SWITCH_GUID);
	mad_notice_gid(&n, g);
	timer_cancel(&w->timers, &r->timer);
	timer_init(&r->timer, report_send);
	r->w = w;
	r->left = 5;
	sa_mad_encode(r->mad, &h, &(struct sa_hdr){ 0 });
	mad_notice_encode(r->mad + SA_DATA_OFF, &n);
	report_send(&r->timer, w->now);
}

void sa_report_done(struct world *w, uint64_t tid)
{
	for (unsigned int i = 0; i < WORLD_REPORTS; i++)
		if (w->report[i].left && mad_tid(w->report[i].mad) == tid) {
			w->report[i].left = 0;
			timer_cancel(&w->timers, &w->report[i].timer);
		}
}

void world_sa_fini(struct world *w)
{
	for (unsigned int i = 0; i < WORLD_REPORTS; i++)
		timer_cancel(&w->timers, &w->report[i].timer);
}

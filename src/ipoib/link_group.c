/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/link.h"

#include "ipoib/mcast.h"
#include "text/print.h"

/*
 * This file determines which broadcast group the link has. With IPOIB_GROUP_MAP the group is always
 * known. With IPOIB_GROUP_SIDR (draft-pelissier-ipoib-encaparp-00 §6.2) a SIDR server has to be
 * asked for the group, before the first join and after each restart of the SA client. A joined link
 * keeps its group and its values until SIDR answers. If the SA grants a new join in the meantime,
 * the granted record is stored, and compared with SIDR's answer when that arrives.
 */

static bool by_sidr(const struct ipoib_link *l)
{
	return l->profile->group_from == IPOIB_GROUP_SIDR;
}

bool ipoib_link_group_known(const struct ipoib_link *l)
{
	return !by_sidr(l) || l->group_known;
}

void ipoib_link_group_ask(struct ipoib_link *l, ns_t now)
{
	if (l->group_asked || !by_sidr(l))
		return;
	l->group_asked = true;
	sidr_start(l->cfg.cm, l->sac, &l->sidr, l->cfg.sidr_service, l->pkey, now);
}

void ipoib_link_group_forget(struct ipoib_link *l)
{
	sidr_stop(&l->sidr);
	l->group_asked = l->group_known = l->group_proved = l->group_doubted = l->granted = false;
}

void ipoib_link_group_restart(struct ipoib_link *l)
{
	l->group_known = l->group_proved = l->group_doubted = l->granted = false;
}

/*
 * Handles a question to which SIDR gave no answer, or an answer that cannot be used. The SIDR
 * client asks again by itself. A link that is up stays up.
 */
static void sidr_failed(struct ipoib_link *l, const struct sidr_result *r)
{
	char text[SIDR_RESULT_LEN];
	struct text t = ipoib_link_reason(l);
	bool again = l->sidr_why == r->why;

	l->sidr_why = r->why;
	l->stats.joins_failed++;
	text_add(&t, "the link's group is not known: %s", sidr_result_print(text, sizeof(text), r));
	ipoib_log(l, again ? LOG_LVL_DEBUG : LOG_LVL_WARN, "%s", l->reason);
}

/*
 * Makes @mgid the MGID of the broadcast group, because SIDR's new answer names another group than
 * SIDR's previous answer.
 */
static void group_changed(struct ipoib_link *l, const ib_gid *mgid, ns_t now)
{
	char gid[PRINT_GID_LEN];

	ipoib_log(l, LOG_LVL_INFO, "SIDR: the link's group is %s",
		  print_gid(gid, sizeof(gid), mgid));
	ipoib_link_leave(l, now);
	ipoib_mcasts_regroup(l, mgid);
}

static void sidr_done(struct sidr_ask *a, const struct sidr_result *r, ns_t now)
{
	struct ipoib_link *l = container_of(a, struct ipoib_link, sidr);

	if (r->why != SIDR_OK) {
		sidr_failed(l, r);
		return;
	}
	l->sidr_why = SIDR_OK;
	l->group_known = true;
	l->group_proved = false;
	l->sidr_group = r->group;
	if (!ib_gid_equal(&r->group.dgid, &l->mgid))
		group_changed(l, &r->group.dgid, now);
	if (!l->bcast->full.group)
		timer_cancel(l->cfg.timers, &l->retry);
	/*
	 * A new answer of SIDR starts the join at once, even during the back-off after an earlier
	 * refusal.
	 */
	if (l->granted)
		ipoib_link_granted(l, now);
	else if (l->state == IPOIB_LINK_JOINING && !l->joined)
		ipoib_link_join(l, now);
	else
		ipoib_link_advance(l, now);
}

void ipoib_link_group_init(struct ipoib_link *l)
{
	l->sidr.done = sidr_done;
}

bool ipoib_link_group_differs(const struct ipoib_link *l, const struct ib_mcmember_rec *rec,
			      struct text *t)
{
	const struct sidr_group *g = &l->sidr_group;

	if (!by_sidr(l))
		return false;
	if (rec->mlid != g->dlid)
		text_add(t, "MLID 0x%04x, but SIDR said DLID 0x%04x", rec->mlid, g->dlid);
	else if ((rec->pkey ^ g->pkey) & 0x7fff)
		text_add(t, "P_Key 0x%04x, but SIDR said 0x%04x", rec->pkey, g->pkey);
	else if (rec->qkey != g->qkey)
		text_add(t, "Q_Key 0x%08x, but SIDR said 0x%08x", rec->qkey, g->qkey);
	return t->len != 0;
}

void ipoib_link_group_again(struct ipoib_link *l, ns_t now)
{
	if (by_sidr(l))
		sidr_again(&l->sidr, now);
}

void ipoib_link_group_wrong(struct ipoib_link *l, ns_t now)
{
	l->group_known = l->group_proved = false;
	ipoib_link_group_again(l, now);
}

void ipoib_link_group_good(struct ipoib_link *l)
{
	l->group_proved = by_sidr(l);
	if (by_sidr(l))
		sidr_good(&l->sidr);
}

bool ipoib_link_group_renew(struct ipoib_link *l, ns_t now)
{
	if (!l->group_proved)
		return false;
	l->group_proved = l->group_known = false;
	sidr_refresh(&l->sidr, now);
	return true;
}

bool ipoib_link_group_doubt(struct ipoib_link *l, const struct ib_mcmember_rec *rec, ns_t now)
{
	const struct sidr_group *g = &l->sidr_group;
	bool same = rec->sl == g->sl && rec->tclass == g->tclass &&
		    rec->flow_label == g->flow_label && rec->hop_limit == g->hop_limit;

	if (same || !by_sidr(l) || l->group_doubted) {
		l->group_doubted &= !same;
		return false;
	}
	l->group_doubted = true;
	l->group_known = false;
	sidr_refresh(&l->sidr, now);
	return true;
}

void ipoib_link_group_values(const struct ipoib_link *l, struct ib_mcmember_rec *rec)
{
	const struct sidr_group *g = &l->sidr_group;

	if (!by_sidr(l))
		return;
	rec->sl = g->sl;
	rec->tclass = g->tclass;
	rec->flow_label = g->flow_label;
	rec->hop_limit = g->hop_limit;
}

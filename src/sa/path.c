/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/path.h"

#include <errno.h>

#include "partition/partition.h"

/*
 * DOC: PathRecord
 *
 * IBTA 15.2.5.16. A request names each end of a path by its GID or LID, or leaves the end open,
 * which means all end ports. A pair of ports has one path for each LID of the destination. If the
 * DLID is the base LID of the destination plus i, the SLID is the base LID of the source plus (i
 * modulo the number of LIDs of the source). Values that the request gives, GIDs included, are
 * repeated in the answer.
 *
 * A path also serves any MTU and rate below its own, so "exactly" and "less than" are granted by
 * lowering the values in the record. A request can choose neither the life time nor the SL. The SL
 * of a path is the SL of the partition, as in OpenSM.
 *
 * ServiceID, QoSClass, TClass and FlowLabel have no effect, because one path serves all their
 * values.
 *
 * If the request leaves an end open, the pairs are examined in slices (job.c).
 */

/* number of pairs of ports that one slice examines; a slice takes a millisecond or two */
#define SLICE 2048

static bool has(const struct sa_path_query *q, uint64_t comp)
{
	return q->mask & comp;
}

/*
 * Find the port that a GID, a LID or both name. @ret becomes NULL if the request gives neither GID
 * nor LID. Return: 0 or a MAD status
 */
static uint16_t end_find(const struct sm_db *db, const ib_gid *gid, const uint16_t *lid,
			 const struct sm_port **ret)
{
	const struct sm_port *p = NULL;

	if (gid) {
		p = sm_db_port_by_gid(db, gid);
		if (!p)
			return SA_STATUS_INVALID_GID;
		if (lid && !sm_port_has_lid(p, *lid))
			return SA_STATUS_NO_RECORDS;
	} else if (lid) {
		p = sm_db_port_by_lid(db, *lid);
		if (!p)
			return SA_STATUS_NO_RECORDS;
	}
	*ret = p;
	return 0;
}

/*
 * Return the P_Key of a path; 0: no P_Key permits the path. A request without a P_Key gets a P_Key
 * that the ends share. A request with a P_Key gets this P_Key if both ends may use it with each
 * other.
 */
static uint16_t pair_pkey(const struct sa_path_query *q, const struct sm_port *src,
			  const struct sm_port *dst)
{
	uint16_t a, b;

	if (!has(q, PATH_COMP_PKEY))
		return sm_ports_share_pkey(src, dst);
	a = sm_port_pkey(src, q->want.pkey);
	b = sm_port_pkey(dst, q->want.pkey);
	return ib_pkey_match(a, b) ? q->want.pkey : 0;
}

static bool life_fits(const struct sa_path_query *q, uint8_t life)
{
	switch (sa_sel(q->mask, PATH_COMP_LIFE_SEL, PATH_COMP_LIFE, q->want.life_sel)) {
	case SA_SEL_GT:
		return life > q->want.life;
	case SA_SEL_LT:
		return life < q->want.life;
	case SA_SEL_EXACT:
		return life == q->want.life;
	default:
		return true;
	}
}

static bool plain_fits(const struct sa_path_query *q, const struct ib_path_rec *rec)
{
	const struct ib_path_rec *w = &q->want;

	if ((has(q, PATH_COMP_RAW) && w->raw) ||
	    (has(q, PATH_COMP_HOP_LIMIT) && w->hop_limit != rec->hop_limit) ||
	    (has(q, PATH_COMP_SL) && w->sl != rec->sl) ||
	    (has(q, PATH_COMP_PREFERENCE) && w->preference != rec->preference))
		return false;
	return !(has(q, PATH_COMP_REVERSIBLE) && w->reversible) || rec->reversible;
}

/*
 * Lower the MTU and rate of @rec to the values that the request allows. Return: false if @rec does
 * not fit the request
 */
static bool rec_fit(const struct sa_path_query *q, struct ib_path_rec *rec)
{
	const struct ib_path_rec *w = &q->want;

	rec->mtu_code = sa_code_best(ib_mtu_octets, rec->mtu_code,
				     sa_sel(q->mask, PATH_COMP_MTU_SEL, PATH_COMP_MTU, w->mtu_sel),
				     w->mtu_code);
	rec->rate_code = sa_code_best(
		ib_rate_mbps, rec->rate_code,
		sa_sel(q->mask, PATH_COMP_RATE_SEL, PATH_COMP_RATE, w->rate_sel), w->rate_code);
	return rec->mtu_code && rec->rate_code && life_fits(q, rec->life) && plain_fits(q, rec);
}

static void rec_echo(const struct sa_path_query *q, struct ib_path_rec *rec)
{
	const struct ib_path_rec *w = &q->want;

	if (has(q, PATH_COMP_SERVICE_ID))
		rec->service_id = w->service_id;
	if (has(q, PATH_COMP_QOS_CLASS))
		rec->qos_class = w->qos_class;
	if (has(q, PATH_COMP_TCLASS))
		rec->tclass = w->tclass;
	if (has(q, PATH_COMP_FLOW_LABEL))
		rec->flow_label = w->flow_label;
	if (has(q, PATH_COMP_SGID))
		rec->sgid = w->sgid;
	if (has(q, PATH_COMP_DGID))
		rec->dgid = w->dgid;
}

static bool path_rec(const struct sa_path_query *q, const struct sm_port *src,
		     const struct sm_port *dst, uint16_t slid, uint16_t dlid, uint16_t pkey,
		     struct ib_path_rec *ret)
{
	const struct sm_db *db = q->r->db;
	struct sm_path there, back;

	if (sm_db_path(db, src, dst, dlid, &there))
		return false;
	*ret = (struct ib_path_rec){
		.dgid = sm_port_gid(db, dst),
		.sgid = sm_port_gid(db, src),
		.dlid = dlid,
		.slid = slid,
		.reversible = sm_db_path(db, dst, src, slid, &back) == 0,
		.pkey = pkey,
		.sl = sm_partitions_sl(sm_partitions(q->r->sa->sm), pkey),
		.mtu_sel = SA_SEL_EXACT,
		.mtu_code = there.mtu_code,
		.rate_sel = SA_SEL_EXACT,
		.rate_code = there.rate_code,
		.life_sel = SA_SEL_EXACT,
		.life = src == dst ? 0 : there.life,
	};
	return rec_fit(q, ret);
}

int sa_path_pair(const struct sa_path_query *q, const struct sm_port *src,
		 const struct sm_port *dst, unsigned int first)
{
	unsigned int n = 1u << dst->lmc, found = 0;
	uint16_t pkey = pair_pkey(q, src, dst);

	if (!pkey || !src->lid || !dst->lid || !sa_visible(q->r, src) || !sa_visible(q->r, dst))
		return 0;
	for (unsigned int i = 0; i < n && found < q->max; i++) {
		unsigned int bits = (first + i) % n;
		uint16_t dlid = (uint16_t)(dst->lid + bits);
		uint16_t slid = (uint16_t)(src->lid + (bits & ((1u << src->lmc) - 1)));
		struct ib_path_rec rec;
		uint8_t *slot;

		if (has(q, PATH_COMP_DLID) && dlid != q->want.dlid)
			continue;
		if (has(q, PATH_COMP_SLID))
			slid = q->want.slid;
		if (!path_rec(q, src, dst, slid, dlid, pkey, &rec))
			continue;
		rec_echo(q, &rec);
		slot = sa_table_add(q->t);
		if (!slot)
			return -ENOSPC;
		ib_path_rec_encode(slot, &rec);
		found++;
	}
	return (int)found;
}

/*
 * Add to the answer a PathRecord with the MLID and the parameters of the requested multicast group,
 * if the source is in the partition of the group.
 */
static void group_add(const struct sa_path_query *q, const struct sm_port *src)
{
	const struct sm_group *g = sm_group_find(q->r->sa->sm, &q->want.dgid);
	struct ib_path_rec rec;
	uint8_t *slot;

	if (!g || !sm_port_pkey(src, g->rec.pkey) || !sa_visible(q->r, src) ||
	    (has(q, PATH_COMP_DLID) && q->want.dlid != g->rec.mlid) ||
	    (has(q, PATH_COMP_PKEY) && ((q->want.pkey ^ g->rec.pkey) & 0x7fff)))
		return;
	rec = (struct ib_path_rec){
		.dgid = g->rec.mgid,
		.sgid = sm_port_gid(q->r->db, src),
		.dlid = g->rec.mlid,
		.slid = has(q, PATH_COMP_SLID) ? q->want.slid : src->lid,
		.flow_label = g->rec.flow_label,
		.hop_limit = g->rec.hop_limit,
		.tclass = g->rec.tclass,
		.pkey = g->rec.pkey,
		.sl = g->rec.sl,
		.mtu_sel = SA_SEL_EXACT,
		.mtu_code = g->rec.mtu_code,
		.rate_sel = SA_SEL_EXACT,
		.rate_code = g->rec.rate_code,
		.life_sel = SA_SEL_EXACT,
		.life = g->rec.life,
	};
	if (!rec_fit(q, &rec) || (has(q, PATH_COMP_TCLASS) && q->want.tclass != rec.tclass) ||
	    (has(q, PATH_COMP_FLOW_LABEL) && q->want.flow_label != rec.flow_label))
		return;
	rec_echo(q, &rec);
	slot = sa_table_add(q->t);
	if (slot)
		ib_path_rec_encode(slot, &rec);
}

static uint16_t to_group(const struct sa_path_query *q)
{
	const struct sm_port *src = q->r->port;
	uint16_t status = end_find(q->r->db, has(q, PATH_COMP_SGID) ? &q->want.sgid : NULL,
				   has(q, PATH_COMP_SLID) ? &q->want.slid : NULL, &src);

	if (status)
		return status;
	group_add(q, src ? src : q->r->port);
	return 0;
}

/*
 * Step to the next pair of ports. If @src is a port, it is the source of all pairs. If @src is
 * NULL, all end ports become the source one after another. The same applies to @dst and the
 * destination.
 * Return: false if there are no more pairs
 */
static bool pair_next(const struct sm_db *db, const struct sm_port *src, const struct sm_port *dst,
		      struct sa_job *j)
{
	if (!j->src) {
		j->src = src ? src : sm_db_end_port(db, NULL);
		j->dst = dst ? dst : sm_db_end_port(db, NULL);
		return j->src && j->dst;
	}
	j->dst = dst ? NULL : sm_db_end_port(db, j->dst);
	if (j->dst)
		return true;
	j->src = src ? NULL : sm_db_end_port(db, j->src);
	j->dst = dst ? dst : sm_db_end_port(db, NULL);
	return j->src;
}

/* Handle a request that leaves one or both ends open, so that there are many pairs of ports. */
static uint16_t to_many(const struct sa_path_query *q, struct sa_req *r, const struct sm_port *src,
			const struct sm_port *dst)
{
	uint64_t ports = sm_db_end_ports(r->db);

	if (!sa_quota_take(r, SA_WORK_PATHS, src || dst ? ports : ports * ports))
		return SA_QUOTA;
	if (!r->job)
		return sa_job_slice(r);
	for (unsigned int i = 0; i < SLICE; i++) {
		if (!pair_next(r->db, src, dst, r->job) ||
		    sa_path_pair(q, r->job->src, r->job->dst, 0) < 0)
			return 0;
	}
	return sa_job_slice(r);
}

static uint16_t to_ports(const struct sa_path_query *q, struct sa_req *r)
{
	const struct sm_port *src, *dst;
	uint16_t status;

	status = end_find(r->db, has(q, PATH_COMP_SGID) ? &q->want.sgid : NULL,
			  has(q, PATH_COMP_SLID) ? &q->want.slid : NULL, &src);
	if (!status)
		status = end_find(r->db, has(q, PATH_COMP_DGID) ? &q->want.dgid : NULL,
				  has(q, PATH_COMP_DLID) ? &q->want.dlid : NULL, &dst);
	if (status)
		return status;
	if (!src || !dst)
		return to_many(q, r, src, dst);
	sa_path_pair(q, src, dst, 0);
	return 0;
}

bool sa_path_codes_valid(const struct sa_path_query *q)
{
	const struct ib_path_rec *w = &q->want;

	return sa_code_valid(ib_mtu_octets, has(q, PATH_COMP_MTU), w->mtu_sel, w->mtu_code) &&
	       sa_code_valid(ib_rate_mbps, has(q, PATH_COMP_RATE), w->rate_sel, w->rate_code);
}

uint16_t sa_path_collect(struct sa_req *r, struct sa_table *t)
{
	struct sa_path_query q = { .r = r, .t = t, .mask = r->m.sa.comp_mask };
	uint16_t status;

	if (!r->job)
		r->sa->stats.paths++;
	if (ib_path_rec_decode(&q.want, r->m.data, r->m.data_len))
		return SA_MALFORMED;
	if (!sa_path_codes_valid(&q))
		return SA_STATUS_REQ_INVALID;
	/* NumbPath has no effect on Get, which is answered with one path. */
	q.max = has(&q, PATH_COMP_NUMB_PATH) && r->m.mad.method != MAD_METHOD_GET ? q.want.numb_path
										  : UINT8_MAX;
	if (has(&q, PATH_COMP_DGID) && ib_gid_is_mcast(&q.want.dgid))
		status = to_group(&q);
	else
		status = to_ports(&q, r);
	return status == SA_STATUS_NO_RECORDS ? 0 : status;
}

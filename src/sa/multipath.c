/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/path.h"

#include <errno.h>

/*
 * DOC: MultiPathRecord
 *
 * GetMulti (IBTA 15.2.5.20, 15.3.2) asks for paths from any of several source GIDs to any of
 * several destination GIDs. The answer consists of PathRecords. NumbPath limits the total number of
 * paths.
 *
 * A request with two sources, two destinations and NumbPath 2 asks for a path and its alternate.
 * These two paths have no end in common. There are two ways to pair the sources with the
 * destinations. The SA chooses the pairing whose two paths have fewer hops in total. If the
 * destination of the second path has several LIDs (LMC), the DLID of this path is preferably not
 * the base LID.
 */

#define COUNTS (MULTI_PATH_COMP_SGID_COUNT | MULTI_PATH_COMP_DGID_COUNT)
#define SERVICE_ID (MULTI_PATH_COMP_SERVICE_ID_MSB | MULTI_PATH_COMP_SERVICE_ID_LSB)

struct multi {
	struct sa_path_query q;
	struct ib_multi_path_rec rec;
	const struct sm_port *port[MULTI_PATH_GIDS_MAX]; /* ports of the GIDs, sources first */
};

/* Translate the component mask of MultiPathRecord into that of PathRecord. */
static uint64_t path_mask(uint64_t m)
{
	static const struct {
		uint64_t from, to;
	} map[] = {
		{ MULTI_PATH_COMP_RAW, PATH_COMP_RAW },
		{ MULTI_PATH_COMP_FLOW_LABEL, PATH_COMP_FLOW_LABEL },
		{ MULTI_PATH_COMP_HOP_LIMIT, PATH_COMP_HOP_LIMIT },
		{ MULTI_PATH_COMP_TCLASS, PATH_COMP_TCLASS },
		{ MULTI_PATH_COMP_REVERSIBLE, PATH_COMP_REVERSIBLE },
		{ MULTI_PATH_COMP_NUMB_PATH, PATH_COMP_NUMB_PATH },
		{ MULTI_PATH_COMP_PKEY, PATH_COMP_PKEY },
		{ MULTI_PATH_COMP_QOS_CLASS, PATH_COMP_QOS_CLASS },
		{ MULTI_PATH_COMP_SL, PATH_COMP_SL },
		{ SERVICE_ID, PATH_COMP_SERVICE_ID },
	};
	/*
	 * The six bits for selectors and values of MTU, rate and life time have the same order in
	 * both masks, so they are shifted together.
	 */
	uint64_t ret =
		(m & 0x3f * MULTI_PATH_COMP_MTU_SEL) / MULTI_PATH_COMP_MTU_SEL * PATH_COMP_MTU_SEL;

	for (size_t i = 0; i < ARRAY_SIZE(map); i++) {
		if (m & map[i].from)
			ret |= map[i].to;
	}
	return ret;
}

static uint16_t ports_find(const struct sa_req *r, struct multi *m)
{
	unsigned int n = m->rec.nsgid + m->rec.ndgid;

	for (unsigned int i = 0; i < n; i++) {
		m->port[i] = sm_db_port_by_gid(r->db, &m->rec.gid[i]);
		if (!m->port[i])
			return SA_STATUS_INVALID_GID;
	}
	return 0;
}

/*
 * Return the total number of hops of the paths from @s0 to @d0 and from @s1 to @d1, plus 1; 0 if
 * one of the paths does not exist.
 */
static unsigned int way_len(const struct sm_db *db, const struct sm_port *s0,
			    const struct sm_port *d0, const struct sm_port *s1,
			    const struct sm_port *d1)
{
	struct sm_path a, b;

	if (sm_db_path(db, s0, d0, 0, &a) || sm_db_path(db, s1, d1, 0, &b))
		return 0;
	return a.hops + b.hops + 1u;
}

static void alternate_paths(struct multi *m)
{
	const struct sm_db *db = m->q.r->db;
	const struct sm_port *const *s = m->port, *const *d = m->port + 2;
	unsigned int straight = way_len(db, s[0], d[0], s[1], d[1]);
	unsigned int cross = way_len(db, s[0], d[1], s[1], d[0]);
	bool crossed = !straight || (cross && cross < straight);

	m->q.max = 1;
	sa_path_pair(&m->q, s[0], d[crossed], 0);
	sa_path_pair(&m->q, s[1], d[!crossed], 1);
}

static void all_paths(struct multi *m)
{
	unsigned int left = m->q.max;

	for (unsigned int s = 0; s < m->rec.nsgid; s++) {
		for (unsigned int d = 0; d < m->rec.ndgid && left; d++) {
			int n;

			m->q.max = left;
			n = sa_path_pair(&m->q, m->port[s], m->port[m->rec.nsgid + d], 0);
			if (n < 0)
				return;
			left -= (unsigned int)n;
		}
	}
}

static uint16_t judge(const struct sa_req *r, const struct multi *m)
{
	uint64_t mask = r->m.sa.comp_mask;

	if ((mask & COUNTS) != COUNTS || ((mask & SERVICE_ID) && (mask & SERVICE_ID) != SERVICE_ID))
		return SA_STATUS_INSUF_COMPONENTS;
	if (!m->rec.nsgid || !m->rec.ndgid)
		return SA_STATUS_REQ_INVALID;
	if (!sa_path_codes_valid(&m->q))
		return SA_STATUS_REQ_INVALID;
	return 0;
}

uint16_t sa_multi_path_collect(struct sa_req *r, struct sa_table *t)
{
	struct multi m = { .q = { .r = r, .t = t, .mask = path_mask(r->m.sa.comp_mask) } };
	uint16_t status;

	/* GetMulti uses RMPP in both directions, so its request must be an RMPP message, too. */
	if (!(r->m.rmpp.flags & RMPP_FLAG_ACTIVE))
		return SA_STATUS_REQ_INVALID;
	if (ib_multi_path_rec_decode(&m.rec, r->m.data, r->m.data_len))
		return SA_STATUS_REQ_INVALID;
	m.q.want = m.rec.path;
	status = judge(r, &m);
	if (!status)
		status = ports_find(r, &m);
	if (status)
		return status;
	m.q.max = m.q.mask & PATH_COMP_NUMB_PATH ? m.rec.path.numb_path : UINT8_MAX;
	if (m.rec.nsgid == 2 && m.rec.ndgid == 2 && m.q.max == 2)
		alternate_paths(&m);
	else
		all_paths(&m);
	/* The answer consists of PathRecords, so it has the attribute ID of PathRecord. */
	r->m.mad.attr_id = SA_ATTR_PATH_RECORD;
	return 0;
}

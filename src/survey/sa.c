/* SPDX-License-Identifier: BSD-2-Clause */
#include "survey/sa.h"

#include <errno.h>

#include "wire/records.h"
#include "wire/sa.h"

uint16_t survey_sa_lid(const struct chk_fabric *f)
{
	const struct chk_node *n = f->n ? f->node[0] : NULL;

	if (!n)
		return 0;
	return n->port[n->sw ? 0 : n->arrived].pi.sm_lid;
}

struct mad_hdr survey_sa_header(uint8_t method, uint16_t attr, uint32_t tid)
{
	return (struct mad_hdr){
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.method = method,
		.tid = tid,
		.attr_id = attr,
	};
}

/* --- members */

void survey_ask_members(uint8_t mad[MAD_LEN], uint64_t sm_key, uint32_t tid)
{
	const struct mad_hdr h =
		survey_sa_header(MAD_METHOD_GET_TABLE, SA_ATTR_MCMEMBER_RECORD, tid);
	const struct sa_hdr sa = { .sm_key = sm_key };

	sa_mad_encode(mad, &h, &sa);
}

static int take_record(struct chk_fabric *f, const uint8_t *p, size_t len, bool *ret_named)
{
	struct ib_mcmember_rec rec;
	struct chk_member m;
	int err = ib_mcmember_rec_decode(&rec, p, len);

	if (err)
		return err;
	m = (struct chk_member){
		.mlid = rec.mlid,
		.port_guid = ib_gid_guid(&rec.port_gid),
		.join_state = rec.join_state,
		.mgid = rec.mgid,
	};
	/* The record of a group has no PortGID if the group has no members, or if the SA does not name the members. */
	if (!m.port_guid)
		return 0;
	*ret_named = true;
	return chk_add_member(f, &m);
}

static int take_members(struct chk_fabric *f, const void *mad, size_t len)
{
	bool named = false;
	struct sa_mad m;
	size_t step;
	int err = sa_mad_decode(&m, mad, len);

	if (err || m.mad.method != MAD_METHOD_GET_TABLE_RESP ||
	    m.mad.attr_id != SA_ATTR_MCMEMBER_RECORD)
		return -EBADMSG;
	if (m.mad.status == SA_STATUS_NO_RECORDS)
		return 0;
	if (m.mad.status)
		return -EPROTO;
	step = m.sa.attr_offset * 8u;
	if (!step) /* the answer has no records */
		return 0;
	if (step < MCMEMBER_REC_LEN)
		return -EBADMSG;
	for (size_t at = 0; !err && at + MCMEMBER_REC_LEN <= m.data_len; at += step)
		err = take_record(f, m.data + at, m.data_len - at, &named);
	return err || named ? err : -EACCES;
}

int survey_take_members(struct chk_fabric *f, const void *mad, size_t len)
{
	int err = take_members(f, mad, len);

	if (!err)
		f->members = CHK_MEMBERS_KNOWN;
	else if (err == -EACCES)
		f->members = CHK_MEMBERS_UNNAMED;
	else if (err == -ENOMEM || err == -ENOSPC)
		f->members = CHK_MEMBERS_CUT;
	else
		f->members = CHK_MEMBERS_REFUSED;
	return err;
}

/* --- paths */

void survey_ask_path(uint8_t mad[MAD_LEN], uint16_t slid, uint16_t dlid, uint32_t tid)
{
	const struct mad_hdr h = survey_sa_header(MAD_METHOD_GET, SA_ATTR_PATH_RECORD, tid);
	const struct sa_hdr sa = { .comp_mask =
					   PATH_COMP_SLID | PATH_COMP_DLID | PATH_COMP_NUMB_PATH };
	const struct ib_path_rec rec = { .slid = slid, .dlid = dlid, .numb_path = 1 };

	sa_mad_encode(mad, &h, &sa);
	ib_path_rec_encode(mad + SA_DATA_OFF, &rec);
}

int survey_take_path(struct chk_fabric *f, const void *mad, size_t len)
{
	struct ib_path_rec rec;
	struct sa_mad m;
	int err = sa_mad_decode(&m, mad, len);

	if (err || m.mad.method != MAD_METHOD_GET_RESP || m.mad.attr_id != SA_ATTR_PATH_RECORD)
		return -EBADMSG;
	if (m.mad.status)
		return -EPROTO;
	err = ib_path_rec_decode(&rec, m.data, m.data_len);
	if (err)
		return err;
	return chk_add_path(f, &(struct chk_path){ rec.slid, rec.dlid, rec.sl });
}

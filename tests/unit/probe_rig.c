/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe_rig.h"

#include <string.h>

#include "wire/mgid.h"
#include "wire/sa.h"

#define REQUESTS_MAX 64

/* --- a healthy fabric */

static struct rig_agent agent(uint16_t lid, uint64_t guid, uint8_t type)
{
	return (struct rig_agent){
		.node = { .node_type = type,
			  .nports = 2,
			  .node_guid = guid,
			  .port_guid = guid,
			  .pkey_cap = 32,
			  .local_port = 1 },
		.port = { .gid_prefix = IB_SUBNET_PREFIX_DEFAULT,
			  .lid = lid,
			  .sm_lid = RIG_SM_LID,
			  .cap_mask = SMP_CAP_IS_SL_MAP,
			  .width_active = 2,
			  .speed_active = 4,
			  .port_state = IB_PORT_ACTIVE,
			  .phys_state = IB_PHYS_LINK_UP,
			  .neighbor_mtu = IB_MTU_4096,
			  .mtu_cap = IB_MTU_4096,
			  .oper_vls = 3 },
		.pkey = { 0xffff, RIG_PKEY },
	};
}

static struct ib_mcmember_rec group(uint8_t scope, uint32_t last)
{
	struct ib_mcmember_rec g = { .qkey = 0xb1b,
				     .mlid = 0xc000,
				     .mtu_code = IB_MTU_2048,
				     .pkey = RIG_PKEY,
				     .rate_code = 3,
				     .scope = scope };

	mgid_broadcast(&g.mgid, RIG_PKEY, scope);
	if (last)
		be32_put(g.mgid.raw + 12, last);
	return g;
}

void rig_init(struct rig *r)
{
	*r = (struct rig){
		.own = agent(RIG_LID, RIG_GUID, IB_NODE_CA),
		.link = agent(0, 0x20001, IB_NODE_SWITCH),
		.peer = agent(RIG_PEER_LID, RIG_PEER_GUID, IB_NODE_CA),
		.sm = { .guid = 0x30001, .state = SMP_SM_MASTER },
		.group = { group(2, 0), group(2, 0xe0000001) },
		.ngroups = 2,
		.member = true,
		.peer_member = true,
		.own_lid = RIG_LID,
		.peer_known = true,
		.path = { .dlid = RIG_PEER_LID,
			  .mtu_code = IB_MTU_2048,
			  .rate_code = 3,
			  .pkey = RIG_PKEY },
		.rtt = NS_MSEC(1),
		.cfg = { .pkey = RIG_PKEY, .patience = NS_SEC(10), .sm_key = 1 },
	};
}

void rig_peer(struct rig *r)
{
	r->cfg.has_peer = true;
	r->cfg.peer = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, RIG_PEER_GUID);
}

void rig_interface(struct rig *r)
{
	r->cfg.ifc = (struct probe_if){
		.name = "ib0", .up = true, .carrier = true, .mtu = 2044, .pkey = RIG_PKEY
	};
	mgid_broadcast(&r->cfg.ifc.broadcast, RIG_PKEY, 2);
}

/* --- agents */

static bool answer_smp(struct rig *r, uint8_t *mad, uint16_t dlid)
{
	struct rig_agent *a = dlid == RIG_PEER_LID ? &r->peer : &r->own;
	uint8_t *data = mad + SMP_DATA_OFF;
	uint32_t mod = mad_attr_mod(mad);

	if (mad_class(mad) == MAD_CLASS_SM_DR && mad[SMP_OFF_HOP_CNT]) {
		assert_int_equal(mad[SMP_OFF_HOP_CNT], 1);
		assert_int_equal(mad[SMP_OFF_INITIAL_PATH + 1], r->own.node.local_port);
		a = &r->link;
	}
	switch (mad_attr(mad)) {
	case SMP_ATTR_NODE_INFO:
		smp_node_info_encode(data, &a->node);
		return true;
	case SMP_ATTR_PORT_INFO:
		assert_int_equal(mod, a == &r->own && a->node.node_type == IB_NODE_SWITCH
					      ? 0
					      : a->node.local_port);
		smp_port_info_encode(data, &a->port);
		return true;
	case SMP_ATTR_PKEY_TABLE:
		assert_in_range(mod, 0, a->node.pkey_cap / SMP_PKEYS_PER_BLOCK - 1);
		smp_pkey_block_encode(data, a->pkey + mod * SMP_PKEYS_PER_BLOCK);
		return true;
	case SMP_ATTR_SLTOVL:
		smp_sltovl_encode(data, r->vl);
		return true;
	case SMP_ATTR_SM_INFO:
		assert_int_equal(dlid, RIG_SM_LID);
		smp_sm_info_encode(data, &r->sm);
		return true;
	}
	return false;
}

/* --- the SA */

static uint16_t answer_path(struct rig *r, const struct sa_mad *m, uint8_t *data)
{
	struct ib_path_rec want, rec = r->path;

	assert_int_equal(ib_path_rec_decode(&want, m->data, m->data_len), 0);
	assert_int_equal(ib_gid_guid(&want.sgid), RIG_GUID);
	if (ib_gid_guid(&want.dgid) == RIG_GUID)
		rec.dlid = r->own_lid;
	else if (!r->peer_known || ib_gid_guid(&want.dgid) != RIG_PEER_GUID)
		return SA_STATUS_NO_RECORDS;
	else if (r->path_pkey && m->sa.comp_mask & PATH_COMP_PKEY &&
		 (want.pkey & 0x7fff) != r->path_pkey)
		return SA_STATUS_NO_RECORDS;
	if (!rec.dlid)
		return SA_STATUS_NO_RECORDS;
	ib_path_rec_encode(data, &rec);
	return 0;
}

static uint16_t answer_group(struct rig *r, const struct sa_mad *m, uint8_t *data)
{
	struct ib_mcmember_rec want;

	assert_int_equal(ib_mcmember_rec_decode(&want, m->data, m->data_len), 0);
	assert_int_equal(m->sa.sm_key, m->sa.comp_mask & MCM_COMP_PORT_GID ? r->cfg.sm_key : 0);
	if (m->sa.comp_mask & MCM_COMP_PORT_GID &&
	    !(ib_gid_guid(&want.port_gid) == RIG_GUID ? r->member : r->peer_member))
		return SA_STATUS_NO_RECORDS;
	for (unsigned int i = 0; i < r->ngroups; i++)
		if (ib_gid_equal(&want.mgid, &r->group[i].mgid)) {
			ib_mcmember_rec_encode(data, &r->group[i]);
			return 0;
		}
	return SA_STATUS_NO_RECORDS;
}

static size_t answer_groups(struct rig *r, uint8_t *mad, const struct sa_mad *m)
{
	const struct sa_hdr sa = { .attr_offset = 7 };
	struct ib_mcmember_rec want;

	assert_int_equal(ib_mcmember_rec_decode(&want, m->data, m->data_len), 0);
	assert_int_equal(m->sa.comp_mask, MCM_COMP_PKEY);
	sa_hdr_encode(mad + SA_HDR_OFF, &sa);
	for (unsigned int i = 0; i < r->ngroups; i++)
		ib_mcmember_rec_encode(mad + SA_DATA_OFF + i * 56, &r->group[i]);
	return SA_DATA_OFF + r->ngroups * 56;
}

static bool answer_sa(struct rig *r, uint8_t *mad, uint16_t dlid, size_t *ret_len)
{
	uint8_t copy[MAD_LEN];
	uint16_t status = 0;
	struct sa_mad m;

	assert_int_equal(dlid, RIG_SM_LID);
	memcpy(copy, mad, sizeof(copy));
	assert_int_equal(sa_mad_decode(&m, copy, sizeof(copy)), 0);
	switch (m.mad.attr_id) {
	case SA_ATTR_CLASS_PORT_INFO:
		break;
	case SA_ATTR_PATH_RECORD:
		status = answer_path(r, &m, mad + SA_DATA_OFF);
		break;
	case SA_ATTR_MCMEMBER_RECORD:
		if (m.mad.method == MAD_METHOD_GET_TABLE)
			*ret_len = answer_groups(r, mad, &m);
		else
			status = answer_group(r, &m, mad + SA_DATA_OFF);
		break;
	default:
		return false;
	}
	be16_put(mad + MAD_OFF_STATUS, status);
	return true;
}

static bool hit(const struct rig *r, const uint8_t *mad, uint16_t dlid)
{
	const struct rig_fault *f = &r->fault;

	if ((!f->mgmt_class && !f->attr && !f->dlid) ||
	    (f->mgmt_class && f->mgmt_class != mad_class(mad)) ||
	    (f->attr && f->attr != mad_attr(mad)) || (f->dlid && f->dlid != dlid))
		return false;
	return !f->with_port || be64_at(mad + SA_HDR_OFF + 12) & MCM_COMP_PORT_GID;
}

/* Turn the request @mad into its answer. Returns the length of the answer; 0: there is no answer */
static size_t serve(struct rig *r, uint8_t *mad, uint16_t dlid)
{
	bool fails = hit(r, mad, dlid);
	size_t len = MAD_LEN;

	assert_true(mad_method(mad) == MAD_METHOD_GET || mad_method(mad) == MAD_METHOD_GET_TABLE);
	if (fails && !r->fault.status)
		return 0;
	if (!(mad_class(mad) == MAD_CLASS_SA ? answer_sa(r, mad, dlid, &len)
					     : answer_smp(r, mad, dlid)))
		return 0;
	mad[MAD_OFF_METHOD] |= MAD_METHOD_RESP;
	/* write an agent id into the upper half of the TID, as the kernel's umad does */
	be32_put(mad + MAD_OFF_TID, 0xabcd);
	if (fails)
		be16_put(mad + MAD_OFF_STATUS, r->fault.status);
	if (mad_class(mad) == MAD_CLASS_SM_DR)
		be16_put(mad + MAD_OFF_STATUS, mad_status(mad) | MAD_STATUS_DR_D);
	if (r->twist)
		r->twist(r, mad);
	return len;
}

/* --- runs */

void rig_run(struct rig *r)
{
	struct probe *p = probe_create(&r->cfg);
	ns_t now = NS_SEC(1);

	r->requests = 0;
	while (!probe_done(p)) {
		struct survey_mad m[2], none;
		size_t len;

		if (!probe_next(p, &m[0], now))
			break;
		assert_true(++r->requests < REQUESTS_MAX);
		assert_false(probe_next(p, &none, now)); /* only one request is open at a time */
		len = serve(r, m[0].mad, m[0].dlid);
		now += r->rtt;
		if (len)
			probe_recv(p, m[0].mad, len, now);
		else
			probe_lost(p, m[0].mad, MAD_HDR_LEN, now);
	}
	assert_true(probe_done(p));
	assert_true(probe_deadline(p) == NS_NEVER);
	probe_judge(p, &r->report);
	probe_free(p);
}

static void print(const struct rig *r)
{
	for (unsigned int i = 0; i < r->report.nfacts; i++)
		print_message("%s %s\n", r->report.fact[i].name, r->report.fact[i].text);
	for (unsigned int i = 0; i < r->report.n; i++)
		print_message("%s: %s\n", probe_kind_info(r->report.finding[i].kind)->name,
			      r->report.finding[i].what);
}

void rig_healthy(struct rig *r)
{
	rig_run(r);
	if (r->report.n)
		print(r);
	assert_int_equal(r->report.n, 0);
	assert_int_equal(r->report.faults + r->report.notes, 0);
}

void rig_finds(struct rig *r, enum probe_kind kind, const char *words)
{
	rig_run(r);
	if (r->report.n != 1)
		print(r);
	assert_int_equal(r->report.n, 1);
	assert_int_equal(probe_kind_info(kind)->note ? r->report.notes : r->report.faults, 1);
	assert_string_equal(probe_kind_info(r->report.finding[0].kind)->name,
			    probe_kind_info(kind)->name);
	if (!strstr(r->report.finding[0].what, words))
		fail_msg("found '%s', expected '%s'", r->report.finding[0].what, words);
}

void rig_finds_both(struct rig *r, enum probe_kind a, enum probe_kind b)
{
	rig_run(r);
	if (r->report.n != 2)
		print(r);
	assert_int_equal(r->report.n, 2);
	assert_string_equal(probe_kind_info(r->report.finding[0].kind)->name,
			    probe_kind_info(a)->name);
	assert_string_equal(probe_kind_info(r->report.finding[1].kind)->name,
			    probe_kind_info(b)->name);
}

const char *rig_fact(const struct rig *r, const char *name)
{
	for (unsigned int i = 0; i < r->report.nfacts; i++)
		if (!strcmp(r->report.fact[i].name, name))
			return r->report.fact[i].text;
	return NULL;
}

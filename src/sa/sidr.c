/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/priv.h"

#include "cm/cm.h"
#include "wire/mgid.h"

/*
 * DOC: The SIDR server of the subnet manager's node
 *
 * A SIDR request asks for the broadcast group of the partition whose P_Key is in the request. The
 * server serves the groups of all partitions under one ServiceID (draft-pelissier-ipoib-encaparp-00
 * §6.2). For each group, the SA has a ServiceRecord with the P_Key of the partition and the GID of
 * the subnet manager's port. These records have no lease, cannot be changed by requests, and come
 * before records that ports have registered. After each sweep they are replaced by records of the
 * groups that exist then.
 *
 * An answer contains the Q_Key of the group. So the server answers only ports that are members of
 * the partition, and refuses other requests with Status 2. The subnet manager's node itself need
 * not be a member.
 */

#define SCOPES 16

static const struct sm_group *group_of(const struct sa *sa, uint16_t pkey)
{
	const struct sm_group *g;
	ib_gid mgid;

	for (uint8_t scope = 0; scope < SCOPES; scope++) {
		if (mgid_broadcast(&mgid, pkey | IB_PKEY_FULL, scope))
			continue;
		g = sm_group_find(sa->sm, &mgid);
		if (g && g->broadcast)
			return g;
	}
	return NULL;
}

static bool is_member(const struct sa *sa, uint16_t lid, uint16_t pkey)
{
	const struct sm_db *db = sm_db(sa->sm);
	const struct sm_port *p = db ? sm_db_port_by_lid(db, lid) : NULL;

	return p && sm_port_pkey(p, pkey);
}

static void answer(struct cm_service *v, const struct mad_addr *from, const struct sidr_req *req,
		   struct sidr_rep *ret, ns_t now)
{
	const struct sa *sa = container_of(v, struct sa, sidr);
	const struct sm_group *g;
	struct sidr_group values;

	(void)now;
	ret->status = SIDR_STATUS_REJECTED;
	if (!is_member(sa, from->lid, req->pkey))
		return;
	g = group_of(sa, req->pkey);
	if (!g)
		return;
	values = sidr_group_of(&g->rec);
	ret->status = SIDR_STATUS_OK;
	ret->qpn = IB_QPN_MCAST;
	ret->qkey = values.qkey;
	sidr_group_encode(ret->priv, &values);
}

void sa_sidr_refresh(struct sa *sa)
{
	const struct sm_port *self;
	const struct sm_group *g;
	struct sm_status st;

	if (!sa->sidr.cm)
		return;
	sa_services_clear_own(sa);
	sm_status(sa->sm, &st);
	self = sm_db_port_by_guid(sm_db(sa->sm), st.self.guid);
	for (g = sm_group_next(sa->sm, NULL); self && g; g = sm_group_next(sa->sm, g)) {
		struct ib_service_rec rec = {
			.id = sa->sidr.id,
			.gid = sm_port_gid(sm_db(sa->sm), self),
			.pkey = g->rec.pkey,
			.name = SIDR_SERVICE_NAME,
		};

		if (g->broadcast)
			sa_service_add_own(sa, &rec, self->guid);
	}
}

int sa_sidr_start(struct sa *sa, uint64_t service_id)
{
	struct cm_cfg cfg = {
		.ep = sm_ep(sa->sm),
		.timers = sm_timers(sa->sm),
		.log = sm_log(sa->sm),
	};
	int err = cm_create(&sa->cm, &cfg);

	if (err)
		return err;
	sa->sidr = (struct cm_service){ .id = service_id, .answer = answer };
	err = cm_service_add(sa->cm, &sa->sidr);
	if (err) {
		cm_destroy(sa->cm);
		sa->cm = NULL;
	}
	return err;
}

void sa_sidr_fini(struct sa *sa)
{
	cm_destroy(sa->cm);
}

const struct cm *sa_cm(const struct sa *sa)
{
	return sa->cm;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "text/parts.h"
#include "text/print.h"
#include "wire/cm_sidr.h"

static void add_group(struct text *t, const struct sidr_group *g)
{
	char gid[PRINT_GID_LEN];

	text_add(t,
		 " Ver %u SL %u TClass 0x%02x DLID 0x%04x HopLmt %u FlowLabel 0x%05x P_Key 0x%04x "
		 "Q_Key 0x%08x DGID %s",
		 g->ver, g->sl, g->tclass, g->dlid, g->hop_limit, g->flow_label, g->pkey, g->qkey,
		 print_gid(gid, sizeof(gid), &g->dgid));
}

static void add_req(struct text *t, const void *mad, size_t len)
{
	struct sidr_req r;

	if (sidr_req_decode(&r, mad, len) < 0)
		return;
	text_add(t, " RequestID 0x%08x ServiceID 0x%016llx P_Key 0x%04x", r.request_id,
		 (unsigned long long)r.service_id, r.pkey);
}

/*
 * The format of the private data depends on the service, and this function does not know the
 * formats of all services. If the private data have the format of the group parameters of
 * draft-pelissier-ipoib-encaparp-00, they are printed as group parameters.
 */
static void add_rep(struct text *t, const void *mad, size_t len)
{
	struct sidr_group g;
	struct sidr_rep r;

	if (sidr_rep_decode(&r, mad, len) < 0)
		return;
	text_add(t, " RequestID 0x%08x ServiceID 0x%016llx Status %u (%s)", r.request_id,
		 (unsigned long long)r.service_id, r.status, print_sidr_status(r.status));
	if (r.status != SIDR_STATUS_OK)
		return;
	text_add(t, " QPN 0x%06x Q_Key 0x%08x", r.qpn, r.qkey);
	if (sidr_group_decode(&g, r.priv, sizeof(r.priv)) == 0 && g.ver == SIDR_GROUP_VER &&
	    ib_gid_is_mcast(&g.dgid))
		add_group(t, &g);
}

void text_add_cm(struct text *t, const void *mad, size_t len)
{
	if (mad_method(mad) != MAD_METHOD_SEND)
		return;
	if (mad_attr(mad) == CM_ATTR_SIDR_REQ)
		add_req(t, mad, len);
	else if (mad_attr(mad) == CM_ATTR_SIDR_REP)
		add_rep(t, mad, len);
}

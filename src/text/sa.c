/* SPDX-License-Identifier: BSD-2-Clause */
#include "text/parts.h"

#include "text/print.h"
#include "wire/records.h"

static void add_path_rec(struct text *t, const void *p, size_t len)
{
	char dgid[PRINT_GID_LEN], sgid[PRINT_GID_LEN];
	struct ib_path_rec r;

	if (ib_path_rec_decode(&r, p, len) < 0)
		return;

	text_add(t, " DGID %s SGID %s DLID %u SLID %u P_Key 0x%04x SL %u MTU %u rate %u",
		 print_gid(dgid, sizeof(dgid), &r.dgid), print_gid(sgid, sizeof(sgid), &r.sgid),
		 r.dlid, r.slid, r.pkey, r.sl, ib_mtu_octets(r.mtu_code), r.rate_code);
}

static void add_mcmember_rec(struct text *t, const void *p, size_t len)
{
	char mgid[PRINT_GID_LEN], gid[PRINT_GID_LEN];
	struct ib_mcmember_rec r;

	if (ib_mcmember_rec_decode(&r, p, len) < 0)
		return;

	text_add(t,
		 " MGID %s PortGID %s JoinState 0x%x MLID 0x%04x Q_Key 0x%08x P_Key 0x%04x SL %u"
		 " MTU %u rate %u",
		 print_gid(mgid, sizeof(mgid), &r.mgid), print_gid(gid, sizeof(gid), &r.port_gid),
		 r.join_state, r.mlid, r.qkey, r.pkey, r.sl, ib_mtu_octets(r.mtu_code),
		 r.rate_code);
}

static void add_node_rec(struct text *t, const void *p, size_t len)
{
	struct ib_node_rec r;

	if (ib_node_rec_decode(&r, p, len) < 0)
		return;

	text_add(t, " LID %u", r.lid);
	text_add_node_info(t, &r.info);
	text_add_quoted(t, r.desc, sizeof(r.desc));
}

static void add_port_info_rec(struct text *t, const void *p, size_t len)
{
	struct ib_port_info_rec r;

	if (ib_port_info_rec_decode(&r, p, len) < 0)
		return;

	text_add(t, " EndPortLID %u port %u", r.lid, r.port_num);
	text_add_port_info(t, &r.info);
}

static void add_service_rec(struct text *t, const void *p, size_t len)
{
	char gid[PRINT_GID_LEN];
	struct ib_service_rec r;

	if (ib_service_rec_decode(&r, p, len) < 0)
		return;

	text_add(t, " ID 0x%016llx GID %s P_Key 0x%04x lease %u", (unsigned long long)r.id,
		 print_gid(gid, sizeof(gid), &r.gid), r.pkey, r.lease);
	text_add_quoted(t, r.name, sizeof(r.name));
}

static void add_inform_info(struct text *t, const void *p, size_t len)
{
	struct mad_inform_info i;
	char gid[PRINT_GID_LEN];

	if (mad_inform_info_decode(&i, p, len) < 0)
		return;

	text_add(t, " %s trap %u type %u QPN 0x%06x", i.subscribe ? "subscribe" : "unsubscribe",
		 i.trap, i.type, i.qpn);
	if (ib_gid_is_zero(&i.gid))
		text_add(t, " LIDs %u-%u", i.lid_begin, i.lid_end);
	else
		text_add(t, " GID %s", print_gid(gid, sizeof(gid), &i.gid));
}

static void add_record(struct text *t, unsigned int attr, const void *p, size_t len)
{
	switch (attr) {
	case SA_ATTR_CLASS_PORT_INFO:
		text_add_class_port_info(t, p, len);
		break;
	case SA_ATTR_NOTICE:
		text_add_notice(t, p, len);
		break;
	case SA_ATTR_INFORM_INFO:
		add_inform_info(t, p, len);
		break;
	case SA_ATTR_NODE_RECORD:
		add_node_rec(t, p, len);
		break;
	case SA_ATTR_PORT_INFO_RECORD:
		add_port_info_rec(t, p, len);
		break;
	case SA_ATTR_SERVICE_RECORD:
		add_service_rec(t, p, len);
		break;
	case SA_ATTR_PATH_RECORD:
		add_path_rec(t, p, len);
		break;
	case SA_ATTR_MCMEMBER_RECORD:
		add_mcmember_rec(t, p, len);
		break;
	}
}

static void add_rmpp(struct text *t, const struct rmpp_hdr *r)
{
	switch (r->type) {
	case RMPP_TYPE_DATA:
		text_add(t, " RMPP DATA segment %u%s%s PayloadLength %u", r->data1,
			 r->flags & RMPP_FLAG_FIRST ? " first" : "",
			 r->flags & RMPP_FLAG_LAST ? " last" : "", r->data2);
		break;
	case RMPP_TYPE_ACK:
		text_add(t, " RMPP ACK segment %u NewWindowLast %u", r->data1, r->data2);
		break;
	case RMPP_TYPE_STOP:
	case RMPP_TYPE_ABORT:
		text_add(t, " RMPP %s status %u", r->type == RMPP_TYPE_STOP ? "STOP" : "ABORT",
			 r->status);
		break;
	default:
		text_add(t, " RMPP type %u", r->type);
	}
}

void text_add_sa(struct text *t, const void *mad, size_t len)
{
	struct sa_mad m;

	if (sa_mad_decode(&m, mad, len) < 0)
		return;

	if (m.mad.attr_mod != 0)
		text_add(t, " modifier 0x%x", m.mad.attr_mod);
	if (m.sa.comp_mask != 0)
		text_add(t, " mask 0x%llx", (unsigned long long)m.sa.comp_mask);
	if (m.rmpp.flags & RMPP_FLAG_ACTIVE) {
		add_rmpp(t, &m.rmpp);
		/*
		 * Decode records only in the first segment of an RMPP message, because a later
		 * segment may begin in the middle of a record.
		 */
		if (m.rmpp.type != RMPP_TYPE_DATA || !(m.rmpp.flags & RMPP_FLAG_FIRST) ||
		    m.sa.attr_offset == 0)
			return;
	}
	add_record(t, m.mad.attr_id, m.data, m.data_len);
}

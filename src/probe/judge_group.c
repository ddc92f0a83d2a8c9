/* SPDX-License-Identifier: BSD-2-Clause */
#include "probe/priv.h"
#include "text/print.h"
#include "wire/mgid.h"

/* Judges the broadcast group of the link, and the kernel's interface that uses it. */

static const char *mgid_text(char ret[PRINT_GID_LEN], const ib_gid *mgid)
{
	return print_gid(ret, PRINT_GID_LEN, mgid);
}

/* --- no such group */

/*
 * Return: a broadcast group that belongs to the link's partition, but has another scope than the
 * link; NULL: there is no such group
 */
static const struct ib_mcmember_rec *in_other_scope(const struct probe *p)
{
	const ib_gid want = probe_mgid(p);

	for (unsigned int i = 0; probe_has(p, ASK_GROUPS) && i < p->ngroups; i++)
		if (probe_is_broadcast(&p->groups[i].mgid, probe_pkey(p)) &&
		    !ib_gid_equal(&p->groups[i].mgid, &want))
			return &p->groups[i];
	return NULL;
}

static void absent(struct probe_case *c)
{
	const struct probe *p = c->p;
	const struct ib_mcmember_rec *other = in_other_scope(p);
	const ib_gid want = probe_mgid(p);
	char a[PRINT_GID_LEN], b[PRINT_GID_LEN];

	if (other)
		probe_found(c, PROBE_GROUP_SCOPE,
			    "the broadcast group %s does not exist, but %s of scope %u does",
			    mgid_text(a, &want), mgid_text(b, &other->mgid),
			    mgid_scope(&other->mgid));
	else
		probe_found(c, PROBE_GROUP_ABSENT, "the broadcast group %s does not exist",
			    mgid_text(a, &want));
}

static void refused(struct probe_case *c)
{
	const struct probe_reply *r = &c->p->reply[ASK_GROUP];
	char text[80];

	if (r->how == REFUSED && r->status == SA_STATUS_NO_RECORDS)
		absent(c);
	else if (r->how == REFUSED)
		probe_found(c, PROBE_SA_REFUSES,
			    "the subnet administrator: %s to Get(MCMemberRecord), field MGID",
			    probe_status(text, r));
	else if (r->how != NOT_ASKED)
		probe_found(c, PROBE_SA_SILENT,
			    "the subnet administrator: %s to Get(MCMemberRecord)",
			    probe_status(text, r));
}

/* --- parameters of the group that do not fit the port */

static void judge_sl(struct probe_case *c)
{
	const struct probe *p = c->p;
	unsigned int vl = p->vl[p->group.sl & 15], vls;

	/*
	 * PortInfo:OperationalVLs is a code: 1 means VL 0 only, 2 VL 0 and 1, 3 VL 0 to 3, 4 VL 0
	 * to 7, 5 VL 0 to 14.
	 */
	if (!probe_has(p, ASK_SLTOVL) || p->port.oper_vls > 5)
		return;
	vls = p->port.oper_vls == 5 ? 15 : 1u << (p->port.oper_vls - 1);
	if (vl >= vls)
		probe_found(c, PROBE_GROUP_SL,
			    "the broadcast group has SL %u, which the port maps to VL %u, and it "
			    "has %u VLs",
			    p->group.sl, vl, vls);
}

static void judge_mtu_and_rate(struct probe_case *c)
{
	const struct probe *p = c->p;
	const struct smp_port_info *pi = &p->port;
	unsigned int has = ib_rate_mbps(
		ib_rate_code(pi->width_active, pi->speed_active, pi->speed_ext_active));
	unsigned int mtu = ib_mtu_octets(p->group.mtu_code),
		     rate = ib_rate_mbps(p->group.rate_code);

	if (!mtu)
		probe_found(c, PROBE_GROUP_FIELD,
			    "the broadcast group has the reserved MTU code %u", p->group.mtu_code);
	else if (p->group.mtu_code > pi->neighbor_mtu)
		probe_found(c, PROBE_GROUP_MTU,
			    "the broadcast group has MTU %u, and the port's link %u", mtu,
			    ib_mtu_octets(pi->neighbor_mtu));
	/* Port 0 of a switch has no rate. */
	if (p->node.node_type != IB_NODE_SWITCH && has && rate > has)
		probe_found(c, PROBE_GROUP_RATE,
			    "the broadcast group has %u Mb/s, and the port's link %u", rate, has);
}

/*
 * Judge whether every group of the link has the Q_Key of the link's broadcast group, as RFC 4391
 * section 10 demands.
 */
static void judge_qkeys(struct probe_case *c)
{
	const struct probe *p = c->p;
	char a[PRINT_GID_LEN];

	for (unsigned int i = 0; probe_has(p, ASK_GROUPS) && i < p->ngroups; i++) {
		const struct ib_mcmember_rec *g = &p->groups[i];

		/* An SA that does not disclose the Q_Key answers 0. */
		if (!mgid_is_ipoib(&g->mgid) || mgid_pkey(&g->mgid) != probe_pkey(p) ||
		    mgid_scope(&g->mgid) != mgid_scope(&p->group.mgid) || !g->qkey ||
		    g->qkey == p->group.qkey)
			continue;
		probe_found(c, PROBE_GROUP_QKEY,
			    "group %s has Q_Key 0x%08x, and the broadcast group of its link 0x%08x",
			    mgid_text(a, &g->mgid), g->qkey, p->group.qkey);
		return;
	}
}

static void judge_fields(struct probe_case *c)
{
	const struct ib_mcmember_rec *g = &c->p->group;

	if (!ib_lid_is_mcast(g->mlid))
		probe_found(c, PROBE_GROUP_FIELD,
			    "the broadcast group has MLID 0x%04x, which is no multicast LID",
			    g->mlid);
	if ((g->pkey & 0x7fff) != (probe_pkey(c->p) & 0x7fff))
		probe_found(c, PROBE_GROUP_FIELD,
			    "the broadcast group's MGID has P_Key 0x%04x, and its record 0x%04x",
			    probe_pkey(c->p), g->pkey);
	if (g->scope != mgid_scope(&g->mgid))
		probe_found(c, PROBE_GROUP_FIELD,
			    "the broadcast group's MGID has scope %u, and its record %u",
			    mgid_scope(&g->mgid), g->scope);
}

void probe_judge_group(struct probe_case *c)
{
	const struct probe *p = c->p;
	const struct ib_mcmember_rec *g = &p->group;
	char a[PRINT_GID_LEN];

	if (!probe_has(p, ASK_GROUP)) {
		refused(c);
		return;
	}
	probe_tell(c, "group", "%s, MLID 0x%04x, MTU %u, %u Mb/s, SL %u, Q_Key 0x%08x",
		   mgid_text(a, &g->mgid), g->mlid, ib_mtu_octets(g->mtu_code),
		   ib_rate_mbps(g->rate_code), g->sl, g->qkey);
	judge_fields(c);
	judge_mtu_and_rate(c);
	judge_sl(c);
	judge_qkeys(c);
}

/* --- the kernel's interface */

static void judge_if_mtu(struct probe_case *c)
{
	const struct probe_if *i = &c->p->cfg.ifc;
	unsigned int mtu = probe_has(c->p, ASK_GROUP) ? ib_mtu_octets(c->p->group.mtu_code) : 0;

	if (mtu && i->mtu > mtu - 4 && !i->connected)
		probe_found(c, PROBE_IF_MTU, "%s has MTU %u, and the broadcast group allows %u",
			    i->name, i->mtu, mtu - 4);
}

void probe_judge_if(struct probe_case *c)
{
	const struct probe *p = c->p;
	const struct probe_if *i = &p->cfg.ifc;

	if (!i->name[0]) {
		probe_tell(c, "interface", "no IPoIB interface of the kernel is at this port");
		return;
	}
	probe_tell(c, "interface", "%s: %s, %s, %s mode, MTU %u, P_Key 0x%04x", i->name,
		   i->up ? "up" : "down", i->carrier ? "carrier" : "no carrier",
		   i->connected ? "connected" : "datagram", i->mtu, i->pkey);
	if (!i->up) {
		probe_found(c, PROBE_IF_DOWN, "%s is down", i->name);
		return;
	}
	/*
	 * If other faults were found, do not report an interface without carrier, because those
	 * faults explain the missing carrier.
	 */
	if (!i->carrier && c->r->faults)
		return;
	if (!i->carrier)
		probe_found(c, PROBE_IF_NO_CARRIER, "%s is up, but has no carrier", i->name);
	else if (p->reply[ASK_MEMBER].how == REFUSED &&
		 p->reply[ASK_MEMBER].status == SA_STATUS_NO_RECORDS)
		probe_found(c, PROBE_IF_NOT_MEMBER,
			    "%s is up, but the subnet administrator does not have the port as a "
			    "member of the broadcast group",
			    i->name);
	if (i->connected)
		probe_found(c, PROBE_IF_CONNECTED, "%s is in connected mode", i->name);
	/*
	 * Judge the MTU only if the interface has carrier. An interface without carrier has not
	 * joined the group yet, and still has the MTU of its port.
	 */
	if (i->carrier)
		judge_if_mtu(c);
}

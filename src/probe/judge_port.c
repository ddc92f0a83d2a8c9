/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "probe/priv.h"
#include "text/print.h"

/* Judges the port, the subnet managers, and the partition. */

/*
 * A subnet manager that takes longer than this to answer is reported as slow. An idle subnet
 * manager answers within milliseconds.
 */
#define SLOW NS_MSEC(250)

static const char *phys_name(unsigned int phys)
{
	static const char *const names[] = {
		"no state", "Sleep",  "Polling",	   "Disabled",
		"Training", "LinkUp", "LinkErrorRecovery", "Phy Test"
	};

	return phys < 8 ? names[phys] : "?";
}

static unsigned int rate_mbps(const struct smp_port_info *pi)
{
	return ib_rate_mbps(ib_rate_code(pi->width_active, pi->speed_active, pi->speed_ext_active));
}

static void tell_port(struct probe_case *c)
{
	const struct probe *p = c->p;
	const struct smp_port_info *pi = &p->port;
	char gid[PRINT_GID_LEN], rate[32] = "unknown rate";
	ib_gid g = probe_gid(p);

	probe_tell(c, "port", "%s %u, %s, %s",
		   p->node.node_type == IB_NODE_SWITCH ? "switch port" : "port",
		   p->node.node_type == IB_NODE_SWITCH ? 0 : p->node.local_port,
		   print_port_state(pi->port_state), phys_name(pi->phys_state));
	probe_tell(c, "lid", "%u, SM LID %u", pi->lid, pi->sm_lid);
	probe_tell(c, "gid", "%s", print_gid(gid, sizeof(gid), &g));
	if (pi->port_state < IB_PORT_INIT)
		return;
	if (rate_mbps(pi))
		snprintf(rate, sizeof(rate), "%u Mb/s", rate_mbps(pi));
	probe_tell(c, "link", "%s, MTU %u of %u", rate, ib_mtu_octets(pi->neighbor_mtu),
		   ib_mtu_octets(pi->mtu_cap));
}

static bool no_link(struct probe_case *c)
{
	const struct smp_port_info *pi = &c->p->port;

	/* Port 0 of a switch has no link. */
	if (pi->port_state >= IB_PORT_INIT || c->p->node.node_type == IB_NODE_SWITCH)
		return false;
	if (pi->phys_state == IB_PHYS_DISABLED)
		probe_found(c, PROBE_DISABLED, "the port is Disabled");
	else if (pi->phys_state == IB_PHYS_SLEEP)
		probe_found(c, PROBE_DISABLED, "the port is in Sleep and does not look for a link");
	else if (pi->phys_state == IB_PHYS_TRAINING)
		probe_found(c, PROBE_NO_LINK,
			    "the port is in Training: there is a device at the other end, but the "
			    "link does not come up");
	else
		probe_found(c, PROBE_NO_LINK, "the port is %s and has no link (%s)",
			    print_port_state(pi->port_state), phys_name(pi->phys_state));
	return true;
}

static void judge_link(struct probe_case *c)
{
	const struct probe *p = c->p;
	bool ca_port = p->node.node_type != IB_NODE_SWITCH;

	/*
	 * The node at the other end of the link is allowed to ignore requests that do not have its
	 * M_Key. So its silence is a fault only if the SA does not answer either.
	 */
	if (ca_port && p->reply[ASK_LINK_NODE].how == LOST && !probe_has(p, ASK_SA))
		probe_found(c, PROBE_SILENT_LINK,
			    "the link is up, but what is behind it does not answer");
	if (p->port.port_state < IB_PORT_ACTIVE)
		probe_found(c, PROBE_NOT_ACTIVE, "the link is up, but the port's state is %s%s",
			    print_port_state(p->port.port_state),
			    p->port.sm_lid ? "" : ", and no subnet manager has found it");
	else if (ca_port && probe_has(p, ASK_LINK_PORT) &&
		 p->link_port.neighbor_mtu != p->port.neighbor_mtu)
		probe_found(c, PROBE_LINK_MTU,
			    "the port's link has MTU %u at this end and %u at the other",
			    ib_mtu_octets(p->port.neighbor_mtu),
			    ib_mtu_octets(p->link_port.neighbor_mtu));
}

bool probe_judge_port(struct probe_case *c)
{
	const struct probe *p = c->p;
	const enum probe_ask last = probe_has(p, ASK_NODE) ? ASK_PORT : ASK_NODE;
	const struct smp_port_info *pi = &p->port;
	char text[80];

	if (!probe_has(p, ASK_PORT)) {
		probe_found(c, PROBE_NO_ANSWER, "the port's own agent: %s to Get(%s)",
			    probe_status(text, &p->reply[last]),
			    last == ASK_NODE ? "NodeInfo" : "PortInfo");
		return false;
	}
	tell_port(c);
	if (no_link(c))
		return false;
	judge_link(c);
	if (pi->port_state < IB_PORT_ACTIVE)
		return false;
	if (!ib_lid_is_unicast(pi->lid))
		probe_found(c, PROBE_NO_LID, "the port is Active, but its LID is %u", pi->lid);
	if (!ib_lid_is_unicast(pi->sm_lid))
		probe_found(c, PROBE_NO_SM,
			    "the port is Active, but the LID of its subnet manager is %u",
			    pi->sm_lid);
	return ib_lid_is_unicast(pi->lid) && ib_lid_is_unicast(pi->sm_lid);
}

/* --- managers */

/*
 * Tell whether the answer from the SM LID refuses a request because the management class or the
 * attribute is not supported. Such an answer means that the port with this LID has no subnet
 * manager, or, if the request was for the subnet administrator, no subnet administrator.
 */
static bool is_none(const struct probe_reply *r)
{
	return r->how == REFUSED &&
	       (r->status == MAD_STATUS_BAD_VERSION || r->status == MAD_STATUS_BAD_ATTR);
}

static void judge_sm(struct probe_case *c)
{
	static const char *const states[] = { "not active", "discovering", "standby", "master" };
	const struct probe *p = c->p;
	const struct probe_reply *r = &p->reply[ASK_SM];
	char text[80];

	if (r->how != ANSWERED) {
		probe_found(c, probe_has(p, ASK_SA) ? PROBE_SM_HIDDEN : PROBE_SM_SILENT,
			    "the subnet manager at LID %u: %s to Get(SMInfo)%s", p->port.sm_lid,
			    probe_status(text, r),
			    is_none(r) ? ", so no subnet manager is there any more" : "");
		return;
	}
	probe_tell(c, "sm", "GUID 0x%016" PRIx64 " at LID %u, priority %u, %s, answers in %.1f ms",
		   p->sm.guid, p->port.sm_lid, p->sm.priority,
		   p->sm.state < 4 ? states[p->sm.state] : "?", (double)r->took / 1e6);
	if (p->sm.state != SMP_SM_MASTER)
		probe_found(c, PROBE_SM_NOT_MASTER, "the subnet manager at LID %u is %s",
			    p->port.sm_lid,
			    p->sm.state < 4 ? states[p->sm.state] : "in no known state");
	if (r->took > SLOW)
		probe_found(c, PROBE_SM_SLOW, "the subnet manager answered after %.0f ms",
			    (double)r->took / 1e6);
}

static void judge_self(struct probe_case *c)
{
	const struct probe *p = c->p;
	const struct probe_reply *r = &p->reply[ASK_SELF];
	char text[80];

	if (r->how == REFUSED)
		probe_found(c, PROBE_SA_OTHER_LID,
			    "the subnet administrator has no path to this port's own GID: %s to "
			    "Get(PathRecord), fields SGID and DGID",
			    probe_status(text, r));
	else if (r->how == LOST || r->how == MALFORMED)
		probe_found(c, PROBE_SA_SILENT, "the subnet administrator: %s to Get(PathRecord)",
			    probe_status(text, r));
	else if (r->how == ANSWERED &&
		 (p->self.dlid < p->port.lid || p->self.dlid >= p->port.lid + (1u << p->port.lmc)))
		probe_found(c, PROBE_SA_OTHER_LID,
			    "the subnet administrator has LID %u for this port, whose LID is %u",
			    p->self.dlid, p->port.lid);
}

void probe_judge_managers(struct probe_case *c)
{
	const struct probe *p = c->p;
	const struct probe_reply *r = &p->reply[ASK_SA];
	char text[80];

	judge_sm(c);
	/* If neither the SM nor the SA is there, the finding of judge_sm() about the SM is enough. */
	if (p->reply[ASK_SM].how != ANSWERED && (r->how == LOST || is_none(r)))
		return;
	if (r->how == REFUSED) {
		probe_found(c, PROBE_SA_REFUSES,
			    "the subnet administrator at LID %u: %s to Get(ClassPortInfo)%s",
			    p->port.sm_lid, probe_status(text, r),
			    is_none(r) ? ", so no subnet administrator is there" : "");
		return;
	}
	if (r->how != ANSWERED) {
		probe_found(c, PROBE_SA_SILENT,
			    "the subnet administrator at LID %u: %s to Get(ClassPortInfo)",
			    p->port.sm_lid, probe_status(text, r));
		return;
	}
	probe_tell(c, "sa", "answers in %.1f ms", (double)r->took / 1e6);
	if (r->took > SLOW)
		probe_found(c, PROBE_SA_SLOW, "the subnet administrator answered after %.0f ms",
			    (double)r->took / 1e6);
	judge_self(c);
}

/* --- the partition */

static void tell_pkeys(struct probe_case *c)
{
	const struct probe_pkeys *t = &c->p->pkeys;
	char list[200] = "";
	struct text w = TEXT_IN(list);

	for (unsigned int i = 0; i < t->n; i++) {
		if (!(t->pkey[i] & 0x7fff))
			continue;
		if (w.len)
			text_add(&w, " ");
		text_add(&w, "0x%04x", t->pkey[i]);
	}
	probe_tell(c, "pkeys", "%s", list[0] ? list : "none");
}

bool probe_judge_pkey(struct probe_case *c)
{
	const struct probe *p = c->p;
	uint16_t pkey = probe_pkey(p), own = probe_own_pkey(&p->pkeys, pkey);
	char text[80];

	if (!probe_has(p, ASK_PKEYS)) {
		if (p->reply[ASK_PKEYS].how != NOT_ASKED)
			probe_found(c, PROBE_NO_ANSWER,
				    "the port's own agent: %s to Get(P_KeyTable)",
				    probe_status(text, &p->reply[ASK_PKEYS]));
		return pkey != 0;
	}
	tell_pkeys(c);
	if (!pkey) {
		probe_found(c, PROBE_PKEY_UNKNOWN,
			    "the first entry of the port's P_Key table is empty, "
			    "and no other P_Key was named");
		return false;
	}
	if (!own) {
		probe_found(c, PROBE_PKEY_MISSING, "the port's table does not have P_Key 0x%04x",
			    pkey);
		return false;
	}
	probe_tell(c, "partition", "0x%04x, %s member", pkey,
		   own & IB_PKEY_FULL ? "full" : "limited");
	if (!(own & IB_PKEY_FULL))
		probe_found(c, PROBE_PKEY_LIMITED,
			    "the port is a limited member of partition 0x%04x", pkey);
	return true;
}

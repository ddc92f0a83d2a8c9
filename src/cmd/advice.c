/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/advice.h"

#include <stdio.h>
#include <string.h>

#include "ca/ca.h"
#include "inst/fab.h"
#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "text/print.h"
#include "util/text.h"
#include "wire/mgid.h"

/*
 * The state of an interface, and the reason for the state, show the user the fault. This file makes
 * the advice that tells the user how to correct the fault. doc/troubleshooting.md has the same
 * advice as a table.
 */

/*
 * Appends " fabric NAME" if the instance has several fabrics, because commands then need this
 * argument
 */
static void add_fabric(struct text *t, const struct inst_iface *i)
{
	if (i->inst->nfabs > 1)
		text_add(t, " fabric %s", i->port->fab->name);
}

/*
 * Appends the command that enters a host. For the host without a name, which is this machine
 * itself, no command is needed
 */
static void add_exec(struct text *t, const struct inst_host *h)
{
	if (*h->name)
		text_add(t, "uipoib exec %s ", h->name);
}

/*
 * Tells whether the subnet manager belongs to this instance. Only such a manager takes commands of
 * uipoib
 */
static bool sm_is_ours(const struct inst_iface *i)
{
	return i->port->fab && !list_empty(&i->port->fab->sms);
}

static void of_port_down(const struct inst_iface *i, struct text *t)
{
	if (!i->port->fab) {
		text_add(
			t,
			"If the device is there ('ibstat'), plug in its cable. If it failed or was "
			"removed, the log says so.");
		return;
	}
	text_add(t, "If the cable was pulled, type: uipoib fabric link set %s up", i->port->name);
	add_fabric(t, i);
	text_add(t, ". Otherwise 'uipoib fabric port show %s' says what is at its other end.",
		 i->port->name);
}

static void of_port_init(const struct inst_iface *i, struct text *t)
{
	if (!i->port->fab) {
		text_add(t, "Start a subnet manager on the fabric of %s.", i->port->name);
	} else if (sm_is_ours(i)) {
		text_add(t,
			 "'uipoib fabric sm' shows whether the subnet manager is master, and its "
			 "log says what it waits for.");
	} else {
		text_add(t, "Start a subnet manager: uipoib fabric sm start %s", i->port->name);
		add_fabric(t, i);
		text_add(t,
			 ", or: uipoib exec %s opensm. Without 'sm = external' in the "
			 "configuration, the instance starts one itself.",
			 i->port->ca_name);
	}
}

static void of_no_lid(const struct inst_iface *i, struct text *t)
{
	if (sm_is_ours(i)) {
		text_add(t,
			 "The subnet manager assigns a LID in its next sweep: uipoib fabric sweep");
		add_fabric(t, i);
		text_add(t, ".");
	} else {
		text_add(t, "The subnet manager has to assign a LID to %s.", i->port->name);
	}
}

static void of_port(const struct inst_iface *i, const struct ipoib_link_info *info, struct text *t)
{
	switch (info->port.state) {
	case IB_PORT_INIT:
		of_port_init(i, t);
		break;
	case IB_PORT_ARMED:
		text_add(t, "The log of the subnet manager says why it does not go on.");
		break;
	case IB_PORT_ACTIVE:
		of_no_lid(i, t);
		break;
	default:
		of_port_down(i, t);
	}
}

/* Appends the advice to change the partitions of the subnet manager. @what: the change */
static void of_partitions(const struct inst_iface *i, const char *what, struct text *t)
{
	text_add(t, "%s in the ", what);
	if (sm_is_ours(i)) {
		text_add(t, "file of 'partitions =', and type: uipoib fabric partitions FILE");
		add_fabric(t, i);
	} else {
		text_add(t, "partitions of its subnet manager (partitions.conf of OpenSM)");
	}
	text_add(t, ".");
}

static void of_pkey(const struct inst_iface *i, struct text *t)
{
	char what[FABRIC_NAME_MAX + 64];

	snprintf(what, sizeof(what), "Make %s a member of this partition", i->port->name);
	of_partitions(i, what, t);
}

/*
 * Advises to add the broadcast group of the link to its partition in the configuration of the
 * subnet manager. The word ipoib adds the group of RFC 4391. Any other group is added by its MGID
 */
static void of_no_group(const struct inst_iface *i, const struct ipoib_link_info *info,
			struct text *t)
{
	unsigned int scope = mgid_scope(&info->mgid);
	char what[128], gid[64];
	ib_gid usual;

	if (mgid_broadcast(&usual, info->pkey, (uint8_t)scope) ||
	    memcmp(&usual, &info->mgid, sizeof(usual)) != 0)
		snprintf(what, sizeof(what), "Add the line 'mgid=%s' to partition 0x%04x",
			 print_gid(gid, sizeof(gid), &info->mgid), info->pkey);
	else if (scope != info->profile->scope)
		snprintf(what, sizeof(what), "Add 'ipoib, scope=%u' to partition 0x%04x", scope,
			 info->pkey);
	else
		snprintf(what, sizeof(what), "Add the word 'ipoib' to partition 0x%04x",
			 info->pkey);
	of_partitions(i, what, t);
}

static void of_join(const struct inst_iface *i, const struct ipoib_link_info *info, struct text *t)
{
	if (ib_gid_is_zero(&info->mgid)) {
		text_add(t, "A server of this profile must answer; see 'sidr-server' in "
			    "uipoib.conf(5).");
	} else if (info->no_group) {
		of_no_group(i, info, t);
	} else if (i->port->fab) {
		text_add(t,
			 "'uipoib exec %s uipoib check uipoib0/%u pkey 0x%04x' compares the port "
			 "with the group.",
			 i->port->ca_name, i->port->num, info->pkey);
	} else {
		text_add(t, "'uipoib check PORT pkey 0x%04x' compares the port with the group.",
			 info->pkey);
	}
}

/*
 * Advises how to get a missing network device. Return: false if no device is missing. This advice
 * comes before any advice about the state of the link, because the state does not show that the
 * device is missing
 */
static bool of_netdev(const struct inst_iface *i, struct text *t)
{
	if (i->host->gone && *i->host->netns == '/') {
		text_add(t, "Make the network namespace %s again.", i->host->netns);
	} else if (i->host->gone) {
		text_add(t, "Make the network namespace again: ip netns add %s.", i->host->netns);
	} else if (i->by_pkey && !i->spare) {
		text_add(t, "Raise 'devices' of this section, or take a P_Key from the port.");
	} else if (!i->by_pkey && !i->ifindex) {
		text_add(t, "Look for another device with the name %s: ", i->name);
		add_exec(t, i->host);
		text_add(t, "ip link.");
	} else {
		return false;
	}
	return true;
}

void advice_iface(const struct inst_iface *i, char ret[ADVICE_MAX])
{
	struct text t = { .buf = ret, .size = ADVICE_MAX };
	struct ipoib_link_info info;

	ret[0] = '\0';
	if (inst_iface_up(i, NULL) || of_netdev(i, &t))
		return;
	ipoib_link_info(i->ifc.ipoib, &info);
	switch (info.state) {
	case IPOIB_LINK_DOWN:
		text_add(&t, "Type: ");
		add_exec(&t, i->host);
		text_add(&t, "ip link set %s up.", i->name);
		break;
	case IPOIB_LINK_WAIT_PORT:
		of_port(i, &info, &t);
		break;
	case IPOIB_LINK_WAIT_PKEY:
		of_pkey(i, &t);
		break;
	case IPOIB_LINK_WAIT_QP:
		text_add(&t, "If this lasts, the log says why the port gives no queue pair.");
		break;
	case IPOIB_LINK_JOINING:
		of_join(i, &info, &t);
		break;
	case IPOIB_LINK_UP:
	case IPOIB_LINK_REJOINING:
		text_add(&t, "The link is ready, and the network device follows; if this lasts, "
			     "the log says which request the kernel refused.");
		break;
	}
}

static void first_of(const struct inst *in, bool by_pkey, char ret[ADVICE_MAX])
{
	const struct inst_iface *i;

	list_for_each (i, &in->ifaces, link)
		if (!*ret && !i->by_pkey == !by_pkey)
			advice_iface(i, ret);
}

/*
 * Interfaces are examined in the order of inst_up(), so that the advice is about the interface that
 * inst_up() names
 */
void advice_all(const struct inst *in, char ret[ADVICE_MAX])
{
	ret[0] = '\0';
	first_of(in, false, ret);
	first_of(in, true, ret);
}

/* --- two interfaces */

static bool one_wire(const struct ipoib_profile *a, const struct ipoib_profile *b)
{
	return a->encap.read == b->encap.read && a->resolve == b->resolve;
}

static bool is_limited(const struct inst_iface *i, const struct ipoib_link_info *info)
{
	uint16_t pkey;

	return i->port->ifc.ca && info->port.pkey_index >= 0 &&
	       !ca_pkey_query(i->port->ifc.ca, (uint16_t)info->port.pkey_index, &pkey) &&
	       !(pkey & IB_PKEY_FULL);
}

static void add_groups(struct text *t, const ib_gid *a, const ib_gid *b)
{
	char one[64], two[64];

	text_add(t,
		 "Their broadcast groups are %s and %s, so they are on two links. Give both the "
		 "same 'scope' and 'subnet-number'.",
		 print_gid(one, sizeof(one), a), print_gid(two, sizeof(two), b));
}

/* Appends the reason why two interfaces that are up do not reach each other */
static void of_two(const struct inst_iface *a, const struct inst_iface *b, struct text *t)
{
	struct ipoib_link_info x, y;
	bool one_group;

	ipoib_link_info(a->ifc.ipoib, &x);
	ipoib_link_info(b->ifc.ipoib, &y);
	one_group = !memcmp(&x.mgid, &y.mgid, sizeof(x.mgid));
	if ((x.pkey ^ y.pkey) & ~IB_PKEY_FULL)
		text_add(t,
			 "%s@%s is in partition 0x%04x and %s@%s in 0x%04x, and nothing passes "
			 "between partitions. Give both the same 'pkey', or add an interface with "
			 "the other 'pkey' to one of the hosts.",
			 a->name, a->host->name, x.pkey, b->name, b->host->name, y.pkey);
	else if (x.profile != y.profile && !(one_group && one_wire(x.profile, y.profile)))
		text_add(t,
			 "%s@%s has the profile %s and %s@%s has %s, whose packets or groups "
			 "differ. Give both the same 'profile'.",
			 a->name, a->host->name, x.profile->name, b->name, b->host->name,
			 y.profile->name);
	else if (!one_group)
		add_groups(t, &x.mgid, &y.mgid);
	else if (is_limited(a, &x) && is_limited(b, &y))
		of_partitions(a,
			      "Both are limited members of their partition, which reach full "
			      "members only. Make one of them a full member",
			      t);
}

void advice_pair(const struct inst_iface *from, const struct inst_iface *to, char ret[ADVICE_MAX])
{
	struct text t = { .buf = ret, .size = ADVICE_MAX };
	const struct inst_iface *i;
	char why[ADVICE_MAX];

	ret[0] = '\0';
	advice_iface(to, why);
	if (*why) {
		text_add(&t, "%s@%s is not up. %s", to->name, to->host->name, why);
		return;
	}
	list_for_each (i, &from->host->ifaces, on_host) {
		struct text one = { .buf = why, .size = ADVICE_MAX };

		why[0] = '\0';
		of_two(i, to, &one);
		if (!*why)
			return;
	}
	of_two(from, to, &t);
}

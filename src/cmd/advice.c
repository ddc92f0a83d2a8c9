/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/advice.h"

#include "inst/fab.h"
#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"
#include "util/text.h"

/*
 * A state and a reason say what is wrong with an interface. This file says what helps. doc/troubleshooting.md has the same as a table.
 */

static void of_port_down(const struct inst_iface *i, struct text *t)
{
	if (i->port->fab)
		text_add(t,
			 "If the cable was pulled, type: uipoib fabric link set %s up. Otherwise "
			 "'uipoib fabric port show %s' says what is at its other end.",
			 i->port->name, i->port->name);
	else
		text_add(t, "Plug in the cable of %s; 'ibstat' shows its state.", i->port->name);
}

static void of_port_init(const struct inst_iface *i, struct text *t)
{
	if (!i->port->fab)
		text_add(t, "Start a subnet manager on the fabric of %s.", i->port->name);
	else if (list_empty(&i->port->fab->sms))
		text_add(t,
			 "Start a subnet manager: uipoib fabric sm start %s, or: uipoib exec %s "
			 "opensm. "
			 "Without 'sm = external' in the configuration, the instance starts one "
			 "itself.",
			 i->port->name, i->host->name);
	else
		text_add(t,
			 "'uipoib fabric sm' shows whether the subnet manager is master, and its "
			 "log says what it waits for.");
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
		text_add(
			t,
			"The subnet manager assigns a LID in its next sweep: uipoib fabric sweep.");
		break;
	default:
		of_port_down(i, t);
	}
}

static void of_join(const struct inst_iface *i, const struct ipoib_link_info *info, struct text *t)
{
	if (ib_gid_is_zero(&info->mgid))
		text_add(t, "A server of this profile must answer; see 'sidr-server' in "
			    "uipoib.conf(5).");
	else if (info->no_group)
		text_add(t,
			 "Add the word 'ipoib' to partition 0x%04x in the file of 'partitions =', "
			 "and type: "
			 "uipoib fabric partitions FILE.",
			 info->pkey);
	else
		text_add(
			t,
			"'uipoib exec %s uipoib check uipoib0/1' compares the port with the group.",
			i->host->name);
}

/* Without a network device the state of the link says nothing */
static bool of_netdev(const struct inst_iface *i, struct text *t)
{
	if (i->host->gone)
		text_add(t, "Make the network namespace again: ip netns add %s.", i->host->name);
	else if (!i->by_pkey && !i->ifindex)
		text_add(t, "Look for a device with the name %s in %s: uipoib exec %s ip link.",
			 i->name, i->host->name, i->host->name);
	else
		return false;
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
		text_add(&t, "Type: uipoib exec %s ip link set %s up.", i->host->name, i->name);
		break;
	case IPOIB_LINK_WAIT_PORT:
		of_port(i, &info, &t);
		break;
	case IPOIB_LINK_WAIT_PKEY:
		text_add(&t,
			 "Make %s a member of this partition in the file of 'partitions =', and "
			 "type: "
			 "uipoib fabric partitions FILE.",
			 i->port->name);
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

void advice_all(const struct inst *in, char ret[ADVICE_MAX])
{
	const struct inst_iface *i;

	ret[0] = '\0';
	list_for_each (i, &in->ifaces, link) {
		advice_iface(i, ret);
		if (*ret)
			return;
	}
}

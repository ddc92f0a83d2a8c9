/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/by_pkey.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inst/host.h"
#include "inst/iface.h"
#include "inst/port.h"

#define AGAIN NS_SEC(1)
/* largest number of frames that are read from a parked TAP before the loop does other work */
#define DRAIN_FRAMES 64
/* time until the next read of a parked TAP if there is no buffer for a frame */
#define DRAIN_PAUSE NS_MSEC(100)

static struct inst_iface *find(const struct by_pkey *b, uint16_t pkey)
{
	struct inst_iface *i;

	list_for_each (i, &b->host->ifaces, on_host)
		if (i->by_pkey == b && !((i->ifc.pkey ^ pkey) & 0x7fff))
			return i;
	return NULL;
}

/* ----- the TAPs */

static struct by_pkey_tap *tap_in(const struct by_pkey *b, enum by_pkey_tap_state state)
{
	for (unsigned int k = 0; k < b->conf.devices; k++)
		if (b->tap[k].state == state)
			return &b->tap[k];
	return NULL;
}

static void say_full(struct by_pkey *b, const struct inst_iface *i)
{
	log_to(&i->log, LOG_LVL_WARN,
	       "%s@%s: no network device is left for P_Key 0x%04x: all of [interface %s%s%s] are "
	       "in use or lost "
	       "(devices = %u)",
	       i->name, b->host->name, i->ifc.pkey, b->conf.name, *b->conf.host ? "@" : "",
	       b->conf.host, b->conf.devices);
}

/* Assigns free TAPs to interfaces that wait for a TAP, in the order of the interfaces. */
static void share_out(struct by_pkey *b)
{
	struct inst_iface *i;

	if (b->stopped)
		return;
	list_for_each (i, &b->host->ifaces, on_host) {
		struct by_pkey_tap *t;

		if (i->by_pkey != b || i->spare)
			continue;
		t = tap_in(b, BY_PKEY_TAP_FREE);
		if (t) {
			t->state = BY_PKEY_TAP_USED;
			iface_use_tap(i, t);
		} else if (!i->no_tap_said && !tap_in(b, BY_PKEY_TAP_RETURNS) &&
			   !tap_in(b, BY_PKEY_TAP_DRAINS)) {
			i->no_tap_said = true;
			say_full(b, i);
		}
	}
}

static void tap_lost(struct by_pkey_tap *t, const char *text)
{
	struct by_pkey *b = t->of;

	t->state = BY_PKEY_TAP_LOST;
	tap_close(&t->tap);
	log_to(&b->host->log, LOG_LVL_WARN,
	       "[interface %s%s%s]: %s; there is a network device less", b->conf.name,
	       *b->conf.host ? "@" : "", b->conf.host, text);
}

/*
 * Reads and drops the frames of a parked TAP. The host sent these frames before the TAP was moved out of it, so they
 * must not be sent on another partition. The TAP is free only when a read has found no frame. No more frames can
 * arrive, because no program can send through a parked TAP.
 */
static void drain(struct by_pkey_tap *t)
{
	struct by_pkey *b = t->of;
	struct tap_frame f;
	int err = 0;

	for (unsigned int k = 0; !err && k < DRAIN_FRAMES; k++) {
		err = tap_read(&t->tap, &b->inst->tap_rx, &f);
		if (!err)
			pkt_free(f.pkt);
	}
	if (err == -EAGAIN)
		t->state = BY_PKEY_TAP_FREE;
	else if (!err || err == -ENOBUFS)
		timer_arm(&b->inst->loop.timers, &b->drain,
			  b->inst->loop.now + (err ? DRAIN_PAUSE : 0));
	else
		tap_lost(t, strerror(-err));
}

static void drain_all(struct timer *tm, ns_t now)
{
	struct by_pkey *b = container_of(tm, struct by_pkey, drain);

	(void)now;
	for (unsigned int k = 0; k < b->conf.devices; k++)
		if (b->tap[k].state == BY_PKEY_TAP_DRAINS)
			drain(&b->tap[k]);
	share_out(b);
}

static void on_parked(void *ctx, const struct netdev_answer *a)
{
	struct by_pkey_tap *t = ctx;

	t->asked = false;
	if (!a->err) {
		t->state = BY_PKEY_TAP_DRAINS;
		drain(t);
	} else {
		tap_lost(t, a->text);
	}
	share_out(t->of);
}

static void park(struct by_pkey_tap *t)
{
	struct by_pkey *b = t->of;

	t->asked = !netdev_post_tap_park(b->host->helper, b->host->ns, t->number, on_parked, t);
	if (!t->asked)
		timer_arm(&b->inst->loop.timers, &b->again, b->inst->loop.now + AGAIN);
}

static void ask_again(struct timer *tm, ns_t now)
{
	struct by_pkey *b = container_of(tm, struct by_pkey, again);

	(void)now;
	for (unsigned int k = 0; k < b->conf.devices; k++)
		if (b->tap[k].state == BY_PKEY_TAP_RETURNS && !b->tap[k].asked)
			park(&b->tap[k]);
}

void by_pkey_release(struct by_pkey_tap *t, const struct tap *tap)
{
	t->tap.stats = tap->stats;
	t->state = BY_PKEY_TAP_RETURNS;
	park(t);
}

/* ----- P_Keys come and go */

static int on_came(void *ctx, uint16_t pkey, ns_t now)
{
	struct by_pkey *b = ctx;
	struct conf_iface c = b->conf;
	struct inst_iface *i;
	int err;

	c.pkey = pkey;
	c.profile->ifname(c.name, b->ca, b->port->num, pkey);
	c.naddrs = 0;
	for (unsigned int k = 0; k < b->conf.naddrs; k++)
		if (!((b->conf.addr[k].pkey ^ pkey) & 0x7fff))
			c.addr[c.naddrs++] = b->conf.addr[k];
	err = iface_add_pkey(b, &c, &i);
	if (err) {
		log_to(&b->host->log, LOG_LVL_ERR, "%s@%s: %s; trying again later", c.name,
		       b->host->name, strerror(-err));
		return err;
	}
	log_to(&i->log, LOG_LVL_INFO, "%s@%s: P_Key 0x%04x came into the port's table", i->name,
	       b->host->name, pkey);
	inst_iface_event(i, true, now);
	share_out(b);
	return 0;
}

static void on_gone(void *ctx, uint16_t pkey, ns_t now)
{
	struct by_pkey *b = ctx;
	struct inst_iface *i = find(b, pkey);

	if (!i)
		return;
	log_to(&i->log, LOG_LVL_INFO, "%s@%s: P_Key 0x%04x left the port's table", i->name,
	       b->host->name, pkey);
	inst_iface_event(i, false, now);
	iface_shutdown(i, now);
	iface_destroy(i);
}

static const struct ifc_pkeys_ops pkeys_ops = { .came = on_came, .gone = on_gone };

/* ----- start and end */

static int make_tap(struct by_pkey *b, struct by_pkey_tap *t, char err[INST_ERR_MAX])
{
	char what[IFNAMSIZ + CONF_NAME_MAX + 16], prefix[IPOIB_IFNAME_LEN];
	int fd, status;

	t->of = b;
	b->conf.profile->ifname(prefix, b->ca, b->port->num, 0);
	status = netdev_tap_spare(b->host->helper, b->host->ns, iface_kind(&b->conf), prefix,
				  b->conf.iid == CONF_IID_STABLE, &fd, &t->number);
	if (!status)
		status = tap_attach(&t->tap, iface_kind(&b->conf), fd, TAP_OFFLOAD_DEFAULT);
	if (!status) {
		t->state = BY_PKEY_TAP_FREE;
		return 0;
	}
	snprintf(what, sizeof(what), "interface %s@%s", b->conf.name, b->host->name);
	return inst_refused(b->inst, status, what, err);
}

static int start(struct by_pkey *b, char err[INST_ERR_MAX])
{
	/* The secret is stored, because the daemon cannot read the machine's identifier later. */
	int status = iface_iid_secret(&b->conf, b->conf.secret, err);

	b->conf.secret_given = true;
	if (status)
		return status;
	b->tap = calloc(b->conf.devices, sizeof(*b->tap));
	if (!b->tap) {
		snprintf(err, INST_ERR_MAX, "interface %s: out of memory", b->conf.name);
		return -ENOMEM;
	}
	for (unsigned int k = 0; k < b->conf.devices; k++)
		b->tap[k] = (struct by_pkey_tap){ .tap.fd = -1, .state = BY_PKEY_TAP_LOST };
	for (unsigned int k = 0; !status && k < b->conf.devices; k++)
		status = make_tap(b, &b->tap[k], err);
	if (status)
		return status;
	status = ifc_pkeys_start(&b->pkeys, &b->port->ifc);
	if (status)
		snprintf(err, INST_ERR_MAX, "interface %s@%s: %s", b->conf.name, b->host->name,
			 strerror(-status));
	return status;
}

void by_pkey_init(struct by_pkey *b)
{
	list_init(&b->link);
	timer_init(&b->again, ask_again);
	timer_init(&b->drain, drain_all);
	b->pkeys.ops = &pkeys_ops;
	b->pkeys.ctx = b;
	b->pkeys.only = b->conf.pkeys;
	b->pkeys.nonly = b->conf.npkeys;
}

int by_pkey_add(struct inst *in, const struct conf_iface *c, char err[INST_ERR_MAX])
{
	struct inst_host *host;
	struct inst_port *port;
	struct by_pkey *b;
	int status = iface_place(in, c, &port, &host, err);

	if (status)
		return status;
	b = calloc(1, sizeof(*b));
	if (!b) {
		snprintf(err, INST_ERR_MAX, "interface %s: out of memory", c->name);
		return -ENOMEM;
	}
	b->inst = in;
	b->host = host;
	b->port = port;
	b->conf = *c;
	b->conf.netns = NULL;
	b->ca = host_ca(host, port);
	by_pkey_init(b);
	list_add_tail(&in->by_pkeys, &b->link);
	return start(b, err);
}

void by_pkey_stop(struct by_pkey *b)
{
	ifc_pkeys_stop(&b->pkeys);
	b->stopped = true;
}

void by_pkey_destroy(struct by_pkey *b)
{
	by_pkey_stop(b);
	timer_cancel(&b->inst->loop.timers, &b->again);
	timer_cancel(&b->inst->loop.timers, &b->drain);
	for (unsigned int k = 0; b->tap && k < b->conf.devices; k++) {
		netdev_cancel(b->host->helper, &b->tap[k]);
		tap_close(&b->tap[k].tap);
	}
	list_del(&b->link);
	free(b->tap);
	free(b);
}

/*
 * Tells whether the interface waits in vain: its broadcast group does not exist, or all TAPs are in
 * use. A join without an answer does not show that the group does not exist. A TAP that is being
 * parked does not count as in use.
 */
static bool waits_in_vain(const struct by_pkey *b, const struct inst_iface *i,
			  const struct ipoib_link_info *info)
{
	if (!i->spare)
		return !tap_in(b, BY_PKEY_TAP_FREE) && !tap_in(b, BY_PKEY_TAP_RETURNS) &&
		       !tap_in(b, BY_PKEY_TAP_DRAINS);
	return !i->device && info->state == IPOIB_LINK_JOINING && info->no_group;
}

bool by_pkey_up(const struct by_pkey *b, char why[INST_ERR_MAX])
{
	const struct inst_iface *i;
	bool one = false;

	list_for_each (i, &b->host->ifaces, on_host) {
		struct ipoib_link_info info;

		if (i->by_pkey != b)
			continue;
		ipoib_link_info(i->ifc.ipoib, &info);
		if (waits_in_vain(b, i, &info))
			continue;
		one = inst_iface_up(i, why);
		if (!one)
			return false;
	}
	if (!one && why)
		snprintf(why, INST_ERR_MAX, "%s@%s: no P_Key of the port has a broadcast group",
			 b->conf.name, b->host->name);
	return one;
}

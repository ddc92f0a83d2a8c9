/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/fabric_priv.h"

#include <errno.h>
#include <stdlib.h>

/*
 * States of a link. Only set_state() changes the state.
 *
 *	DISABLED	fabric_link_set() has disabled the link; left when the link is enabled
 *	DOWN		an end is Disabled or in Sleep, an external end has no carrier, or the rates
 *			of the ends do not match; left when no such reason exists any more
 *	TRAINING	no reason for DOWN exists; UP follows after FABRIC_RETRAIN
 *	UP		left when the link is disabled, a reason for DOWN arises, or a node
 *			retrains the link
 */

static const char *const state_names[] = {
	[FABRIC_LINK_NONE] = "none", [FABRIC_LINK_DISABLED] = "disabled",
	[FABRIC_LINK_DOWN] = "down", [FABRIC_LINK_TRAINING] = "training",
	[FABRIC_LINK_UP] = "up",
};

const char *fabric_link_state_name(enum fabric_link_state s)
{
	return (unsigned int)s < ARRAY_SIZE(state_names) ? state_names[s] : "?";
}

static void say(const struct fabric_link *l, enum fabric_link_state old)
{
	char a[FABRIC_NAME_MAX + 1], b[FABRIC_NAME_MAX + 1];

	if (!l->f->cfg.log)
		return;
	log_to(l->f->cfg.log, LOG_LVL_DEBUG, "link %s - %s: %s -> %s",
	       fabric_port_name(l->end[0], a, sizeof(a)), fabric_port_name(l->end[1], b, sizeof(b)),
	       state_names[old], state_names[l->state]);
}

/*
 * Return the widths and speeds that an end of a link enables. An external end enables all widths
 * and speeds.
 */
static struct node_rate rate_of(const struct fabric_port *p)
{
	return p->np ? node_rate_enabled(p->np) : (struct node_rate){ 0xff, 0xff, 0xff };
}

/*
 * Tell whether both ends enable a common width and a common speed, which a link needs for its
 * training.
 */
static bool rates_agree(const struct fabric_link *l)
{
	struct node_rate a = rate_of(l->end[0]), b = rate_of(l->end[1]);

	return (a.width & b.width) && (a.speed & b.speed);
}

static void tell_ends(struct fabric_link *l, bool changed_up, ns_t now)
{
	bool up = l->state == FABRIC_LINK_UP;

	for (unsigned int i = 0; i < 2; i++) {
		struct fabric_port *p = l->end[i];

		if (p->np && up)
			node_link_peer(p->node->node, p->num, rate_of(l->end[!i]));
		if (p->np && changed_up)
			node_link(p->node->node, p->num, up, now);
		if (p->ext && p->ext->state)
			p->ext->state(p->ext_ctx, l->state, now);
	}
}

static void set_state(struct fabric_link *l, enum fabric_link_state state, ns_t now)
{
	enum fabric_link_state old = l->state;
	bool up = state == FABRIC_LINK_UP, changed_up = up != (old == FABRIC_LINK_UP);

	if (state == old)
		return;
	l->state = state;
	l->f->now = now;
	for (unsigned int i = 0; i < 2; i++) {
		l->end[i]->up = up;
		if (!up)
			fabric_port_purge(l->end[i]);
	}
	if (state != FABRIC_LINK_TRAINING)
		timer_cancel(l->f->cfg.timers, &l->train);
	say(l, old);
	tell_ends(l, changed_up, now);
}

/* Tell whether an end is ready for training. */
static bool end_allows(const struct fabric_port *p)
{
	if (!p->np)
		return p->carrier;
	return p->np->pi.phys_state != IB_PHYS_DISABLED && p->np->pi.phys_state != IB_PHYS_SLEEP;
}

static void tell_want(struct fabric_port *end, bool on, ns_t now)
{
	if (!end->ext || end->wanted == on)
		return;
	end->wanted = on;
	if (end->ext->want)
		end->ext->want(end->ext_ctx, on, now);
}

/*
 * Tell an external end whether the node's side of the link is ready. If @on is false, it is not.
 * The owner of the external end may clear the end's carrier when the node's side is no longer
 * ready, and set the carrier, at once or later, when the node's side is ready.
 */
static void tell_ext(struct fabric_link *l, bool on, ns_t now)
{
	for (unsigned int i = 0; i < 2; i++)
		tell_want(l->end[i], on && l->enabled && end_allows(l->end[!i]), now);
}

void fabric_link_update(struct fabric_link *l, bool at_once, ns_t now)
{
	bool want;

	tell_ext(l, true, now);
	want = l->enabled && end_allows(l->end[0]) && end_allows(l->end[1]) && rates_agree(l);
	if (!want) {
		set_state(l, l->enabled ? FABRIC_LINK_DOWN : FABRIC_LINK_DISABLED, now);
	} else if (l->state == FABRIC_LINK_UP) {
		return;
	} else if (at_once) {
		set_state(l, FABRIC_LINK_UP, now);
	} else if (l->state != FABRIC_LINK_TRAINING) {
		set_state(l, FABRIC_LINK_TRAINING, now);
		timer_arm(l->f->cfg.timers, &l->train, now + FABRIC_RETRAIN);
	}
}

static void train_done(struct timer *t, ns_t now)
{
	fabric_link_update(container_of(t, struct fabric_link, train), true, now);
}

static void act(struct timer *t, ns_t now)
{
	struct fabric_link *l = container_of(t, struct fabric_link, act);

	if (l->bounce)
		tell_ext(l, false, now);
	if (l->bounce && l->state == FABRIC_LINK_UP)
		set_state(l, FABRIC_LINK_DOWN, now);
	l->bounce = false;
	fabric_link_update(l, false, now);
}

void fabric_link_event(struct fabric_port *p, enum node_event ev, ns_t now)
{
	struct fabric_link *l = p->link;

	if (!l)
		return;
	if (ev == NODE_EV_RETRAIN)
		l->bounce = true;
	if (!timer_armed(&l->act))
		timer_arm(l->f->cfg.timers, &l->act, now + FABRIC_ACT_DELAY);
}

int fabric_link_new(struct fabric *f, struct fabric_port *a, struct fabric_port *b)
{
	struct fabric_link *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->f = f;
	l->end[0] = a;
	l->end[1] = b;
	l->enabled = true;
	l->state = FABRIC_LINK_DOWN;
	timer_init(&l->train, train_done);
	timer_init(&l->act, act);
	list_add_tail(&f->links, &l->all);
	a->link = b->link = l;
	a->peer = b;
	b->peer = a;
	return 0;
}

void fabric_link_free(struct fabric_link *l)
{
	timer_cancel(l->f->cfg.timers, &l->train);
	timer_cancel(l->f->cfg.timers, &l->act);
	list_del(&l->all);
	for (unsigned int i = 0; i < 2; i++) {
		l->end[i]->link = NULL;
		l->end[i]->peer = NULL;
		l->end[i]->up = false;
	}
	free(l);
}

enum fabric_link_state fabric_link_state(const struct fabric_port *p)
{
	return p->link ? p->link->state : FABRIC_LINK_NONE;
}

bool fabric_link_retrains(const struct fabric_port *p)
{
	return p->link && p->link->bounce;
}

int fabric_link_set(struct fabric_port *p, bool up, ns_t now)
{
	if (!p->link)
		return -ENOTCONN;
	p->link->enabled = up;
	fabric_link_update(p->link, p->link->end[0]->ext || p->link->end[1]->ext, now);
	return 0;
}

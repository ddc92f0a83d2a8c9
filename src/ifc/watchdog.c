/* SPDX-License-Identifier: BSD-2-Clause */
#include "ifc/watchdog.h"

#include "util/log.h"

/*
 * Lets the TAP be read again, because the send queue has room, is not stalled any more, or was
 * flushed.
 */
static void unblock(struct ifc *i)
{
	if (i->watchdog.blocked)
		ifc_readable(i);
	i->watchdog.blocked = false;
}

static void note(struct ifc_watchdog *w, const struct ca_send_queue *q, ns_t now)
{
	if (q->sent != w->sent)
		w->logged = false;
	w->sent = q->sent;
	w->since = now;
}

static void tx_timeout(struct ifc *i, ns_t now)
{
	struct ifc_watchdog *w = &i->watchdog;
	unsigned int n = ca_send_flush(i->port->ca, now);

	w->timeouts++;
	w->discarded += n;
	if (w->logged)
		return;
	w->logged = true;
	log_to(i->log, LOG_LVL_WARN,
	       "%s: transmit timeout: no packet left the port for %llu ms; %u that waited were "
	       "discarded",
	       i->link_name, (unsigned long long)(w->timeout / NS_MSEC(1)), n);
}

static void arm(struct ifc *i, const struct ca_send_queue *q, ns_t now)
{
	struct ifc_watchdog *w = &i->watchdog;
	ns_t at = w->since + w->timeout;

	/*
	 * Not every CA reports that a stalled send queue sends again (ca_notify.room), so check
	 * often.
	 */
	if (w->blocked && q->stalled && now + IFC_STALL_POLL < at)
		at = now + IFC_STALL_POLL;
	timer_arm(i->set->timers, &w->timer, at);
}

static void look(struct timer *t, ns_t now)
{
	struct ifc *i = container_of(t, struct ifc, watchdog.timer);
	struct ca_send_queue q = ca_send_queue(i->port->ca);
	struct ifc_watchdog *w = &i->watchdog;

	if (q.waiting && q.sent == w->sent && now >= w->since + w->timeout) {
		tx_timeout(i, now);
		q = ca_send_queue(i->port->ca);
		note(w, &q, now);
		unblock(i);
	} else if (q.sent != w->sent) {
		note(w, &q, now);
	}
	if (!q.stalled || q.waiting < i->sq_depth)
		unblock(i);
	if (q.waiting)
		arm(i, &q, now);
}

void ifc_watchdog_init(struct ifc *i, const struct ifc_cfg *cfg)
{
	i->watchdog.timeout = cfg->tx_timeout ? cfg->tx_timeout : IFC_TX_TIMEOUT;
	timer_init(&i->watchdog.timer, look);
}

void ifc_watchdog_posted(struct ifc *i, ns_t now)
{
	struct ca_send_queue q;

	if (timer_armed(&i->watchdog.timer))
		return;
	q = ca_send_queue(i->port->ca);
	note(&i->watchdog, &q, now);
	if (q.waiting)
		arm(i, &q, now);
}

bool ifc_watchdog_block(struct ifc *i, ns_t now)
{
	struct ca_send_queue q = ca_send_queue(i->port->ca);

	if (!q.stalled || q.waiting < i->sq_depth)
		return false;
	if (!timer_armed(&i->watchdog.timer))
		note(&i->watchdog, &q, now);
	i->watchdog.blocked = true;
	arm(i, &q, now);
	return true;
}

void ifc_watchdog_room(struct ifc *i)
{
	struct ca_send_queue q = ca_send_queue(i->port->ca);

	if (!q.stalled || q.waiting < i->sq_depth)
		unblock(i);
}

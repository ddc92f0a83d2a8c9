/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "ifc/ifc.h"
#include "ifc/port.h"
#include "ifc/qp.h"
#include "ifc/watchdog.h"

/* Does one round of work for all interfaces, and reads their TAPs in round robin. */

#define RX_BUDGET 4096 /* largest number of packets that one call of ifc_work() receives */

/* --- ports, received packets, actions */

static void refresh_ports(struct ifc_set *s, ns_t now)
{
	struct ifc_port *p;

	s->ports_dirty = false;
	list_for_each (p, &s->ports, link)
		if (p->dirty)
			ifc_port_refresh(p, now);
}

/*
 * Receive packets. Each queue pair is polled for one batch at a time, so that a busy queue pair
 * does not delay the others.
 */
static void receive(struct ifc_set *s, ns_t now)
{
	unsigned int done = 0;
	bool more;

	while (!list_empty(&s->rx_ready) && done < RX_BUDGET) {
		struct ifc_qp *q = list_first(&s->rx_ready, struct ifc_qp, rx_link);

		list_del(&q->rx_link);
		done += ifc_qp_poll(q, &more, now) + 1;
		if (more)
			ifc_qp_ready(q);
	}
}

void ifc_work(struct ifc_set *s, ns_t now)
{
	if (s->ports_dirty)
		refresh_ports(s, now);
	receive(s, now);
	while (!list_empty(&s->acting)) {
		struct ifc *i = list_first(&s->acting, struct ifc, act_link);

		list_del(&i->act_link);
		ifc_actions(i, now);
	}
}

bool ifc_work_left(const struct ifc_set *s)
{
	return !list_empty(&s->rx_ready) || !list_empty(&s->acting) || s->ports_dirty;
}

/* --- frames from TAPs */

enum turn {
	TURN_EMPTY, /* the TAP has no frames */
	TURN_OVER, /* the TAP has sent the packets of its quantum */
	TURN_BLOCKED, /* the queues have no room for more packets, or there is no free packet buffer */
	/*
	 * the send queue is full and sends nothing; the watchdog notices when the queue sends again
	 */
	TURN_STALLED,
};

/*
 * Returns the number of packets that the TAP may send now, which is limited by the room in the
 * queues of the CA.
 */
static unsigned int room_behind(const struct ifc *i)
{
	unsigned int queued = ca_queued(i->port->ca);
	unsigned int room = queued < IFC_ROOM ? IFC_ROOM - queued : 0;
	unsigned int waiting = ca_send_queue(i->port->ca).waiting;
	unsigned int own = waiting < i->sq_depth ? i->sq_depth - waiting : 0;

	return own < room ? own : room;
}

/*
 * Subtracts the number of packets that were posted from the number that the TAP may still send
 * (.deficit). If more frames were read than packets were posted, the number of frames is
 * subtracted, because handling a frame takes time even if the frame is dropped.
 */
static void charge(struct ifc *i, unsigned int frames, unsigned int posted_before)
{
	unsigned int posted = i->posted - posted_before;
	unsigned int cost = posted > frames ? posted : frames;

	i->deficit -= (int)cost;
}

/*
 * Reads one frame into @v, and further frames as long as all frames together probably become at
 * most @limit packets. The function assumes that the next frame becomes as many packets as the last
 * frame. Returns the number of frames. *ret_err is the error of the last read, or 0.
 */
static unsigned int read_frames(struct ifc *i, struct pkt **v, unsigned int limit, int *ret_err)
{
	unsigned int n = 0, cost = 0, last;

	do {
		*ret_err = i->ops->read(i->ctx, &v[n]);
		if (*ret_err)
			break;
		last = eth_tx_cost(i->eth, v[n++]);
		cost += last;
	} while (n < PKT_BATCH && cost + last <= limit);
	return n;
}

static void starve(struct ifc_set *s, ns_t now)
{
	if (!s->starved)
		timer_arm(s->timers, &s->retry, now + IFC_RETRY);
	s->starved = true;
}

/*
 * Sends the rest of the super-frames that an earlier round began to send. Return: false if there
 * was not enough room for the rest
 */
static bool finish_frames(struct ifc *i, ns_t now)
{
	unsigned int before = i->posted;

	eth_set_room(i->eth, room_behind(i));
	eth_tx_more(i->eth, now);
	charge(i, 0, before);
	return !eth_tx_waiting(i->eth);
}

/* Sends frames for the rest of the quantum. Return: 0, or the error of the last ifc_ops.read() */
static int send_frames(struct ifc *i, ns_t now)
{
	unsigned int room = room_behind(i), quantum = (unsigned int)i->deficit;
	unsigned int before = i->posted, n;
	struct pkt *v[PKT_BATCH];
	int err;

	n = read_frames(i, v, room < quantum ? room : quantum, &err);
	eth_set_room(i->eth, room);
	if (n)
		eth_tx(i->eth, v, n, now);
	charge(i, n, before);
	return err;
}

static enum turn take_turn(struct ifc *i, ns_t now)
{
	int err;

	if (ifc_watchdog_block(i, now))
		return TURN_STALLED;
	if (!room_behind(i))
		/* the queues have no room; a TAP that cannot send gets no new quantum */
		return TURN_BLOCKED;
	if (i->deficit < IFC_QUANTUM)
		i->deficit += IFC_QUANTUM;
	if (i->deficit <= 0)
		return TURN_OVER;
	if (!finish_frames(i, now))
		return TURN_BLOCKED;
	if (i->deficit <= 0 || !room_behind(i))
		return TURN_OVER;
	err = send_frames(i, now);
	if (err == -ENOBUFS) {
		starve(i->set, now);
		return TURN_BLOCKED;
	}
	if (eth_tx_waiting(i->eth))
		return TURN_BLOCKED;
	return err ? TURN_EMPTY : TURN_OVER;
}

void ifc_transmit(struct ifc_set *s, ns_t now)
{
	struct list blocked = LIST_INIT(blocked);
	unsigned int turns = 0;
	struct ifc *i;

	list_for_each (i, &s->tx_ready, tx_link)
		turns++;
	while (turns-- && list_empty(&s->rx_ready) && !s->starved) {
		enum turn t;

		i = list_first(&s->tx_ready, struct ifc, tx_link);
		list_del(&i->tx_link);
		t = take_turn(i, now);
		if (t == TURN_EMPTY)
			i->deficit = 0;
		else if (t != TURN_STALLED)
			list_add_tail(t == TURN_OVER ? &s->tx_ready : &blocked, &i->tx_link);
	}
	/* The interfaces that had no room are served first in the next call. */
	while (!list_empty(&blocked)) {
		i = list_entry(blocked.prev, struct ifc, tx_link);
		list_del(&i->tx_link);
		list_add_head(&s->tx_ready, &i->tx_link);
	}
}

bool ifc_transmit_left(const struct ifc_set *s)
{
	return !list_empty(&s->tx_ready) && !s->starved;
}

void ifc_readable(struct ifc *i)
{
	if (list_empty(&i->tx_link))
		list_add_tail(&i->set->tx_ready, &i->tx_link);
}

static void on_retry(struct timer *t, ns_t now)
{
	(void)now;
	container_of(t, struct ifc_set, retry)->starved = false;
}

/* --- making and freeing a set */

void ifc_set_init(struct ifc_set *s, struct timers *timers, struct pkt_pool *pool,
		  const struct log_sink *log)
{
	*s = (struct ifc_set){ .timers = timers, .pool = pool, .log = log };
	list_init(&s->ports);
	list_init(&s->all);
	list_init(&s->rx_ready);
	list_init(&s->acting);
	list_init(&s->tx_ready);
	timer_init(&s->retry, on_retry);
}

void ifc_set_fini(struct ifc_set *s)
{
	timer_cancel(s->timers, &s->retry);
}

// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * The state of the link over UDP, which doc/udp-link.md describes. One datagram is one packet, and
 * an empty datagram is a keepalive. The socket is in udp.c. The link has these states:
 *
 *	OFF	The link is not started, or the port is Disabled. uib_link_start() or
 *		uib_link_enable(true) ends this state.
 *	SILENT	The link sends and receives nothing for the time SILENCE. The first silence has the
 *		length that the device's parameter silence= gives.
 *	POLLING	The link sends keepalives until a valid datagram of the peer arrives.
 *	UP	The link carries packets. This state ends when no valid datagram has come for TIMEOUT,
 *		or when the SM requests that the link trains again.
 *
 * Packets arrive in softirq. Work items send packets, in process context.
 */

#include "link_why.h"
#include "uib.h"

#define KEEPALIVE HZ
#define TIMEOUT (3 * HZ)
#define SILENCE msecs_to_jiffies(UIB_SILENCE_MS)

static struct uib_dev *to_dev(struct uib_link *l)
{
	return container_of(l, struct uib_dev, link);
}

const char *uib_link_state_name(enum uib_link_state s)
{
	static const char *const names[] = {
		[UIB_LINK_OFF] = "off",
		[UIB_LINK_SILENT] = "silent",
		[UIB_LINK_POLLING] = "polling",
		[UIB_LINK_UP] = "up",
	};

	return names[s];
}

/* --- states. Only enter_up() and leave_to() change the state; their callers hold the lock */

/*
 * Enter UP with this peer. Return: false if the port is Disabled, so that the link must stay down; in this case the
 * work item that switches the link off has been queued
 */
static bool enter_up(struct uib_link *l, const union uib_addr *peer)
{
	if (!uib_port_link_up(to_dev(l)))
		return false;
	l->peer = *peer;
	l->has_peer = true;
	if (l->learn)
		uib_udp_new_peer(l);
	WRITE_ONCE(l->state, UIB_LINK_UP);
	uib_count(to_dev(l), UIB_C_LINK_UPS);
	ibdev_info_ratelimited(&to_dev(l)->ibdev, "link up, peer %pISpc\n", &peer->sa);
	return true;
}

/* Leave the present state for any state but UP. @why is logged if the state was UP. */
static void leave_to(struct uib_link *l, enum uib_link_state state, const char *why)
{
	bool was_up = l->state == UIB_LINK_UP;

	WRITE_ONCE(l->state, state);
	if (!was_up)
		return;
	ibdev_info_ratelimited(&to_dev(l)->ibdev, "link down: %s\n", why);
	if (l->learn)
		l->has_peer = false;
	uib_port_link_down(to_dev(l));
}

/* Enter POLLING if the silence is over; otherwise queue .state_work for the end of the silence. */
static void try_polling(struct uib_link *l, const char *why)
{
	u64 now = get_jiffies_64();

	if (time_before64(now, l->silent_until)) {
		leave_to(l, UIB_LINK_SILENT, why);
		mod_delayed_work(uib_wq, &l->state_work, l->silent_until - now);
		return;
	}
	leave_to(l, UIB_LINK_POLLING, why);
	mod_delayed_work(uib_wq, &l->keepalive_work, 0);
}

static void go_silent(struct uib_link *l, const char *why)
{
	l->silent_until = get_jiffies_64() + SILENCE;
	try_polling(l, why);
}

/*
 * Ends the state SILENT when the silence is over, and the state UP when the peer has sent nothing for TIMEOUT. An
 * arriving datagram only writes .heard, so this work is queued once in each time-out and not once for each packet.
 * UP is followed by SILENT, because if only one direction of the link is broken, the silence makes the other end
 * notice the loss, too.
 */
static void state_work(struct work_struct *work)
{
	struct uib_link *l = container_of(work, struct uib_link, state_work.work);
	unsigned long end;

	spin_lock_bh(&l->lock);
	if (l->state == UIB_LINK_SILENT) {
		try_polling(l, NULL);
	} else if (l->state == UIB_LINK_UP) {
		end = READ_ONCE(l->heard) + TIMEOUT;
		if (time_before(jiffies, end))
			mod_delayed_work(uib_wq, &l->state_work, end - jiffies);
		else
			go_silent(l, LINK_WHY_SILENT);
	}
	spin_unlock_bh(&l->lock);
}

static void retrain_work(struct work_struct *work)
{
	struct uib_link *l = container_of(work, struct uib_link, retrain_work.work);

	if (READ_ONCE(to_dev(l)->port.phys_state) == UIB_PHYS_DISABLED) {
		uib_link_enable(l, false);
		return;
	}
	spin_lock_bh(&l->lock);
	if (l->state == UIB_LINK_UP)
		go_silent(l, LINK_WHY_RETRAIN);
	spin_unlock_bh(&l->lock);
}

void uib_link_retrain(struct uib_link *l, unsigned long delay)
{
	queue_delayed_work(uib_wq, &l->retrain_work, delay);
}

void uib_link_retrain_now(struct uib_link *l)
{
	if (delayed_work_pending(&l->retrain_work))
		mod_delayed_work(uib_wq, &l->retrain_work, 0);
}

static void switch_off(struct uib_link *l, const char *why)
{
	spin_lock_bh(&l->lock);
	if (l->state != UIB_LINK_OFF) {
		if (l->state != UIB_LINK_SILENT) /* a silence that has begun keeps its end time */
			l->silent_until = get_jiffies_64() + SILENCE;
		leave_to(l, UIB_LINK_OFF, why);
	}
	spin_unlock_bh(&l->lock);
}

static void switch_on(struct uib_link *l)
{
	spin_lock_bh(&l->lock);
	if (l->state == UIB_LINK_OFF)
		try_polling(l, NULL);
	spin_unlock_bh(&l->lock);
}

void uib_link_enable(struct uib_link *l, bool on)
{
	if (on)
		switch_on(l);
	else
		switch_off(l, LINK_WHY_DISABLED);
}

/* --- sending */

/*
 * Send datagrams to the peer. Return: 0; -ENETDOWN if the state is below @least or no peer is known; or the error of
 * uib_udp_send()
 */
static int send_to_peer(struct uib_link *l, enum uib_link_state least, struct sk_buff *skb)
{
	union uib_addr peer;
	bool ok;

	spin_lock_bh(&l->lock);
	ok = l->state >= least && l->has_peer;
	peer = l->peer;
	spin_unlock_bh(&l->lock);
	if (ok)
		return uib_udp_send(l, &peer, skb);
	kfree_skb(skb);
	return -ENETDOWN;
}

int uib_link_send(struct uib_link *l, struct sk_buff *skb)
{
	return send_to_peer(l, UIB_LINK_UP, skb);
}

/* Sends a keepalive now and every second, in POLLING and in UP. */
static void keepalive_work(struct work_struct *work)
{
	struct uib_link *l = container_of(work, struct uib_link, keepalive_work.work);
	struct sk_buff *empty;

	if (READ_ONCE(l->state) < UIB_LINK_POLLING)
		return;
	queue_delayed_work(uib_wq, &l->keepalive_work, KEEPALIVE);
	empty = uib_udp_alloc(GFP_KERNEL);
	if (empty && !send_to_peer(l, UIB_LINK_POLLING, empty))
		uib_count(to_dev(l), UIB_C_TX_KEEPALIVES);
}

/* --- receiving */

static bool same_address(const union uib_addr *a, const union uib_addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->in4.sin_addr.s_addr == b->in4.sin_addr.s_addr;
	return !memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof(a->in6.sin6_addr));
}

enum uib_counter uib_link_check_sender(struct uib_link *l, const union uib_addr *from)
{
	enum uib_counter why = UIB_C_NONE;

	spin_lock(&l->lock);
	if (l->state < UIB_LINK_POLLING)
		why = UIB_DROP_SILENT;
	else if (l->has_peer && !same_address(from, &l->peer))
		why = UIB_DROP_STRAY_ADDR;
	/* sin_port and sin6_port are at the same offset, so the comparison is right for IPv6, too. */
	else if (l->has_peer && from->in4.sin_port != l->peer.in4.sin_port)
		why = UIB_DROP_STRAY_PORT;
	spin_unlock(&l->lock);
	return why;
}

/* Handle a valid datagram that arrived while the link was not UP. In POLLING the datagram makes the link UP. */
static enum uib_counter came_up(struct uib_link *l, const union uib_addr *from)
{
	enum uib_counter why = UIB_C_NONE;

	spin_lock(&l->lock);
	if (l->state == UIB_LINK_POLLING && enter_up(l, from)) {
		mod_delayed_work(uib_wq, &l->state_work, TIMEOUT);
		/* Send a keepalive now, so that the peer need not wait for the next regular keepalive. */
		mod_delayed_work(uib_wq, &l->keepalive_work, 0);
	} else if (l->state != UIB_LINK_UP) {
		why = UIB_DROP_SILENT;
	}
	spin_unlock(&l->lock);
	return why;
}

enum uib_counter uib_link_heard(struct uib_link *l, const union uib_addr *from)
{
	WRITE_ONCE(l->heard, jiffies);
	return READ_ONCE(l->state) == UIB_LINK_UP ? UIB_C_NONE : came_up(l, from);
}

/* --- open and close */

int uib_link_open(struct uib_link *l)
{
	spin_lock_init(&l->lock);
	INIT_DELAYED_WORK(&l->state_work, state_work);
	INIT_DELAYED_WORK(&l->keepalive_work, keepalive_work);
	INIT_DELAYED_WORK(&l->retrain_work, retrain_work);
	l->state = UIB_LINK_OFF;
	l->learn = !l->has_peer;
	return uib_udp_open(l);
}

void uib_link_start(struct uib_link *l)
{
	spin_lock_bh(&l->lock);
	l->silent_until = get_jiffies_64() + l->start_silence;
	try_polling(l, NULL);
	spin_unlock_bh(&l->lock);
}

/*
 * Stop the link without a message to the peer. The peer notices the end of the link by its time-out of 3 s. After
 * this call no packet is received, and no new packet is sent.
 */
void uib_link_stop(struct uib_link *l)
{
	if (!l->sock)
		return;
	switch_off(l, LINK_WHY_REMOVED);
	cancel_delayed_work_sync(&l->retrain_work);
	cancel_delayed_work_sync(&l->state_work);
	cancel_delayed_work_sync(&l->keepalive_work);
	/* Wait until receivers that have seen the state UP have finished. */
	synchronize_rcu();
}

void uib_link_close(struct uib_link *l)
{
	if (l->sock)
		uib_udp_close(l);
}

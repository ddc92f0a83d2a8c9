/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/iface_net.h"

#include <errno.h>
#include <string.h>

#include "inst/host.h"
#include "inst/iface.h"
#include "os/clock.h"

#define BEFORE_CARRIER (IFACE_NET_MAC | IFACE_NET_MTU)
/* Settings by which iface_net_came() moves the TAP into the namespace and sets it up */
#define RETURN (IFACE_NET_TAP | IFACE_NET_ADDR | IFACE_NET_UP)
/*
 * Settings that are not sent again after the kernel refused them: the configured addresses, and the
 * deletion of a former fe80:: address. The deletion cannot be repeated: the former address was in
 * .linklocal, which has the new address by then.
 */
#define ONCE (IFACE_NET_ADDR | IFACE_NET_LL_OLD)
/* Pause after a search of the neighbour table, as a multiple of the time that the search took */
#define PACE_FACTOR 10
#define PACE_MIN NS_MSEC(50)
#define PACE_MAX NS_SEC(10)
/*
 * Time after which a request is sent again if it was refused, or if the queue of the helper process
 * was full
 */
#define AGAIN NS_SEC(2)
/* upper limit of the time AGAIN, which doubles with each refusal in a row */
#define AGAIN_MAX NS_SEC(64)

static void next(struct inst_iface *i);
static void set_identifier(struct inst_iface *i);

/* --- answers of the helper process */

static const char *name_of(unsigned int asked)
{
	switch (asked) {
	case IFACE_NET_LINKLOCAL:
		return "adding the fe80:: address";
	case IFACE_NET_LL_OLD:
		return "deleting the former fe80:: address";
	case IFACE_NET_TOKEN:
		return "setting the IPv6 token";
	case IFACE_NET_GONE:
		return "deleting neighbours";
	case IFACE_NET_TAP:
		return "putting the TAP into the namespace";
	case IFACE_NET_ADDR:
		return "adding an address";
	case IFACE_NET_UP:
		return "setting the interface up";
	default:
		return "setting MAC and MTU";
	}
}

static void log_refusal(struct inst_iface *i, unsigned int asked, const char *text)
{
	enum log_level lvl = LOG_LVL_WARN;

	/*
	 * If forwarding is on or accept_ra is off, the kernel refuses every token. Such a refusal
	 * is no fault, so its log line has the level LOG_LVL_INFO.
	 */
	if (asked == IFACE_NET_TOKEN) {
		if (i->net.token_logged)
			return;
		i->net.token_logged = true;
		lvl = LOG_LVL_INFO;
	}
	if (asked == IFACE_NET_TAP) {
		if (i->net.tap_logged)
			return;
		i->net.tap_logged = true;
	}
	log_to(&i->log, lvl, "%s@%s: %s: %s", i->name, i->host->name, name_of(asked), text);
}

static void pause_after_search(struct inst_iface *i)
{
	ns_t now = clock_now(), pause = PACE_FACTOR * (now - i->net.asked_at);

	if (pause < PACE_MIN)
		pause = PACE_MIN;
	if (pause > PACE_MAX)
		pause = PACE_MAX;
	timer_arm(&i->inst->loop.timers, &i->net.pace, now + pause);
}

/*
 * Handles the answer to one of the requests that move a TAP back into its namespace and configure
 * the TAP.
 */
static void on_return(struct inst_iface *i, unsigned int asked, const struct netdev_answer *a)
{
	struct iface_net *n = &i->net;

	if (asked == IFACE_NET_ADDR && n->naddrs < i->naddrs)
		n->wanted |= IFACE_NET_ADDR;
	if (!a->err)
		n->refusals = 0;
	if (!a->err && asked == IFACE_NET_TAP)
		i->ifindex = a->value;
	else if (!a->err && asked == IFACE_NET_UP)
		iface_link_event(i, true, i->inst->loop.now);
	/* A TAP that was deleted cannot be moved back, so the request is not repeated. */
	else if (a->err && asked != IFACE_NET_ADDR && a->err != -ENODEV)
		timer_arm(&i->inst->loop.timers, &n->again,
			  i->inst->loop.now + ns_backoff(++n->refusals, AGAIN, AGAIN_MAX));
}

/*
 * Tells whether @err means that nothing is left to do, because the address to add exists already,
 * or the address to delete does not exist.
 */
static bool good_enough(unsigned int asked, int err)
{
	if (asked == IFACE_NET_LL_OLD)
		return err == -EADDRNOTAVAIL;
	return err == -EEXIST && (asked & (IFACE_NET_LINKLOCAL | IFACE_NET_ADDR));
}

static void on_done(void *ctx, const struct netdev_answer *a)
{
	struct inst_iface *i = ctx;
	struct iface_net *n = &i->net;
	unsigned int asked = n->asked;
	bool done = !a->err || good_enough(asked, a->err);

	n->busy = false;
	n->asked = 0;
	/* -ESTALE means that the namespace is gone, which inst/host_follow.c handles and logs. */
	if (!done && a->err != -ESTALE)
		log_refusal(i, asked, a->text);
	if (asked & RETURN)
		on_return(i, asked, a);
	/*
	 * The new MTU made the kernel start IPv6 on the TAP again, without the identifier, so the
	 * identifier is sent again.
	 */
	if (done && (asked & IFACE_NET_MTU) && a->value && n->carrier_wanted)
		set_identifier(i);
	if (asked == IFACE_NET_GONE)
		pause_after_search(i);
	/*
	 * A setting that was refused is sent again later, unless a newer value of it waits already.
	 */
	else if (!done)
		n->refused |= asked & ~(n->wanted | ONCE);
	next(i);
}

/* --- jobs */

static int post_link(struct inst_iface *i, unsigned int what)
{
	struct rtnl_link_conf c = { .mtu = i->net.mtu };

	if (what & IFACE_NET_MAC)
		c.set |= RTNL_SET_MAC;
	if (what & IFACE_NET_MTU)
		c.set |= RTNL_SET_MTU;
	memcpy(c.mac, i->ifc.mac, sizeof(c.mac));
	return netdev_post_link(i->host->helper, i->host->ns, i->ifindex, &c, on_done, i);
}

/*
 * Adds or deletes the address in .linklocal. A deletion concerns the old address, because it is
 * requested before post_new_linklocal() stores the new address in .linklocal.
 */
static int post_linklocal(struct inst_iface *i, bool add)
{
	struct rtnl_ip ip = { .family = RTNL_V6 };

	memcpy(ip.addr, i->net.linklocal, sizeof(i->net.linklocal));
	return (add ? netdev_post_addr : netdev_post_addr_del)(i->host->helper, i->host->ns,
							       i->ifindex, &ip, 64, on_done, i);
}

static int post_new_linklocal(struct inst_iface *i)
{
	uint8_t iid[8];

	if (iface_iid_own(i, iid))
		ipoib_linklocal(i->net.linklocal, iid);
	return post_linklocal(i, true);
}

static int post_token(struct inst_iface *i)
{
	struct rtnl_link_conf c = { .set = RTNL_SET_TOKEN };

	iface_iid_own(i, c.token);
	return netdev_post_link(i->host->helper, i->host->ns, i->ifindex, &c, on_done, i);
}

static int post_gone(struct inst_iface *i)
{
	unsigned int n = i->net.ngone < NETDEV_HWS_MAX ? i->net.ngone : NETDEV_HWS_MAX;
	unsigned int left = i->net.ngone - n;
	int err;

	if (i->net.gone_all)
		err = netdev_post_neigh_del_all(i->host->helper, i->host->ns, i->ifindex, on_done,
						i);
	else
		err = netdev_post_neigh_del(i->host->helper, i->host->ns, i->ifindex,
					    (const uint8_t(*)[RTNL_HW_MAX]) & i->net.gone[left], n,
					    on_done, i);
	if (!err) {
		i->net.ngone = left;
		i->net.gone_all = false;
	}
	return err;
}

static int post_tap(struct inst_iface *i)
{
	struct netdev_tap_conf c = iface_tap_conf(i);

	if (i->number)
		return netdev_post_tap_place(i->host->helper, i->host->ns, i->number, &c, on_done,
					     i);
	return netdev_post_tap_return(i->host->helper, i->host->ns, &c, on_done, i);
}

static int post_address(struct inst_iface *i)
{
	const struct conf_addr *a = &i->addr[i->net.naddrs];
	struct rtnl_ip ip = iface_addr(i, i->net.naddrs);
	int err = netdev_post_addr(i->host->helper, i->host->ns, i->ifindex, &ip, a->prefix_len,
				   on_done, i);

	if (!err)
		i->net.naddrs++;
	return err;
}

static int post_up(struct inst_iface *i)
{
	struct rtnl_link_conf c = { .set = RTNL_SET_UP };

	return netdev_post_link(i->host->helper, i->host->ns, i->ifindex, &c, on_done, i);
}

/*
 * Returns the settings to send next, in the order in which the kernel needs the settings; 0 if none
 * waits
 */
static unsigned int choose(const struct iface_net *n)
{
	static const unsigned int order[] = { IFACE_NET_TAP,  IFACE_NET_ADDR,	IFACE_NET_UP,
					      BEFORE_CARRIER, IFACE_NET_LL_OLD, IFACE_NET_LINKLOCAL,
					      IFACE_NET_TOKEN };

	/* If the TAP could not be moved into the namespace, there is no interface to set up. */
	if (n->refused & ~n->wanted & IFACE_NET_TAP)
		return 0;
	for (unsigned int k = 0; k < sizeof(order) / sizeof(order[0]); k++)
		if (n->wanted & order[k])
			return n->wanted & order[k];
	return (n->ngone || n->gone_all) && !timer_armed(&n->pace) ? IFACE_NET_GONE : 0;
}

static int post(struct inst_iface *i, unsigned int what)
{
	switch (what) {
	case IFACE_NET_LL_OLD:
		return post_linklocal(i, false);
	case IFACE_NET_LINKLOCAL:
		return post_new_linklocal(i);
	case IFACE_NET_TOKEN:
		return post_token(i);
	case IFACE_NET_GONE:
		return post_gone(i);
	case IFACE_NET_TAP:
		return post_tap(i);
	case IFACE_NET_ADDR:
		return post_address(i);
	case IFACE_NET_UP:
		return post_up(i);
	default:
		return post_link(i, what);
	}
}

static void put_carrier(struct inst_iface *i, bool up)
{
	struct ipoib_link_info info;
	const char *reason;
	int err = tap_set_carrier(&i->tap, up);

	ipoib_link_info(i->ifc.ipoib, &info);
	reason = iface_reason(i, &info);
	if (err)
		log_to(&i->log, LOG_LVL_WARN, "%s@%s: setting the carrier: %s", i->name,
		       i->host->name, strerror(-err));
	i->carrier = up;
	i->inst->link_changes++;
	log_to(&i->log, LOG_LVL_INFO, "%s@%s: %s%s%s", i->name, i->host->name, up ? "up" : "down",
	       *reason ? ": " : "", reason);
}

static void next(struct inst_iface *i)
{
	struct iface_net *n = &i->net;
	unsigned int what;
	int err;

	if (n->busy || n->away)
		return;
	if (n->carrier_wanted && !i->carrier && !n->wanted && !n->lladdr_refused &&
	    !(n->refused & BEFORE_CARRIER))
		put_carrier(i, true);
	what = choose(n);
	if (!what)
		return;
	n->wanted &= ~what;
	n->asked = what;
	n->busy = true;
	n->asked_at = clock_now();
	err = post(i, what);
	if (!err) {
		n->full_logged = false;
		return;
	}
	n->busy = false;
	n->asked = 0;
	/* The queue of the helper process was full, so the setting still has to be sent. */
	n->wanted |= what & ~IFACE_NET_GONE;
	timer_arm(&i->inst->loop.timers, what == IFACE_NET_GONE ? &n->pace : &n->again,
		  i->inst->loop.now + AGAIN);
	if (!n->full_logged)
		log_refusal(i, what, strerror(-err));
	n->full_logged = true;
}

static void pace_over(struct timer *t, ns_t now)
{
	(void)now;
	next(container_of(t, struct inst_iface, net.pace));
}

static void ask_again(struct timer *t, ns_t now)
{
	struct inst_iface *i = container_of(t, struct inst_iface, net.again);

	(void)now;
	i->net.wanted |= i->net.refused & RETURN;
	i->net.refused &= ~RETURN;
	next(i);
}

/* --- requests by the other files of inst/ */

void iface_net_init(struct inst_iface *i)
{
	timer_init(&i->net.pace, pace_over);
	timer_init(&i->net.again, ask_again);
}

void iface_net_fini(struct inst_iface *i)
{
	timer_cancel(&i->inst->loop.timers, &i->net.pace);
	timer_cancel(&i->inst->loop.timers, &i->net.again);
	netdev_cancel(i->host->helper, i);
}

static void want(struct inst_iface *i, unsigned int what)
{
	i->net.wanted |= what;
	i->net.refused &= ~what;
	next(i);
}

void iface_net_set_mac(struct inst_iface *i)
{
	want(i, IFACE_NET_MAC);
}

void iface_net_set_mtu(struct inst_iface *i, unsigned int mtu)
{
	i->net.mtu = mtu;
	want(i, IFACE_NET_MTU);
}

/*
 * Sends the kernel the interface identifier and the fe80:: address with this identifier, and asks
 * the kernel to delete the fe80:: address with a former identifier. Stable identifiers are not
 * sent, because the kernel makes them itself.
 */
static void set_identifier(struct inst_iface *i)
{
	static const uint8_t none[sizeof(i->net.linklocal)];
	uint8_t iid[8];
	bool other;

	if (!iface_iid_own(i, iid)) {
		next(i);
		return;
	}
	other = memcmp(i->net.linklocal, none, sizeof(none)) != 0 &&
		memcmp(i->net.linklocal + 8, iid, sizeof(iid)) != 0;
	want(i, IFACE_NET_LINKLOCAL | IFACE_NET_TOKEN | (other ? IFACE_NET_LL_OLD : 0));
}

void iface_net_set_carrier(struct inst_iface *i, bool up)
{
	i->net.carrier_wanted = up;
	if (up)
		set_identifier(i);
	else if (i->carrier)
		put_carrier(i, false);
}

void iface_net_port(struct inst_iface *i)
{
	struct ipoib_link_info info;
	uint8_t iid[8];

	ipoib_link_info(i->ifc.ipoib, &info);
	/* A port that went down may have no LID from which an identifier could be made. */
	if (i->net.carrier_wanted && i->iid.from == CONF_IID_LID && info.port.lid &&
	    iface_iid_own(i, iid) && memcmp(i->net.linklocal + 8, iid, sizeof(iid)) != 0)
		set_identifier(i);
}

void iface_net_neigh_gone(struct inst_iface *i, const uint8_t *hw, size_t len)
{
	struct iface_net *n = &i->net;
	uint8_t whole[RTNL_HW_MAX] = { 0 };

	if (n->gone_all)
		return;
	memcpy(whole, hw, len);
	for (unsigned int k = 0; k < n->ngone; k++)
		if (!memcmp(n->gone[k], whole, sizeof(whole)))
			return;
	if (n->ngone == IFACE_GONE_MAX) {
		n->gone_all = true;
		n->ngone = 0;
	} else {
		memcpy(n->gone[n->ngone++], whole, sizeof(whole));
	}
	next(i);
}

void iface_net_lost(struct inst_iface *i)
{
	struct iface_net *n = &i->net;

	iface_net_fini(i);
	n->away = true;
	n->busy = false;
	n->wanted = n->asked = n->refused = n->ngone = 0;
	n->gone_all = false;
	/* the kernel has deleted the addresses of the TAP */
	memset(n->linklocal, 0, sizeof(n->linklocal));
}

void iface_net_came(struct inst_iface *i)
{
	struct iface_net *n = &i->net;

	n->away = false;
	n->tap_logged = n->token_logged = false;
	n->naddrs = 0;
	/* The request that moves the TAP into the namespace also sets the MAC and the MTU of the TAP. */
	n->wanted = IFACE_NET_TAP | IFACE_NET_UP | (i->naddrs ? IFACE_NET_ADDR : 0);
	n->refused = 0;
	if (n->carrier_wanted)
		set_identifier(i);
	else
		next(i);
}

void iface_net_retry(struct inst_iface *i)
{
	unsigned int what = i->net.refused & ~RETURN;

	if (i->net.lladdr_refused) {
		iface_put_lladdrs(i);
		next(i);
	}
	if (!i->net.carrier_wanted)
		what &= BEFORE_CARRIER;
	if (what)
		want(i, what);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/iface_groups.h"

#include <string.h>
#include <sys/socket.h>

#include "inst/host.h"
#include "inst/iface.h"
#include "inst/iface_net.h"

#define PERIOD NS_SEC(2) /* interval between two comparisons */
/* number of pieces that are read without a pause, so that a short list is read at once */
#define PIECES 4
#define PAUSE NS_MSEC(20) /* pause after each PIECES pieces of a list */

static void list_begin(struct inst_iface *i, bool v6)
{
	i->groups.v6 = v6;
	groups_reader_init(&i->groups.reader, v6 ? AF_INET6 : AF_INET, i->ifindex);
}

/* Reads one piece of the list that is being read. Return: as groups_reader_next() */
static int piece(struct inst_iface *i, ns_t now)
{
	const struct inst_host *h = i->host;
	struct netdev_group v[GROUPS_PIECE];
	struct iface_groups *g = &i->groups;
	int more;
	size_t n;

	more = groups_reader_next(&g->reader, g->v6 ? h->igmp6 : h->igmp, v, &n);
	for (size_t k = 0; more >= 0 && k < n; k++)
		eth_groups_sync_seen(i->ifc.eth, g->v6 ? IPOIB_IPV6 : IPOIB_IPV4, v[k].addr, now);
	return more;
}

/*
 * Reads up to PIECES pieces. Return: 1: there is more to read; 0: both lists were read to the end;
 * -errno: the lists cannot be read
 */
static int read_some(struct inst_iface *i, ns_t now)
{
	struct iface_groups *g = &i->groups;

	for (unsigned int k = 0; k < PIECES; k++) {
		int more = piece(i, now);

		if (more < 0)
			return more;
		if (more)
			continue;
		g->exact &= g->reader.pieces <= 1;
		if (g->v6)
			return 0;
		list_begin(i, true);
	}
	return 1;
}

/*
 * Begins a comparison. Only one interface of a host reads at a time, because all interfaces of a
 * host use the same open files, and so the same file positions. Return: false if another interface
 * is reading
 */
static bool begin(struct inst_iface *i)
{
	if (i->host->groups_of)
		return false;
	i->host->groups_of = i;
	i->groups.reading = true;
	i->groups.exact = true;
	eth_groups_sync_begin(i->ifc.eth);
	list_begin(i, false);
	return true;
}

static void end(struct inst_iface *i)
{
	i->groups.reading = false;
	if (i->host->groups_of == i)
		i->host->groups_of = NULL;
}

/*
 * Returns the time of the next comparison. All interfaces begin at the start of the program. Afterwards each has its own place
 * in the period, so that 200 hosts do not read their lists at the same time.
 */
static ns_t next_comparison(const struct inst_iface *i, ns_t now)
{
	const char *name = i->ifc.link_name;
	ns_t place = hash_siphash(&i->inst->ifcs.secret, name, strlen(name)) % PERIOD;

	return now + PERIOD - (now + PERIOD - place) % PERIOD;
}

static void on_timer(struct timer *t, ns_t now)
{
	struct inst_iface *i = container_of(t, struct inst_iface, groups.timer);
	int more = 1;

	if (i->groups.reading || begin(i))
		more = read_some(i, now);
	if (more > 0) {
		timer_arm(&i->inst->loop.timers, t, now + PAUSE);
		return;
	}
	end(i);
	if (!more)
		eth_groups_sync_end(i->ifc.eth, i->groups.exact, now);
	iface_net_retry(i);
	iface_mc_retry(i, now);
	timer_arm(&i->inst->loop.timers, t, next_comparison(i, now));
}

void iface_groups_init(struct inst_iface *i)
{
	timer_init(&i->groups.timer, on_timer);
}

void iface_groups_start(struct inst_iface *i, ns_t now)
{
	timer_arm(&i->inst->loop.timers, &i->groups.timer, now);
}

void iface_groups_stop(struct inst_iface *i)
{
	timer_cancel(&i->inst->loop.timers, &i->groups.timer);
	end(i);
}

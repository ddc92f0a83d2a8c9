/* SPDX-License-Identifier: BSD-2-Clause */
#include "sa/priv.h"

#include <stdlib.h>

/*
 * DOC: How much work a port may cause
 *
 * A request that looks up single objects by their index, such as a LID or a GUID, is always served.
 * A request that goes over all objects of a kind, or over a range of LIDs, is charged a number of
 * units. One unit is one record that the request examines, which takes a fraction of a microsecond.
 * For paths, one unit is one pair of ports, which takes a microsecond.
 *
 * Each port has two accounts: one for PathRecord requests that leave an end open, and one for all
 * other requests. The number of paths between all ports is the square of the number of ports. If
 * there were only one account, requests for these paths would leave no units for other requests. In
 * addition, all ports together have two accounts of the same kinds.
 *
 * Accounts fill up with time. While the account of a port, or the account of all ports together, is
 * overdrawn, requests that would be charged to it are not answered. Otherwise a request is answered
 * even if it overdraws an account, so that even the largest query is possible.
 *
 * A port that sends charged requests without a pause can thus use only some tenths of a second of
 * CPU each second. Lookups of single objects, and charged requests of other ports, are still
 * answered.
 */

static const struct {
	int64_t rate, burst; /* units added each second, and most units in the account */
} port_limit[] = {
	[SA_WORK_SCAN] = { 250000, 500000 },
	[SA_WORK_PATHS] = { 125000, 500000 },
};
#define ALL_PORTS 4 /* limits of all ports together, as a multiple of the limits of one port */
#define UNITS_MAX 4000000 /* largest number of units for which one request is charged */

static void account_fill(struct sa_account *a, int64_t rate, int64_t burst, ns_t now)
{
	ns_t since = now - a->filled;

	if (!a->used) {
		*a = (struct sa_account){ .units = burst, .filled = now, .used = true };
		return;
	}
	if (since < NS_MSEC(1))
		return;
	/*
	 * An account is full after a few seconds, so cut longer times, which would overflow the
	 * product below.
	 */
	if (since > NS_SEC(100))
		since = NS_SEC(100);
	a->units += (int64_t)(since / NS_USEC(1)) * rate / 1000000;
	if (a->units > burst)
		a->units = burst;
	a->filled = now;
}

static struct sa_account *port_account(struct sa *sa, const struct sm_port *p, enum sa_work kind)
{
	if (!sa->accounts)
		sa->accounts = calloc(SM_LID_TOP_MAX + 1u, sizeof(*sa->accounts));
	return sa->accounts ? &sa->accounts[p->lid][kind] : NULL;
}

bool sa_quota_take(const struct sa_req *r, enum sa_work kind, uint64_t units)
{
	const int64_t rate = port_limit[kind].rate, burst = port_limit[kind].burst;
	struct sa *sa = r->sa;
	struct sa_account *mine = port_account(sa, r->port, kind), *all = &sa->all_accounts[kind];

	if (r->job) /* the request was charged when its job was made */
		return true;
	if (!mine)
		return false;
	account_fill(mine, rate, burst, r->now);
	account_fill(all, ALL_PORTS * rate, ALL_PORTS * burst, r->now);
	if (mine->units < 0 || all->units < 0) {
		sa->stats.drop_quota++;
		return false;
	}
	if (units > UNITS_MAX)
		units = UNITS_MAX;
	mine->units -= (int64_t)units;
	all->units -= (int64_t)units;
	return true;
}

bool sa_quota_group(const struct sa_req *r)
{
	struct sm_source *s = sm_source_of(r->sa->sm, r->port->lid);

	if (pace_take(&s->groups, SA_GROUPS_BURST, NS_SEC(1) / SA_GROUPS_RATE, r->now))
		return true;
	r->sa->stats.drop_quota++;
	return false;
}

void sa_quota_fini(struct sa *sa)
{
	free(sa->accounts);
}

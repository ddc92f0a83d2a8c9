/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa_priv.h"

#include <stdlib.h>

/*
 * DOC: How much work anybody may cause
 *
 * Requests that look something up are served as they come. Those that go over the whole database (tables,
 * and Gets by odd components) cost what they look at: a unit is one record judged, a fraction of
 * a microsecond, a microsecond for paths. Each port has an account for paths between all ports, and one for the
 * rest, so that the former, which are as many as the square of the ports, are not in the way of the latter;
 * all ports together have two more. They fill up with time. A request that finds one of them overdrawn gets no
 * answer, and may overdraw it itself: the largest query passes, the next waits.
 *
 * So a port that asks for everything all the time has some tenths of a second of CPU each second, its own
 * lookups and those of others go on, and others' tables too.
 */

static const struct {
	int64_t rate, burst; /* units a second; at most in the account */
} port_limit[] = {
	[SA_WORK_SCAN] = { 250000, 500000 },
	[SA_WORK_PATHS] = { 125000, 500000 },
};
#define ALL_PORTS 4 /* times as much */
#define UNITS_MAX 4000000 /* no request costs more */

static void account_fill(struct sa_account *a, int64_t rate, int64_t burst, ns_t now)
{
	ns_t since = now - a->filled;

	if (!a->used) {
		*a = (struct sa_account){ .units = burst, .filled = now, .used = true };
		return;
	}
	if (since < NS_MSEC(1))
		return;
	/* More than fills it twice over would only overflow. */
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

	if (r->job) /* paid when it came */
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

	if (sm_pace_take(&s->groups, SA_GROUPS_BURST, NS_SEC(1) / SA_GROUPS_RATE, r->now))
		return true;
	r->sa->stats.drop_quota++;
	return false;
}

void sa_quota_fini(struct sa *sa)
{
	free(sa->accounts);
}

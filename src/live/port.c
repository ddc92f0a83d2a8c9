/* SPDX-License-Identifier: BSD-2-Clause */
#include "live/priv.h"

static bool next(void *ctx, struct survey_mad *ret, ns_t now)
{
	return probe_next(ctx, ret, now);
}

static void take(void *ctx, const void *mad, size_t len, ns_t now)
{
	probe_recv(ctx, mad, len, now);
}

static void lost(void *ctx, const void *mad, size_t len, ns_t now)
{
	probe_lost(ctx, mad, len, now);
}

static ns_t deadline(const void *ctx)
{
	return probe_deadline(ctx);
}

static bool done(const void *ctx)
{
	return probe_done(ctx);
}

int live_probe(struct live *l, struct probe *p)
{
	const struct live_asker who = { p, next, take, lost, deadline, done };

	return live_run(l, &who);
}

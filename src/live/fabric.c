/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "check/check.h"
#include "live/priv.h"
#include "survey/sa.h"

/* --- the survey */

static bool next(void *ctx, struct survey_mad *ret, ns_t now)
{
	return survey_next(ctx, ret, now);
}

static void take(void *ctx, const void *mad, size_t len, ns_t now)
{
	survey_recv(ctx, mad, len, now);
}

static void lost(void *ctx, const void *mad, size_t len, ns_t now)
{
	survey_lost(ctx, mad, len, now);
}

static ns_t deadline(const void *ctx)
{
	return survey_deadline(ctx);
}

static bool done(const void *ctx)
{
	return survey_done(ctx);
}

/* --- the SA: members of groups, and SLs of paths */

/*
 * time limit for an answer. The limit is long, because the SA may have to collect many records. A
 * request is repeated once
 */
#define SA_PATIENCE_MS 4000

static void read_members(struct live *l, struct chk_fabric *f, uint64_t sm_key)
{
	const uint8_t *answer = NULL;
	uint8_t mad[MAD_LEN];
	long n;

	survey_ask_members(mad, sm_key, 1);
	n = live_ask_sa(l, survey_sa_lid(f), mad, &answer);
	if (n > 0 && answer)
		/* sets f->members, the state that tells whether the members are known */
		survey_take_members(f, answer, (size_t)n);
	else
		f->members = CHK_MEMBERS_SILENT;
}

/* If a credit loop depends on the SLs of paths, ask the SA for these SLs */
static void read_paths(struct live *l, struct chk_fabric *f)
{
	struct chk_wait w[CHK_WAITS_MAX];
	uint32_t n = chk_credit_waits(f, w);
	long len = 1;

	for (uint32_t i = 0; len > 0 && i < n; i++) {
		const uint8_t *answer = NULL;
		uint8_t mad[MAD_LEN];

		survey_ask_path(mad, w[i].slid, w[i].dlid, 2 + i);
		len = live_ask_sa(l, survey_sa_lid(f), mad, &answer);
		if (len > 0 && answer)
			survey_take_path(f, answer, (size_t)len);
	}
}

/*
 * Ask the SA for group members and SLs. If the SA does not answer, the data are marked as unknown,
 * and no check concludes anything from them.
 */
static void ask_sa(struct live *l, struct chk_fabric *f, uint64_t sm_key)
{
	l->dev.timeout_ms = SA_PATIENCE_MS;
	l->dev.retries = 1;
	if (!survey_sa_lid(f))
		return;
	read_members(l, f, sm_key);
	read_paths(l, f);
}

int live_read_fabric(struct live *l, const struct survey_cfg *cfg, uint64_t sm_key,
		     struct chk_fabric **ret, struct survey_stats *ret_stats)
{
	struct survey *s = survey_create(cfg);
	const struct live_asker who = { s, next, take, lost, deadline, done };
	int err = s ? live_run(l, &who) : -ENOMEM;

	if (!err) {
		*ret_stats = *survey_stats(s);
		*ret = survey_take(s);
		ask_sa(l, *ret, sm_key);
	}
	survey_free(s);
	return err;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/verbs.h"

#include <errno.h>
#include <stdio.h>

/* The functions of verbs.h in a build with VERBS=0, in which no port can be opened */

int verbs_open(const struct verbs_cfg *cfg, const struct ca_notify *notify, void *ctx,
	       struct ca **ret, char err[VERBS_ERR_MAX])
{
	(void)cfg, (void)notify, (void)ctx, (void)ret;
	snprintf(err, VERBS_ERR_MAX,
		 "this build has no verbs; libibverbs-dev was missing when it was made");
	return -EOPNOTSUPP;
}

void verbs_tap_add(struct ca *ca, struct verbs_tap *t)
{
	(void)ca, (void)t;
}

bool verbs_lost(const struct ca *ca)
{
	(void)ca;
	return false;
}

int verbs_reopen(struct ca *ca, ns_t now, char err[VERBS_ERR_MAX])
{
	(void)ca, (void)now, (void)err;
	return -EOPNOTSUPP;
}

const struct verbs_stats *verbs_stats(const struct ca *ca)
{
	(void)ca;
	return NULL;
}

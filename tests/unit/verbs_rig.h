/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_VERBS_RIG_H
#define TESTS_UNIT_VERBS_RIG_H

/* Two ports of src/verbs over the imitation of libibverbs in verbs_fake.h */

#include "unit/verbs_fake.h"
#include "verbs/verbs.h"

/* verbs_rig_open_port() - Open the port of @side. Return: as verbs_open() */
int verbs_rig_open_port(struct ca_suite_env *env, unsigned int side, const struct ca_notify *notify,
			void *ctx, struct ca **ret);
/*
 * verbs_rig_open(), verbs_rig_close(), verbs_rig_run() - Functions for struct ca_suite_backend,
 * where they are documented
 */
int verbs_rig_open(struct ca_suite_env *env, const struct ca_notify *notify, void *const ctx[2]);
void verbs_rig_close(struct ca_suite_env *env);
void verbs_rig_run(struct ca_suite_env *env);
/*
 * verbs_rig_dispatch() - Serve the descriptors of both ports once. Return: true if one of them was
 * readable
 */
bool verbs_rig_dispatch(struct ca_suite_env *env);

#endif

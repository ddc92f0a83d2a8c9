/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/verbs_rig.h"

#include <poll.h>

int verbs_rig_open_port(struct ca_suite_env *env, unsigned int side, const struct ca_notify *notify,
			void *ctx, struct ca **ret)
{
	struct wire *w = env->priv;
	struct verbs_cfg cfg = {
		.device = side ? "fake1" : "fake0",
		.port = 1,
		.slots = 8192,
		.pool = env->pool,
		.timers = &w->timers,
		.log = &w->log,
		.lib = &fake_lib,
	};
	char err[VERBS_ERR_MAX] = "";
	int status = verbs_open(&cfg, notify, ctx, ret, err);

	assert_true(!status == !*err);
	return status;
}

int verbs_rig_open(struct ca_suite_env *env, const struct ca_notify *notify, void *const ctx[2])
{
	fake_up(env);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(verbs_rig_open_port(env, i, notify, ctx[i], &env->ca[i]), 0);
	return 0;
}

void verbs_rig_close(struct ca_suite_env *env)
{
	for (unsigned int i = 0; i < 2; i++)
		ca_close(env->ca[i]);
	fake_down(env);
}

bool verbs_rig_dispatch(struct ca_suite_env *env)
{
	bool moved = false;

	for (unsigned int i = 0; i < 2; i++) {
		struct pollfd p = { .fd = env->ca[i] ? env->ca[i]->fd : -1, .events = POLLIN };

		if (poll(&p, 1, 0) != 1)
			continue;
		ca_dispatch(env->ca[i], env->now);
		moved = true;
	}
	return moved;
}

void verbs_rig_run(struct ca_suite_env *env)
{
	bool moved;

	do {
		moved = fake_work(env);
		moved |= verbs_rig_dispatch(env);
	} while (moved);
}

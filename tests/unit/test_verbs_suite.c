/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Runs the conformance suite of ca.h over src/verbs. src/verbs runs over the imitation of
 * libibverbs in verbs_fake.h, which has two simulated HCAs. If the command line names two devices,
 * src/verbs runs over the libibverbs and the kernel of this machine instead
 * (tests/interop/linux/verbs_suite.sh).
 */

#include "verbs/verbs.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/clock.h"
#include "unit/verbs_rig.h"

static void fake_set_pkey(struct ca_suite_env *env, unsigned int side, uint16_t index,
			  uint16_t pkey)
{
	wire_set_pkey(env, side, index, pkey, verbs_rig_run);
}

static const struct ca_suite_backend fake_backend = {
	.name = "verbs",
	.open = verbs_rig_open,
	.close = verbs_rig_close,
	.run = verbs_rig_run,
	.link_down = wire_link_down,
	.set_pkey = fake_set_pkey,
};

/* --- the same suite, with the libibverbs and the kernel of this machine */

/*
 * Packets between two ports take real time, and nothing tells which packet is the last one. So
 * real_run() ends when no descriptor has been readable for this time.
 */
#define QUIET_MS 150

static struct {
	char device[2][32];
	/* the command that changes the link or a P_Key (see main()); NULL: there is none */
	const char *hook;
	bool changed; /* true after the hook has changed something */
	struct timers timers;
	struct log_sink log;
} real;

static void emit(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void emit(const struct log_sink *sink, enum log_level lvl, const char *fmt, va_list ap)
{
	fprintf(stderr, "# ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
}

/* Run the hook with @args. The hook must return only when the change has taken effect. */
static void run_hook(const char *args)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd), "%s %s", real.hook, args);
	if (system(cmd))
		fail_msg("%s has failed", cmd);
}

static void real_link_down(struct ca_suite_env *env)
{
	real.changed = true;
	run_hook("link_down");
}

static void real_set_pkey(struct ca_suite_env *env, unsigned int side, uint16_t index,
			  uint16_t pkey)
{
	char args[64];

	real.changed = true;
	snprintf(args, sizeof(args), "set_pkey %s %u 0x%04x", real.device[side], index, pkey);
	run_hook(args);
}

static int real_open(struct ca_suite_env *env, const struct ca_notify *notify, void *const ctx[2])
{
	char err[VERBS_ERR_MAX] = "";

	real.log = (struct log_sink){ .emit = emit, .max = LOG_LVL_WARN };
	timers_init(&real.timers);
	env->now = clock_now();
	env->pool = pkt_pool_create(1024, 160);
	assert_non_null(env->pool);
	for (unsigned int i = 0; i < 2; i++) {
		const struct verbs_cfg cfg = {
			.device = real.device[i],
			.port = 1,
			.slots = 1024,
			.pool = env->pool,
			.timers = &real.timers,
			.log = &real.log,
		};

		if (verbs_open(&cfg, notify, ctx[i], &env->ca[i], err))
			fail_msg("%s: %s", real.device[i], err);
	}
	return 0;
}

static void real_close(struct ca_suite_env *env)
{
	for (unsigned int i = 0; i < 2; i++)
		ca_close(env->ca[i]);
	assert_int_equal(pkt_pool_pkts_used(env->pool), 0);
	assert_int_equal(pkt_pool_bufs_used(env->pool), 0);
	timers_fini(&real.timers);
	pkt_pool_destroy(env->pool);
	if (real.changed)
		run_hook("restore");
	real.changed = false;
}

static void real_run(struct ca_suite_env *env)
{
	struct pollfd p[2];
	int n;

	do {
		for (unsigned int i = 0; i < 2; i++)
			p[i] = (struct pollfd){ .fd = env->ca[i]->fd, .events = POLLIN };
		n = poll(p, 2, QUIET_MS);
		env->now = clock_now();
		timers_run(&real.timers, env->now);
		verbs_rig_dispatch(env);
	} while (n > 0);
}

static struct ca_suite_backend real_backend = {
	.name = "verbs, on this machine",
	.open = real_open,
	.close = real_close,
	.run = real_run,
};

/*
 * test_verbs_suite [DEVICE DEVICE [HOOK]]: run the suite over port 1 of each of these two devices,
 * which an SM must have configured as the suite expects. HOOK is a command that changes the link
 * between the devices, and is called with one of the arguments below. Without HOOK the cases that
 * need such a change are skipped.
 *
 *	link_down			take the link down
 *	set_pkey DEVICE INDEX PKEY	set an entry of the P_Key table of DEVICE, as an SM does
 *	restore				undo all changes, and wait until both ports are Active
 */
int main(int argc, char **argv)
{
	if (argc < 3)
		return ca_suite_run(&fake_backend);
	for (unsigned int i = 0; i < 2; i++)
		snprintf(real.device[i], sizeof(real.device[i]), "%s", argv[1 + i]);
	if (argc > 3) {
		real.hook = argv[3];
		real_backend.link_down = real_link_down;
		real_backend.set_pkey = real_set_pkey;
	}
	return ca_suite_run(&real_backend);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the paths that the SA returns while cables are pulled and plugged. The test checks the SA's
 * database whenever the database may have changed: after each run of the fabric and after each
 * stage of a sweep. Two hosts that stay connected must have a path at all times. When the subnet is
 * up again, all paths must lead over existing links.
 *
 * PARTIAL_SEEDS=N runs N seeds, PARTIAL_SEED=N runs only that seed.
 */
#include "unit/all_sa.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "util/prng.h"
#include "wire/records.h"

#define SEEDS 50
#define STEPS 8
#define SWITCHES_MAX 8
/*
 * Ports of each switch: port 1 leads to the host of the switch, port 2 + i to switch i, and port 12
 * + i is for a second cable to switch i.
 */
#define PORTS 24

struct fix {
	struct sa_rig r;
	struct sa_client c;
	struct sm_listener listener;
	struct prng rnd;
	unsigned int nsw, asked, looks;
	uint64_t seed;
	/* [i]: host i stays connected with H1 during the current step */
	bool connected[SWITCHES_MAX];
	/* true: the current step only adds links, so all LFTs must lead over Active links */
	bool coming;
};

static bool cable(struct fix *f, unsigned int a, unsigned int b)
{
	return b == a + 1 || prng_below(&f->rnd, 3) == 0;
}

/*
 * Make the text of a topology: a line of switches with a host at each, and more cables between
 * random pairs of switches.
 */
static char *topology(struct fix *f)
{
	char *t = malloc(65536);
	bool has[2][SWITCHES_MAX][SWITCHES_MAX] = { 0 };
	size_t n = 0;

	assert_non_null(t);
	f->nsw = 3 + prng_below(&f->rnd, SWITCHES_MAX - 2);
	for (unsigned int a = 0; a < f->nsw; a++) {
		for (unsigned int b = a + 1; b < f->nsw; b++) {
			has[0][a][b] = has[0][b][a] = cable(f, a, b);
			has[1][a][b] = has[1][b][a] = prng_below(&f->rnd, 5) == 0;
		}
	}
	for (unsigned int a = 0; a < f->nsw; a++) {
		n += (size_t)sprintf(t + n, "Switch %d \"S%u\"\n[1] \"H%u\"[1]\n", PORTS, a + 1,
				     a + 1);
		for (unsigned int b = 0; b < f->nsw; b++) {
			for (unsigned int k = 0; k < 2; k++) {
				if (has[k][a][b])
					n += (size_t)sprintf(t + n, "[%u] \"S%u\"[%u]\n",
							     10 * k + 2 + b, b + 1, 10 * k + 2 + a);
			}
		}
	}
	for (unsigned int a = 1; a <= f->nsw; a++)
		n += (size_t)sprintf(t + n, "\nHca 1 \"H%u\"\n[1] \"S%u\"[1]\n", a, a);
	return t;
}

static struct fabric_node *switch_at(struct fix *f, unsigned int i)
{
	char name[16];

	snprintf(name, sizeof(name), "S%u", i + 1);
	return fabric_node_find(f->r.f, name);
}

static struct fabric_port *cable_at(struct fix *f, unsigned int a, unsigned int port)
{
	struct fabric_port *p = fabric_node_port(switch_at(f, a), port);

	return p && port > 1 && fabric_port_peer(p) ? p : NULL;
}

static bool is_up(const struct fabric_port *p)
{
	return fabric_link_state(p) != FABRIC_LINK_DISABLED;
}

static unsigned int behind(const struct fabric_port *p)
{
	return (unsigned int)atoi(fabric_node_name(fabric_port_node(fabric_port_peer(p))) + 1) - 1;
}

static void reach(struct fix *f, unsigned int a, bool seen[SWITCHES_MAX])
{
	seen[a] = true;
	for (unsigned int i = 2; i <= PORTS; i++) {
		struct fabric_port *p = cable_at(f, a, i);

		if (p && is_up(p) && !seen[behind(p)])
			reach(f, behind(p), seen);
	}
}

/* Set ret[i] for each host i that the plugged cables connect with H1. */
static void connected(struct fix *f, bool ret[SWITCHES_MAX])
{
	memset(ret, 0, SWITCHES_MAX * sizeof(*ret));
	reach(f, 0, ret);
	for (unsigned int i = 0; i < f->nsw; i++)
		ret[i] &= is_up(fabric_node_port(switch_at(f, i), 1));
}

static struct sm_port *host(struct fix *f, const struct sm_db *db, unsigned int i)
{
	char name[16];
	ib_gid gid;

	snprintf(name, sizeof(name), "H%u/1", i + 1);
	gid = sa_rig_gid(&f->r, name);
	return sm_db_port_by_gid(db, &gid);
}

/*
 * Follow the switches' LFTs from switch @from towards @lid, and check that no switch sends a packet
 * to @lid over a link that is not Active yet.
 */
static void walk(struct fix *f, unsigned int from, uint16_t lid)
{
	unsigned int at = from;

	for (unsigned int hops = 0; hops < 64; hops++) {
		const struct node *n = fabric_node_node(switch_at(f, at));
		uint8_t out = n->sw->lft[lid];

		if (out <= 1 || out > PORTS)
			return;
		if (n->port[out].pi.port_state != IB_PORT_ACTIVE)
			fail_msg("seed %u: S%u sends LID %u to port %u, which is not Active",
				 (unsigned int)f->seed, at + 1, lid, out);
		at = behind(cable_at(f, at, out));
	}
}

static void look(struct fix *f)
{
	const struct sm_db *db = sm_db(f->r.sm);

	f->looks++;
	for (unsigned int a = 0; a < f->nsw; a++) {
		for (unsigned int b = 0; b < f->nsw; b++) {
			struct sm_port *x, *y;
			struct sm_path path;
			int err;

			if (!f->connected[a] || !f->connected[b])
				continue;
			x = host(f, db, a);
			y = host(f, db, b);
			assert_non_null(x);
			assert_non_null(y);
			err = sm_db_path(db, x, y, 0, &path);
			if (err)
				fail_msg("seed %u: no path from H%u to H%u: %d",
					 (unsigned int)f->seed, a + 1, b + 1, err);
			if (f->coming)
				walk(f, a, y->lid);
		}
	}
}

static void on_stage(void *ctx, const struct sm_sweep *sw, ns_t now)
{
	(void)sw;
	(void)now;
	look(ctx);
}

static const struct sm_events events = { .stage = on_stage };

/*
 * Let H1 request the path to the next host, if this host stays connected. watch() calls this
 * function whenever H1 has no request open.
 */
static void ask(struct fix *f)
{
	struct ib_path_rec want = { .sgid = sa_rig_gid(&f->r, "H1/1"), .numb_path = 1 };
	unsigned int to = f->asked++ % f->nsw;
	uint8_t wire[PATH_REC_LEN];
	char name[16];

	if (f->c.done && f->c.status)
		fail_msg("seed %u: a query was answered by %d", (unsigned int)f->seed, f->c.status);
	if (!f->connected[to])
		return;
	snprintf(name, sizeof(name), "H%u/1", to + 1);
	want.dgid = sa_rig_gid(&f->r, name);
	ib_path_rec_encode(wire, &want);
	sa_client_send(&f->c, MAD_METHOD_GET, SA_ATTR_PATH_RECORD,
		       PATH_COMP_SGID | PATH_COMP_DGID | PATH_COMP_NUMB_PATH, wire, sizeof(wire));
}

/* Let time @t pass like sa_rig_pass(), but check the SM's database after each step. */
static void watch(struct fix *f, ns_t t)
{
	ns_t end = f->r.now + t;
	struct sa_rig *r = &f->r;

	for (;;) {
		bool more = true;

		while (more) {
			timers_run(&r->ts, r->now);
			look(f);
			more = fabric_run(r->f, r->now) || timers_next(&r->ts) <= r->now;
			look(f);
			if (f->c.done && more)
				ask(f);
		}
		if (timers_next(&r->ts) > end)
			break;
		r->now = timers_next(&r->ts);
		if (f->c.done)
			ask(f);
	}
	r->now = end;
}

static struct fabric_port *some_cable(struct fix *f)
{
	struct fabric_port *p = NULL;

	while (!p)
		p = cable_at(f, prng_below(&f->rnd, f->nsw), 2 + prng_below(&f->rnd, PORTS - 1));
	return p;
}

static void flip(struct fix *f, struct fabric_port *p)
{
	fabric_link_set(p, !is_up(p), f->r.now);
}

static void still_connected(struct fix *f)
{
	bool now[SWITCHES_MAX];

	connected(f, now);
	for (unsigned int k = 0; k < f->nsw; k++)
		f->connected[k] &= now[k];
}

/*
 * Pull or plug @cables random cables at once. But if @between is not 0, pull or plug one random
 * cable @cables times, and let the time @between pass after each time. Two hosts count as connected
 * if cables connect them before the first change and after each change.
 */
static void change(struct fix *f, unsigned int cables, ns_t between)
{
	struct fabric_port *p = some_cable(f);

	connected(f, f->connected);
	f->coming = !is_up(p) && cables == 1;
	for (unsigned int i = 0; i < cables; i++) {
		flip(f, p);
		still_connected(f);
		if (between)
			watch(f, between); /* a cable is pulled and plugged again */
		else
			p = some_cable(f);
	}
}

/* Check that all paths of the SA lead over existing links. */
static void check_links(struct fix *f)
{
	const struct sm_db *db = sm_db(f->r.sm);

	for (unsigned int a = 0; a < f->nsw; a++) {
		for (unsigned int i = 2; i <= PORTS; i++) {
			struct fabric_port *p = cable_at(f, a, i);
			const struct node *n = fabric_node_node(switch_at(f, a));
			struct sm_node *s = sm_db_node(db, n->info.node_guid);

			if (p && s)
				assert_int_equal(s->port[i].peer != NULL, is_up(p));
		}
	}
	connected(f, f->connected);
	look(f);
}

static void run(uint64_t seed, uint64_t *partial)
{
	struct fix f = { .seed = seed };
	struct sm_status st;
	char *text;

	prng_seed(&f.rnd, seed);
	text = topology(&f);
	sa_rig_init(&f.r, &(struct sa_rig_cfg){ .topology = text, .sm = "S1/0", .sm_key = 1 });
	free(text);
	sa_client_init(&f.c, &f.r, "H1/1");
	f.c.done = true;
	sa_rig_pass(&f.r, NS_SEC(2));
	f.listener = (struct sm_listener){ .ops = &events, .ctx = &f };
	sm_listen(f.r.sm, &f.listener);
	for (unsigned int i = 0; i < STEPS; i++) {
		if (prng_below(&f.rnd, 3) == 0)
			change(&f, 2, NS_MSEC(1) * (1 + prng_below(&f.rnd, 30)));
		else
			change(&f, 1 + (prng_below(&f.rnd, 3) == 0), 0);
		if (prng_below(&f.rnd, 6) == 0) {
			/*
			 * Change the cable of a host as well. A partial sweep cannot handle this,
			 * so a heavy sweep (of the whole fabric) must follow.
			 */
			flip(&f,
			     fabric_node_port(switch_at(&f, 1 + prng_below(&f.rnd, f.nsw - 1)), 1));
			still_connected(&f);
			f.coming = false;
		}
		watch(&f, NS_SEC(5));
		check_links(&f);
	}
	sm_status(f.r.sm, &st);
	*partial += st.partial_sweeps;
	sm_unlisten(&f.listener);
	sa_client_fini(&f.c);
	sa_rig_fini(&f.r);
}

static void test_hosts_that_stay_connected_have_paths_at_all_times(void **state)
{
	const char *only = getenv("PARTIAL_SEED"), *most = getenv("PARTIAL_SEEDS");
	uint64_t seeds = most ? strtoull(most, NULL, 10) : SEEDS, partial = 0;

	(void)state;
	if (only) {
		run(strtoull(only, NULL, 10), &partial);
		return;
	}
	for (uint64_t seed = 1; seed <= seeds; seed++)
		run(seed, &partial);
	/* More than half of the watched sweeps must have been partial. */
	assert_true(partial > seeds * STEPS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts_that_stay_connected_have_paths_at_all_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

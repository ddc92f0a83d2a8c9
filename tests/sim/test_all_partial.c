/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A partial sweep, which reads only the changed part of the fabric, must have the same result as a
 * sweep of the whole fabric. On random fabrics, cables, HCAs and switches are removed and restored
 * in random order. Then the tables of all nodes and the answers of the SA are compared, octet for
 * octet, with those after a sweep of the whole fabric.
 *
 * PARTIAL_SEEDS=N runs N seeds, PARTIAL_SEED=N runs only that seed.
 */
#include "unit/all_sa.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "subnet/membership.h"
#include "util/prng.h"
#include "wire/records.h"

#define SEEDS 25
#define STEPS 8
#define SWITCHES_MAX 12
#define PORTS 12
#define HOSTS_MAX 16
#define GROUPS 3

struct fix {
	struct sa_rig r;
	struct sa_client c;
	struct prng rnd;
	unsigned int nsw, nhosts;
	uint64_t partial;
};

static uint32_t any(struct fix *f, uint32_t n)
{
	return prng_below(&f->rnd, n);
}

struct plan {
	/* [s][p]: port of a switch, or host, to which the cable at port p of switch s leads */
	struct {
		int sw, port, host;
	} at[SWITCHES_MAX][PORTS + 1];
};

static int free_port(const struct plan *p, unsigned int s)
{
	for (int i = 1; i <= PORTS; i++) {
		if (!p->at[s][i].port && !p->at[s][i].host)
			return i;
	}
	return 0;
}

static void join(struct plan *p, unsigned int a, unsigned int b)
{
	int i = free_port(p, a), k;

	if (!i)
		return;
	p->at[a][i].sw = (int)b;
	p->at[a][i].port = -1;
	k = free_port(p, b);
	if (!k) {
		p->at[a][i].port = 0;
		return;
	}
	p->at[a][i].port = k;
	p->at[b][k].sw = (int)a;
	p->at[b][k].port = i;
}

/*
 * Make the text of a topology: a random tree of switches, and more cables between random pairs of
 * switches, some of them parallel.
 */
static char *topology(struct fix *f)
{
	/*
	 * The host that runs the SA's client is cabled to the SM's switch, and this cable is never
	 * pulled.
	 */
	struct plan p = { .at = { [0] = { [1] = { .host = 1 } } } };
	size_t size = 65536, n = 0;
	char *t = malloc(size);

	f->nsw = 3 + any(f, SWITCHES_MAX - 2);
	f->nhosts = 3 + any(f, HOSTS_MAX - 2);
	for (unsigned int s = 1; s < f->nsw; s++)
		join(&p, s, any(f, s));
	for (unsigned int i = any(f, 2 * f->nsw) + 2; i; i--) {
		unsigned int a = any(f, f->nsw), b = any(f, f->nsw);

		if (a != b)
			join(&p, a, b);
	}
	for (unsigned int h = 2; h <= f->nhosts; h++) {
		unsigned int s = any(f, f->nsw);
		int i = free_port(&p, s);

		if (i)
			p.at[s][i].host = (int)h;
		else
			f->nhosts = h - 1;
	}
	for (unsigned int s = 0; s < f->nsw; s++) {
		n += (size_t)snprintf(t + n, size - n, "Switch %d \"S%u\"\n", PORTS, s + 1);
		for (int i = 1; i <= PORTS; i++) {
			if (p.at[s][i].host)
				n += (size_t)snprintf(t + n, size - n, "[%d] \"H%d\"[1]\n", i,
						      p.at[s][i].host);
			else if (p.at[s][i].port)
				n += (size_t)snprintf(t + n, size - n, "[%d] \"S%d\"[%d]\n", i,
						      p.at[s][i].sw + 1, p.at[s][i].port);
		}
	}
	for (unsigned int h = 1; h <= f->nhosts; h++) {
		for (unsigned int s = 0; s < f->nsw; s++) {
			for (int i = 1; i <= PORTS; i++) {
				if (p.at[s][i].host == (int)h)
					n += (size_t)snprintf(t + n, size - n,
							      "\nHca 1 \"H%u\"\n[1] \"S%u\"[%d]\n",
							      h, s + 1, i);
			}
		}
	}
	return t;
}

/* --- tables and answers that are compared */

struct shot {
	uint8_t *data;
	size_t len, cap;
};

static void put(struct shot *s, const void *p, size_t len)
{
	if (s->len + len > s->cap) {
		s->cap = 2 * (s->len + len);
		s->data = realloc(s->data, s->cap);
		assert_non_null(s->data);
	}
	memcpy(s->data + s->len, p, len);
	s->len += len;
}

static void put_port(struct shot *s, const struct node_port *p)
{
	const struct smp_port_info *pi = &p->pi;
	uint8_t state[] = { pi->port_state,	 pi->lmc,   pi->neighbor_mtu,
			    pi->oper_vls,	 pi->sm_sl, pi->part_enforce_in,
			    pi->part_enforce_out };

	put(s, state, sizeof(state));
	put(s, &pi->lid, sizeof(pi->lid));
	put(s, &pi->sm_lid, sizeof(pi->sm_lid));
	put(s, p->pkeys, sizeof(p->pkeys));
	put(s, p->sltovl, sizeof(p->sltovl));
}

static void put_node(struct shot *s, const struct node *n)
{
	for (unsigned int i = n->sw ? 0 : 1; i <= n->info.nports; i++)
		put_port(s, &n->port[i]);
	if (!n->sw)
		return;
	put(s, n->sw->lft, sizeof(n->sw->lft));
	for (unsigned int i = 0; i < 64; i++)
		put(s, node_mft_mask(n->sw, i), sizeof(*n->sw->mft));
	put(s, &n->sw->si.lft_top, sizeof(n->sw->si.lft_top));
	for (unsigned int in = 0; in <= n->info.nports; in++) {
		for (unsigned int out = 0; out <= n->info.nports; out++)
			put(s, node_switch_vl(n, (uint8_t)in, (uint8_t)out), 16);
	}
}

/*
 * Tell whether the SM reaches the node over plugged cables. The test does not compare the tables of
 * nodes that the SM does not reach, because the SM cannot change them.
 */
static bool reached(struct fix *f, struct fabric_node *n)
{
	return sm_db_node(sm_db(f->r.sm), fabric_node_node(n)->info.node_guid) != NULL;
}

static size_t record_len;

static int record_cmp(const void *a, const void *b)
{
	return memcmp(a, b, record_len);
}

/*
 * Write the SA's records of attribute @attr to @s. Sort the records first, because their order in
 * the SA's answer depends on the order of discovery.
 */
static void put_table(struct fix *f, struct shot *s, uint16_t attr)
{
	static const uint8_t zero[256];
	const uint64_t path_mask = PATH_COMP_SGID | PATH_COMP_NUMB_PATH;
	struct ib_path_rec want = { .sgid = sa_rig_gid(&f->r, "H1/1"), .numb_path = 127 };
	uint8_t path[256] = { 0 }, *copy;
	unsigned int n;

	ib_path_rec_encode(path, &want);
	assert_int_equal(sa_client_ask(&f->c, MAD_METHOD_GET_TABLE, attr,
				       attr == SA_ATTR_PATH_RECORD ? path_mask : 0,
				       attr == SA_ATTR_PATH_RECORD ? path : zero, 200),
			 0);
	n = sa_client_count(&f->c);
	if (!n)
		return;
	record_len = f->c.resp.sa.attr_offset * 8ul;
	copy = malloc(n * record_len);
	assert_non_null(copy);
	memcpy(copy, sa_client_rec(&f->c, 0), n * record_len);
	qsort(copy, n, record_len, record_cmp);
	put(s, copy, n * record_len);
	free(copy);
}

/* Write to @s the path between every two end ports, as the SA computes it. */
static void put_paths(struct fix *f, struct shot *s)
{
	const struct sm_db *db = sm_db(f->r.sm);

	for (unsigned int a = 1; a <= db->top_lid; a++) {
		for (unsigned int b = 1; b <= db->top_lid; b++) {
			const struct sm_port *x = db->by_lid[a], *y = db->by_lid[b];
			struct sm_path path = { 0 };
			int err = x && y ? sm_db_path(db, x, y, b, &path) : -1;
			uint8_t v[] = { path.mtu_code, path.rate_code, path.sl,
					path.life,     path.hops,      (uint8_t)err };

			put(s, v, sizeof(v));
		}
	}
}

static struct shot shoot(struct fix *f)
{
	static const uint16_t attrs[] = { SA_ATTR_LINK_RECORD,	 SA_ATTR_PATH_RECORD,
					  SA_ATTR_LFT_RECORD,	 SA_ATTR_MFT_RECORD,
					  SA_ATTR_SLTOVL_RECORD, SA_ATTR_PKEY_TABLE_RECORD };
	struct shot s = { 0 };

	for (unsigned int i = 0; i < fabric_nnodes(f->r.f); i++) {
		if (reached(f, fabric_node_at(f->r.f, i)))
			put_node(&s, fabric_node_node(fabric_node_at(f->r.f, i)));
	}
	put_paths(f, &s);
	for (unsigned int i = 0; i < ARRAY_SIZE(attrs); i++)
		put_table(f, &s, attrs[i]);
	return s;
}

static struct sm_status status(struct fix *f)
{
	struct sm_status st;

	sm_status(f->r.sm, &st);
	return st;
}

/*
 * Check that all tables are the same after a sweep of the whole fabric, and that this sweep writes
 * nothing to the nodes.
 */
static void compare(struct fix *f, uint64_t seed, unsigned int step)
{
	struct shot before = shoot(f), after;
	uint64_t heavy = status(f).heavy_sweeps;
	struct sm_sweep last;

	sm_kick(f->r.sm, "test", f->r.now);
	sa_rig_pass(&f->r, NS_MSEC(500));
	last = status(f).last;
	after = shoot(f);
	if (status(f).heavy_sweeps != heavy + 1 || last.partial)
		fail_msg("seed %u, step %u: no sweep of everything", (unsigned int)seed, step);
	if (last.lft_blocks || last.mft_blocks || last.pkey_blocks || last.ports_set || last.armed)
		fail_msg(
			"seed %u, step %u: %u LFT blocks, %u MFT blocks, %u P_Key blocks, %u ports "
			"were not as they should",
			(unsigned int)seed, step, last.lft_blocks, last.mft_blocks,
			last.pkey_blocks, last.ports_set);
	if (before.len != after.len || memcmp(before.data, after.data, before.len) != 0)
		fail_msg("seed %u, step %u: the tables differ", (unsigned int)seed, step);
	free(before.data);
	free(after.data);
}

/* --- changes */

static struct fabric_port *some_port(struct fix *f, bool to_switch)
{
	for (;;) {
		struct fabric_node *n = fabric_node_at(f->r.f, any(f, fabric_nnodes(f->r.f)));
		struct fabric_port *p = fabric_node_port(n, 1 + any(f, PORTS)), *q;

		q = p ? fabric_port_peer(p) : NULL;
		if (q && !fabric_node_hca(n) &&
		    !to_switch == !!fabric_node_hca(fabric_port_node(q)) &&
		    fabric_port_node(q) != fabric_node_find(f->r.f, "H1"))
			return p;
	}
}

static void flip(struct fix *f, struct fabric_port *p)
{
	fabric_link_set(p, fabric_link_state(p) == FABRIC_LINK_DISABLED, f->r.now);
}

/* Remove or restore all cables of a random switch, which is never the SM's switch. */
static void flip_switch(struct fix *f)
{
	char name[16];
	struct fabric_node *n;
	bool up = any(f, 2);

	snprintf(name, sizeof(name), "S%u", 2 + any(f, f->nsw - 1));
	n = fabric_node_find(f->r.f, name);
	for (unsigned int i = 1; i <= PORTS; i++) {
		if (fabric_port_peer(fabric_node_port(n, i)))
			fabric_link_set(fabric_node_port(n, i), up, f->r.now);
	}
}

static void change(struct fix *f)
{
	switch (any(f, 12)) {
	case 0:
		flip(f, some_port(f, f->nhosts < 2));
		break;
	case 1:
		flip_switch(f);
		break;
	case 2: /* several cables at once */
		for (unsigned int i = 2 + any(f, 3); i; i--)
			flip(f, some_port(f, true));
		break;
	case 3: {
		/* Pull and plug a cable before, during or after the SM reads the ports at its ends. */
		struct fabric_port *p = some_port(f, true);

		flip(f, p);
		sa_rig_pass(&f->r, NS_MSEC(1) * any(f, 30));
		flip(f, p);
		break;
	}
	default:
		flip(f, some_port(f, true));
		break;
	}
}

static void join_groups(struct fix *f)
{
	struct ib_mcmember_rec rec;
	struct sm_group *g = sm_group_next(f->r.sm, NULL);

	assert_non_null(g);
	for (unsigned int h = 1; h <= f->nhosts; h++) {
		char name[16];

		snprintf(name, sizeof(name), "H%u/1", h);
		rec = g->rec;
		rec.port_gid = sa_rig_gid(&f->r, name);
		rec.join_state = any(f, 4) ? MCM_JOIN_FULL : MCM_JOIN_SEND_ONLY_NON;
		if (any(f, 3))
			sm_group_join(f->r.sm, g, &rec.port_gid, rec.join_state, false, NULL, NULL,
				      f->r.now);
	}
	sa_rig_pass(&f->r, NS_MSEC(300));
	/*
	 * The root of a multicast tree depends on the order of joins, until a sweep chooses the
	 * root for all members. So let a sweep choose the root before the comparison.
	 */
	sm_kick(f->r.sm, "test", f->r.now);
	sa_rig_pass(&f->r, NS_MSEC(500));
}

static void run(uint64_t seed, uint64_t *partial)
{
	struct fix f = { .nsw = 0 };
	char *text;

	prng_seed(&f.rnd, seed);
	text = topology(&f);
	sa_rig_init(&f.r,
		    &(struct sa_rig_cfg){
			    .topology = text,
			    .sm = "S1/0",
			    .sm_key = 1,
			    .lmc = (uint8_t)(seed % 5 == 0 ? 2 : 0),
			    .partitions =
				    seed % 2 ? NULL : "Default=0x7fff, ipoib, sl=3: ALL=full;\n" });
	free(text);
	sa_client_init(&f.c, &f.r, "H1/1");
	f.c.sm_key = 1;
	join_groups(&f);
	for (unsigned int i = 0; i < STEPS; i++) {
		change(&f);
		sa_rig_pass(&f.r, NS_SEC(5));
		compare(&f, seed, i);
	}
	*partial += status(&f).partial_sweeps;
	sa_client_fini(&f.c);
	sa_rig_fini(&f.r);
}

static void test_tables_equal_those_of_a_sweep_of_everything(void **state)
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
	/*
	 * More than half of the sweeps must have been partial, because two sweeps of the whole
	 * fabric would prove nothing about partial sweeps.
	 */
	assert_true(partial > seeds * STEPS / 2);
}

/*
 * There are more switches than a partial sweep can read: S1, S2, and LEAVES leaf switches with a
 * cable to S1 and a cable to S2. All cables from S1 to the leaves are pulled at once. The leaves
 * send their traps to the SM over these cables, so only the trap of S1 arrives, and each pulled
 * cable leads to a different leaf, which the sweep must read.
 */
#define LEAVES 70

static char *leaves(void)
{
	char *t = malloc(65536);
	size_t n =
		(size_t)sprintf(t, "Switch %d \"S1\"\n[1] \"H1\"[1]\n[2] \"S2\"[1]\n", LEAVES + 2);

	for (int i = 1; i <= LEAVES; i++)
		n += (size_t)sprintf(t + n, "[%d] \"L%d\"[1]\n", i + 2, i);
	n += (size_t)sprintf(t + n, "\nSwitch %d \"S2\"\n", LEAVES + 1);
	for (int i = 1; i <= LEAVES; i++)
		n += (size_t)sprintf(t + n, "[%d] \"L%d\"[2]\n", i + 1, i);
	for (int i = 1; i <= LEAVES; i++)
		n += (size_t)sprintf(t + n, "\nSwitch 2 \"L%d\"\n", i);
	sprintf(t + n, "\nHca 1 \"H1\"\n[1] \"S1\"[1]\n");
	return t;
}

static void set_leaves(struct fix *f, bool up)
{
	struct fabric_node *s = fabric_node_find(f->r.f, "S1");

	for (unsigned int i = 1; i <= LEAVES; i++)
		fabric_link_set(fabric_node_port(s, i + 2), up, f->r.now);
}

static void test_more_switches_changed_than_a_partial_sweep_looks_at(void **state)
{
	struct fix f = { .nsw = 1, .nhosts = 1 };
	char *text = leaves();

	(void)state;
	sa_rig_init(&f.r, &(struct sa_rig_cfg){ .topology = text, .sm = "S1/0", .sm_key = 1 });
	free(text);
	sa_client_init(&f.c, &f.r, "H1/1");
	f.c.sm_key = 1;
	sm_kick(f.r.sm, "test", f.r.now);
	sa_rig_pass(&f.r, NS_MSEC(500));
	set_leaves(&f, false);
	sa_rig_pass(&f.r, NS_SEC(5));
	assert_int_equal(status(&f).last.switches, 2 + LEAVES);
	compare(&f, 0, 1);
	set_leaves(&f, true);
	sa_rig_pass(&f.r, NS_SEC(5));
	assert_int_equal(status(&f).last.switches, 2 + LEAVES);
	compare(&f, 0, 2);
	sa_client_fini(&f.c);
	sa_rig_fini(&f.r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_more_switches_changed_than_a_partial_sweep_looks_at),
		cmocka_unit_test(test_tables_equal_those_of_a_sweep_of_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

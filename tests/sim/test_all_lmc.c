/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LMC: each CA port has 2^LMC LIDs. Every path that the SA returns for two ports must work. If
 * several spine switches lead to a leaf switch, the paths to the LIDs of one port must use
 * different spines.
 */
#include "unit/all_sa.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "wire/records.h"

#define LEAVES 3
#define SPINES 4
#define HOSTS 2 /* number of hosts at each leaf switch */

static char *fat_tree(void)
{
	char *t = malloc(16384);
	size_t n = 0;

	assert_non_null(t);
	for (int l = 1; l <= LEAVES; l++) {
		n += (size_t)sprintf(t + n, "Switch %d \"L%d\"\n", SPINES + HOSTS, l);
		for (int s = 1; s <= SPINES; s++)
			n += (size_t)sprintf(t + n, "[%d] \"S%d\"[%d]\n", s, s, l);
		for (int h = 1; h <= HOSTS; h++)
			n += (size_t)sprintf(t + n, "[%d] \"H%d%d\"[1]\n", SPINES + h, l, h);
	}
	for (int s = 1; s <= SPINES; s++) {
		n += (size_t)sprintf(t + n, "\nSwitch %d \"S%d\"\n", LEAVES, s);
		for (int l = 1; l <= LEAVES; l++)
			n += (size_t)sprintf(t + n, "[%d] \"L%d\"[%d]\n", l, l, s);
	}
	for (int l = 1; l <= LEAVES; l++) {
		for (int h = 1; h <= HOSTS; h++)
			n += (size_t)sprintf(t + n, "\nHca 1 \"H%d%d\"\n[1] \"L%d\"[%d]\n", l, h, l,
					     SPINES + h);
	}
	return t;
}

struct answer {
	unsigned int n;
	int status;
};

static void on_counters(void *ctx, int status, const struct mad_addr *from, const void *mad,
			size_t len, ns_t now)
{
	struct answer *a = ctx;

	(void)from;
	(void)mad;
	(void)len;
	(void)now;
	a->n++;
	a->status = status;
}

/*
 * Send a request to the PMA at @dlid. The LFTs of the switches must lead the request to this LID,
 * and the answer back to the requester.
 */
static void reaches(struct sa_rig *r, struct mad_agent *agent, uint16_t dlid)
{
	struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_PERF,
		.class_version = 1,
		.method = MAD_METHOD_GET,
		.attr_id = MAD_ATTR_CLASS_PORT_INFO,
	};
	struct answer a = { 0 };
	uint8_t mad[MAD_LEN] = { 0 };
	struct mad_req req = {
		.to = mad_addr_gmp(dlid, 0),
		.mad = mad,
		.len = sizeof(mad),
		.timeout_ms = 100,
		.done = on_counters,
		.ctx = &a,
	};

	mad_hdr_encode(mad, &h);
	assert_int_equal(mad_request(agent, &req, NULL, r->now), 0);
	sa_rig_pass(r, NS_SEC(1));
	assert_int_equal(a.n, 1);
	assert_int_equal(a.status, 0);
}

static unsigned int ports_used(struct sa_rig *r, const char *leaf, uint16_t lid, unsigned int n)
{
	const struct node *sw = fabric_node_node(fabric_node_find(r->f, leaf));
	uint32_t seen = 0;

	for (unsigned int i = 0; i < n; i++)
		seen |= 1u << sw->sw->lft[lid + i];
	return (unsigned int)__builtin_popcount(seen);
}

static void one(uint8_t lmc)
{
	struct mad_agent_cfg cfg = { .qp = IB_QP1,
				     .mgmt_class = MAD_CLASS_PERF,
				     .class_version = 1 };
	struct ib_path_rec want = { .numb_path = 127 }, rec;
	struct mad_agent *agent;
	struct sa_client c;
	struct sa_rig r;
	char *text = fat_tree();
	uint8_t wire[PATH_REC_LEN];
	unsigned int n = 1u << lmc, paths;
	uint16_t lid;

	sa_rig_init(&r, &(struct sa_rig_cfg){ .topology = text, .sm = "S1/0", .lmc = lmc });
	free(text);
	sa_client_init(&c, &r, "H11/1");
	assert_int_equal(mad_agent_add(c.np->ep, &cfg, &agent), 0);
	want.sgid = sa_rig_gid(&r, "H11/1");
	want.dgid = sa_rig_gid(&r, "H32/1");
	lid = sa_rig_port(&r, "H32/1")->pi.lid;
	assert_int_equal(sa_rig_port(&r, "H32/1")->pi.lmc, lmc);
	assert_int_equal(lid % n, 0);
	ib_path_rec_encode(wire, &want);
	assert_int_equal(sa_client_ask(&c, MAD_METHOD_GET_TABLE, SA_ATTR_PATH_RECORD,
				       PATH_COMP_SGID | PATH_COMP_DGID | PATH_COMP_NUMB_PATH, wire,
				       sizeof(wire)),
			 0);
	paths = sa_client_count(&c);
	assert_int_equal(paths, n < 127 ? n : 127); /* NumbPath has 7 bits */
	for (unsigned int i = 0; i < paths; i++) {
		assert_int_equal(ib_path_rec_decode(&rec, sa_client_rec(&c, i), PATH_REC_LEN), 0);
		assert_int_equal(rec.dlid, lid + i);
	}
	for (unsigned int i = 0; i < n; i++)
		reaches(&r, agent, (uint16_t)(lid + i));
	assert_int_equal(ports_used(&r, "L1", lid, n), n < SPINES ? n : SPINES);
	mad_agent_del(agent);
	sa_client_fini(&c);
	sa_rig_fini(&r);
}

static void test_I16_packets_reach_every_lid_of_a_port(void **state)
{
	(void)state;
	for (uint8_t lmc = 0; lmc <= 7; lmc++)
		one(lmc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_I16_packets_reach_every_lid_of_a_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

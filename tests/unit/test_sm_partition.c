/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm_net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "sm/group.h"
#include "partition/partition.h"
#include "wire/mgid.h"

static struct sm_partitions *parse(const char *text)
{
	struct sm_partitions *ps = NULL;
	char err[256] = "";
	int rc = sm_partitions_parse(&ps, "partitions.conf", text, strlen(text), err, sizeof(err));

	if (rc)
		fail_msg("%d %s", rc, err);
	return ps;
}

static const struct sm_partition *find(const struct sm_partitions *ps, const char *name)
{
	for (size_t i = 0; i < ps->n; i++) {
		if (strcmp(ps->part[i].name, name) == 0)
			return &ps->part[i];
	}
	fail_msg("no partition %s", name);
	return NULL;
}

/* The examples of OpenSM's documentation, doc/partition-config.txt. */
static void test_opensm_examples(void **state)
{
	static const char text[] =
		"Default=0x7fff : ALL, SELF=full ;\n"
		"Default=0x7fff : ALL, ALL_SWITCHES=full, SELF=full ;\n"
		"\n"
		"NewPartition , ipoib : 0x123456=full, 0x3456789034=\\\n"
		"limited, 0x2134af2306 ;\n"
		"\n"
		"YetAnotherOne = 0x300 : SELF=full ;\n"
		"YetAnotherOne = 0x300 : ALL=limited ;\n"
		"\n"
		"ShareIO = 0x80 , defmember=full : 0x123451, 0x123452;\n"
		"# 0x123453, 0x123454 will be limited\n"
		"ShareIO = 0x80 : 0x123453, 0x123454, 0x123455=full;\n"
		"# 0x123456, 0x123457 will be limited\n"
		"ShareIO = 0x80 : defmember=limited : 0x123456, 0x123457, 0x123458=full;\n"
		"ShareIO = 0x80 , defmember=full : 0x123459, 0x12345a;\n"
		"ShareIO = 0x80 , defmember=full : 0x12345b, 0x12345c=limited, 0x12345d;\n";
	struct sm_partitions *ps = parse(text);
	const struct sm_partition *p;

	assert_int_equal(ps->n, 4);
	p = find(ps, "Default");
	assert_int_equal(p->pkey, 0x7fff);
	assert_int_equal(p->nrules, 5);
	assert_int_equal(p->rule[0].kind, SM_MEMBER_ALL);
	assert_int_equal(p->rule[0].membership, SM_MEMBER_LIMITED);
	assert_int_equal(p->rule[3].kind, SM_MEMBER_ALL_SWITCHES);
	assert_int_equal(p->rule[4].kind, SM_MEMBER_SELF);
	assert_int_equal(p->rule[4].membership, SM_MEMBER_FULL);
	p = find(ps, "NewPartition");
	assert_int_equal(p->pkey, 1); /* the lowest P_Key that is free */
	assert_true(p->ipoib);
	assert_int_equal(p->ngroups, 1);
	assert_int_equal(p->nrules, 3);
	assert_int_equal(p->rule[1].guid, 0x3456789034);
	assert_int_equal(p->rule[1].membership, SM_MEMBER_LIMITED);
	p = find(ps, "ShareIO");
	assert_int_equal(p->pkey, 0x80);
	assert_int_equal(p->nrules, 13);
	for (size_t i = 0; i < p->nrules; i++) {
		uint64_t g = p->rule[i].guid;
		bool limited = g == 0x123453 || g == 0x123454 || g == 0x123456 || g == 0x123457 ||
			       g == 0x12345c;

		assert_int_equal(p->rule[i].membership,
				 limited ? SM_MEMBER_LIMITED : SM_MEMBER_FULL);
	}
	sm_partitions_free(ps);
}

static void test_opensm_multicast_groups(void **state)
{
	struct sm_partitions *ps = parse(
		"Default=0x7fff,ipoib:\n"
		"        mgid=ff12:401b::0707,sl=1 # random IPv4 group\n"
		"        mgid=ff12:601b::16    # MLDv2-capable routers\n"
		"        "
		"mgid=ff12:401b::16,mtu=5,rate=7,Q_Key=0x80001234,TClass=9,FlowLabel=0xabcde\n"
		"        mgid=ff02::1:2:3\n"
		"        ALL=full;\n");
	const struct sm_partition *p = find(ps, "Default");

	assert_int_equal(p->ngroups, 5);
	assert_true(p->group[0].broadcast);
	assert_int_equal(mgid_pkey(&p->group[1].mgid), 0xffff);
	assert_int_equal(p->group[1].sl, 1);
	assert_int_equal(p->group[1].mgid.raw[15], 0x07);
	assert_int_equal(p->group[2].sl, 0);
	assert_int_equal(p->group[3].mtu_code, 5);
	assert_int_equal(p->group[3].rate_code, 7);
	assert_int_equal(p->group[3].qkey, 0x80001234);
	assert_int_equal(p->group[3].tclass, 9);
	assert_int_equal(p->group[3].flow_label, 0xabcde);
	assert_int_equal(p->group[4].mgid.raw[1], 0x02);
	assert_int_equal(mgid_pkey(&p->group[4].mgid), 0);
	assert_int_equal(p->nrules, 1);
	sm_partitions_free(ps);
}

static void test_flags_and_names(void **state)
{
	struct sm_partitions *ps = parse(
		"Lab=0x8001, indx0, ipoib, mtu=5, rate=6, sl=3, scope=2, scope=5, Q_Key=0xb1b, "
		"defmember=both : \"h1 HCA-1\", \"h2\"=full, ALL_CAS=limited, ALL_ROUTERS;\n"
		"=0x22:SELF; Late:ALL; Auto:ALL; Late=0x33:SELF;");
	const struct sm_partition *p = find(ps, "Lab");

	assert_int_equal(p->pkey, 1);
	assert_true(p->indx0);
	assert_int_equal(p->ngroups, 2);
	assert_int_equal(p->group[0].scope, 2);
	assert_int_equal(p->group[1].scope, 5);
	assert_int_equal(p->group[1].mgid.raw[1], 0x15);
	assert_int_equal(mgid_pkey(&p->group[0].mgid), 0x8001);
	assert_int_equal(p->group[1].mtu_code, 5);
	assert_int_equal(p->group[1].rate_code, 6);
	assert_int_equal(p->group[1].sl, 3);
	assert_int_equal(p->group[1].qkey, 0xb1b);
	assert_string_equal(p->rule[0].name, "h1 HCA-1");
	assert_int_equal(p->rule[0].membership, SM_MEMBER_BOTH);
	assert_int_equal(p->rule[1].membership, SM_MEMBER_FULL);
	assert_int_equal(p->rule[2].kind, SM_MEMBER_ALL_CAS);
	assert_int_equal(p->rule[3].kind, SM_MEMBER_ALL_ROUTERS);
	assert_int_equal(find(ps, "0x0022")->pkey, 0x22);
	/*
	 * A P_Key that a later line of the file sets must not be assigned automatically to an
	 * earlier partition.
	 */
	assert_int_equal(find(ps, "Auto")->pkey, 2);
	assert_int_equal(find(ps, "Late")->pkey, 0x33);
	/*
	 * The default partition exists although the file does not define it. All its members are
	 * limited ones.
	 */
	assert_int_equal(find(ps, "Default")->nrules, 0);
	assert_int_equal(ps->n, 5);
	sm_partitions_free(ps);
}

static void test_R16_default_table(void **state)
{
	struct sm_partitions *ps = sm_partitions_default(), *empty;
	const struct sm_partition *p = find(ps, "Default");

	assert_int_equal(ps->n, 1);
	assert_int_equal(p->pkey, 0x7fff);
	assert_int_equal(p->rule[0].membership, SM_MEMBER_FULL);
	assert_int_equal(p->group[0].qkey, 0x80000b1b);
	assert_int_equal(p->group[0].mtu_code, IB_MTU_2048);
	assert_int_equal(p->group[0].rate_code, 3);
	assert_int_equal(p->group[0].scope, 2);
	assert_ptr_equal(sm_partitions_find(ps, 0xffff), p);
	assert_null(sm_partitions_find(ps, 0x8001));
	sm_partitions_free(ps);
	/*
	 * With an empty file, unlike with no file, the default partition has no group, and all its
	 * members are limited ones.
	 */
	empty = parse("# nothing\n");
	p = find(empty, "Default");
	assert_int_equal(p->ngroups + p->nrules, 0);
	sm_partitions_free(empty);
	sm_partitions_free(NULL);
}

static void test_every_error_names_its_line_and_what_was_expected(void **state)
{
	static const struct {
		const char *text, *line, *says;
	} cases[] = {
		{ "A=0x8000:ALL;", "1", "P_Key 0x8000 is invalid" },
		{ "\nA=0x0000:ALL;", "2", "P_Key 0x0000 is invalid" },
		{ "A=0x10000:ALL;", "1", "expected a number from 0 to 0xffff" },
		{ "A=x:ALL;", "1", "P_Key \"x\": expected a number" },
		{ "A=0x1z:ALL;", "1", "P_Key \"0x1z\": expected a number" },
		{ "A=1,turbo:ALL;", "1", "unknown flag \"turbo\": expected ipoib, indx0" },
		{ "A=1,ipoib,mtu=2048:ALL;", "1", "expected a number from 0 to 0x3f" },
		{ "A=1,ipoib,mtu=6:ALL;", "1", "mtu=6 is no MTU code: expected 1 (256" },
		{ "A=1,ipoib,rate=1:ALL;", "1", "rate=1 is no rate code: expected 2" },
		{ "A=1,ipoib,sl=16:ALL;", "1", "sl \"16\": expected a number from 0 to 0xf" },
		{ "A=1,ipoib,scope=0:ALL;", "1", "scope 0 is reserved" },
		{ "A=1,ipoib,scope=1,scope=2,scope=3,scope=4,scope=5,scope=6,scope=7,scope=8,"
		  "scope=9:ALL;",
		  "1", "more than 8 scopes" },
		{ "A=1,ipoib,Q_Key=:ALL;", "1", "found ':' after \"Q_Key=\": expected a value" },
		{ "A=1,ipoib,Q_Key 5:ALL;", "1", "found '5' after \"Q_Key\": expected '='" },
		{ "A=1,mtu=4:ALL;", "1", "without the flag ipoib" },
		{ "A=1,defmember=some:ALL;", "1", "membership \"some\": expected full, limited" },
		{ "A=1\n\n;", "3", "found ';': expected ',' and a flag, or ':'" },
		{ "A=1 : ALL", "1", "found 'the end of the file': expected ',' and a member" },
		{ "A=1 : ALL\nB=2 : ALL;", "2", "found 'B': expected ',' and a member, or ';'" },
		{ "A=1 : ALL=half;", "1", "membership \"half\"" },
		{ "A=1 : SOME;", "1", "\"SOME\" is no member: expected a port GUID" },
		{ "A=1 : ?;", "1", "\"?\" is no member" },
		{ "A=1 : 0x12g4;", "1", "port GUID \"0x12g4\": expected a number" },
		{ "A=1 : 0x123456789abcdef01;", "1", "port GUID" },
		{ "A=1 : \"h1;", "1", "quotes that do not end on its line" },
		{ "A=1 : \"h1\n\";", "1", "quotes that do not end on its line" },
		{ "A=1 : \"\";", "1", "of 0 octets: expected 1 to 64" },
		{ "A=1 :\n mgid=fe80::1\n ALL;", "2", "expected a multicast GID like" },
		{ "A=1 :\n mgid=ff12:401b::1,turbo=1\n ALL;", "2", "\"turbo\" after a group" },
		{ "A=1 :\n mgid=ff12:401b:8002::1\n ALL;", "1", "expected 0 or 0x8001" },
		{ "A=1 : ALL;\nA=2 : ALL;", "2",
		  "\"A\" has P_Key 0x0001 since line 1, not 0x0002" },
		{ "A=1 : ALL;\nB=1 : ALL;", "2", "P_Key 0x0001 is called \"A\" since line 1" },
		{ "A:ALL;\n=7:ALL;\nA=7:ALL;", "3",
		  "P_Key 0x0007 is called \"0x0007\" since line 2" },
		{ ": ALL;", "1", "expected the name of a partition" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1:ALL;",
		  "1", "a word of more than 63 characters" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sm_partitions *ps = NULL;
		char err[256] = "", where[32];

		snprintf(where, sizeof(where), "p.conf:%s: ", cases[i].line);
		assert_int_equal(sm_partitions_parse(&ps, "p.conf", cases[i].text,
						     strlen(cases[i].text), err, sizeof(err)),
				 -EINVAL);
		assert_null(ps);
		if (strncmp(err, where, strlen(where)) || !strstr(err, cases[i].says))
			fail_msg("\"%s\" says \"%s\", not \"%s%s\"", cases[i].text, err, where,
				 cases[i].says);
	}
}

static void test_every_prefix_of_a_file_is_read_or_refused(void **state)
{
	static const char text[] =
		"Lab=0x8001, ipoib, mtu=5 : \"h1\"=full,\n mgid=ff12:401b::1,sl=1\n"
		" 0x12, SELF; # end\n=7:ALL;";

	for (size_t len = 0; len <= sizeof(text) - 1; len++) {
		/* Parse an exact copy, so that the sanitizer notices reads beyond its end. */
		char *copy = malloc(len ? len : 1), err[200] = "";
		struct sm_partitions *ps = NULL;
		int rc;

		memcpy(copy, text, len);
		rc = sm_partitions_parse(&ps, "p", copy, len, err, sizeof(err));
		assert_true(rc == 0 || (rc == -EINVAL && err[0]));
		sm_partitions_free(ps);
		free(copy);
	}
}

/*
 * --- partitions in a subnet of one switch s1, on which the SM runs (node 0), and its hosts h1 ..
 * h4 (nodes 1 .. 4)
 */

struct rig {
	struct net net;
	struct sm *sm;
	struct sm_listener l;
	unsigned int deleted;
};

static void on_group(void *ctx, const struct sm_group *g, bool created, ns_t now)
{
	struct rig *r = ctx;

	r->deleted += !created;
}

static const struct sm_events events = { .group = on_group };

static void rig_up(struct rig *r, const char *text)
{
	struct net_node *s;

	memset(r, 0, sizeof(*r));
	net_init(&r->net);
	s = net_switch(&r->net, 8);
	for (int i = 0; i < 4; i++)
		net_join(s, net_ca(&r->net, 1));
	r->sm = net_sm(s, NULL);
	r->l = (struct sm_listener){ .ops = &events, .ctx = r };
	sm_listen(r->sm, &r->l);
	if (text)
		sm_set_partitions(r->sm, parse(text), r->net.now);
	assert_true(net_until_up(&r->net, r->sm, 1));
	assert_int_equal(r->net.errors, 0);
}

static void rig_down(struct rig *r)
{
	sm_destroy(r->sm);
	net_fini(&r->net);
}

static struct net_port *host(struct rig *r, unsigned int i)
{
	return &r->net.node[i]->port[1];
}

static void assert_table(const struct net_port *p, const uint16_t *want, unsigned int n)
{
	for (unsigned int i = 0; i < NET_PKEYS; i++) {
		if (p->pkeys[i] != (i < n ? want[i] : 0))
			fail_msg("%s port %u entry %u is 0x%04x, not 0x%04x", p->node->desc, p->num,
				 i, p->pkeys[i], i < n ? want[i] : 0);
	}
}

#define TABLE(p, ...)                                      \
	assert_table(p, (const uint16_t[]){ __VA_ARGS__ }, \
		     sizeof((const uint16_t[]){ __VA_ARGS__ }) / 2)

static void test_I26_tables_of_cas_and_switch_ports(void **state)
{
	struct rig r;

	rig_up(&r, "Lab=0x8001 : \"h1\"=full, \"h2 HCA-1\"=limited, ALL_SWITCHES=full;\n"
		   "Idx=0x8002, indx0 : \"h3\"=both;\n");
	TABLE(host(&r, 1), 0x7fff, 0x8001);
	TABLE(host(&r, 2), 0x7fff, 0x0001);
	TABLE(host(&r, 3), 0x8002, 0x0002, 0x7fff);
	TABLE(host(&r, 4), 0x7fff);
	/* The SM's own port must be a full member, so that limited members can reach the SA. */
	TABLE(&r.net.node[0]->port[0], 0xffff, 0x8001);
	/*
	 * The switch ports filter P_Keys in both directions. Their tables have the full P_Keys,
	 * which match limited members as well.
	 */
	for (unsigned int i = 1; i <= 4; i++) {
		const struct net_port *sp = host(&r, i)->peer;

		assert_true(sp->pi.part_enforce_in && sp->pi.part_enforce_out);
	}
	TABLE(host(&r, 1)->peer, 0xffff, 0x8001);
	TABLE(host(&r, 2)->peer, 0xffff, 0x8001);
	TABLE(host(&r, 4)->peer, 0xffff);
	rig_down(&r);
}

static void test_the_closest_rule_counts(void **state)
{
	struct rig r;

	rig_up(&r, "A=1 : \"h1\"=full, ALL=limited, ALL_CAS=both, \"h2\"=limited, \"h2\"=full;\n"
		   "B=2 : ALL_SWITCHES, SELF=full;");
	TABLE(host(&r, 1), 0x7fff, 0x8001);
	TABLE(host(&r, 2), 0x7fff, 0x8001);
	TABLE(host(&r, 3), 0x7fff, 0x8001, 0x0001);
	TABLE(&r.net.node[0]->port[0], 0xffff, 0x0001, 0x8002);
	rig_down(&r);
}

static void test_no_enforcement_when_told_so(void **state)
{
	struct sm_cfg cfg = sm_cfg_default();
	struct net net;
	struct sm *sm;

	cfg.no_enforce = true;
	net_init(&net);
	net_switch(&net, 4);
	net_join(net.node[0], net_ca(&net, 1));
	sm = net_sm(net.node[0], &cfg);
	assert_true(net_until_up(&net, sm, 1));
	assert_false(net.node[0]->port[1].pi.part_enforce_in);
	assert_int_equal(net.node[0]->port[1].pkey_sets, 0);
	sm_destroy(sm);

	/*
	 * An earlier SM has enabled P_Key enforcement, so this SM, which is configured not to use
	 * it, must disable it.
	 */
	sm = net_sm(net.node[0], NULL);
	assert_true(net_until_up(&net, sm, 1));
	assert_true(net.node[0]->port[1].pi.part_enforce_in);
	sm_destroy(sm);
	sm = net_sm(net.node[0], &cfg);
	assert_true(net_until_up(&net, sm, 1));
	assert_false(net.node[0]->port[1].pi.part_enforce_in);
	assert_false(net.node[0]->port[1].pi.part_enforce_out);
	sm_destroy(sm);
	net_fini(&net);
}

static void test_I26_reload_keeps_indices_and_rewrites(void **state)
{
	struct rig r;

	rig_up(&r, "A=1:\"h1\"=full; B=2:\"h1\"=full; C=3:\"h1\"=full;");
	TABLE(host(&r, 1), 0x7fff, 0x8001, 0x8002, 0x8003);
	sm_set_partitions(r.sm, parse("A=1:\"h1\"=full; C=3:\"h1\"=full; D=4:\"h1\"=full;"),
			  r.net.now);
	net_run(&r.net, r.net.now + NS_SEC(1));
	/*
	 * QPs refer to P_Keys by index. So 0x8003 must stay at index 3, and the new P_Key 0x8004
	 * must get the free index 2.
	 */
	TABLE(host(&r, 1), 0x7fff, 0x8001, 0x8004, 0x8003);
	TABLE(host(&r, 1)->peer, 0xffff, 0x8001, 0x8004, 0x8003);
	rig_down(&r);
}

static void test_I26_removed_partition_ends_memberships(void **state)
{
	struct sm_group *g;
	struct rig r;
	ib_gid mgid, gid;

	rig_up(&r, "Default=0x7fff, ipoib : ALL=full;\nLab=0x8001, ipoib : ALL=full;");
	assert_int_equal(mgid_broadcast(&mgid, 0x8001, 2), 0);
	g = sm_group_find(r.sm, &mgid);
	assert_non_null(g);
	gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, host(&r, 1)->guid);
	assert_int_equal(sm_group_join(r.sm, g, &gid, 1, false, NULL, NULL, r.net.now), 0);
	gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, host(&r, 2)->guid);
	assert_int_equal(sm_group_join(r.sm, g, &gid, 1, false, NULL, NULL, r.net.now), 0);

	/* h2 is no longer a member of the partition, but h1 still is. */
	sm_set_partitions(
		r.sm, parse("Default=0x7fff, ipoib : ALL=full;\nLab=0x8001, ipoib : \"h1\"=full;"),
		r.net.now);
	net_run(&r.net, r.net.now + NS_SEC(1));
	TABLE(host(&r, 2), 0xffff);
	assert_int_equal(g->nmembers, 1);
	assert_int_equal(r.deleted, 0);

	sm_set_partitions(r.sm, parse("Default=0x7fff, ipoib : ALL=full;"), r.net.now);
	net_run(&r.net, r.net.now + NS_SEC(1));
	assert_int_equal(r.deleted, 1);
	assert_null(sm_group_find(r.sm, &mgid));
	TABLE(host(&r, 1), 0xffff);
	TABLE(host(&r, 1)->peer, 0xffff);
	rig_down(&r);
}

static void test_I26_added_partition_at_run_time(void **state)
{
	struct rig r;
	ib_gid mgid;

	rig_up(&r, NULL);
	TABLE(host(&r, 1), 0xffff);
	sm_set_partitions(r.sm,
			  parse("Default=0x7fff, ipoib:ALL=full; Lab=0x8001,ipoib:\"h1\"=full;"),
			  r.net.now);
	net_run(&r.net, r.net.now + NS_SEC(1));
	TABLE(host(&r, 1), 0xffff, 0x8001);
	TABLE(host(&r, 2), 0xffff);
	assert_int_equal(mgid_broadcast(&mgid, 0x8001, 2), 0);
	assert_non_null(sm_group_find(r.sm, &mgid));
	assert_int_equal(r.deleted, 0);
	rig_down(&r);
}

static void test_pkey_queries_of_the_database(void **state)
{
	const struct sm_port *a, *b, *c;
	struct rig r;

	rig_up(&r, "A=1:\"h1\"=full,\"h2\"=limited,\"h3\"=limited; B=2:\"h2\"=both;");
	a = sm_db_port_by_guid(sm_db(r.sm), host(&r, 1)->guid);
	b = sm_db_port_by_guid(sm_db(r.sm), host(&r, 2)->guid);
	c = sm_db_port_by_guid(sm_db(r.sm), host(&r, 3)->guid);
	assert_int_equal(sm_port_pkey(a, 0x0001), 0x8001);
	assert_int_equal(sm_port_pkey(b, 0x8001), 0x0001);
	assert_int_equal(sm_port_pkey(b, 2), 0x8002);
	assert_int_equal(sm_port_pkey(a, 2), 0);
	assert_int_equal(sm_port_pkey(a, 0x8000), 0);
	assert_int_equal(sm_ports_share_pkey(a, b), 0x8001);
	assert_int_equal(sm_ports_share_pkey(b, a), 0x0001);
	/* Two limited members share no usable P_Key. */
	assert_int_equal(sm_ports_share_pkey(b, c), 0);
	rig_down(&r);
}

static void test_table_too_small_is_said(void **state)
{
	struct net net;
	struct net_node *s, *h;
	char text[4096] = "";
	struct sm *sm;

	net_init(&net);
	s = net_switch(&net, 4);
	h = net_ca(&net, 1);
	net_join(s, h);
	s->si.enforce_cap = 8;
	for (unsigned int i = 1; i <= 40; i++)
		sprintf(text + strlen(text), "P%u=%u:\"h1\"=full;\n", i, i);
	sm = net_sm(s, NULL);
	sm_set_partitions(sm, parse(text), net.now);
	assert_true(net_until_up(&net, sm, 1));
	/*
	 * The 41 P_Keys fit into the CA's table of 64 entries, in two blocks, but not into the
	 * switch's table of 8 entries. So the switch cannot enforce P_Keys for this port, and an
	 * error must be logged.
	 */
	assert_int_equal(h->port[1].pkeys[40], 0x8000 + 40);
	assert_false(s->port[1].pi.part_enforce_in);
	assert_non_null(strstr(net.last_err, "room for 8 P_Keys and should have 41"));
	sm_destroy(sm);
	net_fini(&net);
}

/*
 * Check the SLtoVL tables of s1 (for all pairs of ports in use) and of the hosts. SL n must use VL
 * n modulo @vls.
 */
static void assert_vls_below(struct rig *r, unsigned int vls)
{
	const struct net_node *s = r->net.node[0];

	for (unsigned int in = 0; in <= 4; in++) {
		for (unsigned int out = 1; out <= 4; out++) {
			for (unsigned int sl = 0; sl < 16; sl++)
				assert_true(s->sltovl[in * 9 + out][sl] == sl % vls);
		}
	}
	for (unsigned int i = 1; i <= 4; i++) {
		for (unsigned int sl = 0; sl < 16; sl++)
			assert_true(host(r, i)->sltovl[sl] == sl % vls);
	}
}

static void test_service_levels_meet_operational_vls(void **state)
{
	unsigned int sets;
	struct rig r;

	rig_up(&r, "Default=0x7fff,ipoib:ALL=full;");
	assert_int_equal(r.net.node[0]->sltovl_sets + r.net.node[1]->sltovl_sets, 0);
	/* As soon as a partition has an SL other than 0, the SM must write SLtoVL tables. */
	sm_set_partitions(r.sm, parse("Default=0x7fff,ipoib:ALL=full; Lab=1,ipoib,sl=6:ALL=full;"),
			  r.net.now);
	net_run(&r.net, r.net.now + NS_SEC(3));
	assert_int_equal(host(&r, 1)->pi.oper_vls, 4);
	assert_vls_below(&r, 8);
	sets = r.net.node[0]->sltovl_sets;
	sm_kick(r.sm, "test", r.net.now);
	net_run(&r.net, r.net.now + NS_SEC(3));
	assert_int_equal(r.net.node[0]->sltovl_sets, sets);
	/* A host was reset and has lost its tables, so the SM must write them again. */
	net_reset(r.net.node[2]);
	net_cut(r.net.node[2], 1, false);
	net_run(&r.net, r.net.now + NS_SEC(3));
	assert_vls_below(&r, 8);
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opensm_examples),
		cmocka_unit_test(test_opensm_multicast_groups),
		cmocka_unit_test(test_flags_and_names),
		cmocka_unit_test(test_R16_default_table),
		cmocka_unit_test(test_every_error_names_its_line_and_what_was_expected),
		cmocka_unit_test(test_every_prefix_of_a_file_is_read_or_refused),
		cmocka_unit_test(test_I26_tables_of_cas_and_switch_ports),
		cmocka_unit_test(test_the_closest_rule_counts),
		cmocka_unit_test(test_no_enforcement_when_told_so),
		cmocka_unit_test(test_I26_reload_keeps_indices_and_rewrites),
		cmocka_unit_test(test_I26_removed_partition_ends_memberships),
		cmocka_unit_test(test_I26_added_partition_at_run_time),
		cmocka_unit_test(test_pkey_queries_of_the_database),
		cmocka_unit_test(test_table_too_small_is_said),
		cmocka_unit_test(test_service_levels_meet_operational_vls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit/all_lab_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fabric/fault.h"
#include "sm/group.h"

struct msg {
	uint32_t magic, from, to, seq;
};

static void on_rx(struct lab *l, struct lab_host *to, const struct ipoib_lladdr *src,
		  const uint8_t *data, size_t len)
{
	struct lab_count *c = l->ctx;
	struct msg m;

	if (len != sizeof(m)) {
		c->wrong++;
		return;
	}
	memcpy(&m, data, sizeof(m));
	if (m.magic == 0x6d756c74) {
		c->group[to->index]++;
	} else if (m.magic == 0x756e6963 && m.to == to->index && m.from < c->n) {
		c->got[m.from * c->n + m.to]++;
		/*
		 * If the receiver knows the sender's address, the QPN in this address must be the
		 * QPN of the sender's interface.
		 */
		if (src && src->qpn != l->host[m.from].addr.qpn)
			c->wrong++;
	} else {
		c->wrong++;
	}
}

const uint8_t lab_group[4] = { 239, 1, 2, 3 };

void lab_count_init(struct lab_count *c, struct lab *l)
{
	*c = (struct lab_count){ .n = l->nhosts };
	c->got = calloc((size_t)c->n * c->n, sizeof(*c->got));
	c->group = calloc(c->n, sizeof(*c->group));
	l->rx = on_rx;
	l->ctx = c;
}

void lab_count_fini(struct lab_count *c)
{
	free(c->got);
	free(c->group);
}

static void flood(struct lab *l, bool *node_seen, struct fabric_node *from)
{
	unsigned int i = 0;

	while (fabric_node_at(l->f, i) != from)
		i++;
	if (node_seen[i])
		return;
	node_seen[i] = true;
	if (fabric_node_hca(from))
		return; /* a CA forwards no packets, so it connects no other nodes */
	for (unsigned int p = 1; p <= fabric_node_node(from)->info.nports; p++) {
		struct fabric_port *port = fabric_node_port(from, p),
				   *peer = fabric_port_peer(port);

		if (peer && fabric_link_state(port) == FABRIC_LINK_UP)
			flood(l, node_seen, fabric_port_node(peer));
	}
}

void lab_reachable(struct lab *l, bool *want)
{
	bool *seen = calloc(fabric_nnodes(l->f), sizeof(*seen));

	for (unsigned int i = 0; i < fabric_nnodes(l->f); i++) {
		if (!fabric_node_hca(fabric_node_at(l->f, i))) {
			/* start at the first switch, because the SM is on this switch */
			flood(l, seen, fabric_node_at(l->f, i));
			break;
		}
	}
	for (unsigned int i = 0; i < l->nhosts; i++) {
		struct lab_host *h = &l->host[i];
		struct fabric_port *port = fabric_node_port(h->node, h->port);
		struct fabric_port *peer = fabric_port_peer(port);

		want[i] = false;
		if (!peer || fabric_link_state(port) != FABRIC_LINK_UP)
			continue;
		for (unsigned int k = 0; k < fabric_nnodes(l->f); k++)
			if (fabric_node_at(l->f, k) == fabric_port_node(peer))
				want[i] = seen[k];
	}
	free(seen);
}

void lab_faults_on(struct lab *l)
{
	static const char *const spec[] = { "loss 2%", "reorder 5% 1ms" };
	char err[128];

	for (unsigned int i = 0; i < fabric_nnodes(l->f); i++) {
		struct fabric_node *n = fabric_node_at(l->f, i);

		for (unsigned int p = 1; p <= fabric_node_node(n)->info.nports; p++) {
			struct fabric_port *port = fabric_node_port(n, p);
			struct fault_spec s;

			for (int k = 0; k < 2 && fabric_port_peer(port); k++) {
				assert_int_equal(fault_parse(&s, spec[k], err, sizeof(err)), 0);
				assert_int_equal(fabric_fault_add(port, &s, NULL), 0);
			}
		}
	}
}

void lab_faults_off(struct lab *l)
{
	struct fault_info i;

	while (fabric_fault_next(l->f, 0, &i))
		assert_int_equal(fabric_fault_del(l->f, i.id, l->now), 0);
}

/*
 * Tell whether hosts @a and @b must reach each other: they are different hosts on one link, and
 * @want is true for both.
 */
static bool are_pair(struct lab *l, const struct lab_count *c, const bool *want, unsigned int a,
		     unsigned int b)
{
	return want[a] && want[b] && a != b &&
	       (!c->same_link || c->same_link(&l->host[a], &l->host[b]));
}

static void send_pairs(struct lab *l, struct lab_count *c, const bool *want)
{
	memset(c->got, 0, (size_t)c->n * c->n * sizeof(*c->got));
	for (unsigned int a = 0; a < c->n; a++) {
		for (unsigned int b = 0; b < c->n; b++) {
			struct msg m = { 0x756e6963, a, b, 0 };

			if (are_pair(l, c, want, a, b))
				lab_send(&l->host[a], &l->host[b], &m, sizeof(m));
		}
		lab_run(l, NS_MSEC(50));
	}
	lab_run(l, NS_SEC(5));
}

void lab_warm_up(struct lab *l, struct lab_count *c, const bool *want)
{
	send_pairs(l, c, want);
	c->wrong = 0;
}

void lab_check_pairs(struct lab *l, struct lab_count *c, const bool *want, uint64_t seed)
{
	send_pairs(l, c, want);
	for (unsigned int a = 0; a < c->n; a++)
		for (unsigned int b = 0; b < c->n; b++)
			if (c->got[a * c->n + b] != are_pair(l, c, want, a, b))
				fail_msg("seed %llu: %u -> %u: %u packets arrived",
					 (unsigned long long)seed, a, b, c->got[a * c->n + b]);
	assert_int_equal(c->wrong, 0);
}

void lab_check_group(struct lab *l, struct lab_count *c, const bool *want, const bool *member,
		     uint64_t seed)
{
	struct msg m = { 0x6d756c74, 0, 0, 0 };
	unsigned int sent = 0;

	memset(c->group, 0, c->n * sizeof(*c->group));
	for (unsigned int i = 0; i < c->n && sent < 3; i++) {
		if (!want[i])
			continue;
		m.from = i;
		lab_send_group(&l->host[i], lab_group, &m, sizeof(m));
		lab_run(l, NS_SEC(3));
		for (unsigned int k = 0; k < c->n; k++)
			if (c->group[k] != (member[k] && are_pair(l, c, want, i, k)))
				fail_msg("seed %llu: group packet of %u: %u got %u",
					 (unsigned long long)seed, i, k, c->group[k]);
		memset(c->group, 0, c->n * sizeof(*c->group));
		sent++;
	}
}

struct belief {
	struct lab *l;
	struct lab_host *h;
	uint64_t seed;
};

static void one_belief(void *ctx, const struct sac_group_info *i)
{
	struct belief *b = ctx;
	struct sm_group *g = sm_group_find(b->l->sm, &i->mgid);
	struct sm_mcmember *m =
		g ? sm_group_member(g, ib_gid_guid(&sac_port(b->h->sac)->gid)) : NULL;

	if (i->have && (!m || m->join_state != i->have))
		fail_msg("seed %llu: host %u has join state %u of the group %016llx:%016llx, the "
			 "SA knows %u",
			 (unsigned long long)b->seed, b->h->index, i->have,
			 (unsigned long long)be64_at(i->mgid.raw),
			 (unsigned long long)be64_at(i->mgid.raw + 8), m ? m->join_state : 0);
}

struct search {
	const ib_gid *mgid;
	bool found;
};

static void look_for_mgid(void *ctx, const struct sac_group_info *i)
{
	struct search *s = ctx;

	s->found |= i->have && !memcmp(&i->mgid, s->mgid, sizeof(*s->mgid));
}

/*
 * The SA lists the port @m as a member of group @g. Check that the interface on this port treats
 * itself as a member, too.
 */
static void check_member(struct lab *l, const bool *want, const struct sm_group *g,
			 const struct sm_mcmember *m, uint64_t seed)
{
	struct search s = { .mgid = &g->rec.mgid };
	unsigned int i = 0;

	while (i < l->nhosts && l->host[i].ca_port.guid != m->port_guid)
		i++;
	if (i < l->nhosts && want[i])
		sac_group_each(l->host[i].sac, look_for_mgid, &s);
	if (!s.found)
		fail_msg("seed %llu: the SA knows host %u (wanted: %d) as a member with join state "
			 "%u of the group %016llx:%016llx, which the host does not",
			 (unsigned long long)seed, i, i < l->nhosts && want[i], m->join_state,
			 (unsigned long long)be64_at(g->rec.mgid.raw),
			 (unsigned long long)be64_at(g->rec.mgid.raw + 8));
}

void lab_check_beliefs(struct lab *l, const bool *want, uint64_t seed)
{
	const struct sm_mcmember *m;

	for (unsigned int i = 0; i < l->nhosts; i++) {
		struct belief b = { .l = l, .h = &l->host[i], .seed = seed };

		if (want[i])
			sac_group_each(l->host[i].sac, one_belief, &b);
	}
	for (struct sm_group *g = sm_group_next(l->sm, NULL); g; g = sm_group_next(l->sm, g))
		list_for_each (m, &g->members, link)
			check_member(l, want, g, m, seed);
}

static void dump_drops(struct lab *l)
{
	const struct sa_stats *s = sa_stats(l->sa);

	for (int d = 0; d < FABRIC_DROP_MAX; d++)
		if (fabric_stats(l->f)->drops[d])
			fprintf(stderr, "fabric: %s %llu\n", fabric_drop_name(d),
				(unsigned long long)fabric_stats(l->f)->drops[d]);
	for (unsigned int i = 0; i < l->nhosts; i++)
		for (int d = 0; d < HCA_DROP_MAX; d++)
			if (hca_drops(fabric_node_hca(l->host[i].node), d))
				fprintf(stderr, "host %u: %s %llu\n", i, hca_drop_name(d),
					(unsigned long long)hca_drops(
						fabric_node_hca(l->host[i].node), d));
	fprintf(stderr,
		"sa: requests %llu answers %llu not-master %llu requester %llu sm-key %llu "
		"malformed %llu "
		"busy %llu\n",
		(unsigned long long)s->requests, (unsigned long long)s->answers,
		(unsigned long long)s->drop_not_master, (unsigned long long)s->drop_requester,
		(unsigned long long)s->drop_sm_key, (unsigned long long)s->drop_malformed,
		(unsigned long long)s->drop_busy);
}

void lab_wait_up(struct lab *l, const bool *want, ns_t most, uint64_t seed, const char *when)
{
	for (ns_t t = 0; t < most; t += NS_SEC(1)) {
		if (lab_all_up(l, want))
			return;
		lab_run(l, NS_SEC(1));
	}
	if (getenv("LAB_VERBOSE"))
		dump_drops(l);
	for (unsigned int i = 0; i < l->nhosts; i++) {
		struct ipoib_link_info info;

		ipoib_link_info(l->host[i].link, &info);
		if (want[i] && !l->host[i].carrier)
			fail_msg("seed %llu: %s: host %u (%s/%u) is %s: %s",
				 (unsigned long long)seed, when, i,
				 fabric_node_name(l->host[i].node), l->host[i].port,
				 ipoib_link_state_name(info.state), info.reason);
	}
}

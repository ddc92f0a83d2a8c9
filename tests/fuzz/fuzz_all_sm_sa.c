/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Requests to an SA whose SM runs a small soft fabric. The input is a sequence of requests: who asks, method,
 * attribute and trust from tables, so that most get past the first checks, then the component
 * mask and as many octets of the record as there are, GIDs of real ports mended in where asked for.
 */

#include <stdlib.h>

#include "fabric/fabric.h"
#include "sm/group.h"
#include "sm/sa.h"
#include "wire/mgid.h"

#define SM_KEY 0x77

static struct timers timers;
static struct fabric *fabric;
static struct sm *sm;
static struct sa *sa;
static struct mad_ep *ep;
static ns_t now = NS_SEC(1);

static void pass(ns_t t)
{
	ns_t end = now + t;

	for (;;) {
		do {
			timers_run(&timers, now);
		} while (fabric_run(fabric, now) || timers_next(&timers) <= now);
		if (timers_next(&timers) > end)
			break;
		now = timers_next(&timers);
	}
	now = end;
}

static void need(bool ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct fabric_cfg fc = { .timers = &timers, .pool = pkt_pool_create(16384, 1024) };
	struct sm_cfg sc = sm_cfg_default();
	struct topo *t = topo_gen_demo(4, 2);
	struct node *n;

	timers_init(&timers);
	need(fabric_create(&fabric, t, &fc, now) == 0);
	topo_free(t);
	n = fabric_node_node(fabric_node_find(fabric, "Switch1"));
	node_set_cap(n, 0, SMP_CAP_IS_SM, true, now);
	ep = n->port[0].ep;
	sc.sm_key = SM_KEY;
	need(sm_create(&sm, ep, &sc, &timers, NULL) == 0);
	sm_start(sm, now);
	pass(NS_SEC(2));
	need(sm_db(sm) != NULL);
	return 0;
}

struct input {
	const uint8_t *p;
	size_t n;
};

static uint8_t take(struct input *in)
{
	if (!in->n)
		return 0;
	in->n--;
	return *in->p++;
}

static struct sm_port *port_nth(unsigned int n)
{
	struct sm_port *p = NULL;

	do {
		p = sm_db_end_port(sm_db(sm), p);
	} while (p && n--);
	return p;
}

/* A GID that means something: of a port or a group */
static ib_gid gid_nth(uint8_t sel)
{
	const struct sm_port *p = port_nth(sel & 7);
	ib_gid g = { { 0 } };
	const uint8_t ip[4] = { 239, 0, 0, sel & 3 };

	if (sel & 0x40)
		mgid_broadcast(&g, 0xffff, 2);
	else if (sel & 0x80)
		mgid_from_ipv4(&g, ip, 0xffff, 2);
	else if (p)
		g = sm_port_gid(sm_db(sm), p);
	return g;
}

static void mend(struct input *in, uint8_t *data)
{
	uint8_t how = take(in);
	ib_gid g = gid_nth(take(in)), h = gid_nth(take(in));

	if (how & 1)
		memcpy(data, &g, sizeof(g)); /* MCMemberRecord: MGID */
	if (how & 2)
		memcpy(data + 16, &h, sizeof(h)); /* PortGID */
	if (how & 4)
		memcpy(data + 8, &g, sizeof(g)); /* PathRecord: DGID, ServiceRecord: GID */
	if (how & 8)
		memcpy(data + 24, &h, sizeof(h)); /* SGID */
	if (how & 16) { /* parameters of the broadcast group */
		const struct sm_group *bc;
		struct ib_mcmember_rec r, was;

		ib_mcmember_rec_decode(&was, data, SA_DATA_LEN);
		mgid_broadcast(&g, 0xffff, 2);
		bc = sm_group_find(sm, &g);
		r = bc->rec;
		r.mgid = was.mgid;
		r.port_gid = was.port_gid;
		r.join_state = was.join_state;
		ib_mcmember_rec_encode(data, &r);
	}
}

static void request(struct input *in)
{
	static const uint8_t methods[] = { 0x01, 0x02, 0x12, 0x15, 0x01, 0x02, 0x14, 0x00 };
	static const uint16_t attrs[] = { 0x01, 0x03, 0x11, 0x12, 0x31, 0x35, 0x38, 0x38 };
	static const uint64_t masks[] = { 0x10083, 0x173f7, 0x10003, 0x340c };
	uint8_t who = take(in), what = take(in), how = take(in), mad[MAD_LEN];
	const struct sm_port *p = port_nth(who & 7);
	struct mad_addr from = mad_addr_gmp(p ? p->lid : who, 0);
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.method = methods[what & 7],
		.attr_id = attrs[what >> 3 & 7],
		.tid = how & 1 ? take(in) : (uint64_t)now + in->n,
		.attr_mod = how & 2 ? 0x80000000u : 0,
	};
	struct sa_hdr hdr = { .sm_key = how & 4 ? SM_KEY : 0 };

	if (how & 8) {
		hdr.comp_mask = masks[how >> 4 & 3];
	} else {
		for (int i = 0; i < (how >> 4 & 7) + 1; i++)
			hdr.comp_mask = hdr.comp_mask << 8 | take(in);
	}
	sa_mad_encode(mad, &h, &hdr);
	for (unsigned int i = take(in); i > 0 && in->n; i--)
		mad[SA_DATA_OFF + i % SA_DATA_LEN] = take(in);
	mend(in, mad + SA_DATA_OFF);
	mad_ep_recv(ep, &from, mad, now);
	pass(how & 0x80 ? NS_MSEC(1) : 0);
}

static void check(void)
{
	const struct sa_stats *st = sa_stats(sa);
	struct sm_group *g = NULL;

	/* Nothing is answered twice, nothing is lost without being counted. */
	need(st->answers + st->drop_malformed + st->drop_requester + st->drop_busy +
		     st->dup_joins <=
	     st->requests);
	while ((g = sm_group_next(sm, g))) {
		const struct sm_mcmember *m;
		bool lives = g->admin;

		list_for_each (m, &g->members, link)
			lives |= m->join_state & (MCM_JOIN_FULL | MCM_JOIN_SEND_ONLY_FULL);
		need(lives);
		need(ib_gid_is_mcast(&g->rec.mgid) && ib_lid_is_mcast(g->rec.mlid));
		need(ib_mtu_octets(g->rec.mtu_code) && ib_rate_mbps(g->rec.rate_code));
	}
}

static void clean(void)
{
	struct sm_group *g = sm_group_next(sm, NULL), *next;

	sa_destroy(sa);
	for (; g; g = next) {
		next = sm_group_next(sm, g);
		if (!g->admin) {
			sm_group_delete(sm, g, now);
			continue;
		}
		while (!list_empty(&g->members)) {
			struct sm_mcmember *m = list_first(&g->members, struct sm_mcmember, link);

			sm_group_leave(sm, g, m->port_guid, m->join_state, now);
		}
	}
	pass(NS_SEC(1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	need(sa_create(&sa, sm) == 0);
	while (in.n)
		request(&in);
	pass(NS_MSEC(300));
	check();
	clean();
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Requests to an SA whose SM runs a small simulated fabric. The input is a sequence of requests.
 * For each request, octets of the input select the requester, the method, the attribute, and
 * whether the request has the right SM_Key. The target makes the record and the component mask as
 * real clients make them, with GIDs of ports and groups that exist. Then it flips some bits of the
 * record and of the mask. The input selects these bits.
 */

#include <stdlib.h>

#include "fabric/fabric.h"
#include "sm/group.h"
#include "sa/sa.h"
#include "wire/mgid.h"
#include "wire/records_sm.h"

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

/* Returns the GID of a port or of a multicast group, as @sel selects. */
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

/* Write to @data a record as real clients send it. Returns the component mask of the request. */
static uint64_t record(struct input *in, uint16_t attr, uint8_t *data)
{
	const ib_gid a = gid_nth(take(in)), b = gid_nth(take(in)), bc = gid_nth(0x40);
	uint8_t how = take(in);
	struct ib_path_rec path = { .dgid = a, .sgid = b, .numb_path = 1, .pkey = 0xffff };
	struct ib_service_rec service = {
		.id = how & 3, .gid = a, .lease = how, .key = { how & 8 }
	};
	struct mad_inform_info inform = {
		.lid_begin = 0xffff,
		.generic = true,
		.subscribe = how & 1,
		.type = 0xffff,
		.trap = (uint16_t)(how & 8 ? 0xffff : 64 + (how >> 1 & 3)),
		.qpn = 1,
		.producer = 0xffffff,
	};
	struct ib_mcmember_rec mcm = sm_group_find(sm, &bc)->rec;
	struct ib_multi_path_rec multi = { .nsgid = 1,
					   .ndgid = 1 + (how & 1),
					   .path.numb_path = how >> 4 };
	const struct sm_port *port = port_nth(how & 7);

	switch (attr) {
	case SA_ATTR_MCMEMBER_RECORD:
		mcm.mgid = a;
		mcm.port_gid = b;
		mcm.join_state = how & 0xf;
		mcm.mtu_sel = mcm.rate_sel = SA_SEL_EXACT;
		ib_mcmember_rec_encode(data, &mcm);
		return how & 0x10 ? 0x10003 : how & 0x20 ? 0x10083 : 0x173f7;
	case SA_ATTR_PATH_RECORD:
		ib_path_rec_encode(data, &path);
		return how & 0x10 ? 0x340c : how & 0xf;
	case SA_ATTR_SERVICE_RECORD:
		ib_service_rec_encode(data, &service);
		return how & 0x10 ? 0x53 : how & 0x20 ? 0x33 : how & 0xf;
	case SA_ATTR_MULTI_PATH_RECORD:
		multi.gid[0] = a;
		multi.gid[1] = b;
		multi.gid[2] = a;
		ib_multi_path_rec_encode(data, &multi);
		return how & 0x10 ? 0x180000 : 0x180040;
	case SA_ATTR_INFORM_INFO_RECORD:
		memcpy(data, &a, sizeof(a));
		return how & 3;
	case SA_ATTR_SLTOVL_RECORD:
	case SA_ATTR_SWITCH_INFO_RECORD:
	case SA_ATTR_LFT_RECORD:
	case SA_ATTR_MFT_RECORD:
	case SA_ATTR_SM_INFO_RECORD:
	case SA_ATTR_LINK_RECORD:
	case SA_ATTR_GUID_INFO_RECORD:
	case SA_ATTR_PKEY_TABLE_RECORD:
	case SA_ATTR_VLARB_RECORD:
		/*
		 * The records of these attributes begin with a LID, after which a port and a block
		 * follow in an order that depends on the attribute.
		 */
		be16_put(data, port ? port->lid : how);
		data[2] = data[3] = how & 7;
		return how >> 4;
	case SA_ATTR_INFORM_INFO:
		mad_inform_info_encode(data, &inform);
		return 0;
	default:
		return how;
	}
}

static void request(struct input *in)
{
	static const uint8_t methods[] = { 0x01, 0x02, 0x12, 0x15, 0x02, 0x12, 0x14, 0x00 };
	static const uint16_t attrs[] = { 0x01, 0x03, 0x11, 0x12, 0x31, 0x35, 0x38, 0x38,
					  0x13, 0x14, 0x15, 0x17, 0x18, 0x20, 0x30, 0x33,
					  0x36, 0x3a, 0xf3, 0x16, 0x02, 0x31, 0x35, 0x38 };
	uint8_t who = take(in), what = take(in), how = take(in), mad[MAD_LEN],
		data[SA_DATA_LEN] = { 0 };
	const struct sm_port *p = port_nth(who & 7);
	struct mad_addr from = mad_addr_gmp(p ? p->lid : who, 0);
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = 2,
		.method = methods[what & 7],
		.attr_id = attrs[(what >> 3) % ARRAY_SIZE(attrs)],
		.tid = how & 1 ? take(in) : (uint64_t)now + in->n,
		.attr_mod = how & 2 ? 0x80000000u : 0,
	};
	struct sa_hdr hdr = { .sm_key = how & 4 ? SM_KEY : 0 };
	const struct rmpp_hdr rmpp = {
		.version = RMPP_VERSION,
		.type = RMPP_TYPE_DATA,
		.flags = RMPP_FLAG_ACTIVE | RMPP_FLAG_FIRST | RMPP_FLAG_LAST,
		.data1 = 1,
		.data2 = 20 + SA_DATA_LEN,
	};

	hdr.comp_mask = record(in, h.attr_id, data);
	for (unsigned int i = how >> 3 & 3; i > 0; i--)
		hdr.comp_mask ^= 1ull << (take(in) & 63);
	for (unsigned int i = how >> 5 & 3; i > 0; i--) {
		uint8_t at = take(in);

		data[at % SA_DATA_LEN] ^= take(in);
	}
	sa_mad_encode(mad, &h, &hdr);
	/* A GetMulti request is an RMPP message; this one has a single segment. */
	if (h.method == MAD_METHOD_GET_MULTI)
		rmpp_hdr_encode(mad + SA_RMPP_OFF, &rmpp);
	memcpy(mad + SA_DATA_OFF, data, sizeof(data));
	mad_ep_recv(ep, &from, mad, now);
	pass(how & 0x80 ? NS_MSEC(1) : 0);
}

static void check(void)
{
	const struct sa_stats *st = sa_stats(sa);
	struct sm_group *g = NULL;

	/* Each request counts at most once: as answered, as dropped, or as a repetition. */
	need(st->answers + st->drop_malformed + st->drop_requester + st->drop_busy +
		     st->drop_quota + st->repeated + st->dup_joins <=
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

/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses/chapters.h"
#include "text/print.h"
#include "world/part.h"
#include "world/peer.h"
#include "world/sa.h"

/*
 * Cases about a second P_Key in the port's table, for which a driver makes an interface of its own.
 * intel-ipoib-linux-hld-2002 sections 1.4 and 2.6.
 */

#define HLD "HLD "

static const uint16_t one[] = { WORLD_PKEY }, both[] = { WORLD_PKEY, WORLD_PKEY2 },
		      three[] = { WORLD_PKEY, WORLD_PKEY3, WORLD_PKEY2 };
static const uint16_t second = WORLD_PKEY2;

static bool set_table(struct run *r, const uint16_t *pkeys, unsigned int n)
{
	if (r->w->dut.node.pkey_cap < n) {
		not_applicable(r, "PartitionCap is %u", r->w->dut.node.pkey_cap);
		return false;
	}
	if (world_part_set(r->w, pkeys, n))
		return true;
	missing(r, "the P_Key table cannot be set");
	return false;
}

static struct world_group *broadcast_group(struct run *r)
{
	ib_gid bcast = sa_mgid_broadcast_in(r->w, WORLD_PKEY2);

	return world_group(r->w, &bcast);
}

static struct sa_want join_of(const ib_gid *mgid)
{
	return (struct sa_want){ .method = MAD_METHOD_SET,
				 .attr = SA_ATTR_MCMEMBER_RECORD,
				 .gid = mgid };
}

/* --- the interface is created */

static void joins(struct run *r)
{
	ib_gid bcast = sa_mgid_broadcast_in(r->w, WORLD_PKEY2);
	struct sa_want join = join_of(&bcast);
	const struct seen *s;

	if (!set_table(r, both, 2))
		return;
	s = expect(r, sa_is, &join, WORLD_LONGEST);
	if (!s)
		missing(r, "no join of the broadcast group of P_Key 0x8014 within 18 s after the "
			   "P_Key came into the table");
	else
		check(r, (s->payload[SA_DATA_OFF + 48] & 15) == MCM_JOIN_FULL, s,
		      "JoinState is 0x%x, expected FullMember (1)",
		      s->payload[SA_DATA_OFF + 48] & 15);
}

static void only_joins(struct run *r, const struct seen *s)
{
	ib_gid bcast;
	struct ib_mcmember_rec m;
	struct sa_mad q;

	if (!sa_join_decode(s, &q, &m))
		return;
	bcast = sa_mgid_broadcast_in(r->w, part_of_mgid(r->w, &m.mgid));
	if (ib_gid_equal(&m.mgid, &bcast))
		check(r,
		      !(q.sa.comp_mask & (MCM_COMP_QKEY | MCM_COMP_TCLASS | MCM_COMP_FLOW_LABEL)),
		      s, "the component mask 0x%llx names what makes a new broadcast group",
		      (unsigned long long)q.sa.comp_mask);
}

/*
 * Judge that the DUT sends nothing with the second P_Key before the SA has granted the join of the
 * second broadcast group. The reason: the driver registers the network device only after this join.
 */
static void nothing_before(struct run *r, const struct seen *s)
{
	const struct world_group *g;

	if (!r->w->part.known || !part_is(s, &second))
		return;
	g = broadcast_group(r);
	check(r, g && g->granted && s->n > g->granted, s,
	      "a packet with P_Key 0x8014 came before the join of its broadcast group was granted");
}

static void created(struct run *r)
{
	struct world_group *g = world_part_group(r->w);

	if (!g)
		return;
	world_group_tell(r->w, &g->rec.mgid, MAD_TRAP_MC_CREATED);
	if (!world_wait(r->w, sa_is_full_member, g, WORLD_LONGEST))
		missing(r, "the broadcast group of P_Key 0x8014 was created and trap 66 reported; "
			   "the DUT has not joined it within 18 s");
	else
		check(r, true, NULL, "joined");
}

/* --- two links */

/*
 * Make sure that the port has both P_Keys and that the DUT is in the second broadcast group,
 * because an earlier case may have changed this. Return: false if this failed; then the case has a
 * verdict
 */
static bool two_links(struct run *r)
{
	struct world_group *g = broadcast_group(r);

	if (!g || !set_table(r, both, 2))
		return false;
	if (world_wait(r->w, sa_is_full_member, g, WORLD_LONGEST))
		return true;
	missing(r, "the DUT is not in the broadcast group of P_Key 0x8014");
	return false;
}

static const struct seen *arp_reply(struct run *r, const struct world_peer *p)
{
	struct arp_want want = { .op = 2, .tpa = p->ip4 };
	const struct seen *s = NULL;

	for (unsigned int i = 0; i < 6 && !s; i++) {
		peer_arp_request(r->w, p);
		s = expect(r, arp_is, &want, NS_SEC(3));
	}
	if (!s)
		missing(r,
			"no ARP reply on the link of P_Key 0x8014 for %u.%u.%u.%u, asked six "
			"times in 18 s",
			r->w->part.ip4[0], r->w->part.ip4[1], r->w->part.ip4[2], r->w->part.ip4[3]);
	return s;
}

/* Tell whether a ping from @p is answered on the link of @p */
static bool is_answered(struct run *r, const struct world_peer *p)
{
	const struct seen *s = answer_of(r, p, 84);

	if (s)
		return check(r, s->h.bth.pkey == p->pkey, s,
			     "a ping with P_Key 0x%04x is answered with P_Key 0x%04x", p->pkey,
			     s->h.bth.pkey);
	missing(r, "no answer to a ping on the link of P_Key 0x%04x", p->pkey);
	return false;
}

static void two_at_once(struct run *r)
{
	struct world_peer *p;
	const struct seen *s;

	if (!two_links(r))
		return;
	p = world_peer_in(r->w, WORLD_PKEY2);
	s = arp_reply(r, p);
	if (!s)
		return;
	check(r, s->h.bth.pkey == WORLD_PKEY2, s, "the ARP reply has P_Key 0x%04x, expected 0x8014",
	      s->h.bth.pkey);
	if (is_answered(r, p) && is_answered(r, world_peer(r->w))) {
		mark(r);
		is_answered(r, p);
	}
}

static void own_queue_pair(struct run *r)
{
	if (two_links(r) && is_answered(r, world_peer_in(r->w, WORLD_PKEY2)) &&
	    is_answered(r, world_peer(r->w)))
		check(r, r->w->part.qpn != r->w->dut.qpn, NULL, "both links have the QPN 0x%06x",
		      r->w->dut.qpn);
}

/*
 * Send a ping from the peer @of to the DUT's interface on the same link, but with the P_Key of the
 * DUT's other link. Everything else in the packet is right.
 */
static void wrong_partition(struct run *r, const struct world_peer *of, uint16_t pkey)
{
	struct ib_ud_hdr h = peer_headers(r->w, of);
	struct echo_want want = echo_reply_to(r->w, of, 0x0600);
	uint8_t buf[4 + 84];
	const struct seen *s;

	h.bth.pkey = pkey;
	mark(r);
	peer_unicast(r->w, of, &h, buf, peer_echo(buf, r->w, of, 84, 0x0600));
	if (!is_answered(r, of))
		return;
	s = seen_since(r, echo_is, &want);
	check(r, !s, s, "QP 0x%06x, whose link has P_Key 0x%04x, took a packet with P_Key 0x%04x",
	      h.bth.dest_qp, of->pkey, pkey);
}

static void endpoints(struct run *r)
{
	struct world_peer *a, *b;

	if (!two_links(r))
		return;
	a = world_peer(r->w);
	b = world_peer_in(r->w, WORLD_PKEY2);
	if (!is_answered(r, a) || !is_answered(r, b))
		return;
	wrong_partition(r, a, WORLD_PKEY2);
	wrong_partition(r, b, WORLD_PKEY);
}

/* Judge the MTU of the second link, which is smaller than that of the first link. */
static void own_mtu(struct run *r)
{
	const unsigned int mtu = part_ip_mtu(r->w, WORLD_PKEY2);
	struct world_peer *a, *b;
	const struct seen *s;

	if (!two_links(r))
		return;
	a = world_peer(r->w);
	b = world_peer_in(r->w, WORLD_PKEY2);
	s = answer_of(r, b, mtu);
	if (!s)
		missing(r,
			"no answer to pings of %u octets, the IP MTU of the link of P_Key "
			"0x8014",
			mtu);
	else
		check(r, s->net_len >= mtu, s, "the answer has %zu octets of IP, expected %u",
		      s->net_len, mtu);
	mark(r);
	s = answer_of(r, b, 2000);
	if (!s)
		missing(r, "no answer to pings of 2000 octets, in fragments");
	else
		check(r, s->net_len <= mtu && s->net_len > mtu - 8, s,
		      "the first fragment has %zu octets, the IP MTU of the group is %u",
		      s->net_len, mtu);
	s = answer_of(r, a, r->w->ip_mtu);
	if (!s)
		missing(r, "no answer to pings of %u octets on the other link", r->w->ip_mtu);
	else
		check(r, s->net_len >= r->w->ip_mtu, s,
		      "the answer on the other link has %zu octets of IP, expected %u", s->net_len,
		      r->w->ip_mtu);
}

/* --- names of network devices; the hook program looks for a device of a given name */

#define NO_DEVICE 78 /* exit status of the hook program if the DUT has no device of this name */

static void sends_by_name(struct run *r, uint16_t pkey, const char *group)
{
	struct ip_group g = group_of(r->w, group, NULL);
	char name[32];
	const struct seen *s;

	g.mgid = sa_mgid_ip4_in(r->w, pkey, g.ip);
	snprintf(name, sizeof(name), "ib0_%x_%x", r->w->dut.node.local_port, pkey & 0x7fff);
	if (!world_group_make(r->w, &g.mgid) || !hook(r, "send %s %s", g.text, name))
		return;
	s = expect(r, to_group_of, &g, HOOK_TIME);
	if (s)
		check(r, s->h.bth.pkey == pkey, s,
		      "a packet that was sent by %s has the P_Key 0x%04x", name, s->h.bth.pkey);
	else if (r->w->io->hook_status(r->w->io->ctx) == NO_DEVICE)
		check(r, false, NULL, "the hook says that there is no device %s (status 78)", name);
	else
		missing(r, "no packet to %s within 60 s after the hook's send by %s", group, name);
}

static void names(struct run *r)
{
	if (!two_links(r))
		return;
	sends_by_name(r, WORLD_PKEY2, "239.20.0.1");
	if (!r->decided && hook_ended(r, HOOK_TIME))
		sends_by_name(r, WORLD_PKEY, "239.20.0.2");
}

/* --- the interface is removed */

static void gone(struct run *r)
{
	const struct world_peer *p;
	const struct seen *s;

	if (!two_links(r))
		return;
	p = world_peer_in(r->w, WORLD_PKEY2);
	if (!is_answered(r, p) || !set_table(r, one, 1))
		return;
	world_pass(r->w, NS_SEC(1)); /* the DUT may need time to notice the change */
	mark(r);
	for (uint16_t i = 0; i < 3; i++)
		peer_ping(r->w, p, 84, i);
	peer_arp_request(r->w, p);
	if (!settle(r))
		return;
	s = seen_since(r, part_is, &second);
	check(r, !s, s, "a packet with P_Key 0x8014 came, which is no longer in the table");
}

/*
 * The DUT has a configured list of P_Keys (--pkey-list). The SM writes two P_Keys into the port's
 * P_Key table at the same time: one that is in the list, and one that is not. The DUT must make an
 * interface for the first P_Key only. When this interface works, the DUT has had enough time to
 * make a second one, so the second P_Key is judged then.
 */
static void list_of_pkeys(struct run *r)
{
	ib_gid bcast = sa_mgid_broadcast_in(r->w, WORLD_PKEY3);
	struct sa_want join = join_of(&bcast);
	struct world_group *other, *g = broadcast_group(r);
	struct world_peer *p;
	const struct seen *s;

	if (!r->w->conf.pkey_list) {
		not_applicable(r, "the DUT has no list of P_Keys; --pkey-list says that it has");
		return;
	}
	other = world_group_make(r->w, &bcast);
	if (!g || !other || !set_table(r, one, 1))
		return;
	other->rec.pkey = WORLD_PKEY3;
	g->dut_state = 0;
	mark(r);
	if (!set_table(r, three, 3))
		return;
	/*
	 * The new interface may have another QPN, and may need time until it has its IP
	 * address. So a peer first asks for the hardware address of the interface.
	 */
	p = world_peer_in(r->w, WORLD_PKEY2);
	if (!world_wait(r->w, sa_is_full_member, g, WORLD_LONGEST))
		missing(r, "no join of the broadcast group of P_Key 0x8014, which is in the list");
	else if (arp_reply(r, p) && is_answered(r, p) && settle(r)) {
		s = seen_since(r, sa_is, &join);
		check(r, !s, s,
		      "a join of the broadcast group of P_Key 0x8015, which is not in the "
		      "DUT's list");
	}
	set_table(r, both, 2);
	other->exists = false;
}

/* --- parameters */

static bool is_same_join(const struct seen *s, const void *tid)
{
	static const struct sa_want join = { .method = MAD_METHOD_SET,
					     .attr = SA_ATTR_MCMEMBER_RECORD };

	return sa_is(s, &join) && mad_tid(s->payload) == *(const uint64_t *)tid;
}

/*
 * Count the join @s and its repetitions, which the DUT sends while the SA does not answer. Return:
 * the number of these joins; @ret_took is the time from the first to the last of these joins
 */
static unsigned int tries(struct run *r, const struct seen *s, ns_t *ret_took)
{
	const struct world_dut_conf *c = &r->w->conf;
	const uint64_t tid = mad_tid(s->payload);
	const ns_t first = s->at;
	unsigned int n = 0;

	world_pass(r->w, NS_MSEC((ns_t)c->mcast_timeout * (c->mcast_retry_cnt + 2)) + NS_SEC(1));
	for (; s; n++) {
		*ret_took = s->at - first;
		s = world_log_find(&r->w->log, s->n + 1, is_same_join, &tid);
	}
	return n;
}

static void parameters(struct run *r)
{
	const struct world_dut_conf *c = &r->w->conf;
	struct world_group *g = broadcast_group(r);
	struct sa_want join;
	const struct seen *s;
	unsigned int n;
	ns_t took;

	if (!c->mcast_timeout) {
		not_applicable(r, "the DUT's parameters are not known: --mcast-timeout and "
				  "--mcast-retry-cnt say them");
		return;
	}
	if (!g || !set_table(r, one, 1))
		return;
	g->dut_state = 0;
	g->silent = true;
	join = join_of(&g->rec.mgid);
	mark(r);
	s = set_table(r, both, 2) ? expect(r, sa_is, &join, WORLD_LONGEST) : NULL;
	if (s) {
		n = tries(r, s, &took);
		check(r, n == c->mcast_retry_cnt + 1, s,
		      "a join without an answer was sent %u times, expected %u and %u retries", n,
		      1, c->mcast_retry_cnt);
		check(r, took >= NS_MSEC((ns_t)c->mcast_timeout * c->mcast_retry_cnt) / 2, s,
		      "%u retries came within %llu ms, expected one each %u ms", n - 1,
		      (unsigned long long)(took / NS_MSEC(1)), c->mcast_timeout);
	} else {
		missing(r, "no join of the broadcast group of P_Key 0x8014");
	}
	g->silent = false;
	if (!r->decided)
		two_links(r);
}

static const struct conform_case cases[] = {
	{ "H30/join", "after a P_Key was added, the DUT joins the broadcast group of the P_Key",
	  HLD "2.6", "When a P_Key has been added, attempt to join the broadcast group.", "R27 R28",
	  joins, NULL },
	{ "H30/only-joins", "the DUT joins broadcast groups, but never creates one",
	  HLD "2.6, note",
	  "Joining an IBA multicast group is a separate operation from creating one.", "R23", NULL,
	  only_joins },
	{ "H30/before", "the DUT sends no packet with the new P_Key before it has joined",
	  HLD "2.6", "On a successful join, the net_device is registered.", "U2", NULL,
	  nothing_before },
	{ "H30/created", "the DUT joins a broadcast group that is created after the P_Key came",
	  HLD "2.6, note",
	  "Link broadcast groups are assumed to exist when the P_Key comes; here trap 66 tells.",
	  "H30/join R65", created, NULL },
	{ "H9", "the links of two P_Keys work at the same time", HLD "1.4",
	  "A link is all members of the broadcast group of a partition; a port can have several.",
	  "H30/created R25", two_at_once, NULL },
	{ "H10", "each link has a queue pair of its own", HLD "1.4",
	  "Each network device will associate one UD QP to the link.", "H9", own_queue_pair, NULL },
	{ "H6", "a packet needs GID, QPN and P_Key of one link to be accepted", HLD "1.2",
	  "The GID, QPN and P_Key are all required to make an endpoint unique.", "H10 R44/other",
	  endpoints, NULL },
	{ "H14", "each link has the MTU of its group", HLD "2.1.1",
	  "The MTU is determined when the device joins the all-nodes group.", "H9 R37/fragment",
	  own_mtu, NULL },
	{ "H11", "devices have the names ibX_Y_Z", HLD "2.1.1",
	  "X is the CA, Y the port, Z the partition key, all hexadecimal: ib0_1_14.", "H9 R60",
	  names, NULL },
	{ "H30/gone", "the DUT sends no packet with a P_Key that was removed", HLD "2.6",
	  "Interfaces follow the P_Key change notifications.", "H9", gone, NULL },
	{ "H31", "the DUT does not join for P_Keys that are not in its list", HLD "2.6, note",
	  "Newly assigned P_Keys are compared to a list of configured keys.", "H30/gone",
	  list_of_pkeys, NULL },
	{ "H34", "the DUT repeats a join as mcast_timeout and mcast_retry_cnt say", HLD "4.2",
	  "mcast_timeout and mcast_retry_cnt; the other parameters do not show on the wire.",
	  "H30/gone", parameters, NULL },
	{ "H20", "a received packet has the device of its queue pair and the type of its header",
	  HLD "2.1.2", "The device is that of the queue pair, the protocol that of the header.",
	  "H4 H6 H9", NULL, NULL },
};

const struct conform_chapter chapter_hld_pkeys = { "partitions", cases,
						   sizeof(cases) / sizeof(cases[0]) };

/* --- the end */

static bool has_left(const struct world *w, const void *arg)
{
	for (unsigned int i = 0; i < WORLD_GROUPS; i++)
		if (w->group[i].exists && w->group[i].dut_state)
			return false;
	return true;
}

static void released(struct run *r)
{
	struct sa_want join = { .method = MAD_METHOD_SET, .attr = SA_ATTR_MCMEMBER_RECORD };
	char text[PRINT_GID_LEN];

	if (!hook(r, "unload") || !hook_ended(r, HOOK_TIME))
		return;
	if (r->w->io->hook_status(r->w->io->ctx) != 0) {
		missing(r, "the DUT is not unloaded");
		return;
	}
	if (world_wait(r->w, has_left, NULL, NS_SEC(5)))
		check(r, true, NULL, "left");
	for (unsigned int i = 0; i < WORLD_GROUPS; i++) {
		join.gid = &r->w->group[i].rec.mgid;
		/* The hook program has unloaded the driver, so the DUT must have left all groups. */
		if (r->w->group[i].exists && r->w->group[i].dut_state)
			check(r, false, world_log_find(&r->w->log, 1, sa_is, &join),
			      "the DUT has joined %s and not left it, and the hook's unload is "
			      "done",
			      print_gid(text, sizeof(text), join.gid));
	}
}

static const struct conform_case end_cases[] = {
	{ "H35", "the DUT has left all groups when its driver is unloaded", HLD "4.3",
	  "All IPoIB network devices will be brought down and all resources will be released.",
	  "R28 R69", released, NULL },
};

const struct conform_chapter chapter_hld_end = { "the end", end_cases,
						 sizeof(end_cases) / sizeof(end_cases[0]) };

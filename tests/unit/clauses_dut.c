/* SPDX-License-Identifier: BSD-2-Clause */
#include "clauses_dut.h"

#include <errno.h>
#include <string.h>

#include "clauses/profile.h"
#include "crc/crc.h"
#include "wire/records.h"
#include "wire/smp.h"

#define GUID 0x0002c90300abcdefull
#define QPN 0x000123

static const struct ip_endpoint address = { .family = 4, .port = 6001, .addr = { 127, 0, 0, 1 } };

static void put(struct dut *d, const void *data, size_t len)
{
	unsigned int at = (d->head + d->n) % DUT_QUEUE;

	if (d->n == DUT_QUEUE || d->dead)
		return;
	d->queue[at].len = (uint16_t)len;
	memcpy(d->queue[at].data, data, len);
	d->n++;
}

/*
 * Damage the packet with a probability of 1/4: change some octets, mostly in the payload, and
 * perhaps cut the end off. Returns the new length of the packet
 */
static size_t garble(struct dut *d, uint8_t *raw, size_t len)
{
	if (prng_below(&d->rng, 4))
		return len;
	for (uint32_t i = prng_below(&d->rng, 6); i > 0; i--)
		raw[prng_below(&d->rng, (uint32_t)len)] = (uint8_t)prng_u64(&d->rng);
	if (!prng_below(&d->rng, 4))
		len = 8 + 4 * (size_t)prng_below(&d->rng, (uint32_t)len / 4 - 1);
	/*
	 * the link accepts only packets with LVer 0 and a right PktLen, so LVer and PktLen must
	 * stay valid
	 */
	raw[0] &= 0xf0;
	be16_put(raw + IB_LRH_OFF_PKT_LEN, (uint16_t)(len / 4 + 1));
	return len;
}

static void put_packet(struct dut *d, const struct ib_ud_hdr *h, const void *payload, size_t len)
{
	uint8_t raw[IB_PKT_MAX] = { 0 };
	unsigned int hdr = ib_ud_hdr_encode(raw, h, len);

	memcpy(raw + hdr, payload, len);
	len = hdr + ((len + 3) & ~(size_t)3);
	if (d->flaw == FLAW_GARBLED)
		len = garble(d, raw, len);
	crc_put(raw, len);
	put(d, raw, len + 6);
}

/*
 * Write a packet with a random payload. Its headers, ethertype, MAD class, method and attribute
 * have values that the conformance suite parses
 */
static void put_random(struct dut *d)
{
	static const uint16_t types[] = { 0x0800, 0x0806, 0x86dd, 0x8035 };
	static const uint16_t attrs[] = { 1, 2, 3, 0x31, 0x35, 0x38 };
	static const uint8_t methods[] = { 1, 2, 5, 6, 0x12, 0x15, 0x81, 0x86 };
	static const uint32_t qps[] = { 0, 1, IB_QPN_MCAST, 0x0a5000 };
	struct ib_ud_hdr h = {
		.lrh = { .dlid = prng_below(&d->rng, 2) ? 1 : 32, .slid = d->lid },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY,
			 .pkey = 0xffff,
			 .dest_qp = qps[prng_below(&d->rng, 4)] },
		.deth = { .qkey = 1, .src_qp = QPN },
	};
	uint8_t data[MAD_LEN];
	size_t len = sizeof(data);

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)prng_u64(&d->rng);
	if (h.bth.dest_qp <= 1) {
		data[MAD_OFF_CLASS] = h.bth.dest_qp ? MAD_CLASS_SA : MAD_CLASS_SM_LID;
		data[MAD_OFF_METHOD] = methods[prng_below(&d->rng, 8)];
		be16_put(data + 16, attrs[prng_below(&d->rng, 6)]);
		memset(data + 24, 0, 12); /* no RMPP */
	} else {
		len = prng_below(&d->rng, sizeof(data));
		be16_put(data, types[prng_below(&d->rng, 4)]);
		data[4] = prng_below(&d->rng, 2) ? 0x45 : 0x60;
		data[10] = data[13] = prng_below(&d->rng, 2) ? 1 : 58;
		be16_put(data + (data[4] == 0x45 ? 6 : 8), (uint16_t)prng_below(&d->rng, 256));
	}
	put_packet(d, &h, data, len);
}

/* --- SMA */

static void set_port(struct dut *d, uint8_t *mad)
{
	struct smp_port_info now, set;
	uint16_t status = 0;

	smp_port_info_decode(&now, d->port, 64);
	smp_port_info_decode(&set, mad + SMP_DATA_OFF, 64);
	if (set.lid >= IB_LID_MCAST_MIN || set.neighbor_mtu > now.mtu_cap ||
	    (set.port_state == IB_PORT_ARMED && now.port_state != IB_PORT_INIT) ||
	    (set.port_state == IB_PORT_ACTIVE && now.port_state != IB_PORT_ARMED))
		status = MAD_STATUS_BAD_VALUE;
	if (!status) {
		now.lid = d->lid = set.lid;
		now.sm_lid = set.sm_lid;
		if (set.port_state)
			now.port_state = set.port_state;
		if (set.client_reregister)
			d->joined = false;
		if (set.port_state == IB_PORT_ACTIVE || set.client_reregister)
			d->join_at = d->now + NS_MSEC(10);
	}
	now.client_reregister = set.client_reregister;
	smp_port_info_encode(mad + SMP_DATA_OFF, &now);
	now.client_reregister = false;
	smp_port_info_encode(d->port, &now);
	be16_put(mad + MAD_OFF_STATUS, status);
}

static void set_pkey(struct dut *d, uint16_t pkey)
{
	if (d->flaw != FLAW_KEEPS_LIMITED || d->pkey & IB_PKEY_FULL)
		d->pkey = pkey;
}

/* Make the headers of a data packet that is a reply to the packet with the headers @req */
static struct ib_ud_hdr headers_to(const struct dut *d, const struct ib_ud_hdr *req, uint32_t qpn)
{
	return (struct ib_ud_hdr){
		.lrh = { .dlid = req->lrh.slid, .slid = d->lid, .sl = 1 },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY, .pkey = d->pkey, .dest_qp = qpn },
		.deth = { .qkey = d->qkey, .src_qp = QPN },
	};
}

/* Send an unrequested IPv4 packet with the P_Key @pkey */
static void put_late(struct dut *d, uint16_t pkey)
{
	struct ib_ud_hdr to = { .lrh.slid = 1 }, h = headers_to(d, &to, 0x0a5000);
	uint8_t ip[24] = { 0x08, 0, 0, 0, 0x45, [7] = 20, [12] = 64, [13] = 17 };

	h.bth.pkey = pkey;
	put_packet(d, &h, ip, sizeof(ip));
}

static void smp(struct dut *d, const struct ib_ud_hdr *req, uint8_t *mad)
{
	struct smp_node_info node = { .base_version = 1,
				      .class_version = 1,
				      .node_type = 1,
				      .nports = 1,
				      .sys_guid = GUID,
				      .node_guid = GUID,
				      .port_guid = GUID,
				      .pkey_cap = 1,
				      .local_port = 1 };
	struct ib_ud_hdr h = *req;
	bool directed = mad_class(mad) == MAD_CLASS_SM_DR;
	const uint16_t pkey = d->pkey;

	if (mad_method_is_response(mad_method(mad)))
		return;
	be16_put(mad + MAD_OFF_STATUS, 0);
	if (mad_attr(mad) == SMP_ATTR_NODE_INFO)
		smp_node_info_encode(mad + SMP_DATA_OFF, &node);
	else if (mad_attr(mad) == SMP_ATTR_PKEY_TABLE && mad_method(mad) == MAD_METHOD_SET)
		set_pkey(d, be16_at(mad + SMP_DATA_OFF));
	else if (mad_attr(mad) == SMP_ATTR_PKEY_TABLE)
		be16_put(mad + SMP_DATA_OFF, d->pkey);
	else if (mad_attr(mad) == SMP_ATTR_PORT_INFO && mad_method(mad) == MAD_METHOD_SET)
		set_port(d, mad);
	else if (mad_attr(mad) == SMP_ATTR_PORT_INFO)
		memcpy(mad + SMP_DATA_OFF, d->port, 64);
	else
		be16_put(mad + MAD_OFF_STATUS, MAD_STATUS_BAD_ATTR);
	mad[MAD_OFF_METHOD] = MAD_METHOD_GET_RESP;
	if (directed) {
		if (d->flaw != FLAW_NO_D_BIT)
			mad[MAD_OFF_STATUS] |= 0x80;
		mad[SMP_OFF_RETURN_PATH + 1] = 1;
	}
	h.lrh.dlid = req->lrh.slid;
	h.lrh.slid = req->lrh.dlid;
	put_packet(d, &h, mad, MAD_LEN);
	if (d->flaw == FLAW_OVERTAKEN && d->pkey != pkey && d->joined)
		put_late(d, pkey);
}

/* --- SA client */

static void gmp(struct dut *d, uint8_t method, uint16_t attr, uint64_t mask, const void *data,
		size_t len)
{
	struct mad_hdr m = { .base_version = 1,
			     .mgmt_class = MAD_CLASS_SA,
			     .class_version = 2,
			     .method = method,
			     .tid = ++d->tid,
			     .attr_id = attr };
	struct sa_hdr sa = { .comp_mask = mask };
	struct ib_ud_hdr h = {
		.lrh = { .dlid = 1, .slid = d->lid },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY, .pkey = 0xffff, .dest_qp = 1 },
		.deth = { .qkey = IB_QP1_QKEY, .src_qp = 1 },
	};
	uint8_t mad[MAD_LEN];

	sa_mad_encode(mad, &m, &sa);
	memcpy(mad + SA_DATA_OFF, data, len);
	put_packet(d, &h, mad, sizeof(mad));
}

static void join_pkey(struct dut *d, uint16_t pkey)
{
	struct ib_mcmember_rec rec = { .mgid = { { 0xff, 0x12, 0x40, 0x1b, [12] = 0xff, 0xff, 0xff,
						   0xff } },
				       .port_gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, GUID),
				       .pkey = pkey,
				       .scope = 2,
				       .join_state = MCM_JOIN_FULL };
	uint64_t mask = MCM_COMP_MGID | MCM_COMP_PORT_GID | MCM_COMP_PKEY | MCM_COMP_JOIN_STATE;
	uint8_t data[MCMEMBER_REC_LEN];

	be16_put(rec.mgid.raw + 4, pkey);
	if (d->flaw == FLAW_NO_PORT_GID)
		mask &= ~MCM_COMP_PORT_GID;
	ib_mcmember_rec_encode(data, &rec);
	gmp(d, MAD_METHOD_SET, SA_ATTR_MCMEMBER_RECORD, mask, data, sizeof(data));
}

static void join(struct dut *d)
{
	join_pkey(d, 0xffff);
	if (d->flaw == FLAW_OTHER_PARTITION)
		join_pkey(d, 0x8001);
	d->join_at = d->now + NS_SEC(1);
}

static void subscribe(struct dut *d)
{
	for (uint16_t trap = 66; trap <= 67; trap++) {
		struct mad_inform_info i = { .lid_begin = 0xffff,
					     .generic = true,
					     .subscribe = true,
					     .type = 0xffff,
					     .trap = trap,
					     .qpn = 1,
					     .producer = 0xffffff };
		uint8_t data[MAD_INFORM_INFO_LEN];

		mad_inform_info_encode(data, &i);
		gmp(d, MAD_METHOD_SET, SA_ATTR_INFORM_INFO, 0, data, sizeof(data));
	}
}

static void sa_answer(struct dut *d, const uint8_t *mad)
{
	struct ib_mcmember_rec rec;

	if (mad_attr(mad) != SA_ATTR_MCMEMBER_RECORD || mad_status(mad) || d->joined)
		return;
	ib_mcmember_rec_decode(&rec, mad + SA_DATA_OFF, SA_DATA_LEN);
	d->joined = true;
	d->join_at = 0;
	d->qkey = rec.qkey;
	d->dead = d->flaw == FLAW_DIES;
	subscribe(d);
}

/* --- IPoIB: ARP requests and pings are answered */

/*
 * Act as if the link had been down at the DUT, but for so short a time that the suite has not
 * noticed it: the port is in the state Initialize, and the DUT has left its groups
 */
static void port_to_init(struct dut *d)
{
	struct smp_port_info pi;

	smp_port_info_decode(&pi, d->port, 64);
	pi.port_state = IB_PORT_INIT;
	smp_port_info_encode(d->port, &pi);
	d->joined = false;
}

static void arp(struct dut *d, const struct ib_ud_hdr *req, const uint8_t *payload)
{
	static const uint8_t head[12] = { 0x08, 0x06, 0, 0, 0, 32, 8, 0, 20, 4, 0, 2 };
	uint8_t buf[60];
	struct ib_ud_hdr h = headers_to(d, req, be32_at(payload + 12) & IB_QPN_MASK);
	ib_gid gid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, GUID);

	if (d->joined && d->flaps) {
		d->flaps--;
		port_to_init(d);
	}
	if (!d->joined)
		return;
	memcpy(buf, head, sizeof(head));
	buf[3] = d->flaw == FLAW_RESERVED;
	be32_put(buf + 12, QPN);
	memcpy(buf + 16, gid.raw, 16);
	memcpy(buf + 32, payload + 56, 4);
	memcpy(buf + 36, payload + 12, 24);
	put_packet(d, &h, buf, sizeof(buf));
}

/* Answer the echo request @payload, whose IPv4 header has no options */
static void echo(struct dut *d, const struct ib_ud_hdr *req, const uint8_t *payload)
{
	size_t len = 4u + be16_at(payload + 6);
	struct ib_ud_hdr h = headers_to(d, req, req->deth.src_qp);
	uint8_t buf[256];

	if (!d->joined || len > sizeof(buf))
		return;
	memcpy(buf, payload, len);
	memcpy(buf + 16, payload + 20, 4);
	memcpy(buf + 20, payload + 16, 4);
	buf[24] = 0; /* echo reply; the suite does not verify checksums */
	put_packet(d, &h, buf, len);
}

/* --- a DHCP client, which accepts no offer */

static void discover(struct dut *d)
{
	struct ib_ud_hdr to = { .lrh.slid = 1 }, h = headers_to(d, &to, 0x0a5000);
	uint8_t buf[4 + 20 + 8 + 244] = { 0x08, 0, 0, 0, 0x45, [12] = 64, [13] = 17 },
				 *udp = buf + 24;

	be16_put(buf + 6, sizeof(buf) - 4);
	udp[1] = 68;
	udp[3] = 67;
	be16_put(udp + 4, 8 + 244);
	memcpy(udp + 8 + 236, (const uint8_t[]){ 99, 130, 83, 99, 53, 1, 1, 255 }, 8);
	put_packet(d, &h, buf, sizeof(buf));
	d->discover_at = d->now + NS_SEC(16);
}

/*
 * --- struct world_io: the functions by which the conformance suite sends to the DUT, receives from
 * it, and reads the time
 */

static ns_t now(void *ctx)
{
	return ((struct dut *)ctx)->now;
}

static void from_suite(void *ctx, const void *data, size_t len)
{
	struct dut *d = ctx;
	struct ib_ud_hdr h;
	uint8_t raw[IB_PKT_MAX];
	int hdr;

	if (!len || d->dead || d->flaw == FLAW_SILENT)
		return;
	memcpy(raw, data, len);
	hdr = ib_ud_hdr_decode(&h, raw, len);
	assert_true(hdr > 0);
	for (unsigned int i = 0; d->flaw == FLAW_FLOOD && i < 16; i++)
		put_random(d);
	if (h.bth.dest_qp == 0)
		smp(d, &h, raw + hdr);
	else if (h.bth.dest_qp == 1)
		sa_answer(d, raw + hdr);
	else if (be16_at(raw + hdr) == 0x0806 && be16_at(raw + hdr + 10) == 1 &&
		 be16_at(raw + hdr + 4) == 32)
		arp(d, &h, raw + hdr);
	else if (be16_at(raw + hdr) == 0x0800 && raw[hdr + 4] == 0x45 && raw[hdr + 13] == 1 &&
		 raw[hdr + 24] == 8)
		echo(d, &h, raw + hdr);
}

static ns_t next_event(const struct dut *d)
{
	ns_t t = d->dead || d->flaw == FLAW_SILENT ? NS_NEVER : d->keepalive_at;

	if (d->join_at && !d->dead)
		t = ns_min(t, d->join_at);
	if (d->discover_at)
		t = ns_min(t, d->discover_at);
	return d->interrupt_at ? ns_min(t, d->interrupt_at) : t;
}

static int to_suite(void *ctx, void *buf, size_t size, struct ip_endpoint *ret_from, ns_t deadline)
{
	struct dut *d = ctx;

	*ret_from = address;
	while (!d->n) {
		if (next_event(d) > deadline) {
			d->now = ns_max(d->now, deadline);
			return -EAGAIN;
		}
		d->now = ns_max(d->now, next_event(d));
		if (d->interrupt_at && d->now >= d->interrupt_at)
			return -EINTR;
		if (d->join_at && d->now >= d->join_at)
			join(d);
		if (d->discover_at && d->now >= d->discover_at)
			discover(d);
		if (d->now >= d->keepalive_at) {
			d->keepalive_at += NS_SEC(1);
			put(d, "", 0);
		}
	}
	d->now +=
		/*
		 * Each packet takes some virtual time, so that the time limits of the suite end a
		 * flood of packets
		 */
		NS_USEC(500);
	memcpy(buf, d->queue[d->head].data, d->queue[d->head].len);
	d->n--;
	d->head = (d->head + 1) % DUT_QUEUE;
	return d->queue[(d->head + DUT_QUEUE - 1) % DUT_QUEUE].len;
}

static int begin_hook(void *ctx, const char *step)
{
	struct dut *d = ctx;

	d->hooks++;
	if (d->has_dhcp)
		d->discover_at = d->now + NS_SEC(1);
	return 0;
}

static int hook_status(void *ctx)
{
	return ((struct dut *)ctx)->hook_status;
}

int dut_run(struct dut *d, struct conform_report *ret, const char *const *clauses, bool with_hook)
{
	struct smp_port_info pi = { .port_state = IB_PORT_INIT,
				    .phys_state = IB_PHYS_LINK_UP,
				    .mtu_cap = IB_MTU_4096,
				    .neighbor_mtu = IB_MTU_4096,
				    .vl_cap = 1,
				    .cap_mask = SMP_CAP_IS_CLIENT_REREG };
	struct world_io io = { .ctx = d,
			       .now = now,
			       .send = from_suite,
			       .recv = to_suite,
			       .hook = with_hook ? begin_hook : NULL,
			       .hook_status = hook_status };
	struct conform_cfg cfg = { .world.dut = address,
				   .clauses = clauses,
				   .profile = d->own_profile };
	const char *unknown;

	if (!cfg.profile)
		cfg.profile = conform_profile_find(d->profile ? d->profile : "rfc4391");
	d->pkey = IB_PKEY_DEFAULT;
	d->now = NS_SEC(1000);
	d->keepalive_at = d->now + NS_MSEC(500);
	smp_port_info_encode(d->port, &pi);
	return conform_run(ret, &cfg, &io, NULL, NULL, &unknown);
}

const struct conform_result *dut_result(const struct conform_report *r, const char *id)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->v[i].c->id, id))
			return &r->v[i];
	fail_msg("no case %s", id);
	return NULL;
}

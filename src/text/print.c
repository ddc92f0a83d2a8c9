/* SPDX-License-Identifier: BSD-2-Clause */
#include "text/print.h"

#include <arpa/inet.h>
#include <errno.h>

#include "crc/crc.h"
#include "util/text.h"

/*
 * Find the run of zero groups that "::" replaces: the longest run of at least two groups; of
 * equally long runs, the first run (RFC 5952 section 4.2). @ret_at is the position of the run.
 * Return: length of the run; 0 if there is none
 */
static unsigned int zero_run(const ib_gid *g, unsigned int *ret_at)
{
	unsigned int best = 1, at = 8, run = 0;

	for (unsigned int i = 0; i < 8; i++) {
		run = be16_at(g->raw + 2 * i) ? 0 : run + 1;
		if (run > best) {
			best = run;
			at = i + 1 - run;
		}
	}
	*ret_at = at;
	return at < 8 ? best : 0;
}

char *print_gid(char *buf, size_t size, const ib_gid *g)
{
	struct text t = { .buf = buf, .size = size };
	unsigned int at, run = zero_run(g, &at);

	for (unsigned int i = 0; i < 8; i++) {
		if (run && i == at) {
			text_add(&t, "::");
			i += run - 1;
			continue;
		}
		text_add(&t, "%s%x", i && i != at + run ? ":" : "", be16_at(g->raw + 2 * i));
	}
	return buf;
}

int print_gid_parse(ib_gid *ret, const char *s)
{
	ib_gid g;

	if (inet_pton(AF_INET6, s, g.raw) != 1)
		return -EINVAL;
	*ret = g;
	return 0;
}

char *print_lladdr(char *buf, size_t size, const struct ipoib_lladdr *a)
{
	struct text t = { .buf = buf, .size = size };

	text_add(&t, "%02x:%02x:%02x:%02x", a->flags, (a->qpn >> 16) & 0xff, (a->qpn >> 8) & 0xff,
		 a->qpn & 0xff);
	for (unsigned int i = 0; i < sizeof(a->gid.raw); i++)
		text_add(&t, ":%02x", a->gid.raw[i]);
	return buf;
}

/*
 * Unicast LIDs are customarily written in decimal, multicast LIDs and the permissive LID in
 * hexadecimal.
 */
static void add_lid(struct text *t, const char *name, uint16_t lid)
{
	text_add(t, lid < IB_LID_MCAST_MIN ? " %s %u" : " %s 0x%04x", name, lid);
}

char *print_lrh(char *buf, size_t size, const struct ib_lrh *h)
{
	struct text t = { .buf = buf, .size = size };

	text_add(&t, "LRH VL %u SL %u", h->vl, h->sl);
	add_lid(&t, "DLID", h->dlid);
	add_lid(&t, "SLID", h->slid);
	text_add(&t, " PktLen %u", h->pkt_len);
	if (h->lver)
		text_add(&t, " LVer %u", h->lver);
	if (h->lnh == IB_LNH_RAW || h->lnh == IB_LNH_IPV6)
		text_add(&t, " LNH %u (raw)", h->lnh);
	return buf;
}

char *print_grh(char *buf, size_t size, const struct ib_grh *h)
{
	struct text t = { .buf = buf, .size = size };
	char gid[PRINT_GID_LEN];

	text_add(&t, "GRH TClass %u FlowLabel 0x%05x PayLen %u HopLmt %u", h->tclass, h->flow_label,
		 h->pay_len, h->hop_limit);
	text_add(&t, " SGID %s", print_gid(gid, sizeof(gid), &h->sgid));
	text_add(&t, " DGID %s", print_gid(gid, sizeof(gid), &h->dgid));
	if (h->ip_ver != 6)
		text_add(&t, " IPVer %u", h->ip_ver);
	if (h->nxt_hdr != IB_GRH_NXTHDR)
		text_add(&t, " NxtHdr 0x%02x", h->nxt_hdr);
	return buf;
}

static const char *opcode_name(uint8_t opcode)
{
	switch (opcode) {
	case IB_OP_UD_SEND_ONLY:
		return "UD SEND-only";
	case IB_OP_UD_SEND_ONLY_IMM:
		return "UD SEND-only with immediate";
	default:
		return "?";
	}
}

char *print_bth(char *buf, size_t size, const struct ib_bth *h)
{
	struct text t = { .buf = buf, .size = size };

	text_add(&t, "BTH 0x%02x %s P_Key 0x%04x DestQP 0x%06x PSN %u PadCnt %u", h->opcode,
		 opcode_name(h->opcode), h->pkey, h->dest_qp, h->psn, h->pad);
	text_add(&t, "%s%s%s", h->se ? " SE" : "", h->migreq ? " M" : "", h->ack_req ? " A" : "");
	if (h->tver)
		text_add(&t, " TVer %u", h->tver);
	return buf;
}

char *print_deth(char *buf, size_t size, const struct ib_deth *h)
{
	struct text t = { .buf = buf, .size = size };

	text_add(&t, "DETH Q_Key 0x%08x SrcQP 0x%06x", h->qkey, h->src_qp);
	return buf;
}

/*
 * Add the payload, @len octets at @p. The payload is a MAD if the destination is QP0 or QP1,
 * otherwise an IPoIB packet.
 */
static void add_payload(struct text *t, const struct ib_ud_hdr *h, const uint8_t *p, size_t len)
{
	char line[PRINT_LINE];

	if (h->bth.dest_qp == IB_QP0 || h->bth.dest_qp == IB_QP1)
		text_add(t, "%s\n", print_mad(line, sizeof(line), p, len));
	else
		text_add(t, "%s\n", print_ipoib(line, sizeof(line), p, len));
}

static void add_crcs(struct text *t, const uint8_t *p, size_t icrc_off)
{
	const uint8_t *c = p + icrc_off;
	bool icrc_ok = crc_icrc_follows(p, icrc_off);
	bool vcrc_ok = crc_vcrc_follows(p, icrc_off + IB_ICRC_LEN);

	text_add(t, "ICRC %02x%02x%02x%02x %s VCRC %02x%02x %s\n", c[0], c[1], c[2], c[3],
		 icrc_ok ? "ok" : "wrong", c[4], c[5], vcrc_ok ? "ok" : "wrong");
}

char *print_packet(char *buf, size_t size, const void *p, size_t len)
{
	struct text t = { .buf = buf, .size = size };
	char line[PRINT_LINE];
	struct ib_ud_hdr h;
	struct ib_lrh lrh;
	size_t icrc_off, end;
	int hlen;

	if (ib_lrh_decode(&lrh, p, len)) {
		text_add(&t, "%zu octets, less than an LRH\n", len);
		return buf;
	}
	text_add(&t, "%s\n", print_lrh(line, sizeof(line), &lrh));
	hlen = ib_ud_hdr_decode(&h, p, len);
	if (hlen < 0) {
		text_add(&t, "%zu octets, not those of a UD SEND-only packet\n", len);
		return buf;
	}
	if (h.has_grh)
		text_add(&t, "%s\n", print_grh(line, sizeof(line), &h.grh));
	text_add(&t, "%s\n", print_bth(line, sizeof(line), &h.bth));
	text_add(&t, "%s\n", print_deth(line, sizeof(line), &h.deth));

	/*
	 * PktLen covers the packet up to and including the ICRC. A capture may have cut the packet.
	 */
	end = 4u * lrh.pkt_len;
	if (end < (size_t)hlen + h.bth.pad + IB_ICRC_LEN) {
		text_add(&t, "PktLen %u is less than the headers\n", lrh.pkt_len);
		return buf;
	}
	icrc_off = end - IB_ICRC_LEN;
	end = icrc_off - h.bth.pad;
	if (end > len)
		end = len;
	add_payload(&t, &h, (const uint8_t *)p + hlen, end - (size_t)hlen);
	if (len < icrc_off + IB_ICRC_LEN + IB_VCRC_LEN)
		text_add(&t, "cut at %zu of %zu octets\n", len,
			 icrc_off + IB_ICRC_LEN + IB_VCRC_LEN);
	else
		add_crcs(&t, p, icrc_off);
	return buf;
}

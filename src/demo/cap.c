/* SPDX-License-Identifier: BSD-2-Clause */
#include "demo/cap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crc/crc.h"
#include "wire/ib_hdr.h"

/* uipoib writes a capture as a pcap file with link type ERF, in host byte order and with nanoseconds. */
#define PCAP_HDR 24
#define PCAP_REC 16
#define ERF_HDR 16
#define ERF_TYPE_IB 21
#define DLT_ERF_ 197

static void check_packet(struct demo_cap *c, const uint8_t *p, size_t len)
{
	struct ib_ud_hdr h;
	int hlen = ib_ud_hdr_decode(&h, p, len);

	c->packets++;
	c->octets += len;
	if (hlen < 0 || len != h.lrh.pkt_len * 4u + IB_VCRC_LEN) {
		c->bad++;
		return;
	}
	if (!crc_icrc_follows(p, len - IB_ICRC_LEN - IB_VCRC_LEN) ||
	    !crc_vcrc_follows(p, len - IB_VCRC_LEN))
		c->bad++;
	if (h.lrh.vl == IB_VL15)
		c->smps++;
	else if (h.bth.dest_qp == IB_QP1)
		c->gmps++;
	else
		c->ipoib++;
}

static int check_record(struct demo_cap *c, FILE *f)
{
	static uint8_t b[ERF_HDR + IB_PKT_MAX + 64];
	uint32_t rec[4], len;
	size_t n = fread(rec, 1, sizeof(rec), f), wire;

	if (!n)
		return 1;
	if (n != sizeof(rec))
		return -EBADMSG;
	len = rec[2];
	if (len < ERF_HDR || len > sizeof(b) || fread(b, 1, len, f) != len ||
	    (b[8] & 0x7f) != ERF_TYPE_IB)
		return -EBADMSG;
	wire = be16_at(b + 14); /* ERF's wire length: LRH .. VCRC */
	if (wire > len - ERF_HDR)
		return -EBADMSG;
	check_packet(c, b + ERF_HDR, wire);
	return 0;
}

int demo_cap_check(int fd, struct demo_cap *ret)
{
	struct demo_cap c = { 0 };
	uint32_t hdr[PCAP_HDR / 4];
	int copy = dup(fd), status = 0;
	FILE *f = copy < 0 ? NULL : fdopen(copy, "r");

	if (!f)
		return -errno;
	if (fseek(f, 0, SEEK_SET) || fread(hdr, 1, sizeof(hdr), f) != sizeof(hdr) ||
	    (hdr[5] & 0xffff) != DLT_ERF_)
		status = -EBADMSG;
	while (!status)
		status = check_record(&c, f);
	fclose(f);
	if (status < 0)
		return status;
	*ret = c;
	return 0;
}

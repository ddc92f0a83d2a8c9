/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/log.h"

#include <stdlib.h>

#include "util/pcap.h"
#include "crc/crc.h"

/*
 * Fill in the members of @s that are decoded from the octets of the packet. If the ICRC is wrong,
 * .kind is SEEN_MALFORMED, because an HCA drops such a packet.
 */
static void decode(struct seen *s)
{
	size_t tail = IB_ICRC_LEN + IB_VCRC_LEN, pad;
	int hdr = s->len > tail ? ib_ud_hdr_decode(&s->h, s->raw, s->len - tail) : -1;

	s->kind = SEEN_MALFORMED;
	if (hdr < 0)
		return;
	pad = s->h.bth.pad;
	if ((size_t)hdr + pad + tail > s->len)
		return;
	s->payload = s->raw + hdr;
	s->payload_len = s->len - (size_t)hdr - pad - tail;
	if (!crc_icrc_follows(s->raw, s->len - tail))
		return;
	s->kind = s->h.bth.dest_qp == IB_QP0   ? SEEN_SMP
		  : s->h.bth.dest_qp == IB_QP1 ? SEEN_GMP
					       : SEEN_DATA;
	if (s->kind == SEEN_DATA && s->payload_len >= s->wire->hdr_len)
		s->type = s->wire->type(s->payload, s->payload_len);
	if (s->type >= 0) {
		s->net = s->payload + s->wire->hdr_len;
		s->net_len = s->payload_len - s->wire->hdr_len;
	}
}

const struct seen *world_log_add(struct world_log *l, const uint8_t *raw, size_t len, bool ours,
				 ns_t now)
{
	struct seen *s = calloc(1, sizeof(*s) + len), **place;

	if (!s)
		return NULL;
	*s = (struct seen){
		.n = ++l->last, .at = now, .ours = ours, .len = len, .type = -1, .wire = l->wire
	};
	memcpy(s->raw, raw, len);
	decode(s);
	l->from_dut += !ours;
	place = &l->v[s->n % WORLD_LOG_MAX];
	if (*place && !(*place)->ours)
		l->overwritten++;
	free(*place);
	*place = s;
	return s;
}

const struct seen *world_log_at(const struct world_log *l, uint64_t n)
{
	const struct seen *s = l->v[n % WORLD_LOG_MAX];

	return s && s->n == n ? s : NULL;
}

void world_log_fini(struct world_log *l)
{
	for (size_t i = 0; i < WORLD_LOG_MAX; i++)
		free(l->v[i]);
	*l = (struct world_log){ 0 };
}

static uint64_t oldest(const struct world_log *l)
{
	return l->last > WORLD_LOG_MAX ? l->last - WORLD_LOG_MAX + 1 : 1;
}

const struct seen *world_log_find(const struct world_log *l, uint64_t from, seen_match *match,
				  const void *arg)
{
	for (uint64_t n = from > oldest(l) ? from : oldest(l); n <= l->last; n++) {
		const struct seen *s = world_log_at(l, n);

		if (s && !s->ours && match(s, arg))
			return s;
	}
	return NULL;
}

const struct seen *world_log_keep(struct seen **list, const struct seen *s)
{
	struct seen *copy = s ? malloc(sizeof(*s) + s->len) : NULL;

	if (!copy)
		return NULL;
	*copy = *s;
	memcpy(copy->raw, s->raw, s->len);
	if (s->payload)
		copy->payload = copy->raw + (s->payload - s->raw);
	if (s->net)
		copy->net = copy->raw + (s->net - s->raw);
	copy->next = *list;
	*list = copy;
	return copy;
}

void world_log_release(struct seen **list)
{
	struct seen *s;

	while ((s = *list)) {
		*list = s->next;
		free(s);
	}
}

/* --- capture */

static void put_packet(const struct seen *s, FILE *f)
{
	uint8_t hdr[PCAP_REC_LEN + ERF_HDR_LEN];

	pcap_record(hdr, ERF_HDR_LEN + s->len, s->at);
	erf_header(hdr + PCAP_REC_LEN, s->len, s->at);
	fwrite(hdr, sizeof(hdr), 1, f);
	fwrite(s->raw, s->len, 1, f);
}

void world_log_pcap(const struct world_log *l, uint64_t first, uint64_t last, FILE *f)
{
	uint8_t hdr[PCAP_HDR_LEN];

	fwrite(hdr, pcap_header(hdr), 1, f);
	for (uint64_t n = first > oldest(l) ? first : oldest(l); n <= last; n++)
		if (world_log_at(l, n))
			put_packet(world_log_at(l, n), f);
}

void world_log_pcap_one(const struct seen *s, FILE *f)
{
	uint8_t hdr[PCAP_HDR_LEN];

	fwrite(hdr, pcap_header(hdr), 1, f);
	put_packet(s, f);
}

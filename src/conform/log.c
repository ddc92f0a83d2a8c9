/* SPDX-License-Identifier: BSD-2-Clause */
#include "conform/log.h"

#include <stdlib.h>

#include "wire/crc.h"

/* Fills in what the octets say. The ICRC is the end-to-end check that an HCA makes first. */
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
	if (crc_icrc(s->raw, s->len - tail) !=
	    ((uint32_t)s->raw[s->len - 6] | (uint32_t)s->raw[s->len - 5] << 8 |
	     (uint32_t)s->raw[s->len - 4] << 16 | (uint32_t)s->raw[s->len - 3] << 24))
		return;
	s->kind = s->h.bth.dest_qp == IB_QP0   ? SEEN_SMP
		  : s->h.bth.dest_qp == IB_QP1 ? SEEN_GMP
					       : SEEN_DATA;
}

const struct seen *conform_log_add(struct conform_log *l, const uint8_t *raw, size_t len, bool ours,
				   ns_t now)
{
	struct seen *s = calloc(1, sizeof(*s) + len), **place;

	if (!s)
		return NULL;
	*s = (struct seen){ .n = ++l->last, .at = now, .ours = ours, .len = len };
	memcpy(s->raw, raw, len);
	decode(s);
	l->from_dut += !ours;
	place = &l->v[s->n % CONFORM_LOG_MAX];
	if (*place && !(*place)->ours)
		l->overwritten++;
	free(*place);
	*place = s;
	return s;
}

const struct seen *conform_log_at(const struct conform_log *l, uint64_t n)
{
	const struct seen *s = l->v[n % CONFORM_LOG_MAX];

	return s && s->n == n ? s : NULL;
}

void conform_log_fini(struct conform_log *l)
{
	for (size_t i = 0; i < CONFORM_LOG_MAX; i++)
		free(l->v[i]);
	*l = (struct conform_log){ 0 };
}

static uint64_t oldest(const struct conform_log *l)
{
	return l->last > CONFORM_LOG_MAX ? l->last - CONFORM_LOG_MAX + 1 : 1;
}

const struct seen *conform_log_find(const struct conform_log *l, uint64_t from, seen_match *match,
				    const void *arg)
{
	for (uint64_t n = from > oldest(l) ? from : oldest(l); n <= l->last; n++) {
		const struct seen *s = conform_log_at(l, n);

		if (s && !s->ours && match(s, arg))
			return s;
	}
	return NULL;
}

const struct seen *conform_log_keep(struct seen **list, const struct seen *s)
{
	struct seen *copy = s ? malloc(sizeof(*s) + s->len) : NULL;

	if (!copy)
		return NULL;
	*copy = *s;
	memcpy(copy->raw, s->raw, s->len);
	if (s->payload)
		copy->payload = copy->raw + (s->payload - s->raw);
	copy->next = *list;
	*list = copy;
	return copy;
}

void conform_log_release(struct seen **list)
{
	struct seen *s;

	while ((s = *list)) {
		*list = s->next;
		free(s);
	}
}

/* --- pcap with link type ERF, record type InfiniBand, as fabric/capture_format.c writes it for the fabric's packets */

static void put_erf(const struct seen *s, FILE *f)
{
	uint32_t fraction = (uint32_t)((s->at % NS_SEC(1) << 32) / NS_SEC(1)),
		 seconds = (uint32_t)(s->at / NS_SEC(1));
	uint32_t hdr[4] = { seconds, (uint32_t)(s->at % NS_SEC(1)), (uint32_t)s->len + 16,
			    (uint32_t)s->len + 16 };
	uint8_t erf[16] = { [8] = 21, [9] = 4 };

	for (unsigned int i = 0; i < 4; i++) {
		erf[i] = (uint8_t)(fraction >> 8 * i);
		erf[4 + i] = (uint8_t)(seconds >> 8 * i);
	}
	be16_put(erf + 10, (uint16_t)(s->len + 16));
	be16_put(erf + 14, (uint16_t)s->len);
	fwrite(hdr, sizeof(hdr), 1, f);
	fwrite(erf, sizeof(erf), 1, f);
	fwrite(s->raw, s->len, 1, f);
}

void conform_log_pcap(const struct conform_log *l, uint64_t first, uint64_t last, FILE *f)
{
	const uint32_t magic = 0xa1b23c4d, rest[4] = { 0, 0, 65535, 197 };
	const uint16_t version[2] = { 2, 4 };

	fwrite(&magic, sizeof(magic), 1, f);
	fwrite(version, sizeof(version), 1, f);
	fwrite(rest, sizeof(rest), 1, f);
	for (uint64_t n = first > oldest(l) ? first : oldest(l); n <= last; n++)
		if (conform_log_at(l, n))
			put_erf(conform_log_at(l, n), f);
}

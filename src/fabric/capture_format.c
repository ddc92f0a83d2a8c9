/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/capture_format.h"

#include <string.h>

#include "crc/crc.h"
#include "util/pcap.h"
#include "wire/ib_hdr.h"

/* pcapng is written in the byte order of the host, as pcap is. */

#define PCAPNG_SHB 0x0a0d0d0a
#define PCAPNG_IDB 1
#define PCAPNG_EPB 6
#define PCAPNG_OPT_COMMENT 1
#define PCAPNG_OPT_IF_NAME 2
#define PCAPNG_OPT_IF_DESCRIPTION 3
#define PCAPNG_OPT_EPB_FLAGS 2
#define PCAPNG_INBOUND 1 /* values of the flags' lowest two bits */
#define PCAPNG_OUTBOUND 2
#define PCAPNG_OPT_IF_TSRESOL 9

static size_t put16(uint8_t *p, uint16_t v)
{
	memcpy(p, &v, sizeof(v));
	return sizeof(v);
}

static size_t put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
	return sizeof(v);
}

/*
 * Write an ERF record with its header and the packet. Return: number of octets; 0 if the packet has
 * a wrong length
 */
static size_t erf_record(uint8_t *buf, const struct pkt *p, ns_t t)
{
	size_t len = fabric_pkt_to_wire(p, buf + ERF_HDR_LEN, IB_PKT_MAX);

	return len ? len + erf_header(buf, len, t) : 0;
}

size_t capture_pcap_record(uint8_t *buf, const struct pkt *p, ns_t t)
{
	size_t len = erf_record(buf + PCAP_REC_LEN, p, t);

	return len ? len + pcap_record(buf, len, t) : 0;
}

/*
 * Complete a pcapng block whose body of @len octets is at buf + 8. Before the body, write type and
 * length. After the body, write padding to 4 octets, then the length again.
 */
static size_t block(uint8_t *buf, uint32_t type, size_t len)
{
	size_t padded = (len + 3) & ~(size_t)3, total = 12 + padded;

	memset(buf + 8 + len, 0, padded - len);
	put32(buf, type);
	put32(buf + 4, (uint32_t)total);
	put32(buf + 8 + padded, (uint32_t)total);
	return total;
}

size_t capture_pcapng_header(uint8_t *buf)
{
	size_t n = 8;

	n += put32(buf + n, 0x1a2b3c4d); /* byte-order magic */
	n += put16(buf + n, 1); /* version 1.0 */
	n += put16(buf + n, 0);
	/* section length; 64 bits of ones mean that the length is not known */
	n += put32(buf + n, UINT32_MAX);
	n += put32(buf + n, UINT32_MAX);
	return block(buf, PCAPNG_SHB, n - 8);
}

/* Write an option whose value is a string */
static size_t put_text(uint8_t *p, uint16_t option, const char *text)
{
	size_t len = strlen(text), pad = -len & 3, n = 0;

	n += put16(p + n, option);
	n += put16(p + n, (uint16_t)len);
	for (size_t i = 0; i < len + pad; i++)
		p[n++] = i < len ? (uint8_t)text[i] : 0;
	return n;
}

size_t capture_pcapng_interface(uint8_t *buf, const char *name, const char *description)
{
	size_t n = 8;

	n += put16(buf + n, PCAP_LINKTYPE_ERF);
	n += put16(buf + n, 0);
	n += put32(buf + n, 0); /* the length of packets is not limited */
	n += put_text(buf + n, PCAPNG_OPT_IF_NAME, name);
	if (description)
		n += put_text(buf + n, PCAPNG_OPT_IF_DESCRIPTION, description);
	n += put16(buf + n, PCAPNG_OPT_IF_TSRESOL);
	n += put16(buf + n, 1);
	n += put32(buf + n, 0);
	buf[n - 4] = 9; /* resolution of times, 10^-9 s */
	n += put32(buf + n, 0); /* end of options */
	return block(buf, PCAPNG_IDB, n - 8);
}

/*
 * Complete an Enhanced Packet Block. The caller has written the ERF record, @len octets at
 * buf + 28, and after its padding @options octets of options.
 */
static size_t packet_block(uint8_t *buf, unsigned int interface, ns_t t, size_t len, size_t options)
{
	size_t padded = (len + 3) & ~(size_t)3;

	put32(buf + 8, interface);
	put32(buf + 12, (uint32_t)(t >> 32));
	put32(buf + 16, (uint32_t)t);
	put32(buf + 20, (uint32_t)len);
	put32(buf + 24, (uint32_t)len);
	return block(buf, PCAPNG_EPB, 20 + (options ? padded + options : len));
}

size_t capture_pcapng_record(uint8_t *buf, const struct pkt *p, ns_t t, unsigned int interface)
{
	size_t len = erf_record(buf + 28, p, t);

	return len ? packet_block(buf, interface, t, len, 0) : 0;
}

/* Write headers, payload, pad octets and CRCs. Return: number of octets; 0 if the packet is too long */
static size_t whole_packet(uint8_t *buf, const struct capture_packet *p)
{
	unsigned int pad = -p->payload->len & 3;
	size_t body = (size_t)p->hdr_len + p->payload->len + pad;

	if (body + IB_ICRC_LEN + IB_VCRC_LEN > IB_PKT_MAX)
		return 0;
	memcpy(buf, p->hdr, p->hdr_len);
	pkt_copy_out(p->payload, 0, buf + p->hdr_len, p->payload->len);
	memset(buf + body - pad, 0, pad);
	crc_put(buf, body);
	return body + IB_ICRC_LEN + IB_VCRC_LEN;
}

size_t capture_pcapng_packet(uint8_t *buf, const struct capture_packet *p, ns_t t)
{
	size_t len = whole_packet(buf + 28 + ERF_HDR_LEN, p), n, at;

	if (!len)
		return 0;
	len += erf_header(buf + 28, len, t);
	at = n = 28 + ((len + 3) & ~(size_t)3);
	memset(buf + 28 + len, 0, at - 28 - len);
	n += put_text(buf + n, PCAPNG_OPT_COMMENT, p->comment);
	n += put16(buf + n, PCAPNG_OPT_EPB_FLAGS);
	n += put16(buf + n, 4);
	n += put32(buf + n, p->sent ? PCAPNG_OUTBOUND : PCAPNG_INBOUND);
	n += put32(buf + n, 0); /* end of options */
	return packet_block(buf, p->source, t, len, n - at);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 *	pcap_check FILE		prints a line for each error, and then a summary; exit status 1: there is an error
 *
 * Reads a capture (pcap, link type ERF 197, records of type 21: InfiniBand) and checks the lengths,
 * versions, ICRC and VCRC of every packet. pcap_check shares no code with the program that wrote the file:
 * it computes both CRCs bit by bit from their polynomials.
 *
 * The program also proves that its check of the CRCs can fail. In every packet it flips one bit that
 * the CRCs cover. The CRCs must then differ from those of the packet.
 */

#include <pcap/pcap.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define DLT 197
#define ERF_HEADER 16
#define ERF_TYPE_INFINIBAND 21
#define ERF_EXTENSION 0x80
#define LRH 8
#define GRH 40
#define BTH 12
#define DETH 8
#define PACKET_MAX 4200

struct seen {
	unsigned long packets, octets, grh, vl15, mads, ipoib, arp, multicast, bad;
};

static unsigned int get16(const uint8_t *p)
{
	return (unsigned int)p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

/* x^32 + x^26 + ... + 1, the low bit of an octet first (IBTA 7.8.1; IEEE 802.3) */
static uint32_t crc32_bits(const uint8_t *p, size_t n)
{
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < n; i++)
		for (int bit = 0; bit < 8; bit++) {
			bool one = ((crc ^ (uint32_t)p[i] >> bit) & 1) != 0;

			crc = one ? crc >> 1 ^ 0xedb88320 : crc >> 1;
		}
	return ~crc;
}

/* x^16 + x^12 + x^3 + x + 1, the low bit of an octet first (IBTA 7.8.2) */
static uint16_t crc16_bits(const uint8_t *p, size_t n)
{
	uint16_t crc = 0xffff;

	for (size_t i = 0; i < n; i++)
		for (int bit = 0; bit < 8; bit++) {
			bool one = ((crc ^ p[i] >> bit) & 1) != 0;

			crc = (uint16_t)(one ? crc >> 1 ^ 0xd008 : crc >> 1);
		}
	return (uint16_t)~crc;
}

/*
 * Compute the ICRC over LRH .. payload and pad, in which the fields that may change on the way are
 * replaced by ones
 */
static uint32_t icrc(const uint8_t *p, size_t n, bool grh)
{
	uint8_t masked[PACKET_MAX];
	uint8_t *bth = masked + LRH + (grh ? GRH : 0);

	memcpy(masked, p, n);
	if (grh) {
		memset(masked, 0xff, LRH);
		masked[LRH] |= 0x0f; /* traffic class, flow label */
		memset(masked + LRH + 1, 0xff, 3);
		masked[LRH + 7] = 0xff; /* hop limit */
	} else {
		masked[0] |= 0xf0; /* VL */
	}
	bth[4] = 0xff;
	return crc32_bits(masked, n);
}

static uint32_t little32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static const char *check_crcs(const uint8_t *p, size_t n, bool grh)
{
	uint8_t other[PACKET_MAX];

	if (icrc(p, n - 6, grh) != little32(p + n - 6))
		return "ICRC";
	if (crc16_bits(p, n - 2) != (p[n - 2] | p[n - 1] << 8))
		return "VCRC";
	memcpy(other, p, n);
	other[LRH + (grh ? GRH : 0) + 8] ^= 0x10; /* the PSN in the BTH */
	if (icrc(other, n - 6, grh) == little32(p + n - 6) ||
	    crc16_bits(other, n - 2) == (p[n - 2] | p[n - 1] << 8))
		return "a CRC that does not notice a wrong bit";
	return NULL;
}

static void classify(struct seen *s, const uint8_t *p, size_t n, size_t bth)
{
	uint32_t dest_qp = get32(p + bth + 4) & 0xffffff;
	const uint8_t *payload = p + bth + BTH + DETH;

	s->vl15 += p[0] >> 4 == 15;
	s->multicast += dest_qp == 0xffffff;
	if (dest_qp <= 1) {
		s->mads++;
		return;
	}
	s->ipoib++;
	if (payload + 4 <= p + n - 6)
		s->arp += get16(payload) == 0x0806;
}

/* Check a packet from LRH to VCRC. Return: a text that names the error, or NULL */
static const char *check_packet(struct seen *s, const uint8_t *p, size_t n)
{
	unsigned int lnh = n >= LRH ? p[1] & 3u : 0, pad;
	bool grh = lnh == 3;
	size_t bth = LRH + (grh ? GRH : 0);

	if (n < LRH + BTH + DETH + 6 || n > PACKET_MAX)
		return "length";
	if (lnh != 2 && !grh)
		return "LRH.LNH";
	if ((p[0] & 0x0f) != 0)
		return "LRH.LVer";
	if ((get16(p + 4) & 0x7ff) * 4u + 2 != n) /* PktLen counts words and excludes the VCRC */
		return "LRH.PktLen";
	if (n < bth + BTH + DETH + 6)
		return "length";
	if (grh && (p[LRH] >> 4 != 6 || p[LRH + 6] != 0x1b))
		return "GRH.IPVer or NxtHdr";
	if (grh && get16(p + LRH + 4) != n - LRH - GRH - 2)
		return "GRH.PayLen";
	pad = p[bth + 1] >> 4 & 3u;
	if (p[bth] != 0x64 || (p[bth + 1] & 0x0f) != 0)
		return "BTH.OpCode or TVer";
	if (n < bth + BTH + DETH + pad + 6)
		return "BTH.PadCnt";
	s->grh += grh;
	classify(s, p, n, bth);
	return check_crcs(p, n, grh);
}

/* Check an ERF record and the packet in it */
static const char *check_record(struct seen *s, const uint8_t *p, size_t n)
{
	size_t rlen, wlen;

	if (n < ERF_HEADER)
		return "ERF header";
	if ((p[8] & 0x7f) != ERF_TYPE_INFINIBAND || p[8] & ERF_EXTENSION)
		return "ERF type";
	rlen = get16(p + 10);
	wlen = get16(p + 14);
	if (rlen > n || rlen < ERF_HEADER + wlen)
		return "ERF lengths";
	s->octets += wlen;
	return check_packet(s, p + ERF_HEADER, wlen);
}

static int check_file(const char *file, struct seen *s)
{
	char err[PCAP_ERRBUF_SIZE];
	pcap_t *pc = pcap_open_offline(file, err);
	struct pcap_pkthdr *h;
	const unsigned char *p;
	int status;

	if (!pc) {
		fprintf(stderr, "pcap_check: %s\n", err);
		return -1;
	}
	if (pcap_datalink(pc) != DLT) {
		fprintf(stderr, "pcap_check: %s: link type %d, expected %d\n", file,
			pcap_datalink(pc), DLT);
		pcap_close(pc);
		return -1;
	}
	while ((status = pcap_next_ex(pc, &h, &p)) == 1) {
		const char *wrong = h->caplen == h->len ? check_record(s, p, h->caplen) : "cut";

		s->packets++;
		if (wrong) {
			s->bad++;
			printf("packet %lu: %s is wrong\n", s->packets, wrong);
		}
	}
	if (status == PCAP_ERROR)
		fprintf(stderr, "pcap_check: %s: %s\n", file, pcap_geterr(pc));
	pcap_close(pc);
	return status == PCAP_ERROR ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct seen s = { 0 };

	if (argc != 2) {
		fputs("usage: pcap_check FILE\n", stderr);
		return 2;
	}
	if (check_file(argv[1], &s))
		return 1;
	printf("{\"packets\":%lu,\"octets\":%lu,\"grh\":%lu,\"vl15\":%lu,\"mads\":%lu,\"ipoib\":%"
	       "lu,\"arp\":%lu,"
	       "\"multicast\":%lu,\"bad\":%lu}\n",
	       s.packets, s.octets, s.grh, s.vl15, s.mads, s.ipoib, s.arp, s.multicast, s.bad);
	return s.bad || !s.packets ? 1 : 0;
}

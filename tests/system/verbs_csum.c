/* SPDX-License-Identifier: BSD-2-Clause */

/* This program sends IP packets with the checksums that the HCA makes, and receives packets whose checksums it verifies. */

#include "system/verbs_rig.h"

#define SEND_IP_CSUM (1u << 4) /* IBV_SEND_IP_CSUM of rdma-core */
#define WC_IP_CSUM_OK (1u << 2) /* IBV_WC_IP_CSUM_OK of rdma-core */
#define GRH 40u
#define LEN (4u + 20 + 20 + 9)

/* the encapsulation of RFC 4391, IPv4 and TCP; both checksums are 0 */
static const uint8_t packet[LEN] = {
	0x08, 0,   0,	 0, /* */
	0x45, 0,   0,	 LEN - 4, 0,   1,   0,	 0,   64,  6,
	0,    0,   192,	 0,	  2,   1,   192, 0,   2,   2, /* */
	0,    1,   0,	 2,	  0,   0,   0,	 1,   0,   0,
	0,    0,   0x50, 0x10,	  1,   0,   0,	 0,   0,   0, /* */
	'c',  'h', 'e',	 'c',	  'k', 's', 'u', 'm', 's',
};

/* Add 16-bit words; an odd last octet is the high half of a word (RFC 1071). */
static uint32_t add(uint32_t sum, const uint8_t *p, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Send the octets at r.start to the own QP. Return: the received octets after the GRH; *@ret_flags gets the completion's flags */
static const uint8_t *exchange(unsigned int send_flags, unsigned int *ret_flags)
{
	struct ib_uverbs_send_wr wr = to_self();
	struct ib_uverbs_wc wc = { 0 };

	wr.send_flags |= send_flags;
	EXPECT(!recv_one(sge_of(r.start + 700, 1000, r.lkey)));
	EXPECT(!uverbs_send(r.fd, r.qp, wr, sge_of(r.start, LEN, r.lkey)));
	EXPECT(!next_completion(&wc) && wc.wr_id == 8 && wc.byte_len == GRH + LEN);
	*ret_flags = wc.wc_flags;
	expect_next(7, 0);
	return (const uint8_t *)(uintptr_t)r.start + 700 + GRH;
}

static void made_and_verified(void)
{
	static const uint8_t pseudo[] = { 0, 6, 0, LEN - 24 };
	unsigned int flags;
	const uint8_t *got;

	open_rig();
	memcpy((void *)(uintptr_t)r.start, packet, LEN);
	got = exchange(SEND_IP_CSUM, &flags);
	EXPECT(flags == WC_IP_CSUM_OK);
	EXPECT(add(0, got + 4, 20) == 0xffff);
	EXPECT(add(add(add(0, pseudo, sizeof(pseudo)), got + 16, 8), got + 24, LEN - 24) == 0xffff);
	EXPECT(!memcmp(got + 44, packet + 44, LEN - 44));
	EXPECT(!memcmp((void *)(uintptr_t)r.start, packet,
		       LEN)); /* the program's own buffer does not change */
	close_rig();
}

static void not_asked_for(void)
{
	unsigned int flags;

	open_rig();
	memcpy((void *)(uintptr_t)r.start, packet, LEN);
	EXPECT(!memcmp(exchange(0, &flags), packet, LEN) && flags == 0);
	close_rig();
}

static void no_ip_packet(void)
{
	unsigned int flags;

	open_rig();
	memset((void *)(uintptr_t)r.start, 0x5a, LEN);
	EXPECT(!memcmp(exchange(SEND_IP_CSUM, &flags), (void *)(uintptr_t)r.start, LEN) &&
	       flags == 0);
	close_rig();
}

int main(void)
{
	RUN(made_and_verified, "the HCA makes the checksums of a packet, and verifies them");
	RUN(not_asked_for, "without IBV_SEND_IP_CSUM the packet is not changed, and wrong "
			   "checksums are not called right");
	RUN(no_ip_packet, "octets that are no IP packet are not changed");
	return tap_end();
}

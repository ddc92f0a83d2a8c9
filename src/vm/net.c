/* SPDX-License-Identifier: BSD-2-Clause */
#include "vm/net.h"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <string.h>

struct headers {
	struct ether_header eth;
	struct iphdr ip;
	struct udphdr udp;
} __attribute__((packed));
_Static_assert(sizeof(struct headers) == VM_NET_HDR_LEN, "no padding");

/*
 * Ethernet, IPv4 and UDP headers of frames to the guest. Lengths, UDP ports and IP checksum are 0
 * here; vm_net_wrap() writes them into each frame's copy. UDP has no checksum (RFC 768), because
 * the packet inside has CRCs.
 */
static const uint8_t to_guest[VM_NET_HDR_LEN] = {
	0x02, 0x75, 0x69, 0x70, 0x00, 0x02, /* VM_NET_GUEST_MAC */
	0x02, 0x75, 0x69, 0x70, 0x00, 0x01, /* VM_NET_HOST_MAC */
	0x08, 0x00, /* IPv4 */
	0x45, 0x00, 0,	  0,	0,    0, /* total length, which vm_net_wrap() writes; identification */
	0x40, 0x00, 64,	  17,	0,    0, /* DF, TTL, protocol UDP, checksum, which vm_net_wrap() writes */
	192,  0,    2,	  1, /* VM_NET_HOST */
	192,  0,    2,	  2, /* VM_NET_GUEST */
	0,    0,    0,	  0,	0,    0,    0,
	0, /* UDP ports and length, which vm_net_wrap() writes; no checksum */
};
#define AT_IP 14
#define AT_UDP 34

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

void vm_net_wrap(uint8_t hdr[VM_NET_HDR_LEN], unsigned int hca, size_t len)
{
	uint32_t sum = 0;

	memcpy(hdr, to_guest, sizeof(to_guest));
	put16(hdr + AT_IP + 2, (uint32_t)(VM_NET_HDR_LEN - AT_IP + len));
	put16(hdr + AT_UDP, VM_NET_PORT + hca);
	put16(hdr + AT_UDP + 2, VM_NET_PORT + hca);
	put16(hdr + AT_UDP + 4, (uint32_t)(VM_NET_HDR_LEN - AT_UDP + len));
	for (unsigned int i = AT_IP; i < AT_UDP; i += 2) /* Internet checksum (RFC 1071) */
		sum += (uint32_t)hdr[i] << 8 | hdr[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	put16(hdr + AT_IP + 10, ~sum);
}

const uint8_t *vm_net_unwrap(const uint8_t *frame, size_t len, unsigned int *ret_hca,
			     size_t *ret_len)
{
	struct headers h;
	unsigned int hca;
	size_t udp;

	if (len < sizeof(h))
		return NULL;
	memcpy(&h, frame, sizeof(h));
	if (h.eth.ether_type != htons(ETHERTYPE_IP) || h.ip.version != 4 || h.ip.ihl != 5 ||
	    h.ip.protocol != IPPROTO_UDP || h.ip.frag_off & htons(IP_MF | IP_OFFMASK) ||
	    h.ip.daddr != inet_addr(VM_NET_HOST))
		return NULL;
	hca = (unsigned int)ntohs(h.udp.dest) - VM_NET_PORT;
	if (hca >= VM_HCAS_MAX)
		return NULL;
	udp = ntohs(h.udp.len);
	if (udp < sizeof(h.udp) || udp > len - sizeof(h) + sizeof(h.udp))
		return NULL;
	*ret_hca = hca;
	*ret_len = udp - sizeof(h.udp);
	return frame + sizeof(h);
}

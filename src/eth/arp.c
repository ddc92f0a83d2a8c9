/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "eth/priv.h"
#include "wire/arp.h"

/*
 * ARP and RARP, RFC 4391 §9.2: the same message with the other side's hardware type and addresses.
 * Hardware addresses that are zero ("not known") stay zero.
 */

static const uint8_t zero_mac[6];

static bool is_unset(const uint8_t mac[6])
{
	static const uint8_t ones[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	return eth_mac_equal(mac, zero_mac) || eth_mac_equal(mac, ones);
}

static int hw_to_link(struct eth_if *e, uint8_t ha[20], bool required)
{
	struct ipoib_lladdr a;
	uint8_t mac[6];
	int status;

	memcpy(mac, ha, sizeof(mac));
	memset(ha, 0, 20);
	if (is_unset(mac))
		return 0;
	status = eth_mac_to_lladdr(e, mac, &a);
	if (!status)
		ipoib_lladdr_encode(ha, &a);
	return required ? status : 0;
}

struct pkt *eth_arp_to_link(struct eth_if *e, struct pkt *p, enum eth_drop *why)
{
	uint8_t in[ARP_ETHER_LEN], out[ARP_IPOIB_LEN];
	struct arp_pkt a;
	bool reply;

	*why = ETH_DROP_ARP;
	if (arp_decode(&a, in, pkt_copy_out(p, 0, in, sizeof(in))) || a.hrd != ARP_HRD_ETHER)
		return NULL;
	/* A reply must say whom it is for; a request's target is not known yet or a mere hint. */
	reply = a.op == ARP_OP_REPLY || a.op == ARP_OP_RREPLY;
	if (hw_to_link(e, a.sha, true) || hw_to_link(e, a.tha, reply))
		return NULL;
	a.hrd = ARP_HRD_INFINIBAND;
	a.hln = IPOIB_ALEN;
	arp_encode(out, &a);
	e->stats.arp_tx++;
	*why = ETH_DROP_NO_MEM;
	return pkt_from_data(e->cfg.pool, out, sizeof(out));
}

static int hw_from_link(struct eth_if *e, uint8_t ha[20], ns_t now, bool probe)
{
	static const uint8_t zero[IPOIB_ALEN];
	struct ipoib_lladdr a;
	uint8_t mac[6] = { 0 };
	int status = 0;

	if (memcmp(ha, zero, sizeof(zero))) {
		ipoib_lladdr_decode(&a, ha, IPOIB_ALEN);
		status = eth_lladdr_to_mac(e, &a, mac, now, probe);
	}
	memset(ha, 0, 20);
	memcpy(ha, mac, sizeof(mac));
	return status;
}

struct pkt *eth_arp_from_link(struct eth_if *e, struct pkt *p, ns_t now, enum eth_drop *why)
{
	uint8_t in[ARP_IPOIB_LEN], out[ARP_ETHER_LEN];
	struct arp_pkt a;

	*why = ETH_DROP_RX_ARP;
	if (arp_decode(&a, in, pkt_copy_out(p, 0, in, sizeof(in))) || a.hrd != ARP_HRD_INFINIBAND)
		return NULL;
	/* A reply is followed by traffic: have its sender's path ready. */
	if (hw_from_link(e, a.sha, now, a.op == ARP_OP_REPLY) || hw_from_link(e, a.tha, now, false))
		return NULL;
	a.hrd = ARP_HRD_ETHER;
	a.hln = 6;
	arp_encode(out, &a);
	e->stats.arp_rx++;
	*why = ETH_DROP_NO_MEM;
	return pkt_from_data(e->cfg.pool, out, sizeof(out));
}

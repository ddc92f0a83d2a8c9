/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ETH_SHAPE_H
#define ETH_SHAPE_H

/*
 * DOC: Shapes
 *
 * A shape (enum eth_shape) is the way in which the kernel sees the link. The shape determines the link header of
 * frames, and the hardware addresses in this header and in ARP and ND. A hardware address is the address by which the
 * kernel knows a port: a MAC, or the link-layer address itself. The parameter @hw is a hardware address of .alen
 * octets. The shapes are implemented in ether.c (with token.c) and in ib.c. The other files of eth/
 * serve both shapes.
 */

#include "eth/eth.h"

struct eth_peer;

#define ETH_HW_MAX IPOIB_ALEN
#define ETH_HEAD_MAX 44 /* octets of the longest link header */
#define ETH_ND_OPT_MAX \
	ND_OPT_LLADDR_IPOIB /* octets of the longest ND option with a hardware address */

/* The kind of receiver of a frame from the kernel, by the frame's destination address */
enum eth_to {
	ETH_TO_ONE,
	ETH_TO_GROUP,
	ETH_TO_ALL, /* the broadcast address */
};

struct eth_dst {
	enum eth_to to;
	uint8_t hw[ETH_HW_MAX];
};

struct eth_shape_ops {
	struct eth_head head; /* link header of frames */
	uint8_t dst_at, src_at; /* offsets of the addresses in the link header */
	uint8_t alen; /* octets of a hardware address */
	uint8_t nd_pad; /* octets of zero before the address in Neighbour Discovery options */
	uint16_t arp_hrd; /* hardware type in ARP, RARP and DHCP */
	/*
	 * true if there can be stations behind the device; each station gets queries for its groups
	 */
	bool stations;

	/* --- frames from the kernel */

	enum eth_to (*to)(const struct eth_if *e, const uint8_t *hw);
	/*
	 * Tell whether the frame @p may have the source address @hw, and store the id of a sending
	 * station in @p (struct frame_info.station). Return: ETH_DROP_NONE, or the reason for which
	 * the frame is dropped
	 */
	enum eth_drop (*from)(struct eth_if *e, const uint8_t *hw, struct pkt *p, ns_t now);
	/*
	 * Return the neighbour that has the unicast address @hw. NULL: no neighbour has the address, and .no_neigh()
	 * returns the reason why a frame to @hw is dropped
	 */
	struct ipoib_neigh *(*neigh)(struct eth_if *e, const uint8_t *hw, ns_t now);
	enum eth_drop (*no_neigh)(struct eth_if *e, const uint8_t *hw, ns_t now);

	/* --- frames to the kernel */

	/*
	 * Write both addresses of the link header @h, which the caller has zeroed. @st: station at
	 * whose queue pair the packet arrived; NULL: the packet arrived at the main queue pair
	 */
	void (*header)(struct eth_if *e, uint8_t *h, const struct eth_station *st,
		       const struct ipoib_rx *r);

	/* --- addresses in ARP and ND */

	/*
	 * Write the link-layer address of the port that the kernel knows as @hw. ret->flags become
	 * the flags that the peer sent with its address, or 0 if @hw is an address of the interface
	 * or of a station. Return: 0; -ENOENT: no port has the address @hw; *ret is then the value
	 * to send in a field whose content has no meaning
	 */
	int (*lladdr)(const struct eth_if *e, const uint8_t *hw, struct ipoib_lladdr *ret);
	/*
	 * Write the hardware address of the port @a. If the peer is unknown, the function creates a neighbour.
	 * *ret_n: the neighbour; NULL: @a is an address of the interface or of a station. Return: 0; -ENOBUFS:
	 * @a is no unicast address, or there is no room for one more neighbour
	 */
	int (*hw)(struct eth_if *e, const struct ipoib_lladdr *a, uint8_t *ret,
		  struct ipoib_neigh **ret_n, ns_t now);
	/*
	 * Like .hw, but for the target's address in a message from the link. If @needed is false, the address need
	 * not have a meaning: the function then never fails, makes no neighbour, and writes zero if the shape has no
	 * hardware address for @a
	 */
	int (*target)(struct eth_if *e, const struct ipoib_lladdr *a, bool needed, uint8_t *ret,
		      ns_t now);

	/* --- functions for the state of a neighbour, peer.h */

	/* false: out of memory, or no free token */
	bool (*peer_init)(struct eth_if *e, struct eth_peer *p);
	void (*peer_fini)(struct eth_if *e, struct eth_peer *p);
	/* Tell the owner of the interface that the kernel's neighbour entry is no longer valid */
	void (*peer_gone)(struct eth_if *e, const struct eth_peer *p);
};

extern const struct eth_shape_ops eth_shape_ether, eth_shape_ib;

const struct eth_shape_ops *eth_shape_ops(enum eth_shape shape);

/* eth_hw_is_unset() - Tell whether @hw is zero or the broadcast address, so that it names no port */
bool eth_hw_is_unset(const struct eth_if *e, const uint8_t *hw);

static inline unsigned int eth_nd_opt_len(const struct eth_shape_ops *s)
{
	return 2u + s->nd_pad + s->alen;
}

#endif

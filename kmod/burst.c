// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * The packets that a QP sends soon after each other leave as one burst: one buffer with many datagrams of equal length,
 * which the UDP stack cuts (UDP GSO) behind the last lookup, queue and filter that the burst passes.
 */

#include <linux/mm.h>
#include <linux/skbuff.h>
#include <net/sock.h>

#include "uib.h"

/* limits of an IP packet, which a burst is until it is cut; a receiver with UDP_GRO gets at most 64 datagrams at once */
#define OCTETS_MAX 65000
#define PACKETS_MAX 64

u8 *uib_burst_room(struct uib_burst *b, u32 len)
{
	struct page_frag *room = &b->room;

	if (!skb_page_frag_refill(len, room, GFP_KERNEL))
		return NULL;
	if (room->size - room->offset < len) {
		/* There was no large piece of memory, and a page is too short for this packet. */
		put_page(room->page);
		room->page = alloc_pages(GFP_KERNEL | __GFP_COMP | __GFP_NOWARN, get_order(len));
		if (!room->page)
			return NULL;
		room->offset = 0;
		room->size = PAGE_SIZE << get_order(len);
	}
	return page_address(room->page) + room->offset;
}

/* Tell whether the burst can carry one more packet of @len octets. */
static bool fits(const struct uib_burst *b, u32 len, u8 sl, bool mcast)
{
	int frags = skb_shinfo(b->skb)->nr_frags;

	return len <= b->packet_len && b->skb->len + len <= OCTETS_MAX && b->n < PACKETS_MAX &&
	       sl == b->sl && mcast == b->mcast &&
	       (frags < MAX_SKB_FRAGS ||
		skb_can_coalesce(b->skb, frags, b->room.page, b->room.offset));
}

/* Add the octets at the beginning of the room to the burst's buffer. */
static void append(struct uib_burst *b, u32 len)
{
	struct sk_buff *skb = b->skb;
	struct page_frag *room = &b->room;
	int frags = skb_shinfo(skb)->nr_frags;

	if (skb_can_coalesce(skb, frags, room->page, room->offset)) {
		skb_frag_size_add(&skb_shinfo(skb)->frags[frags - 1], len);
	} else {
		get_page(room->page);
		skb_fill_page_desc(skb, frags, room->page, room->offset, len);
	}
	skb->len += len;
	skb->data_len += len;
	skb->truesize += len;
	room->offset += len;
}

void uib_burst_add(struct uib_dev *dev, struct uib_burst *b, u32 len, u8 sl, bool mcast)
{
	if (b->skb && !fits(b, len, sl, mcast))
		uib_burst_send(dev, b);
	if (!b->skb) {
		b->skb = uib_udp_alloc(GFP_KERNEL);
		if (!b->skb) {
			uib_tx_dropped(dev, UIB_DROP_NO_MEM, 1);
			return;
		}
		b->packet_len = len;
		b->n = 0;
		b->sl = sl;
		b->mcast = mcast;
	}
	append(b, len);
	b->n++;
	if (len < b->packet_len) /* only the last packet may be shorter */
		uib_burst_send(dev, b);
}

/* Count the packets of a burst that was sent; they have @len octets together. */
static void count(struct uib_dev *dev, const struct uib_burst *b, u32 len)
{
	u32 words = (len - b->n * UIB_VCRC_LEN) / 4;

	uib_count_add(dev, UIB_C_XMIT_PKTS, b->n);
	uib_count_add(dev, UIB_C_XMIT_DATA, words);
	uib_count_add(dev, UIB_C_XMIT_SL + b->sl, words);
	uib_count_add(dev, b->mcast ? UIB_C_MCAST_XMIT : UIB_C_UCAST_XMIT, b->n);
}

void uib_burst_send(struct uib_dev *dev, struct uib_burst *b)
{
	struct sk_buff *skb = b->skb;
	u32 len;
	int err;

	if (!skb)
		return;
	b->skb = NULL;
	len = skb->len;
	if (b->n > 1) {
		skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
		skb_shinfo(skb)->gso_size = b->packet_len;
		skb_shinfo(skb)->gso_segs = b->n;
	}
	err = uib_link_send(&dev->link, skb);
	if (err)
		uib_tx_dropped(dev, err == -ENETDOWN ? UIB_DROP_TX_DOWN : UIB_DROP_TX_ERROR, b->n);
	else
		count(dev, b, len);
}

void uib_burst_free(struct uib_burst *b)
{
	kfree_skb(b->skb);
	if (b->room.page)
		put_page(b->room.page);
	*b = (struct uib_burst){};
}

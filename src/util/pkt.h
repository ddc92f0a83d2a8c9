/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_PKT_H
#define UTIL_PKT_H

/*
 * DOC: Packets
 *
 * A packet is a descriptor with private room for headers and up to two payload
 * slices in reference-counted buffers:
 *
 *	hdr[head .. PKT_HDR_MAX)  |  slice[0]  |  slice[1]  |  tail[0 .. tail_len)
 *
 * Headers are pushed downwards: whoever makes a packet puts the innermost
 * headers (encapsulation, IP, TCP) against the end of hdr[], and the HCA puts
 * DETH, BTH, GRH and LRH before them. The tail holds what follows the payload on
 * an InfiniBand link: pad octets, ICRC and VCRC. Small packets live in hdr[]
 * alone. Segmentation makes slices of one buffer, multicast clones descriptors.
 *
 * A pool belongs to one thread. Descriptors and buffers come from a few large
 * arenas made at start; when they run out pkt_alloc() fails and the caller drops.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PKT_HDR_MAX 192
#define PKT_TAIL_MAX 12
#define PKT_BATCH 64 /* the most packets that one call carries */
#define PKT_HOPS 64 /* links a packet may cross before it is discarded */
#define PKT_BUF_SIZE (68 * 1024) /* a 64 KiB super-frame and its headers */

struct pkt_pool;

struct pkt_buf {
	struct pkt_buf *next; /* free list */
	struct pkt_pool *pool;
	uint32_t refs;
	uint8_t *data; /* PKT_BUF_SIZE octets */
};

struct pkt_slice {
	struct pkt_buf *buf;
	const uint8_t *data; /* inside buf->data */
	uint32_t len;
};

enum pkt_flags {
	PKT_CRC = 1 << 0, /* tail holds real CRCs, which the receiver verifies */
	PKT_CSUM_PARTIAL = 1 << 1, /* the L4 checksum field holds only the pseudo-header sum */
	PKT_CSUM_OK = 1 << 2, /* the L4 checksum was made by us or verified */
	PKT_ICRC = 1 << 3, /* tail holds a real ICRC but no VCRC; PKT_CRC says more */
};

enum pkt_gso {
	PKT_GSO_NONE,
	PKT_GSO_TCP4,
	PKT_GSO_TCP6,
	PKT_GSO_UDP, /* UDP segmentation, either family */
};

struct pkt {
	struct pkt *next; /* queue or free list */
	struct pkt_pool *pool;
	uint32_t flags; /* enum pkt_flags */
	uint32_t len; /* octets in hdr[head..) and the slices; without the tail */
	uint16_t head;
	uint16_t
		csum_start; /* PKT_CSUM_PARTIAL: octets between the end of the IPoIB header and the L4 header */
	uint16_t csum_offset; /* place of the checksum in the L4 header */
	uint8_t hops; /* links it may still cross */
	uint8_t nslices;
	uint8_t tail_len;
	uint8_t vl; /* the VL it travels on, 15 for SMPs */
	uint8_t gso; /* enum pkt_gso: a super-frame still to be segmented */
	uint16_t gso_size; /* its L4 payload octets per segment */
	uint8_t tail[PKT_TAIL_MAX];
	uint32_t
		from; /* which of the sender's queue pairs it leaves by, in the sender's own count; 0: the main one */
	struct pkt_slice slice[2];
	uint8_t hdr[PKT_HDR_MAX] __attribute__((aligned(16)));
};

/* First in, first out; a zeroed queue is valid and empty. */
struct pkt_queue {
	struct pkt *head, *tail;
	uint32_t n;
};

/**
 * pkt_pool_create() - Make a pool
 * @npkts:	descriptors
 * @nbufs:	buffers of PKT_BUF_SIZE; pages are touched on first use only
 *
 * Return: NULL if out of memory
 */
struct pkt_pool *pkt_pool_create(unsigned int npkts, unsigned int nbufs);

/* Everything must have been returned; NULL is accepted. */
void pkt_pool_destroy(struct pkt_pool *pool);

/* Descriptors and buffers now in use: leak checks and `stats`. */
unsigned int pkt_pool_pkts_used(const struct pkt_pool *pool);
unsigned int pkt_pool_bufs_used(const struct pkt_pool *pool);

/* pkt_alloc() - An empty packet (head at PKT_HDR_MAX, hops full), or NULL */
struct pkt *pkt_alloc(struct pkt_pool *pool);

/* pkt_free() - Return a packet and its references; NULL is accepted */
void pkt_free(struct pkt *p);
void pkt_free_batch(struct pkt **v, unsigned int n);

/* pkt_buf_alloc() - A buffer with one reference, or NULL */
struct pkt_buf *pkt_buf_alloc(struct pkt_pool *pool);
void pkt_buf_put(struct pkt_buf *b);

static inline struct pkt_buf *pkt_buf_get(struct pkt_buf *b)
{
	b->refs++;
	return b;
}

/* pkt_clone() - A copy of descriptor, headers and tail that shares the payload, or NULL */
struct pkt *pkt_clone(const struct pkt *p);

/**
 * pkt_from_data() - A packet whose payload is a copy of @data
 *
 * Small payloads go to hdr[] (leaving 100 octets of room for headers), others to
 * a buffer.
 * Return: NULL if the pool is exhausted or @len exceeds PKT_BUF_SIZE
 */
struct pkt *pkt_from_data(struct pkt_pool *pool, const void *data, size_t len);

/* pkt_add_slice() - Append a slice and take a reference; at most two. 0 or -ENOSPC */
int pkt_add_slice(struct pkt *p, struct pkt_buf *b, const uint8_t *data, uint32_t len);

static inline uint32_t pkt_hdr_len(const struct pkt *p)
{
	return PKT_HDR_MAX - p->head;
}

static inline uint8_t *pkt_hdr(struct pkt *p)
{
	return p->hdr + p->head;
}

/* pkt_push() - Make room for @n octets before the packet; NULL if there is none */
static inline uint8_t *pkt_push(struct pkt *p, unsigned int n)
{
	if (n > p->head)
		return NULL;
	p->head = (uint16_t)(p->head - n);
	p->len += n;
	return p->hdr + p->head;
}

/* pkt_gather() - What pkt_pull() does where the octets are not contiguous yet */
const uint8_t *pkt_gather(struct pkt *p, unsigned int n);

/**
 * pkt_pull() - See that the first @n octets are contiguous
 *
 * Return: their address, valid until the packet changes; NULL if it is shorter
 * or they neither lie in hdr[] nor can be brought there. Octets are moved from
 * the first slice into hdr[] only when needed.
 */
static inline const uint8_t *pkt_pull(struct pkt *p, unsigned int n)
{
	if (n <= pkt_hdr_len(p))
		return pkt_hdr(p);
	if (p->head == PKT_HDR_MAX && p->nslices && n <= p->slice[0].len)
		return p->slice[0].data;
	return pkt_gather(p, n);
}

/* pkt_trim_head() - Remove the first @n octets; @n at most p->len */
void pkt_trim_head(struct pkt *p, unsigned int n);

/* pkt_trim() - Cut the packet (tail aside) to @len octets; @len at most p->len */
void pkt_trim(struct pkt *p, uint32_t len);

/* pkt_copy_out() - Copy up to @len octets from offset @off; returns how many there were */
size_t pkt_copy_out(const struct pkt *p, uint32_t off, void *dst, size_t len);

/* pkt_unshare() - Make the payload private (one buffer, one slice). 0 or -ENOMEM */
int pkt_unshare(struct pkt *p);

static inline void pkt_queue_add(struct pkt_queue *q, struct pkt *p)
{
	p->next = NULL;
	if (q->tail)
		q->tail->next = p;
	else
		q->head = p;
	q->tail = p;
	q->n++;
}

static inline struct pkt *pkt_queue_pop(struct pkt_queue *q)
{
	struct pkt *p = q->head;

	if (!p)
		return NULL;
	q->head = p->next;
	if (!q->head)
		q->tail = NULL;
	q->n--;
	p->next = NULL;
	return p;
}

/* pkt_queue_push() - Put a packet in front of the others */
static inline void pkt_queue_push(struct pkt_queue *q, struct pkt *p)
{
	p->next = q->head;
	q->head = p;
	if (!q->tail)
		q->tail = p;
	q->n++;
}

void pkt_queue_purge(struct pkt_queue *q);

#endif

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
 * Headers are pushed downwards: the code that makes a packet puts the innermost headers (encapsulation, IP, TCP)
 * against the end of hdr[], and the HCA puts DETH, BTH, GRH and LRH before them. The tail holds the octets that
 * follow the payload on an InfiniBand link: pad octets, ICRC and VCRC. Small packets are in hdr[] alone. Segmentation
 * makes packets whose slices refer to one buffer; multicast clones descriptors.
 *
 * A descriptor may represent several packets of one flow, a train (train/train.h). Limits and counters of packets (in
 * queues, rings, batches, budgets) count each descriptor as pkt_count() packets.
 *
 * A pool belongs to one thread. Descriptors and buffers come from a few large arenas that are allocated at the start.
 * When they run out, pkt_alloc() fails, and the caller drops the packet.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PKT_HDR_MAX 192
#define PKT_TAIL_MAX 12
#define PKT_PRIV_LEN 16
/* largest number of packets that one call of a send or receive function takes */
#define PKT_BATCH 128
#define PKT_HOPS 64 /* largest number of links that a packet may cross */
#define PKT_BUF_SIZE (68 * 1024) /* size of a buffer, for a super-frame of 64 KiB and its headers */
/* Addresses and sizes of buffers are multiples of this, so a buffer consists of whole lines of the CPU's cache */
#define PKT_BUF_ALIGN 64u
/* Size of a small buffer, for one packet of the largest InfiniBand MTU; see pkt_shrink() */
#define PKT_SMALL_SIZE 4352

struct pkt_pool;

struct pkt_buf {
	struct pkt_buf *next; /* link in the free list */
	struct pkt_pool *pool;
	uint32_t refs;
	bool small;
	uint8_t *data; /* PKT_BUF_SIZE octets, or PKT_SMALL_SIZE if .small */
};

struct pkt_slice {
	struct pkt_buf *buf;
	const uint8_t *data; /* first octet of the slice, inside buf->data */
	uint32_t len;
};

enum pkt_flags {
	PKT_CRC = 1 << 0, /* the tail holds both CRCs, which the receiver verifies */
	PKT_ICRC = 1 << 1, /* the tail holds an ICRC and no VCRC; never set together with PKT_CRC */
	PKT_OUTSIDE = 1 << 2, /* the packet came from another process and gets a new hop budget */
	/* With PKT_CRC: the VCRC was verified, and needs no further check until octets of the packet change */
	PKT_VCRC_OK = 1 << 3,
	/* the ICRC was verified, and stays valid, because switches change no octet that the ICRC covers */
	PKT_ICRC_OK = 1 << 4,
};

struct pkt {
	struct pkt *next; /* link in a queue or in the free list */
	struct pkt_pool *pool;
	uint32_t flags; /* enum pkt_flags */
	uint32_t len; /* octets in hdr[head..) and the slices, without the tail */
	uint16_t head;
	uint8_t hops; /* links that the packet may still cross */
	uint8_t nslices;
	uint8_t tail_len;
	uint8_t vl; /* virtual lane of the packet; 15 for SMPs */
	/* number of packets that the descriptor represents: 1, or more in a train */
	uint16_t count;
	/* in a train: octets of payload in each packet except the last, which may be shorter */
	uint16_t seg;
	uint16_t seals_at; /* in a train with .seals: index in .seals of the first packet's CRCs */
	uint8_t tail[PKT_TAIL_MAX];
	struct pkt_buf *seals; /* in a train: the CRCs of its packets (train/seal.c); or NULL */
	/* Data of the layers that make and receive packets (util/frame.h), which this file does not interpret */
	uint8_t priv[PKT_PRIV_LEN] __attribute__((aligned(8)));
	struct pkt_slice slice[2];
	uint8_t hdr[PKT_HDR_MAX] __attribute__((aligned(16)));
};

/* A first-in-first-out queue. A zeroed struct is valid and empty. */
struct pkt_queue {
	struct pkt *head, *tail;
	uint32_t n; /* number of packets in the queue; a descriptor may represent several */
};

/**
 * pkt_pool_create() - Make a pool
 * @npkts:	number of descriptors
 * @nbufs:	number of buffers of PKT_BUF_SIZE, whose pages are touched on first use only
 *
 * Return: NULL if out of memory
 */
struct pkt_pool *pkt_pool_create(unsigned int npkts, unsigned int nbufs);

/*
 * pkt_pool_destroy() - Free a pool. All its packets and buffers must have been returned. NULL is
 * accepted
 */
void pkt_pool_destroy(struct pkt_pool *pool);

/* Numbers of descriptors and of buffers (without small buffers) in use, for leak checks and `stats` */
unsigned int pkt_pool_pkts_used(const struct pkt_pool *pool);
unsigned int pkt_pool_bufs_used(const struct pkt_pool *pool);
/*
 * pkt_pool_is_scarce() - Tell whether more than half of the descriptors or of the buffers are in
 * use
 */
bool pkt_pool_is_scarce(const struct pkt_pool *pool);

/*
 * pkt_alloc() - Get an empty packet (head at PKT_HDR_MAX, full hop budget, private octets zero).
 * Return: NULL if the pool is exhausted
 */
struct pkt *pkt_alloc(struct pkt_pool *pool);

/* pkt_free() - Return a packet to the pool, and drop its references to buffers; NULL is accepted */
void pkt_free(struct pkt *p);
void pkt_free_batch(struct pkt **v, unsigned int n);

/*
 * pkt_buf_alloc(), pkt_buf_alloc_small() - Get a large or a small buffer with one reference.
 * Return: NULL if the pool has none left
 */
struct pkt_buf *pkt_buf_alloc(struct pkt_pool *pool);
struct pkt_buf *pkt_buf_alloc_small(struct pkt_pool *pool);
void pkt_buf_put(struct pkt_buf *b);

static inline struct pkt_buf *pkt_buf_get(struct pkt_buf *b)
{
	b->refs++;
	return b;
}

/*
 * pkt_clone() - Make a packet that shares the payload of @p, and has a copy of the headers, the
 * tail and the private octets. Return: NULL if the pool is exhausted
 */
struct pkt *pkt_clone(const struct pkt *p);

/**
 * pkt_from_data() - Make a packet whose payload is a copy of @data
 *
 * A small payload is put into hdr[] (which leaves 100 octets of room for headers), a larger one into
 * a buffer.
 * Return: NULL if the pool is exhausted or @len exceeds PKT_BUF_SIZE
 */
struct pkt *pkt_from_data(struct pkt_pool *pool, const void *data, size_t len);

/*
 * pkt_add_slice() - Append a slice of @b, and take a new reference to @b. A packet has at most two
 * slices. Return: 0 or -ENOSPC
 */
int pkt_add_slice(struct pkt *p, struct pkt_buf *b, const uint8_t *data, uint32_t len);

/*
 * pkt_move_slices() - Move the first @n octets of the slices of @src to @dst, which has no slice. @n is at most the
 * length of these slices
 */
void pkt_move_slices(struct pkt *dst, struct pkt *src, uint32_t n);

static inline uint32_t pkt_hdr_len(const struct pkt *p)
{
	return PKT_HDR_MAX - p->head;
}

/* pkt_count() - Return the number of packets that the descriptor represents */
static inline unsigned int pkt_count(const struct pkt *p)
{
	return p->count;
}

static inline bool pkt_is_train(const struct pkt *p)
{
	return p->count > 1;
}

/*
 * pkt_octets() - Return the number of octets of all packets of the descriptor, without tails. In a
 * train, the headers in hdr[] count for each packet
 */
static inline uint32_t pkt_octets(const struct pkt *p)
{
	return p->len + (p->count - 1u) * pkt_hdr_len(p);
}

/* pkt_count_batch() - Return the number of packets that the @n descriptors at @v represent */
static inline unsigned int pkt_count_batch(struct pkt *const *v, unsigned int n)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < n; i++)
		count += pkt_count(v[i]);
	return count;
}

static inline uint8_t *pkt_hdr(struct pkt *p)
{
	return p->hdr + p->head;
}

/*
 * pkt_push() - Make room for @n octets before the packet. Return: the address of these octets; NULL
 * if hdr[] has no room
 */
static inline uint8_t *pkt_push(struct pkt *p, unsigned int n)
{
	if (n > p->head)
		return NULL;
	p->head = (uint16_t)(p->head - n);
	p->len += n;
	return p->hdr + p->head;
}

/*
 * pkt_gather() - Move octets from the slices into hdr[] until @n octets are there. Only for
 * pkt_pull() and pkt_pull_hdr()
 */
const uint8_t *pkt_gather(struct pkt *p, unsigned int n);

/**
 * pkt_pull() - Make the first @n octets contiguous
 *
 * Octets are moved from the slices into hdr[] only when needed.
 * Return: the address of these octets, valid until the packet changes; NULL if the packet is
 * shorter or hdr[] has no room for the octets
 */
static inline const uint8_t *pkt_pull(struct pkt *p, unsigned int n)
{
	if (n <= pkt_hdr_len(p))
		return pkt_hdr(p);
	if (p->head == PKT_HDR_MAX && p->nslices && n <= p->slice[0].len)
		return p->slice[0].data;
	return pkt_gather(p, n);
}

/*
 * pkt_pull_hdr() - Like pkt_pull(), but always move the octets into hdr[], where the caller may change them,
 * because no other packet shares hdr[]
 */
static inline uint8_t *pkt_pull_hdr(struct pkt *p, unsigned int n)
{
	if (n > pkt_hdr_len(p) && !pkt_gather(p, n))
		return NULL;
	return pkt_hdr(p);
}

/* pkt_trim_head() - Remove the first @n octets; @n at most p->len */
void pkt_trim_head(struct pkt *p, unsigned int n);

/* pkt_trim() - Cut the packet to @len octets, not counting the tail; @len at most p->len */
void pkt_trim(struct pkt *p, uint32_t len);

/* pkt_copy_out() - Copy up to @len octets from offset @off; returns the number of octets copied */
size_t pkt_copy_out(const struct pkt *p, uint32_t off, void *dst, size_t len);

/**
 * pkt_shrink() - Move the payload into a small buffer, so that the packet no longer keeps large buffers in use
 *
 * Called for packets that wait for a while. For example, a frame of 100 octets from a TAP shares a
 * buffer of PKT_BUF_SIZE with other frames. The whole buffer stays in use until this frame is
 * freed. A pool has one small buffer for every four descriptors.
 * Return: 0, also if the payload is not in a large buffer; -EMSGSIZE: the payload exceeds PKT_SMALL_SIZE; -ENOMEM
 */
int pkt_shrink(struct pkt *p);

/*
 * pkt_unshare() - Copy the payload into one new buffer, unless the payload is one slice of a buffer
 * to which nothing else refers. Return: 0 or -ENOMEM
 */
int pkt_unshare(struct pkt *p);

/*
 * pkt_replace_payload() - Keep the first @hlen octets of @p, which are in hdr[], and make the first @n octets of @b the
 * only slice. Takes over the caller's reference to @b
 */
void pkt_replace_payload(struct pkt *p, unsigned int hlen, struct pkt_buf *b, uint32_t n);

static inline void pkt_queue_add(struct pkt_queue *q, struct pkt *p)
{
	p->next = NULL;
	if (q->tail)
		q->tail->next = p;
	else
		q->head = p;
	q->tail = p;
	q->n += pkt_count(p);
}

static inline struct pkt *pkt_queue_pop(struct pkt_queue *q)
{
	struct pkt *p = q->head;

	if (!p)
		return NULL;
	q->head = p->next;
	if (!q->head)
		q->tail = NULL;
	q->n -= pkt_count(p);
	p->next = NULL;
	return p;
}

/* pkt_queue_push() - Insert a packet at the head of a queue */
static inline void pkt_queue_push(struct pkt_queue *q, struct pkt *p)
{
	p->next = q->head;
	q->head = p;
	if (!q->tail)
		q->tail = p;
	q->n += pkt_count(p);
}

void pkt_queue_purge(struct pkt_queue *q);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/pkt.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PKT_ROOM 100 /* number of octets that a small packet in hdr[] leaves free for headers */

#define PKTS_PER_SMALL 4

/* Buffers of one size, in one arena whose pages are touched on first use. */
struct bufs {
	struct pkt_buf *free;
	struct pkt_buf *all;
	uint8_t *arena;
	size_t arena_size;
	unsigned int n, used;
};

struct pkt_pool {
	struct pkt *free_pkts; /* descriptors that were in use before */
	struct pkt *pkts;
	/*
	 * .npkts_ever: number of descriptors that were ever in use; these are the first descriptors
	 * in .pkts
	 */
	unsigned int npkts, npkts_ever, pkts_used;
	struct bufs large, small;
};

static_assert(!(PKT_BUF_SIZE % PKT_BUF_ALIGN) && !(PKT_SMALL_SIZE % PKT_BUF_ALIGN),
	      "each buffer of an arena, which begins at a page, has this alignment");

static int bufs_make(struct bufs *bs, struct pkt_pool *pool, unsigned int n, size_t size)
{
	bs->n = n;
	if (!n)
		return 0;
	bs->arena_size = n * size;
	bs->arena = mmap(NULL, bs->arena_size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bs->arena == MAP_FAILED) {
		bs->arena = NULL;
		return -ENOMEM;
	}
	bs->all = calloc(n, sizeof(*bs->all));
	if (!bs->all)
		return -ENOMEM;
	/*
	 * Fill the free list in descending order of addresses, so that the buffers with the lowest
	 * addresses are used, and their pages touched, first.
	 */
	for (unsigned int i = n; i-- > 0;) {
		struct pkt_buf *b = &bs->all[i];

		b->pool = pool;
		b->data = bs->arena + i * size;
		b->small = bs == &pool->small;
		b->next = bs->free;
		bs->free = b;
	}
	return 0;
}

static void bufs_free(struct bufs *bs)
{
	if (bs->arena)
		munmap(bs->arena, bs->arena_size);
	free(bs->all);
}

static struct pkt_buf *bufs_take(struct bufs *bs)
{
	struct pkt_buf *b = bs->free;

	if (!b)
		return NULL;
	bs->free = b->next;
	bs->used++;
	b->refs = 1;
	return b;
}

struct pkt_pool *pkt_pool_create(unsigned int npkts, unsigned int nbufs)
{
	struct pkt_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->npkts = npkts;
	if (posix_memalign((void **)&pool->pkts, 64, (npkts + 1u) * sizeof(*pool->pkts)))
		pool->pkts = NULL;
	if (!pool->pkts || bufs_make(&pool->large, pool, nbufs, PKT_BUF_SIZE) ||
	    bufs_make(&pool->small, pool, npkts / PKTS_PER_SMALL, PKT_SMALL_SIZE)) {
		pkt_pool_destroy(pool);
		return NULL;
	}
	return pool;
}

void pkt_pool_destroy(struct pkt_pool *pool)
{
	if (!pool)
		return;
	bufs_free(&pool->large);
	bufs_free(&pool->small);
	free(pool->pkts);
	free(pool);
}

unsigned int pkt_pool_pkts_used(const struct pkt_pool *pool)
{
	return pool->pkts_used;
}

unsigned int pkt_pool_bufs_used(const struct pkt_pool *pool)
{
	return pool->large.used;
}

bool pkt_pool_is_scarce(const struct pkt_pool *pool)
{
	return pool->pkts_used > pool->npkts / 2 || pool->large.used > pool->large.n / 2;
}

/*
 * Take a descriptor from the free list, or else the first one that was never in use. So a large pool of which only a
 * few descriptors are used at a time touches little memory.
 */
static struct pkt *pkt_take(struct pkt_pool *pool)
{
	struct pkt *p = pool->free_pkts;

	if (p) {
		pool->free_pkts = p->next;
		return p;
	}
	if (pool->npkts_ever == pool->npkts)
		return NULL;
	p = &pool->pkts[pool->npkts_ever++];
	p->pool = pool;
	return p;
}

struct pkt *pkt_alloc(struct pkt_pool *pool)
{
	struct pkt *p = pkt_take(pool);

	if (!p)
		return NULL;
	pool->pkts_used++;
	p->next = NULL;
	p->flags = 0;
	p->len = 0;
	p->head = PKT_HDR_MAX;
	p->hops = PKT_HOPS;
	p->nslices = 0;
	p->tail_len = 0;
	p->vl = 0;
	p->count = 1;
	p->seg = 0;
	p->seals = NULL;
	memset(p->priv, 0, sizeof(p->priv));
	return p;
}

void pkt_free(struct pkt *p)
{
	if (!p)
		return;
	for (unsigned int i = 0; i < p->nslices; i++)
		pkt_buf_put(p->slice[i].buf);
	if (p->seals)
		pkt_buf_put(p->seals);
	p->next = p->pool->free_pkts;
	p->pool->free_pkts = p;
	p->pool->pkts_used--;
}

void pkt_free_batch(struct pkt **v, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		pkt_free(v[i]);
}

struct pkt_buf *pkt_buf_alloc(struct pkt_pool *pool)
{
	return bufs_take(&pool->large);
}

struct pkt_buf *pkt_buf_alloc_small(struct pkt_pool *pool)
{
	return bufs_take(&pool->small);
}

void pkt_buf_put(struct pkt_buf *b)
{
	struct bufs *bs = b->small ? &b->pool->small : &b->pool->large;

	if (--b->refs)
		return;
	b->next = bs->free;
	bs->free = b;
	bs->used--;
}

struct pkt *pkt_clone(const struct pkt *p)
{
	struct pkt *c = pkt_alloc(p->pool);

	if (!c)
		return NULL;
	memcpy(c, p, offsetof(struct pkt, hdr));
	c->next = NULL;
	memcpy(c->hdr + c->head, p->hdr + p->head, PKT_HDR_MAX - p->head);
	for (unsigned int i = 0; i < c->nslices; i++)
		pkt_buf_get(c->slice[i].buf);
	if (c->seals)
		pkt_buf_get(c->seals);
	return c;
}

struct pkt *pkt_from_data(struct pkt_pool *pool, const void *data, size_t len)
{
	struct pkt *p;
	struct pkt_buf *b;

	if (len > PKT_BUF_SIZE)
		return NULL;
	p = pkt_alloc(pool);
	if (!p)
		return NULL;
	if (len <= PKT_HDR_MAX - PKT_ROOM) {
		memcpy(pkt_push(p, (unsigned int)len), data, len);
		return p;
	}
	b = pkt_buf_alloc(pool);
	if (!b) {
		pkt_free(p);
		return NULL;
	}
	memcpy(b->data, data, len);
	pkt_add_slice(p, b, b->data, (uint32_t)len);
	pkt_buf_put(b);
	return p;
}

int pkt_add_slice(struct pkt *p, struct pkt_buf *b, const uint8_t *data, uint32_t len)
{
	if (p->nslices == 2)
		return -ENOSPC;
	p->slice[p->nslices++] = (struct pkt_slice){ pkt_buf_get(b), data, len };
	p->len += len;
	return 0;
}

static void drop_first_slice(struct pkt *p)
{
	pkt_buf_put(p->slice[0].buf);
	p->slice[0] = p->slice[1];
	p->nslices--;
}

void pkt_move_slices(struct pkt *dst, struct pkt *src, uint32_t n)
{
	while (n) {
		struct pkt_slice *s = &src->slice[0];
		uint32_t take = n < s->len ? n : s->len;

		pkt_add_slice(dst, s->buf, s->data, take);
		s->data += take;
		s->len -= take;
		src->len -= take;
		n -= take;
		if (!s->len)
			drop_first_slice(src);
	}
}

const uint8_t *pkt_gather(struct pkt *p, unsigned int n)
{
	unsigned int have = pkt_hdr_len(p), miss = n - have;

	if (n > p->len || miss > p->head)
		return NULL;
	memmove(p->hdr + p->head - miss, p->hdr + p->head, have);
	pkt_copy_out(p, have, p->hdr + PKT_HDR_MAX - miss, miss);
	p->head = (uint16_t)(p->head - miss);
	while (miss) {
		struct pkt_slice *s = &p->slice[0];
		uint32_t take = miss < s->len ? miss : s->len;

		s->data += take;
		s->len -= take;
		miss -= take;
		if (!s->len)
			drop_first_slice(p);
	}
	return pkt_hdr(p);
}

void pkt_trim_head(struct pkt *p, unsigned int n)
{
	unsigned int from_hdr = pkt_hdr_len(p);

	if (from_hdr > n)
		from_hdr = n;
	p->head = (uint16_t)(p->head + from_hdr);
	p->len -= n;
	n -= from_hdr;
	while (n) {
		struct pkt_slice *s = &p->slice[0];
		uint32_t take = n < s->len ? n : s->len;

		s->data += take;
		s->len -= take;
		n -= take;
		if (!s->len)
			drop_first_slice(p);
	}
}

void pkt_trim(struct pkt *p, uint32_t len)
{
	uint32_t cut = p->len - len;

	while (cut && p->nslices) {
		struct pkt_slice *s = &p->slice[p->nslices - 1];
		uint32_t take = cut < s->len ? cut : s->len;

		s->len -= take;
		cut -= take;
		if (!s->len) {
			pkt_buf_put(s->buf);
			p->nslices--;
		}
	}
	if (cut) {
		/*
		 * The octets in hdr[] have to end at PKT_HDR_MAX, so move the remaining octets up.
		 */
		memmove(p->hdr + p->head + cut, p->hdr + p->head, len);
		p->head = (uint16_t)(p->head + cut);
	}
	p->len = len;
}

size_t pkt_copy_out(const struct pkt *p, uint32_t off, void *dst, size_t len)
{
	struct {
		const uint8_t *data;
		uint32_t len;
	} part[3] = { { p->hdr + p->head, pkt_hdr_len(p) } };
	uint8_t *out = dst;
	size_t done = 0;

	for (unsigned int i = 0; i < p->nslices; i++) {
		part[i + 1].data = p->slice[i].data;
		part[i + 1].len = p->slice[i].len;
	}
	for (unsigned int i = 0; i <= p->nslices && done < len; i++) {
		size_t n;

		if (off >= part[i].len) {
			off -= part[i].len;
			continue;
		}
		n = part[i].len - off;
		if (n > len - done)
			n = len - done;
		memcpy(out + done, part[i].data + off, n);
		done += n;
		off = 0;
	}
	return done;
}

void pkt_replace_payload(struct pkt *p, unsigned int hlen, struct pkt_buf *b, uint32_t n)
{
	while (p->nslices)
		drop_first_slice(p);
	memmove(p->hdr + PKT_HDR_MAX - hlen, pkt_hdr(p), hlen);
	p->head = (uint16_t)(PKT_HDR_MAX - hlen);
	p->len = hlen;
	pkt_add_slice(p, b, b->data, n);
	pkt_buf_put(b);
}

/*
 * Copy the slices of @p to @b, which has room for them, and make @b the only slice. Takes over the
 * caller's reference to @b.
 */
static void move_payload(struct pkt *p, struct pkt_buf *b)
{
	uint32_t hlen = pkt_hdr_len(p), plen = p->len - hlen;

	pkt_copy_out(p, hlen, b->data, plen);
	pkt_replace_payload(p, hlen, b, plen);
}

int pkt_unshare(struct pkt *p)
{
	struct pkt_buf *b;

	if (!p->nslices || (p->nslices == 1 && p->slice[0].buf->refs == 1))
		return 0;
	if (p->len - pkt_hdr_len(p) > PKT_BUF_SIZE)
		return -ENOMEM;
	b = pkt_buf_alloc(p->pool);
	if (!b)
		return -ENOMEM;
	move_payload(p, b);
	return 0;
}

int pkt_shrink(struct pkt *p)
{
	struct pkt_buf *b;

	if (!p->nslices || (p->nslices == 1 && p->slice[0].buf->small))
		return 0;
	if (p->len - pkt_hdr_len(p) > PKT_SMALL_SIZE)
		return -EMSGSIZE;
	b = pkt_buf_alloc_small(p->pool);
	if (!b)
		return -ENOMEM;
	move_payload(p, b);
	return 0;
}

void pkt_queue_purge(struct pkt_queue *q)
{
	struct pkt *p;

	while ((p = pkt_queue_pop(q)))
		pkt_free(p);
}

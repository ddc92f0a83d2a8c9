// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause

/*
 * Memory regions. A key consists of an index into the table dev->mrs and eight random bits. Because
 * of the random bits, the key of a freed region is seldom valid for the next region with this
 * index. Local and remote key are equal.
 *
 * A posted work request has a reference to the region of each of its SGEs, so struct uib_mr exists until the work
 * request has completed. The memory of the region may be freed before that. So .users counts the functions that copy
 * octets to or from this memory at the moment. When uib_dereg_mr() returns, no such function runs and none can begin.
 * Work requests that are still posted complete with a local protection error.
 */

#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "uib.h"

#define KEY_BITS 8 /* random bits of a key; the other bits are the index */
#define ACCESS_SUPPORTED                                                          \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
	 IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_OPTIONAL)

static struct uib_mr *to_umr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct uib_mr, ibmr);
}

/* --- references and use */

static void mr_free(struct kref *ref)
{
	struct uib_mr *mr = container_of(ref, struct uib_mr, ref);

	kfree_rcu(mr, rcu);
}

static bool uib_mr_begin(struct uib_mr *mr)
{
	return refcount_inc_not_zero(&mr->users);
}

static void uib_mr_end(struct uib_mr *mr)
{
	if (refcount_dec_and_test(&mr->users))
		complete(&mr->unused);
}

static bool inside(const struct uib_mr *mr, u64 addr, u32 len)
{
	return addr >= mr->iova && len <= mr->length && addr - mr->iova <= mr->length - len;
}

/* Find the region with the key @key, and take a reference to it for the caller; NULL if there is none */
static struct uib_mr *find(struct uib_dev *dev, u32 key)
{
	struct uib_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, key >> KEY_BITS);
	if (mr && (mr->ibmr.lkey != key || !kref_get_unless_zero(&mr->ref)))
		mr = NULL;
	rcu_read_unlock();
	return mr;
}

int uib_sge_get(const struct uib_qp *qp, const struct ib_sge *sge, int access, struct uib_sge *ret)
{
	struct uib_mr *mr;

	*ret = (struct uib_sge){ .addr = sge->addr, .length = sge->length };
	/* The key of an SGE of length 0 is not checked. */
	if (!sge->length)
		return 0;
	if (sge->lkey == UIB_LOCAL_DMA_LKEY)
		return qp->is_user ? -EINVAL : 0;
	mr = find(qp->dev, sge->lkey);
	if (!mr)
		return -EINVAL;
	ret->mr = mr;
	if (mr->pd == qp->ibqp.pd && inside(mr, sge->addr, sge->length) &&
	    (mr->access & access) == access)
		return 0;
	uib_sge_put(ret, 1);
	return -EINVAL;
}

void uib_sge_put(struct uib_sge *sge, unsigned int n)
{
	for (; n; sge++, n--) {
		if (sge->mr)
			kref_put(&sge->mr->ref, mr_free);
		sge->mr = NULL;
	}
}

/* --- copies */

static void copy_pages(const struct uib_mr *mr, u64 addr, u8 *buf, u32 len, bool write)
{
	u64 at = addr - mr->iova + mr->offset;

	while (len) {
		struct page *page = mr->pages[at >> PAGE_SHIFT];
		u32 part = min_t(u32, len, PAGE_SIZE - offset_in_page(at));

		if (write)
			memcpy_to_page(page, offset_in_page(at), buf, part);
		else
			memcpy_from_page(buf, page, offset_in_page(at), part);
		at += part;
		buf += part;
		len -= part;
	}
}

static bool copy(const struct uib_sge *sge, u32 skip, u8 *buf, u32 len, bool write)
{
	void *kernel = (void *)(uintptr_t)(sge->addr + skip);
	struct uib_mr *mr = sge->mr;
	bool ok;

	if (mr && !uib_mr_begin(mr))
		return false;
	ok = skip <= sge->length && len <= sge->length - skip &&
	     (!mr || inside(mr, sge->addr + skip, len));
	if (!ok)
		;
	else if (mr && mr->umem)
		copy_pages(mr, sge->addr + skip, buf, len, write);
	else if (write)
		memcpy(kernel, buf, len);
	else
		memcpy(buf, kernel, len);
	if (mr)
		uib_mr_end(mr);
	return ok;
}

bool uib_sge_read(const struct uib_sge *sge, u32 skip, u8 *to, u32 len)
{
	return copy(sge, skip, to, len, false);
}

bool uib_sge_write(const struct uib_sge *sge, u32 skip, const u8 *from, u32 len)
{
	return copy(sge, skip, (u8 *)from, len, true);
}

/* --- verbs */

/* Add @mr to dev->mrs, and set its keys and its counts. The caller has set the other members. */
static int publish(struct uib_dev *dev, struct uib_mr *mr)
{
	u32 index;
	int err;

	kref_init(&mr->ref);
	refcount_set(&mr->users, 1);
	init_completion(&mr->unused);
	err = xa_alloc_cyclic(&dev->mrs, &index, NULL, XA_LIMIT(1, UIB_MAX_MR), &dev->next_mr,
			      GFP_KERNEL);
	if (err < 0)
		return err;
	mr->ibmr.lkey = mr->ibmr.rkey =
		index << KEY_BITS | (get_random_u32() & (BIT(KEY_BITS) - 1));
	xa_store(&dev->mrs, index, mr, GFP_KERNEL); /* the entry is reserved, so this cannot fail */
	return 0;
}

struct ib_mr *uib_get_dma_mr(struct ib_pd *pd, int access)
{
	struct uib_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	int err;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->pd = pd;
	mr->access = access;
	mr->length = U64_MAX;
	err = publish(to_uib(pd->device), mr);
	if (!err)
		return &mr->ibmr;
	kfree(mr);
	return ERR_PTR(err);
}

static int list_pages(struct uib_mr *mr)
{
	size_t n = ib_umem_num_pages(mr->umem), i = 0;
	struct sg_page_iter iter;

	mr->pages = kvmalloc_array(n, sizeof(*mr->pages), GFP_KERNEL_ACCOUNT);
	if (!mr->pages)
		return -ENOMEM;
	for_each_sgtable_page(&mr->umem->sgt_append.sgt, &iter, 0)
	{
		if (i == n)
			break;
		mr->pages[i++] = sg_page_iter_page(&iter);
	}
	return i == n ? 0 : -EINVAL;
}

static void release(struct uib_mr *mr)
{
	kvfree(mr->pages);
	ib_umem_release(mr->umem);
}

struct ib_mr *uib_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr, int access,
			      uib_dmah_param struct ib_udata *udata)
{
	struct uib_quota *quota = uib_quota_of(udata);
	struct uib_mr *mr;
	int err;

	if ((access & ~ACCESS_SUPPORTED) || check_add_overflow(virt_addr, length, &(u64){ 0 }))
		return ERR_PTR(-EINVAL);
	err = uib_quota_take(quota, UIB_Q_MR);
	if (err)
		return ERR_PTR(err);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr) {
		err = -ENOMEM;
		goto err_quota;
	}
	mr->quota = quota;
	mr->umem = ib_umem_get(pd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		err = PTR_ERR(mr->umem);
		goto err_mr;
	}
	mr->pd = pd;
	mr->access = access;
	mr->iova = virt_addr;
	mr->length = length;
	mr->offset = offset_in_page(start);
	err = list_pages(mr) ?: publish(to_uib(pd->device), mr);
	if (!err)
		return &mr->ibmr;
	release(mr);
err_mr:
	kfree(mr);
err_quota:
	uib_quota_give(quota, UIB_Q_MR);
	return ERR_PTR(err);
}

int uib_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct uib_mr *mr = to_umr(ibmr);

	xa_erase(&to_uib(ibmr->device)->mrs, ibmr->lkey >> KEY_BITS);
	if (!refcount_dec_and_test(&mr->users))
		wait_for_completion(&mr->unused);
	if (mr->umem)
		release(mr);
	uib_quota_give(mr->quota, UIB_Q_MR);
	kref_put(&mr->ref, mr_free);
	return 0;
}

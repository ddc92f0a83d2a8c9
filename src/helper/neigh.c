/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/srv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * DOC: Deletion of neighbours by hardware address, or of all neighbours
 *
 * The kernel finds neighbours by IP address only, so the whole table is dumped and searched. One dump serves up
 * to NETDEV_HWS_MAX hardware addresses. Each call of step() reads one piece of the dump or deletes a few entries,
 * so requests for other namespaces wait for one piece at most. Entries are deleted after the dump has ended,
 * because a deletion during the dump shifts later entries, so that the dump skips some of them.
 */

#define FOUND_MAX 1024 /* entries deleted after one dump; if there are more, another dump follows */
#define DELETE_PIECE 32 /* entries deleted by one step */
#define ROUNDS_MAX \
	1024 /* largest number of dumps for one request, in case entries are added as fast as they are deleted */

struct srv_neigh {
	uint32_t seq; /* tag of the request, which its response repeats */
	int ifindex;
	unsigned int nhws; /* number of addresses in .hw; 0: delete all entries that were learnt */
	uint8_t hw[NETDEV_HWS_MAX][RTNL_HW_MAX]; /* the addresses, sorted */
	bool dumping; /* a dump is under way */
	enum rtnl_family family; /* family whose table is searched now */
	unsigned int nfound; /* number of entries in .found */
	unsigned int next; /* index in .found of the next entry to delete */
	bool full; /* the dump showed more entries than .found has room for */
	unsigned int rounds; /* number of dumps so far */
	int deleted; /* number of entries deleted so far */
	struct rtnl_ip found[FOUND_MAX];
};

static int by_octets(const void *a, const void *b)
{
	return memcmp(a, b, RTNL_HW_MAX);
}

void srv_neigh_free(struct srv *s, struct srv_ns *ns)
{
	if (!ns->neigh)
		return;
	free(ns->neigh);
	ns->neigh = NULL;
	s->nneigh--;
}

int srv_neigh_del(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r)
{
	struct srv_neigh *n;
	int err;

	if (req->hws.n > NETDEV_HWS_MAX)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EINVAL,
				  "number of hardware addresses");
	err = srv_tap_enter(ns, req->ifindex, r);
	if (err)
		return err;
	n = malloc(sizeof(*n));
	if (!n)
		return srv_refuse(r, NETDEV_REFUSED_NEIGH, -ENOMEM, "deleting neighbours");
	memset(n, 0, offsetof(struct srv_neigh, found));
	n->seq = req->seq;
	n->ifindex = req->ifindex;
	n->nhws = req->hws.n;
	memcpy(n->hw, req->hws.hw, n->nhws * sizeof(n->hw[0]));
	qsort(n->hw, n->nhws, sizeof(n->hw[0]), by_octets);
	n->family = RTNL_V4;
	ns->neigh = n;
	s->nneigh++;
	return SRV_LATER;
}

static int on_neigh(const struct rtnl_neigh *e, void *arg)
{
	struct srv_neigh *n = arg;
	uint8_t hw[RTNL_HW_MAX];

	memcpy(hw, e->hw, sizeof(hw));
	if (e->hw_len == RTNL_HW_MAX)
		hw[0] = 0; /* ignore the flags of an InfiniBand address (RFC 4391 §9.1.1) */
	if (!e->hw_len || !rtnl_neigh_learnt(e) ||
	    (n->nhws && !bsearch(hw, n->hw, n->nhws, sizeof(n->hw[0]), by_octets)))
		return 0;
	if (n->nfound == FOUND_MAX)
		n->full = true;
	else
		n->found[n->nfound++] = e->ip;
	return 0;
}

/*
 * Reads one piece of the dump. Returns 1 while the dump continues, 0 when it has ended, or -errno.
 */
static int dump_piece(struct srv_neigh *n, struct rtnl *nl)
{
	int res = 0;

	if (!n->dumping) {
		n->nfound = n->next = 0;
		n->full = false;
		n->rounds++;
		res = rtnl_neigh_dump_start(nl, n->ifindex, n->family);
		n->dumping = !res;
	}
	if (!res)
		res = rtnl_neigh_dump_piece(nl, n->ifindex, on_neigh, n);
	n->dumping = res == 1;
	return res;
}

static int delete_piece(struct srv_neigh *n, struct srv_ns *ns)
{
	struct srv_tap *t = srv_tap_at(ns, n->ifindex);
	struct rtnl *nl = &ns->nl;
	/* Since the last piece the TAP may have been deleted, and its index given to another link. */
	int present = t ? srv_tap_present(ns, t) : -ENODEV;

	if (present)
		return present;
	for (unsigned int k = 0; k < DELETE_PIECE && n->next < n->nfound; k++) {
		int err = rtnl_neigh_del(nl, n->ifindex, &n->found[n->next++]);

		if (err && err != -ENOENT)
			return err;
		n->deleted += !err;
	}
	return 0;
}

/* Returns 1 while there is more to do, 0 when all tables have been searched, or -errno. */
static int step(struct srv_ns *ns)
{
	struct srv_neigh *n = ns->neigh;
	struct rtnl *nl = &ns->nl;
	int res;

	if (!n->dumping && n->next < n->nfound) {
		res = delete_piece(n, ns);
		if (res || n->next < n->nfound)
			return res ? res : 1;
	} else {
		res = dump_piece(n, nl);
		if (res == -EOPNOTSUPP && n->family == RTNL_V6)
			return 0; /* a kernel without IPv6 */
		if (res || n->nfound)
			return res ? res : 1;
	}
	if (n->full && n->rounds < ROUNDS_MAX)
		return 1;
	if (n->family == RTNL_V6)
		return 0;
	n->family = RTNL_V6;
	n->nfound = n->next = 0;
	return 1;
}

int srv_neigh_step(struct srv *s)
{
	for (unsigned int i = 0; s->nneigh && i < s->ns_cap; i++) {
		struct srv_ns *ns = &s->ns[i];
		struct srv_reply r = { 0 };
		int res;

		if (!ns->refs || !ns->neigh)
			continue;
		res = step(ns);
		if (res == 1)
			continue;
		r.rsp.seq = ns->neigh->seq;
		r.rsp.value = ns->neigh->deleted;
		r.rsp.err = srv_rtnl_result(&r, NETDEV_REFUSED_NEIGH, res, "deleting neighbours",
					    &ns->nl);
		srv_neigh_free(s, ns);
		res = srv_answer(s, &r);
		if (res)
			return res;
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/peer.h"

#include <errno.h>
#include <stdlib.h>

#include "eth/priv.h"

struct eth_peer *eth_peer_get(struct eth_if *e, struct ipoib_neigh *n)
{
	struct eth_peer *p = n->user;

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->neigh = n;
	if (!e->shape->peer_init(e, p)) {
		free(p);
		return NULL;
	}
	ipoib_neigh_hold(n);
	n->user = p;
	list_add_tail(&e->peers, &p->link);
	return p;
}

int eth_peer_said(struct eth_if *e, struct ipoib_neigh *n, const struct ipoib_neigh *src,
		  const struct nd_port *port)
{
	int err = port->has_qkey ? ipoib_neigh_said(n, src, port) : 0;

	if (err)
		return err;
	return !port->has_qkey || eth_peer_get(e, n) ? 0 : -ENOMEM;
}

static void peer_free(struct eth_if *e, struct eth_peer *p)
{
	e->shape->peer_fini(e, p);
	list_del(&p->link);
	p->neigh->user = NULL;
	ipoib_neigh_put(p->neigh);
	free(p);
}

void eth_peer_gone(struct eth_if *e, struct ipoib_neigh *n)
{
	struct eth_peer *p = n->user;

	if (!p)
		return;
	e->shape->peer_gone(e, p);
	peer_free(e, p);
}

void eth_peers_fini(struct eth_if *e)
{
	while (!list_empty(&e->peers))
		peer_free(e, list_first(&e->peers, struct eth_peer, link));
}

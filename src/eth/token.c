/* SPDX-License-Identifier: BSD-2-Clause */
#include "eth/token.h"

#include <errno.h>
#include <string.h>

#include "eth/priv.h"

#define SALTS 16 /* number of salts that are tried to avoid a collision */

/*
 * The key ("uipoib addr-tok1" in ASCII) never changes, so that all daemons compute the same tokens.
 */
static const struct hash_key token_key = { 0x7569706f69622061ull, 0x6464722d746f6b31ull };

static void hash_mac(uint8_t ret[6], uint8_t first, const void *data, size_t len)
{
	uint64_t h = hash_siphash(&token_key, data, len);

	ret[0] = first;
	for (int i = 1; i < 6; i++)
		ret[i] = (uint8_t)(h >> (8 * (i - 1)));
}

void eth_own_mac(uint8_t ret[6], uint64_t port_guid, uint16_t pkey, uint32_t qpn)
{
	uint8_t in[14];

	be64_put(in, port_guid);
	be16_put(in + 8, pkey | IB_PKEY_FULL);
	be32_put(in + 10, qpn);
	hash_mac(ret, 0x02, in, sizeof(in));
}

static void salted_token(uint8_t ret[6], const struct ipoib_lladdr *a, uint16_t pkey, uint8_t salt)
{
	uint8_t in[IPOIB_ALEN + 3];

	ipoib_lladdr_encode(in, a);
	be16_put(in + IPOIB_ALEN, pkey | IB_PKEY_FULL);
	in[IPOIB_ALEN + 2] = salt;
	hash_mac(ret, 0x06, in, salt ? sizeof(in) : sizeof(in) - 1);
}

void eth_token(uint8_t ret[6], const struct ipoib_lladdr *a, uint16_t pkey)
{
	salted_token(ret, a, pkey, 0);
}

static struct eth_peer *peer_find(const struct eth_if *e, const uint8_t mac[6])
{
	struct hlink *n;

	for (n = htab_first(&e->tokens.peers, eth_mac_hash(mac)); n; n = htab_next(n)) {
		struct eth_peer *p = container_of(n, struct eth_peer, by_mac);

		if (eth_mac_equal(p->mac, mac))
			return p;
	}
	return NULL;
}

struct ipoib_neigh *eth_peer_by_mac(const struct eth_if *e, const uint8_t mac[6])
{
	struct eth_peer *p = peer_find(e, mac);

	return p ? p->neigh : NULL;
}

struct ipoib_neigh *eth_peer_by_hw(const struct eth_if *e, const uint8_t *hw, size_t len)
{
	struct ipoib_lladdr a;

	if (len == 6)
		return eth_peer_by_mac(e, hw);
	return ipoib_lladdr_decode(&a, hw, len) ? NULL : ipoib_neigh_find(e->cfg.link, &a);
}

/*
 * Chooses the token of @p. The token may belong to another peer, or be the MAC of the interface or
 * of a station. Such a collision is counted, and the address of @p is hashed again with a salt.
 * Return: false if every salt leads to a collision
 */
static bool choose_token(struct eth_if *e, struct eth_peer *p)
{
	for (uint8_t salt = 0; salt < SALTS; salt++) {
		salted_token(p->mac, &p->neigh->lladdr, e->cfg.pkey, salt);
		if (!peer_find(e, p->mac) && !eth_mac_is_local(e, p->mac))
			return true;
		e->stats.token_collisions++;
	}
	return false;
}

bool eth_token_init(struct eth_if *e, struct eth_peer *p)
{
	if (!choose_token(e, p) || htab_add(&e->tokens.peers, &p->by_mac, eth_mac_hash(p->mac)))
		return false;
	memcpy(p->neigh->token, p->mac, sizeof(p->neigh->token));
	p->neigh->has_token = true;
	return true;
}

void eth_token_fini(struct eth_if *e, struct eth_peer *p)
{
	htab_del(&e->tokens.peers, &p->by_mac);
	p->neigh->has_token = false;
}

void eth_token_gone(struct eth_if *e, const struct eth_peer *p)
{
	e->ops->neigh_gone(e->ctx, p->mac);
}

const uint8_t *eth_peer_mac(struct eth_if *e, struct ipoib_neigh *n)
{
	const struct eth_peer *p = eth_peer_get(e, n);

	return p ? p->mac : NULL;
}

void eth_token_unknown(struct eth_if *e, const uint8_t mac[6], ns_t now)
{
	struct eth_unknown *v = &e->tokens.unknown;
	unsigned int i = eth_mac_hash(mac) % ETH_UNKNOWN_SLOTS;

	if (v->slot[i].used && eth_mac_equal(mac, v->slot[i].mac) &&
	    now < v->slot[i].at + NS_SEC(1))
		return;
	if (!v->n || now >= v->since + NS_SEC(1)) {
		v->since = now;
		v->n = 0;
	}
	if (v->n++ >= ETH_UNKNOWN_RATE)
		return;
	memcpy(v->slot[i].mac, mac, sizeof(v->slot[i].mac));
	v->slot[i].used = true;
	v->slot[i].at = now;
	e->ops->neigh_gone(e->ctx, mac);
}

int eth_mac_to_lladdr(const struct eth_if *e, const uint8_t *mac, struct ipoib_lladdr *ret)
{
	struct eth_station *st;
	struct eth_peer *p;

	if (e->has_own && eth_mac_equal(mac, e->mac)) {
		*ret = e->own;
		return 0;
	}
	st = eth_station_by_mac(e, mac);
	if (st) {
		*ret = (struct ipoib_lladdr){ .qpn = st->qpn, .gid = e->own.gid };
		return 0;
	}
	*ret = (struct ipoib_lladdr){ 0 };
	p = peer_find(e, mac);
	if (!p)
		return -ENOENT;
	*ret = p->neigh->lladdr;
	ret->flags = p->flags;
	return 0;
}

int eth_lladdr_to_mac(struct eth_if *e, const struct ipoib_lladdr *a, uint8_t *ret,
		      struct ipoib_neigh **ret_n, ns_t now)
{
	const uint8_t *mac = eth_local_mac(e, a);

	*ret_n = mac ? NULL : ipoib_neigh_get(e->cfg.link, a, now);
	if (*ret_n)
		mac = eth_peer_mac(e, *ret_n);
	if (!mac)
		return -ENOBUFS;
	memcpy(ret, mac, 6);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "ifc/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ifc/watchdog.h"
#include "util/hash.h"

#define TX_DEPTH 4096

static_assert(IFC_ROOM < IFC_RQ_DEPTH / 2,
	      "what TAPs have under way must fit into one receive ring");

static const struct hash_key qpn_key = { 0x7569706f69622d71ull, 0x706e2d68696e7473ull };

uint32_t ifc_qpn_hint(const struct ifc *i, const uint8_t *mac)
{
	struct {
		uint64_t guid;
		uint64_t pkey;
		char name[sizeof(i->name)];
		uint8_t mac[8];
	} id;
	uint32_t qpn;

	if (i->qpn && !mac)
		return i->qpn;
	memset(&id, 0, sizeof(id));
	id.guid = i->port->guid;
	id.pkey = i->pkey;
	memcpy(id.name, i->name, sizeof(id.name));
	if (mac)
		memcpy(id.mac, mac, 6);
	qpn = (uint32_t)hash_siphash(&qpn_key, &id, mac ? sizeof(id) : offsetof(typeof(id), mac));
	qpn &= IB_QPN_MASK;
	return qpn < 0x100 ? qpn + 0x100 : qpn == IB_QPN_MCAST ? 0x100 : qpn;
}

/* --- opening and closing */

static int qp_open(struct ifc_qp *q, unsigned int rx_depth, const uint8_t *mac)
{
	struct ifc *i = q->ifc;
	struct ca_qp_attr attr = {
		.pkey_index = i->qp_pkey_index,
		.qkey = i->qp_qkey,
		.rx_depth = rx_depth,
		.tx_depth = TX_DEPTH,
		.qpn_hint = ifc_qpn_hint(i, mac),
	};
	int err = ca_qp_create(i->port->ca, &attr, q, &q->ca);

	if (!err && !ca_arm(q->ca))
		ifc_qp_ready(q);
	return err;
}

static void qp_close(struct ifc_qp *q)
{
	list_del(&q->rx_link);
	ca_qp_destroy(q->ca);
	q->ca = NULL;
}

int ifc_qp_create(struct ifc *i, uint16_t pkey_index, uint32_t qkey)
{
	i->qp_pkey_index = pkey_index;
	i->qp_qkey = qkey;
	return qp_open(&i->qp, i->rq_depth, NULL);
}

void ifc_qp_destroy(struct ifc *i)
{
	qp_close(&i->qp);
}

/*
 * Modify a queue pair and arm it again, because ca_qp_modify() drops received packets, and with
 * them perhaps the notification that packets have arrived.
 */
static int qp_modify(struct ifc_qp *q)
{
	int err = ca_qp_modify(q->ca, q->ifc->qp_pkey_index, q->ifc->qp_qkey);

	if (!err && !ca_arm(q->ca))
		ifc_qp_ready(q);
	return err;
}

int ifc_qp_modify(struct ifc *i, uint16_t pkey_index, uint32_t qkey)
{
	struct ifc_qp *q;
	int err;

	i->qp_pkey_index = pkey_index;
	i->qp_qkey = qkey;
	err = qp_modify(&i->qp);
	list_for_each (q, &i->station_qps, link) {
		int status = qp_modify(q);

		err = err ? err : status;
	}
	return err;
}

static uint32_t station_qpn(void *qp)
{
	return ca_qp_num(((struct ifc_qp *)qp)->ca);
}

void ifc_qps_renumbered(struct ifc *i, ns_t now)
{
	struct ifc_qp *q;

	if (!i->qp.ca)
		return;
	ipoib_link_set_qpn(i->ipoib, ca_qp_num(i->qp.ca), now);
	eth_stations_renumber(i->eth, station_qpn);
	if (!ca_arm(i->qp.ca))
		ifc_qp_ready(&i->qp);
	list_for_each (q, &i->station_qps, link)
		if (!ca_arm(q->ca))
			ifc_qp_ready(q);
}

int ifc_station_open(void *ctx, struct eth_station *st, const uint8_t mac[6], void **ret_qp,
		     uint32_t *ret_qpn)
{
	struct ifc *i = ctx;
	struct ifc_qp *q = calloc(1, sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	q->ifc = i;
	q->station = st;
	list_init(&q->rx_link);
	list_init(&q->link);
	err = qp_open(q, (i->rq_depth + 1) / 2, mac);
	if (err) {
		free(q);
		return err;
	}
	list_add_tail(&i->station_qps, &q->link);
	*ret_qp = q;
	*ret_qpn = ca_qp_num(q->ca);
	return 0;
}

void ifc_station_close(void *ctx, void *qp)
{
	struct ifc_qp *q = qp;

	(void)ctx;
	list_del(&q->link);
	qp_close(q);
	free(q);
}

/* --- packets */

/*
 * Post packets to a queue pair. The software HCA takes every packet. Another CA takes only as many
 * packets as its send queue has room for, and the remaining packets are lost.
 */
static void post_to(const struct ifc_qp *q, const struct ca_send *s, unsigned int n, ns_t now)
{
	unsigned int taken = q->ca ? ca_post_send(q->ca, s, n, now) : 0;

	for (unsigned int k = taken; k < n; k++)
		pkt_free(s[k].pkt);
}

void ifc_post(void *ctx, const struct eth_send *v, unsigned int n, ns_t now)
{
	struct ifc *i = ctx;
	struct ca_send s[PKT_BATCH];
	unsigned int first = 0;

	for (unsigned int k = 0; k < n; k++) {
		i->posted += pkt_count(v[k].pkt);
		s[k] = (struct ca_send){
			.pkt = v[k].pkt,
			.ah = v[k].ah,
			.dest_qp = v[k].dest_qpn,
			.qkey = v[k].qkey,
		};
		if (k + 1 < n && v[k + 1].qp == v[k].qp)
			continue;
		post_to(v[k].qp ? v[k].qp : &i->qp, s + first, k + 1 - first, now);
		first = k + 1;
	}
	ifc_watchdog_posted(i, now);
}

void ifc_qp_ready(struct ifc_qp *q)
{
	if (list_empty(&q->rx_link))
		list_add_tail(&q->ifc->set->rx_ready, &q->rx_link);
}

unsigned int ifc_qp_poll(struct ifc_qp *q, bool *ret_more, ns_t now)
{
	struct ca_wc wc[PKT_BATCH];
	struct ipoib_rx rx[PKT_BATCH];
	unsigned int n = ca_poll(q->ca, wc, PKT_BATCH), packets = 0;

	for (unsigned int k = 0; k < n; k++) {
		packets += pkt_count(wc[k].pkt);
		rx[k] = (struct ipoib_rx){
			.pkt = wc[k].pkt,
			.grh = wc[k].grh,
			.src_qp = wc[k].src_qp,
			.slid = wc[k].slid,
			.sl = wc[k].sl,
			.dlid_path_bits = wc[k].dlid_path_bits,
		};
	}
	if (n)
		eth_rx(q->ifc->eth, q->station, rx, n, now);
	*ret_more = packets >= PKT_BATCH || !ca_arm(q->ca);
	return packets;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/capture_format.h"
#include "fabric/fabric_priv.h"

/* One port whose egress is recorded: an interface of a pcapng file. */
struct tap {
	struct fabric_dev dev;
	struct tap *next;
	struct capture *c;
	unsigned int interface;
};

struct capture {
	struct fabric *f;
	struct capture_cfg cfg;
	struct capture_stats stats;
	struct tap *taps, **taps_end;
	unsigned int interfaces;
	uint8_t buf[CAPTURE_RECORD_MAX];
};

static void put(struct capture *c, size_t len)
{
	int err;

	if (c->stats.error)
		return;
	if (c->cfg.max_octets && c->stats.octets + len > c->cfg.max_octets)
		err = -EFBIG;
	else
		err = c->cfg.write(c->cfg.ctx, c->buf, len);
	if (err)
		c->stats.error = err;
	else
		c->stats.octets += len;
}

static void record(struct tap *t, const struct pkt *p, ns_t now)
{
	struct capture *c = t->c;
	size_t len;

	if (c->stats.error) {
		c->stats.missed++;
		return;
	}
	if (c->cfg.format == CAPTURE_PCAP)
		len = capture_pcap_record(c->buf, p, c->cfg.epoch + now);
	else
		len = capture_pcapng_record(c->buf, p, c->cfg.epoch + now, t->interface);
	if (!len)
		return; /* not a packet that a link could carry */
	put(c, len);
	if (c->stats.error)
		c->stats.missed++;
	else
		c->stats.packets++;
}

static void tap_pass(struct fabric_dev *d, struct pkt_queue *q, ns_t now)
{
	struct tap *t = container_of(d, struct tap, dev);

	for (const struct pkt *p = q->head; p; p = p->next)
		record(t, p, now);
}

static void tap_gone(struct fabric_dev *d)
{
	struct tap *t = container_of(d, struct tap, dev), **at = &t->c->taps;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (!t->next)
		t->c->taps_end = at;
	free(t);
}

static const struct fabric_dev_ops tap_ops = { .pass = tap_pass, .gone = tap_gone };

int capture_create(struct capture **ret, struct fabric *f, const struct capture_cfg *cfg)
{
	struct capture *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->f = f;
	c->cfg = *cfg;
	c->taps_end = &c->taps;
	put(c, cfg->format == CAPTURE_PCAP ? capture_pcap_header(c->buf)
					   : capture_pcapng_header(c->buf));
	err = c->stats.error;
	if (err) {
		free(c);
		return err;
	}
	*ret = c;
	return 0;
}

void capture_destroy(struct capture *c)
{
	if (!c)
		return;
	for (struct tap *t = c->taps, *next; t; t = next) {
		next = t->next;
		fabric_dev_del(&t->dev);
		free(t);
	}
	free(c);
}

static bool is_tapped(const struct capture *c, const struct fabric_port *p)
{
	for (const struct tap *t = c->taps; t; t = t->next)
		if (t->dev.port == p)
			return true;
	return false;
}

static int add_tap(struct capture *c, struct fabric_port *p)
{
	char name[FABRIC_NAME_MAX + 1];
	struct tap *t;

	if (is_tapped(c, p))
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->c = c;
	t->interface = c->interfaces++;
	if (c->cfg.format == CAPTURE_PCAPNG)
		put(c, capture_pcapng_interface(c->buf, fabric_port_name(p, name, sizeof(name))));
	*c->taps_end = t;
	c->taps_end = &t->next;
	fabric_dev_add(p, &t->dev, &tap_ops);
	return c->stats.error;
}

/* Where packets of end ports elsewhere enter. */
static int add_ext_ports(struct capture *c)
{
	struct fabric_link *l;
	int err = 0;

	list_for_each (l, &c->f->links, all)
		for (unsigned int i = 0; !err && i < 2; i++)
			if (l->end[i]->kind == PORT_EXT)
				err = add_tap(c, l->end[i]);
	return err;
}

int capture_add_end_ports(struct capture *c)
{
	for (unsigned int i = 0; i < c->f->nnodes; i++) {
		struct fabric_node *n = c->f->node[i];
		unsigned int first = n->hca ? 1 : 0, last = n->hca ? n->node->info.nports : 0;

		for (unsigned int k = first; k <= last; k++) {
			int err = add_tap(c, &n->port[k]);

			if (err)
				return err;
		}
	}
	return add_ext_ports(c);
}

int capture_add_link(struct capture *c, struct fabric_port *p)
{
	int err;

	if (!p->link)
		return -ENOTCONN;
	err = add_tap(c, p->link->end[0]);
	return err ? err : add_tap(c, p->link->end[1]);
}

const struct capture_stats *capture_stats(const struct capture *c)
{
	return &c->stats;
}

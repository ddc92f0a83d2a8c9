/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/capture_format.h"
#include "fabric/fabric_priv.h"
#include "util/pcap.h"

/*
 * A port whose outgoing packets are captured. A pcapng file describes each such port as an
 * interface.
 */
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

/*
 * Write the first @len octets of c->buf as a record. Return: 0; -ENOBUFS if this record was lost
 * but the next record may be written; any other error ends the capture
 */
static int put(struct capture *c, size_t len)
{
	int err;

	if (c->stats.error)
		return c->stats.error;
	if (c->cfg.max_octets && c->stats.octets + len > c->cfg.max_octets)
		err = -EFBIG;
	else
		err = c->cfg.write(c->cfg.ctx, c->buf, len);
	if (!err)
		c->stats.octets += len;
	else if (err != -ENOBUFS)
		c->stats.error = err;
	return err;
}

/*
 * Write the record of @len octets in c->buf, and count it. @len is 0 if the packet has a length
 * that cannot be recorded.
 */
static void record(struct capture *c, size_t len)
{
	if (!len)
		return;
	if (put(c, len))
		c->stats.missed++;
	else
		c->stats.packets++;
}

static void record_at(struct tap *t, const struct pkt *p, ns_t now)
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
	record(c, len);
}

static void tap_pass(struct fabric_dev *d, struct pkt_queue *q, ns_t now)
{
	struct tap *t = container_of(d, struct tap, dev);

	for (const struct pkt *p = q->head; p; p = p->next)
		record_at(t, p, now);
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
	err = put(c, cfg->format == CAPTURE_PCAP ? pcap_header(c->buf)
						 : capture_pcapng_header(c->buf));
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

/*
 * Tell whether the capture records @p. Search the devices of the port, which are few, and not the
 * list c->taps. A capture of all end ports can have tens of thousands of taps.
 */
static bool is_tapped(const struct capture *c, const struct fabric_port *p)
{
	const struct fabric_dev *d;

	list_for_each (d, &p->devs, on_port)
		if (d->ops == &tap_ops && container_of(d, const struct tap, dev)->c == c)
			return true;
	return false;
}

static int add_tap(struct capture *c, struct fabric_port *p)
{
	char name[FABRIC_NAME_MAX + 1];
	struct tap *t;
	int err = 0;

	if (is_tapped(c, p))
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	if (c->cfg.format == CAPTURE_PCAPNG)
		err = put(c, capture_pcapng_interface(
				     c->buf, fabric_port_name(p, name, sizeof(name)), NULL));
	/*
	 * If the interface block was lost, do not tap the port, because its packets would refer to
	 * an interface that the file does not describe.
	 */
	if (err == -ENOBUFS) {
		free(t);
		return err;
	}
	t->c = c;
	t->interface = c->interfaces++;
	*c->taps_end = t;
	c->taps_end = &t->next;
	fabric_dev_add(p, &t->dev, &tap_ops);
	return c->stats.error;
}

/*
 * Record at the external ends of links, too, because packets from outside enter the fabric at these
 * ends.
 */
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

int capture_add_source(struct capture *c, const char *name, const char *description)
{
	int err = put(c, capture_pcapng_interface(c->buf, name, description));

	return err ? err : (int)c->interfaces++;
}

void capture_packet(struct capture *c, const struct capture_packet *p, ns_t now)
{
	if (c->stats.error)
		c->stats.missed++;
	else
		record(c, capture_pcapng_packet(c->buf, p, c->cfg.epoch + now));
}

const struct capture_stats *capture_stats(const struct capture *c)
{
	return &c->stats;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/priv.h"

/*
 * Checks of links: states, widths, speeds, MTUs. The two ends of a link are compared only once,
 * from the end that comes first in the fabric, so that each finding is reported once.
 */

#define ALL_WIDTHS 0xff /* value of LinkWidthEnabled that means "all supported widths" */
#define ALL_SPEEDS 15
/* LinkSpeedExtEnabled is a bit mask, but this value means that no extended speed is enabled */
#define EXT_SPEEDS_DISABLED 30

/* Number of lanes for each width bit, in the order of the bits 1x, 4x, 8x, 12x, 2x */
static const uint8_t lanes[] = { 1, 4, 8, 12, 2 };

static unsigned int most_lanes(unsigned int widths)
{
	unsigned int most = 0;

	for (unsigned int i = 0; i < 5; i++)
		if (widths >> i & 1 && lanes[i] > most)
			most = lanes[i];
	return most;
}

/*
 * Names of the speeds in the order of their rates. Bit k of the mask that speeds() makes stands for
 * speed_names[k + 1]
 */
static const char *const speed_names[] = { "none", "SDR", "DDR", "QDR", "FDR",
					   "EDR",  "HDR", "NDR", "XDR" };

static unsigned int speeds(unsigned int speed, unsigned int ext)
{
	return (speed & 7) | (ext & 31) << 3;
}

/* Return: the number of the highest bit that is set, counted from 1; 0 if none is set */
static unsigned int highest(unsigned int mask)
{
	return mask ? 32 - (unsigned int)__builtin_clz(mask) : 0;
}

static bool has_ext(const struct smp_port_info *end)
{
	return end->cap_mask & SMP_CAP_IS_EXT_SPEEDS;
}

struct side {
	const struct smp_port_info *pi;
	bool ext; /* true if the extended speeds are valid */
};

static unsigned int speeds_supported(const struct side *s)
{
	return speeds(s->pi->speed_supported, s->ext ? s->pi->speed_ext_supported : 0);
}

static unsigned int speeds_enabled(const struct side *s)
{
	unsigned int v =
		s->pi->speed_enabled == ALL_SPEEDS ? s->pi->speed_supported : s->pi->speed_enabled;
	bool ext = s->ext && s->pi->speed_ext_enabled != EXT_SPEEDS_DISABLED;

	return speeds(v, ext ? s->pi->speed_ext_enabled : 0) & speeds_supported(s);
}

static unsigned int speed_active(const struct side *s)
{
	return highest(speeds(s->pi->speed_active, s->ext ? s->pi->speed_ext_active : 0));
}

static unsigned int widths_enabled(const struct side *s)
{
	unsigned int v = s->pi->width_enabled;

	return (v == ALL_WIDTHS ? 31 : v) & s->pi->width_supported;
}

static void speed(struct chk *c, const char *where, const struct side *a, const struct side *b)
{
	unsigned int now = speed_active(a);
	unsigned int can = highest(speeds_supported(a) & speeds_supported(b));
	unsigned int may = highest(speeds_enabled(a) & speeds_enabled(b));

	if (now && now < may)
		chk_add_where(c, CHK_SLOW, where, 0,
			      "runs at %s, but both ends support and enable %s", speed_names[now],
			      speed_names[may]);
	else if (now && now < can)
		chk_add_where(c, CHK_LIMITED, where, 0,
			      "runs at %s; both ends support %s, but an end does not enable it",
			      speed_names[now], speed_names[can]);
}

static void width(struct chk *c, const char *where, const struct side *a, const struct side *b)
{
	unsigned int now = most_lanes(a->pi->width_active);
	unsigned int can = most_lanes(a->pi->width_supported & b->pi->width_supported);
	unsigned int may = most_lanes(widths_enabled(a) & widths_enabled(b));

	if (now && now < may)
		chk_add_where(c, CHK_NARROW, where, 0,
			      "is %ux wide, but both ends support and enable %ux", now, may);
	else if (now && now < can)
		chk_add_where(c, CHK_LIMITED, where, 0,
			      "is %ux wide; both ends support %ux, but an end does not enable it",
			      now, can);
}

static bool is_up(const struct chk_port *p)
{
	return p->known && p->pi.port_state >= IB_PORT_INIT;
}

static void state(struct chk *c, const struct chk_node *n, const struct chk_port *p)
{
	static const char *const words[] = { "?", "Down", "Initialize", "Armed" };

	if (p->num && is_up(p) && p->pi.port_state < IB_PORT_ACTIVE)
		chk_add(c, CHK_NOT_ACTIVE, n, p->num, 0, "has a link, but its state is %s",
			words[p->pi.port_state]);
}

/*
 * Compare the settings of the two ends of a link that is up. @p is the first end, as is_first_end()
 * defines it
 */
static void both(struct chk *c, const struct chk_node *n, const struct chk_port *p)
{
	const struct chk_node *m = chk_peer(c->f, p);
	const struct chk_port *q = &m->port[p->peer_port];
	const struct side a = { &p->pi, has_ext(&chk_end(n, p)->pi) };
	const struct side b = { &q->pi, has_ext(&chk_end(m, q)->pi) };
	char where[CHK_WHERE_MAX] = "";
	struct text t = TEXT_IN(where);

	chk_name_link(&t, c->f, n, p->num);
	speed(c, where, &a, &b);
	width(c, where, &a, &b);
	if (p->pi.port_state == IB_PORT_ACTIVE && q->pi.port_state == IB_PORT_ACTIVE &&
	    p->pi.neighbor_mtu != q->pi.neighbor_mtu)
		chk_add_where(c, CHK_MTU_DIFFERS, where, 0,
			      "NeighborMTU is %u octets at the first end and %u at the second",
			      ib_mtu_octets(p->pi.neighbor_mtu), ib_mtu_octets(q->pi.neighbor_mtu));
}

/*
 * Tell whether each end of the link names the other as its peer, and @p is the first end: the end
 * with the lower node index, or of two ports of one node the lower port
 */
static bool is_first_end(const struct chk *c, const struct chk_node *n, const struct chk_port *p)
{
	const struct chk_node *m = chk_peer(c->f, p);
	const struct chk_port *q;

	if (!m || p->peer_port > m->nports)
		return false;
	q = &m->port[p->peer_port];
	if (q->peer != n->index || q->peer_port != p->num)
		return false;
	return n->index < m->index || (n == m && p->num < p->peer_port);
}

void chk_links(struct chk *c)
{
	for (uint32_t i = 0; i < c->f->n; i++) {
		const struct chk_node *n = c->f->node[i];

		for (unsigned int k = 1; k <= n->nports; k++) {
			const struct chk_port *p = &n->port[k];

			state(c, n, p);
			if (is_first_end(c, n, p) && is_up(p) &&
			    is_up(&chk_peer(c->f, p)->port[p->peer_port]))
				both(c, n, p);
		}
	}
}

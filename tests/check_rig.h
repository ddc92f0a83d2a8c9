/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CHECK_RIG_H
#define TESTS_CHECK_RIG_H

/*
 * Fabrics for the tests of src/check and src/survey. The links come from a topology file. All
 * cabled ports are Active. The rig assigns LIDs in the order of the file, and computes the LFTs by
 * a breadth-first search. rig_finds() tests that the checks of src/check report exactly one
 * finding.
 */

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "topo/topo.h"
#include "util/text.h"

static inline struct chk_node *rig_node(const struct chk_fabric *f, const char *name)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (!strcmp(f->node[i]->desc, name))
			return f->node[i];
	fail_msg("no node %s", name);
	return NULL;
}

/* rig_lid() - Return the LID of port 1 of a CA, or of port 0 of a switch */
static inline unsigned int rig_lid(const struct chk_fabric *f, const char *name)
{
	const struct chk_node *n = rig_node(f, name);

	return n->port[n->sw ? 0 : 1].lid;
}

/* rig_route() - Change the LFT of switch @sw: packets to node @to leave by @port */
static inline void rig_route(struct chk_fabric *f, const char *sw, const char *to, uint8_t port)
{
	assert_int_equal(chk_set_lft(f, rig_node(f, sw)->sw, rig_lid(f, to), port), 0);
}

/* --- a healthy fabric */

static inline void rig_set_port(const struct chk_fabric *f, const struct chk_node *n,
				struct chk_port *p)
{
	bool end = chk_is_end(n, p), up = p->peer < f->n || (n->sw && !p->num);

	p->known = true;
	p->pi = (struct smp_port_info){
		.lid = p->lid,
		.sm_lid = end ? 1 : 0,
		.cap_mask = SMP_CAP_IS_EXT_SPEEDS,
		.port_state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN,
		.phys_state = up ? IB_PHYS_LINK_UP : IB_PHYS_POLLING,
		.width_supported = 3,
		.width_enabled = 3,
		.width_active = 2,
		.speed_supported = 7,
		.speed_enabled = 7,
		.speed_active = 4,
		.speed_ext_supported = 3,
		.speed_ext_enabled = 3,
		.speed_ext_active = 2,
		.neighbor_mtu = IB_MTU_4096,
		.mtu_cap = IB_MTU_4096,
		.oper_vls = 1,
	};
}

static inline void rig_route_to(struct chk_fabric *f, const struct chk_node *dest,
				struct chk_port *end)
{
	uint32_t *queue = calloc(f->n, sizeof(*queue)), head = 0, tail = 0;
	bool *seen = calloc(f->n, sizeof(*seen));
	struct chk_node *first = dest->sw ? f->node[dest->index] : chk_peer(f, end);

	if (!first->sw) /* two CAs that are cabled to each other need no LFT */
		goto out;
	assert_int_equal(chk_set_lft(f, first->sw, end->lid, dest->sw ? 0 : end->peer_port), 0);
	seen[first->index] = true;
	queue[tail++] = first->index;
	while (head < tail) {
		struct chk_node *n = f->node[queue[head++]];

		for (unsigned int p = 1; p <= n->nports; p++) {
			struct chk_node *m = chk_peer(f, &n->port[p]);

			if (!m || !m->sw || seen[m->index])
				continue;
			seen[m->index] = true;
			queue[tail++] = m->index;
			assert_int_equal(chk_set_lft(f, m->sw, end->lid, n->port[p].peer_port), 0);
		}
	}
out:
	free(queue);
	free(seen);
}

static inline void rig_bring_up(struct chk_fabric *f)
{
	uint16_t lid = 0;

	for (uint32_t i = 0; i < f->n; i++)
		for (unsigned int p = 0; p <= f->node[i]->nports; p++) {
			struct chk_port *port = &f->node[i]->port[p];

			if (chk_is_end(f->node[i], port) && (f->node[i]->sw || port->peer < f->n))
				port->lid = ++lid;
			rig_set_port(f, f->node[i], port);
		}
	for (uint32_t i = 0; i < f->n; i++)
		for (unsigned int p = 0; p <= f->node[i]->nports; p++)
			if (f->node[i]->port[p].lid)
				rig_route_to(f, f->node[i], &f->node[i]->port[p]);
}

/* rig_fabric() - Make a fabric without faults from @text, a topology file */
static inline struct chk_fabric *rig_fabric(const char *text)
{
	struct chk_fabric *f;
	struct topo_err err = { "" };
	struct topo *t;

	if (topo_parse(&t, "rig", text, strlen(text), NULL, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(chk_from_topo(&f, t, CHK_OCTETS_MAX), 0);
	topo_free(t);
	rig_bring_up(f);
	return f;
}

/*
 * rig_ring() - Make a ring of @switches switches, whose ports 1 and 2 are cabled to their
 * neighbours. Port 3 of the Nth switch is cabled to the CA hN.
 */
static inline struct chk_fabric *rig_ring(unsigned int switches)
{
	char text[8192] = "";
	struct text t = TEXT_IN(text);

	for (unsigned int i = 1; i <= switches; i++)
		text_add(&t, "Switch 4 \"s%u\"\n[1] \"s%u\"[2]\n[3] \"h%u\"[1]\n\n", i,
			 i % switches + 1, i);
	for (unsigned int i = 1; i <= switches; i++)
		text_add(&t, "Hca 1 \"h%u\"\n\n", i);
	return rig_fabric(text);
}

/* --- findings of the checks */

static inline void rig_print(const struct chk_report *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		print_message("%s %s: %s\n", chk_kind_info(r->finding[i].kind)->name,
			      r->finding[i].where, r->finding[i].what);
}

/* rig_healthy() - Check that the checks of @f report no finding; free @f */
static inline void rig_healthy(struct chk_fabric *f)
{
	const struct chk_opts o = { 0 };
	struct chk_report r;

	assert_int_equal(chk_run(f, &o, &r), 0);
	rig_print(&r);
	assert_int_equal(r.n + r.left_out, 0);
	assert_int_equal(r.faults + r.notes, 0);
	chk_report_fini(&r);
	chk_fabric_free(f);
}

/*
 * rig_finds_with() - Check that the checks of @f report exactly one finding, which is of @kind and
 * whose text "WHERE: WHAT" contains @words; free @f
 */
static inline void rig_finds_with(struct chk_fabric *f, const struct chk_opts *o,
				  enum chk_kind kind, const char *words)
{
	char text[CHK_WHERE_MAX + CHK_WHAT_MAX + 2];
	struct chk_report r;

	assert_int_equal(chk_run(f, o, &r), 0);
	if (r.n != 1)
		rig_print(&r);
	assert_int_equal(r.n, 1);
	assert_int_equal(chk_kind_info(kind)->note ? r.notes : r.faults, 1);
	assert_string_equal(chk_kind_info(r.finding[0].kind)->name, chk_kind_info(kind)->name);
	snprintf(text, sizeof(text), "%s: %s", r.finding[0].where, r.finding[0].what);
	if (!strstr(text, words))
		fail_msg("found '%s', expected '%s'", text, words);
	chk_report_fini(&r);
	chk_fabric_free(f);
}

static inline void rig_finds(struct chk_fabric *f, enum chk_kind kind, const char *words)
{
	const struct chk_opts o = { 0 };

	rig_finds_with(f, &o, kind, words);
}

#endif

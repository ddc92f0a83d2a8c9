/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CHECK_RIG_H
#define TESTS_CHECK_RIG_H

/*
 * Fabrics for the tests of src/check: links from a topology file, all ports Active, LIDs in the order of the file, LFTs by
 * a breadth-first search of the rig's own. rig_check() then expects findings by kind.
 */

#include "check.h"
#include "check/check.h"
#include "util/text.h"

/* rig_fabric() - A healthy fabric as @topo describes it */
struct chk_fabric *rig_fabric(const char *topo);
/* rig_ring() - @switches in a ring (ports 1 and 2), one CA h1 ... at port 3 of each */
struct chk_fabric *rig_ring(unsigned int switches);

struct chk_node *rig_node(const struct chk_fabric *f, const char *name);
/* rig_lid() - LID of a CA's port 1 or of a switch */
unsigned int rig_lid(const struct chk_fabric *f, const char *name);
/* rig_route() - Change one entry of a switch's LFT */
void rig_route(struct chk_fabric *f, const char *sw, const char *to, uint8_t port);

/* rig_healthy() - No finding. rig_finds() - Exactly one, of this kind, whose text "WHERE: WHAT" has @words. Both free @f. */
void rig_healthy(struct chk_fabric *f);
void rig_finds(struct chk_fabric *f, enum chk_kind kind, const char *words);
void rig_finds_with(struct chk_fabric *f, const struct chk_opts *o, enum chk_kind kind,
		    const char *words);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_TOPO_CHECK_H
#define TESTS_TOPO_CHECK_H

#include "topo/topo.h"

/* topo_ok() - Parse a text that must be a valid topology */
struct topo *topo_ok(const char *text);

/*
 * Check that a printed topology is parsed to the same topology. @keep: it is printed with the names
 * of its nodes, which must then be equal, too
 */
void topo_check_round_trip(const struct topo *t, bool keep);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_TOPO_CHECK_H
#define TESTS_TOPO_CHECK_H

#include "topo/topo.h"

/* topo_ok() - Parse a text that must be valid */
struct topo *topo_ok(const char *text);

/* Check that the printed topology parses to the same topology. @keep: names are kept */
void topo_check_round_trip(const struct topo *t, bool keep);

#endif

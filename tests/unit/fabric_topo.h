/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FABRIC_TOPO_H
#define TESTS_FABRIC_TOPO_H

#include "fabric/topo.h"

/* topo_ok() - A text that must be right */
struct topo *topo_ok(const char *text);

/* What is printed reads back to the same: names kept or not. */
void topo_check_round_trip(const struct topo *t, bool keep);

#endif

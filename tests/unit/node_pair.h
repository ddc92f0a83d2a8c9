/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_NODE_PAIR_H
#define TESTS_NODE_PAIR_H

/*
 * A CA and a switch, for tests of the answers that the agents of a node give. Each test gets a new
 * pair. A test may define CA_PORTS and SW_PORTS (the numbers of ports of the two nodes) before it
 * includes this file.
 */

#include "node_rig.h"

#ifndef CA_PORTS
#define CA_PORTS 2
#endif
#ifndef SW_PORTS
#define SW_PORTS 4
#endif

static struct node_rig ca, sw;

static int setup(void **state)
{
	(void)state;
	node_rig_init(&ca, IB_NODE_CA, CA_PORTS);
	node_rig_init(&sw, IB_NODE_SWITCH, SW_PORTS);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	node_rig_fini(&ca);
	node_rig_fini(&sw);
	return 0;
}

#endif

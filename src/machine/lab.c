/* SPDX-License-Identifier: BSD-2-Clause */
#include "machine/lab.h"

#include <errno.h>
#include <string.h>

#include "topo/topo.h"

#define PORTS 8
/* link widths 1x and 4x, and speeds SDR to QDR, as in generated topologies */
#define RATE ((struct topo_rate){ .width = 3, .speed = 7 })

static const char text[] = "[fabric vm]\n"
			   "topology = vm.topo\n"
			   "[interface uib0@" LAB_HOST "]\n"
			   "port = fabric:vm/Hca1/1\n"
			   "address = " LAB_HOST_ADDR LAB_PREFIX "\n";

static struct topo *make_topo(void)
{
	struct topo *t = topo_create();
	uint32_t sw, ca;

	if (!t || topo_add_node(t, IB_NODE_SWITCH, PORTS, "Switch1", "Switch1", &sw) ||
	    topo_add_node(t, IB_NODE_CA, 1, "Hca1", "Hca1", &ca) || topo_link(t, ca, 1, sw, 1)) {
		topo_free(t);
		return NULL;
	}
	for (unsigned int i = 1; i <= PORTS; i++)
		t->node[sw]->port[i].rate = RATE;
	t->node[ca]->port[1].rate = RATE;
	return t;
}

int lab_make(struct conf *ret_conf, struct topo **ret_topo)
{
	char err[CONF_ERR_MAX];
	struct topo *t = make_topo();
	int status = t ? conf_parse(ret_conf, text, strlen(text), "vm.conf", err) : -ENOMEM;

	if (status) {
		topo_free(t);
		return status;
	}
	*ret_topo = t;
	return 0;
}

void lab_free_topo(struct topo *t)
{
	topo_free(t);
}

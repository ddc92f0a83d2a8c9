/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "check/model.h"
#include "topo/topo.h"

static void copy_ports(struct chk_node *n, const struct topo_node *t)
{
	for (unsigned int p = 0; p <= t->nports; p++) {
		const struct topo_port *from = &t->port[p];
		struct chk_port *to = &n->port[p];

		if (from->peer != TOPO_NO_PEER) {
			to->peer = from->peer;
			to->peer_port = from->peer_port;
		}
		if (!chk_is_end(n, to))
			continue;
		to->lid = from->lid;
		to->lmc = from->lmc;
		to->guid = from->guid;
	}
}

static int copy_node(struct chk_fabric *f, const struct topo_node *t)
{
	struct smp_node_info i = {
		.node_type = (uint8_t)t->type,
		.nports = t->nports,
		.node_guid = t->node_guid,
		.sys_guid = t->sys_guid,
	};
	struct chk_node *n;
	int err = chk_add_node(f, &i, t->desc[0] ? t->desc : t->name, &n);

	if (!err)
		copy_ports(n, t);
	return err;
}

int chk_from_topo(struct chk_fabric **ret, const struct topo *t, size_t octets_max)
{
	struct chk_fabric *f = chk_fabric_create(octets_max);

	if (!f)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++) {
		int err = copy_node(f, t->node[i]);

		if (err) {
			chk_fabric_free(f);
			return err;
		}
	}
	*ret = f;
	return 0;
}

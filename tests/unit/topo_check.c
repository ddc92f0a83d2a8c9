/* SPDX-License-Identifier: BSD-2-Clause */
#include "topo_check.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

struct topo *topo_ok(const char *text)
{
	struct topo_err err;
	struct topo *t = NULL;
	int rc = topo_parse(&t, "t", text, strlen(text), NULL, &err);

	if (rc)
		print_message("%s\n", err.text);
	assert_int_equal(rc, 0);
	assert_string_equal(err.text, "");
	return t;
}

void topo_check_round_trip(const struct topo *t, bool keep)
{
	char *a = topo_print(t, keep, NULL), *b;
	struct topo *u = topo_ok(a);

	assert_int_equal(u->n, t->n);
	for (uint32_t i = 0; i < t->n; i++) {
		assert_int_equal(u->node[i]->node_guid, t->node[i]->node_guid);
		assert_int_equal(u->node[i]->sys_guid, t->node[i]->sys_guid);
		assert_string_equal(u->node[i]->desc, t->node[i]->desc);
		if (keep)
			assert_string_equal(u->node[i]->name, t->node[i]->name);
		for (unsigned int k = 0; k <= t->node[i]->nports; k++) {
			const struct topo_port *p = &t->node[i]->port[k], *q = &u->node[i]->port[k];
			struct topo_rate r = topo_rate(t, i, k), s = topo_rate(u, i, k);

			assert_int_equal(p->peer, q->peer);
			assert_int_equal(p->peer_port, q->peer_port);
			if (p->peer == TOPO_NO_PEER)
				continue;
			assert_int_equal(p->lid, q->lid);
			assert_int_equal(p->guid, q->guid);
			assert_memory_equal(&r, &s, sizeof(r));
		}
	}
	b = topo_print(u, keep, NULL);
	assert_string_equal(a, b);
	free(a);
	free(b);
	topo_free(u);
}

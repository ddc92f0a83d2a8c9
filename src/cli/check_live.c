/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/check_live.h"

#include <string.h>

#include "cli/cli.h"
#include "live/live.h"

/*
 * Tell whether the port from which the fabric was read has a link. @f must have at most one node,
 * the node of this port. If this node is a CA, the survey has read no other port of it. So any port
 * of the node that has a link is the right one.
 */
static bool has_link(const struct chk_fabric *f)
{
	const struct chk_node *n = f->n ? f->node[0] : NULL;

	for (unsigned int p = 1; n && p <= n->nports; p++)
		if (n->port[p].known && n->port[p].pi.port_state >= IB_PORT_INIT)
			return true;
	return false;
}

int check_live(struct chk_fabric **ret, struct survey_stats *ret_stats, const char *port,
	       const struct survey_cfg *cfg, unsigned int timeout_ms, uint64_t sm_key)
{
	struct live l = { .dev.fd = -1 };
	char why[LIVE_ERR_MAX];
	int status = 0, err = live_open(&l, port, why);

	if (err)
		return cli_error(PROTO_EXIT_ENV, "%s: %s", port, why);
	l.dev.timeout_ms = timeout_ms;
	err = live_read_fabric(&l, cfg, sm_key, ret, ret_stats);
	live_close(&l);
	if (err)
		return cli_error(PROTO_EXIT_ENV, "%s: %s", port, strerror(-err));
	if ((*ret)->n > 1 || has_link(*ret))
		return 0;
	if ((*ret)->n)
		status = cli_error(PROTO_EXIT_ENV, "%s: the port has no link", port);
	chk_fabric_free(*ret);
	if (status)
		return status;
	return cli_error(PROTO_EXIT_TIMEOUT,
			 "%s: the port itself does not answer subnet management", port);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include "check/model.h"
#include "os/umad_dev.h"
#include "probe/probe.h"
#include "survey/survey.h"

/* The umad device of a port, as the transport for modules that send requests to management agents and to the SA. */

#define LIVE_ANSWER_MAX ((size_t)32 << 20) /* octets of the longest answer of an SA */

struct live {
	struct umad_dev dev;
	/*
	 * ids of the registered agents for umad_dev_send(), one for each row of the table of
	 * management classes in live.c
	 */
	int agent[4];
	uint8_t *buf;
};

#define LIVE_ERR_MAX 160
/*
 * live_open() - Open the device of a port ("mlx5_0/1", "umad0"). Return: 0; -errno, and @err is the
 * step that failed, as text without the name of the port
 */
int live_open(struct live *l, const char *port, char err[LIVE_ERR_MAX]);
void live_close(struct live *l);

/*
 * live_read_fabric() - Read the fabric to which the port is connected
 * @sm_key:	SM_Key with which the SA is asked for the members of all groups; if the SA does not
 *	answer, the members are marked as unknown in the fabric
 *
 * Return: 0, -errno
 */
int live_read_fabric(struct live *l, const struct survey_cfg *cfg, uint64_t sm_key,
		     struct chk_fabric **ret, struct survey_stats *ret_stats);
/* live_probe() - Let a probe ask all its questions. Return: 0, -errno */
int live_probe(struct live *l, struct probe *p);

#endif

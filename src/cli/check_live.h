/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_CHECK_LIVE_H
#define CLI_CHECK_LIVE_H

#include "check/model.h"
#include "survey/survey.h"

/**
 * check_live() - Read the fabric at a port through umad
 * @port:	"mlx5_0/1", "mlx5_0" or "umad0"
 * @timeout_ms:	time after which a request is repeated
 * @sm_key:	SM_Key with which the SA is asked for the members of all groups; if the SA does not
 *	answer, the result has no members
 *
 * Return: 0; the exit status after a message
 */
int check_live(struct chk_fabric **ret, struct survey_stats *ret_stats, const char *port,
	       const struct survey_cfg *cfg, unsigned int timeout_ms, uint64_t sm_key);

#endif

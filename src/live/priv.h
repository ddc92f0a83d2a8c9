/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LIVE_PRIV_H
#define LIVE_PRIV_H

#include "live/live.h"

/*
 * A survey or a probe: it makes requests, and takes the answers. The functions below call those of
 * survey/survey.h or of probe/probe.h
 */
struct live_asker {
	void *ctx;
	bool (*next)(void *ctx, struct survey_mad *ret, ns_t now);
	void (*recv)(void *ctx, const void *mad, size_t len, ns_t now);
	void (*lost)(void *ctx, const void *mad, size_t len, ns_t now);
	ns_t (*deadline)(const void *ctx);
	bool (*done)(const void *ctx);
};

/* live_run() - Send the requests of @who until @who has no more requests. Return: 0, -errno */
int live_run(struct live *l, const struct live_asker *who);
/*
 * live_ask_sa() - Send one request to the SA. @ret is the answer, which is valid until the next
 * call. Return: octets of the answer, -errno
 */
long live_ask_sa(struct live *l, uint16_t dlid, const uint8_t mad[MAD_LEN], const uint8_t **ret);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_CA_SUITE_H
#define TESTS_UNIT_CA_SUITE_H

/*
 * DOC: Conformance suite for ca.h
 *
 * The suite tests the behaviour that every backend of ca.h must have. A backend provides two ports,
 * which are connected directly or by a switch. Both ports are Active and have different LIDs. Each
 * has the P_Key 0xffff at index 0, and the full P_Key CA_SUITE_PKEY at index 1. The backend must
 * deliver a packet with the destination LID CA_SUITE_MLID to every QP that is attached to the group
 * with this MLID.
 */

#include "check.h"
#include "ca/ca.h"

#define CA_SUITE_PKEY 0x8005
#define CA_SUITE_MLID 0xc007

struct ca_suite_env {
	struct ca *ca[2];
	struct pkt_pool *pool;
	ns_t now;
	void *priv;
};

struct ca_suite_backend {
	const char *name;
	/*
	 * Open both ports with the callbacks @notify; @ctx[i] is passed to the callbacks of port i.
	 * Returns 0 or -errno
	 */
	int (*open)(struct ca_suite_env *e, const struct ca_notify *notify, void *const ctx[2]);
	/* Close both ports; afterwards no packet or buffer of the pool may be in use. */
	void (*close)(struct ca_suite_env *e);
	/* Deliver all packets and notifications that are under way. */
	void (*run)(struct ca_suite_env *e);
	/* Take down the link between the two ports; NULL if the backend cannot do this. */
	void (*link_down)(struct ca_suite_env *e);
	/*
	 * Set the P_Key with this index in the table of port @side (0 or 1), as an SM does; NULL if
	 * the backend cannot do this.
	 */
	void (*set_pkey)(struct ca_suite_env *e, unsigned int side, uint16_t index, uint16_t pkey);
};

/*
 * Run all cases of the suite with backend @b. Returns the number of failed cases, as cmocka does.
 */
int ca_suite_run(const struct ca_suite_backend *b);

#endif

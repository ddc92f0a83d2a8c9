/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_FAB_H
#define DAEMON_FAB_H

/* A fabric of an instance: topology, soft HCAs, the embedded SM (daemon/fab_sm.h). */

#include "daemon/inst.h"

struct fab_cfg {
	const char *name;
	const char *topology_file; /* for messages; NULL: @topo was made by a generator */
	enum conf_crc crc;
	unsigned int mtu; /* MTUCap of all ports; 0: 4096 */
	bool sm_embedded;
	const char *sm_node; /* NULL: port 0 of the first switch, else the first CA's port 1 */
	uint8_t sm_port;
	bool sm_key_given; /* else OpenSM's */
	uint64_t sm_key;
	struct conf_mkey mkey;
	const char *partitions_file; /* NULL: none */
	const char *ibsim; /* name of its sockets for clients of ibsim; NULL: none */
};

/* fab_load_topology() - Read and parse a topology file. 0; -errno with @err */
int fab_load_topology(struct topo **ret, const char *file, char err[INST_ERR_MAX]);

/**
 * fab_add() - Build a fabric and start its SM
 * @topo:	borrowed
 *
 * Return: 0; -EINVAL, -ENOMEM, -errno of a file, with @err
 */
int fab_add(struct inst *in, const struct fab_cfg *cfg, const struct topo *topo,
	    char err[INST_ERR_MAX]);

void fab_destroy(struct inst_fabric *f);

#endif

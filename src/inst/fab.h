/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_FAB_H
#define INST_FAB_H

/*
 * A fabric of an instance with its topology, its software HCAs and its subnet managers
 * (inst/fab_sm.h).
 */

#include "ca/ca_soft.h"
#include "fabric/fabric.h"
#include "inst/inst.h"

/*
 * The text of a partition file, stored because each subnet manager that is started parses it again
 */
struct inst_partitions {
	char *name; /* name of the file, for messages */
	char *text; /* text of the file; NULL if no partitions were given */
	size_t len;
};

struct inst_fabric {
	struct inst *inst;
	char name[CONF_NAME_MAX];
	struct log_sink log; /* log of the instance, with the name of this fabric */
	struct fabric *fabric;
	/* software HCAs, indexed by the node's number in the fabric; NULL for a switch */
	struct ca_soft_hca **soft;
	/*
	 * list of struct inst_sm (inst/fab_sm.h); empty if the SM is external or was stopped
	 */
	struct list sms;
	/* name of the topology file; NULL if `uipoib demo` generated the topology */
	char *topology_file;
	/* configuration of the fabric; its members that are file names are NULL */
	struct conf_fabric conf;
	struct inst_partitions partitions; /* the partition file that was loaded last */
	ns_t up_at; /* time of the first log line SUBNET UP; 0: there was none yet */
	bool traced; /* true while the command `trace` runs on this fabric */
};

/**
 * fab_add() - Build a fabric and start its SM
 * @conf:	copied, except its file names. .topology is only a name for messages; it is NULL if
 *		@topo was generated
 * @topo:	borrowed
 *
 * Return: 0. On failure @err has a message, and the result is -EINVAL, -ENOMEM or -errno of a file
 */
int fab_add(struct inst *in, const struct conf_fabric *conf, const struct topo *topo,
	    char err[INST_ERR_MAX]);

void fab_destroy(struct inst_fabric *f);

/* fab_packets() - Return the source for a capture of all packets of the fabric */
struct capfile_at fab_packets(struct inst_fabric *f);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_NEIGH_DUMP_H
#define INST_NEIGH_DUMP_H

/*
 * DOC: Dumps of the kernel's neighbour tables
 *
 * A neighbour table may have more than 100,000 entries, which take the kernel a tenth of a second and more. So a dump
 * is read in pieces of 32 KiB at most, one in each wake-up of the loop. Between two pieces the loop serves packets
 * and other requests. One dump is read at a time in the whole instance; the other dumps wait in the order in which
 * they were requested. Only control clients request dumps, at most one each, so there are never more dumps than
 * clients.
 */

#include "netdev/rtnl.h"
#include "util/list.h"

struct inst;
struct inst_host;

/*
 * Dump of the IPv4 and IPv6 neighbours of an interface. The owner sets the members up to .done before
 * neigh_dump_start().
 */
struct neigh_dump {
	struct inst_host *host;
	int ifindex;
	void (*entry)(struct neigh_dump *d, const struct rtnl_neigh *n);
	/*
	 * Called once, after the last entry, or when an error ends the dump. @err: 0; -EAGAIN: the table changed
	 * during the dump, so entries may be missing; -ENODEV: the host was closed; -errno of the kernel. The
	 * function may free @d and start other dumps.
	 */
	void (*done)(struct neigh_dump *d, int err);

	struct list link; /* link in neigh_dumps.waiting */
	enum rtnl_family family; /* address family whose table is being read */
};

/* The dumps of an instance */
struct neigh_dumps {
	/* list of struct neigh_dump: dumps that wait, the next one first */
	struct list waiting;
	struct inst_host *reading; /* host from whose socket a dump is being read; NULL: none */
	/*
	 * the dump that is being read; NULL if it was cancelled, so that its remaining entries are
	 * read and discarded
	 */
	struct neigh_dump *active;
	/* number of dumps that were begun; a dump of IPv4 and of IPv6 entries counts as two */
	uint64_t dumps;
	uint64_t pieces; /* number of pieces that were read */
	uint64_t entries; /* number of entries that were passed to owners */
};

void neigh_dumps_init(struct neigh_dumps *n);

/**
 * neigh_dump_start() - Begin a dump, or put it into the queue
 *
 * Return: 0, and d->done is called later; -errno of the kernel, and d->done is not called
 */
int neigh_dump_start(struct neigh_dump *d);

/* neigh_dump_cancel() - Cancel a dump that its owner does not need any more; d->done is not called */
void neigh_dump_cancel(struct neigh_dump *d);

/* neigh_dump_host_gone() - End all dumps of a host, which is about to be closed */
void neigh_dump_host_gone(struct inst_host *h);

#endif

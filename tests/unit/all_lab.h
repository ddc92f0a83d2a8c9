/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ALL_LAB_H
#define TESTS_ALL_LAB_H

/*
 * A whole lab on virtual time: fabric, SM, SA, and on every CA port an SA client and an IPoIB
 * link. No namespaces, TAPs or clocks: what a host receives goes to a function of the test.
 */

#include "ca/ca_soft.h"
#include "fabric/fabric.h"
#include "ipoib/ipoib.h"
#include "sac/sac.h"
#include "sm/partition.h"
#include "sm/sa.h"
#include "sm/sm.h"

struct lab;

struct lab_host {
	struct lab *lab;
	struct fabric_node *node;
	uint8_t port;
	unsigned int index; /* in lab.host */
	struct ca_soft_hca *soft;
	struct ca *ca;
	struct sac *sac;
	struct ipoib_link *link;
	struct ca_qp *qp;
	struct ipoib_lladdr addr; /* valid once it has a QP */
	bool dirty, rereg, ready, carrier;
	uint16_t pkey;
};

struct lab {
	struct timers timers;
	struct pkt_pool *pool;
	uint64_t seed;
	struct fabric *f;
	struct sm *sm;
	struct sa *sa;
	struct ca_soft_hca **soft; /* by node */
	struct lab_host *host;
	unsigned int nhosts;
	ns_t now;
	struct log_sink log;
	/* Every packet delivered; borrowed */
	void (*rx)(struct lab *l, struct lab_host *to, const struct ipoib_rx *r,
		   const uint8_t *data, size_t len);
	void *ctx;
};

struct lab_cfg {
	const struct topo *topo;
	enum hca_crc crc;
	uint64_t seed;
	uint16_t pkey; /* 0: 0xffff */
	const char *partitions; /* text; NULL: the default partition */
	const struct sm_cfg *sm; /* NULL: the default */
	bool verbose;
};

/* lab_create() - Everything made and links going up; asserts on failure */
void lab_create(struct lab *l, const struct lab_cfg *cfg);
void lab_destroy(struct lab *l);

/* lab_sm_stop(), lab_sm_start() - The SM and SA end, without a word; others begin */
void lab_sm_stop(struct lab *l);
void lab_sm_start(struct lab *l, const struct sm_cfg *cfg, const char *partitions);
/* lab_partitions() - Another partitions.conf for the SM that runs */
void lab_partitions(struct lab *l, const char *text);

/* lab_host_restart() - Its interface ends without a word and comes back with another QP */
void lab_host_restart(struct lab_host *h);

/* lab_run() - Let @d of virtual time go by */
void lab_run(struct lab *l, ns_t d);

/* lab_all_up() - Every host that has @want set (NULL: all) has carrier */
bool lab_all_up(const struct lab *l, const bool *want);

/* lab_send() - One packet of @len octets to a host; to an IPv4 group */
void lab_send(struct lab_host *from, const struct lab_host *to, const void *data, size_t len);
void lab_send_group(struct lab_host *from, const uint8_t group[4], const void *data, size_t len);

#endif

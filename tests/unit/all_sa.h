/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ALL_SA_H
#define TESTS_ALL_SA_H

/*
 * A soft fabric on virtual time with an SM and its SA, and clients that ask it by MADs from CA ports,
 * as remote hosts do.
 */

#include "fabric/fabric.h"
#include "sm/group.h"
#include "sm/partition.h"
#include "sm/sa.h"

#define CLIENT_REPORTS 64
#define CLIENT_RESP (1u << 20)

struct sa_rig {
	struct timers ts;
	struct pkt_pool *pool;
	struct fabric *f;
	struct sm *sm;
	struct sa *sa;
	ns_t now;
	unsigned int refusals; /* lines of the log about joins; and the last */
	char refusal[256];
};

struct sa_client {
	struct sa_rig *r;
	struct node_port *np;
	struct mad_agent *agent;
	uint64_t sm_key; /* of what is asked; and its attribute modifier */
	uint32_t attr_mod;
	bool rmpp; /* ask by RMPP, as GetMulti is to */
	bool answer_reports;
	/* the last answer */
	bool done;
	int status; /* -errno, or the MAD status */
	ns_t done_at;
	struct sa_mad resp;
	size_t resp_len;
	uint8_t *buf;
	/* Reports, in the order they came; repeats by TID are counted */
	struct mad_notice report[CLIENT_REPORTS];
	unsigned int nreports, repeats;
	uint64_t last_tid;
};

struct sa_rig_cfg {
	unsigned int hosts, switches; /* topo_gen_demo(); 0: @topology */
	const char *topology;
	const char *sm; /* NULL: Switch1/0 */
	const char *partitions; /* NULL: the default */
	uint64_t sm_key, mkey;
	uint8_t lmc;
};

/* Up to SUBNET UP, and a second more */
void sa_rig_init(struct sa_rig *r, const struct sa_rig_cfg *cfg);
void sa_rig_fini(struct sa_rig *r);
void sa_rig_pass(struct sa_rig *r, ns_t t);
void sa_rig_partitions(struct sa_rig *r, const char *text);
struct node_port *sa_rig_port(struct sa_rig *r, const char *name); /* "Hca1/1" */
ib_gid sa_rig_gid(struct sa_rig *r, const char *name);

void sa_client_init(struct sa_client *c, struct sa_rig *r, const char *port);
void sa_client_fini(struct sa_client *c);
/* @rec: the record's wire form. Returns the MAD status of the answer, or -ETIMEDOUT */
int sa_client_ask(struct sa_client *c, uint8_t method, uint16_t attr, uint64_t mask,
		  const void *rec, size_t len);
/* The same without waiting: c->done says when */
void sa_client_send(struct sa_client *c, uint8_t method, uint16_t attr, uint64_t mask,
		    const void *rec, size_t len);
/* Records of a table answer */
unsigned int sa_client_count(const struct sa_client *c);
const uint8_t *sa_client_rec(const struct sa_client *c, unsigned int i);

/* Path queries: status, the first record decoded into @ret (may be NULL) */
int sa_client_path(struct sa_client *c, uint8_t method, uint64_t mask,
		   const struct ib_path_rec *want, struct ib_path_rec *ret);
int sa_client_mcm(struct sa_client *c, uint8_t method, uint64_t mask,
		  const struct ib_mcmember_rec *want, struct ib_mcmember_rec *ret);
int sa_client_inform(struct sa_client *c, uint16_t trap, bool subscribe);

#endif

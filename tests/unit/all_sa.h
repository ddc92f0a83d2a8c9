/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ALL_SA_H
#define TESTS_ALL_SA_H

/*
 * A soft fabric on virtual time with an SM and its SA. Clients on CA ports send requests to the SA
 * in MADs, as remote hosts do.
 */

#include "fabric/fabric.h"
#include "sm/group.h"
#include "partition/partition.h"
#include "sa/sa.h"

#define CLIENT_REPORTS 64
#define CLIENT_RESP (1u << 20)

struct sa_rig {
	struct timers ts;
	struct pkt_pool *pool;
	struct fabric *f;
	struct sm *sm;
	struct sa *sa;
	ns_t now;
	/* number of log lines about refused joins, and the last of these lines */
	unsigned int refusals;
	char refusal[256];
};

struct sa_client {
	struct sa_rig *r;
	struct node_port *np;
	struct mad_agent *agent;
	/* SM_Key and attribute modifier of the requests that the client sends */
	uint64_t sm_key;
	uint32_t attr_mod;
	bool rmpp; /* true: requests have an RMPP header, as GetMulti requires */
	bool answer_reports;
	/* last request: whether it has ended, how and when, and the answer */
	bool done;
	int status; /* -errno, or the MAD status */
	ns_t done_at;
	struct sa_mad resp;
	size_t resp_len;
	uint8_t *buf;
	/*
	 * Reports (notices of the SA) in the order of arrival, their number, and the number of
	 * repeated Reports; a repeated Report has the TID of the previous Report
	 */
	struct mad_notice report[CLIENT_REPORTS];
	unsigned int nreports, repeats;
	uint64_t last_tid;
};

struct sa_rig_cfg {
	/*
	 * arguments of topo_gen_demo(); .hosts 0: .topology, the text of a topology file, is used
	 * instead
	 */
	unsigned int hosts, switches;
	const char *topology;
	const char *sm; /* name of the port on which the SM runs; NULL: Switch1/0 */
	const char *partitions; /* text of a partitions.conf; NULL: the default */
	uint64_t sm_key, mkey;
	uint8_t lmc;
};

/* Build the subnet and run it for two seconds. The SM must have finished a sweep by then */
void sa_rig_init(struct sa_rig *r, const struct sa_rig_cfg *cfg);
void sa_rig_fini(struct sa_rig *r);
void sa_rig_pass(struct sa_rig *r, ns_t t);
void sa_rig_partitions(struct sa_rig *r, const char *text);
struct node_port *sa_rig_port(struct sa_rig *r, const char *name); /* @name is like "Hca1/1" */
ib_gid sa_rig_gid(struct sa_rig *r, const char *name);

void sa_client_init(struct sa_client *c, struct sa_rig *r, const char *port);
void sa_client_fini(struct sa_client *c);
/*
 * Send a request and run the subnet until the answer arrives. @rec is the record of the request, in
 * network byte order. Returns the MAD status of the answer, or -ETIMEDOUT
 */
int sa_client_ask(struct sa_client *c, uint8_t method, uint16_t attr, uint64_t mask,
		  const void *rec, size_t len);
/* Like sa_client_ask(), but without waiting: c->done becomes true when the answer has arrived */
void sa_client_send(struct sa_client *c, uint8_t method, uint16_t attr, uint64_t mask,
		    const void *rec, size_t len);
/*
 * .resp is the answer to a GetTable: return the number of its records, or its record with index @i
 */
unsigned int sa_client_count(const struct sa_client *c);
const uint8_t *sa_client_rec(const struct sa_client *c, unsigned int i);

/*
 * Query the SA for a path. Returns the MAD status of the answer. The first record of the answer is
 * decoded into @ret, unless @ret is NULL
 */
int sa_client_path(struct sa_client *c, uint8_t method, uint64_t mask,
		   const struct ib_path_rec *want, struct ib_path_rec *ret);
int sa_client_mcm(struct sa_client *c, uint8_t method, uint64_t mask,
		  const struct ib_mcmember_rec *want, struct ib_mcmember_rec *ret);
int sa_client_inform(struct sa_client *c, uint16_t trap, bool subscribe);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROBE_RIG_H
#define TESTS_PROBE_RIG_H

/*
 * All that answers the requests of a probe (src/probe): a port, the node at the other end of the
 * port's link, an SM with its SA, and a peer. After rig_init() all of them are healthy. A test then
 * causes one fault, and rig_finds() expects exactly one finding.
 */

#include "check.h"

#include "probe/probe.h"
#include "wire/records.h"

#define RIG_LID 5
#define RIG_SM_LID 1
#define RIG_PEER_LID 9
#define RIG_PKEY 0x8001
#define RIG_GUID 0x10005
#define RIG_PEER_GUID 0x10009

struct rig_agent {
	struct smp_node_info node;
	struct smp_port_info port;
	uint16_t pkey[64]; /* two blocks, of which the first .node.pkey_cap entries exist */
};

/* Describes requests of one kind that fail */
struct rig_fault {
	uint8_t mgmt_class; /* 0: any */
	uint16_t attr; /* 0: any */
	uint16_t dlid; /* 0: any; if all fields are 0, no request fails */
	uint16_t status; /* 0: no answer */
	bool with_port; /* true: only SA requests with PortGID in the component mask fail */
};

struct rig {
	struct rig_agent own, link, peer;
	struct smp_sm_info sm;
	uint8_t vl[16];
	struct ib_mcmember_rec group[4]; /* the first is the broadcast group */
	unsigned int ngroups;
	bool member, peer_member; /* true: the port or the peer is in the broadcast group */
	uint16_t own_lid; /* LID of the port according to the SA */
	bool peer_known; /* true: the SA knows the peer */
	struct ib_path_rec path; /* the path to the peer */
	/*
	 * the only P_Key, without bit 15, for which the SA has a path to the peer; 0: the SA has a
	 * path for every P_Key
	 */
	uint16_t path_pkey;
	struct rig_fault fault;
	void (*twist)(struct rig *r, uint8_t *mad); /* called with each answer, and may change it */
	ns_t rtt;
	struct probe_cfg cfg;
	/* results */
	struct probe_report report;
	unsigned int requests;
};

void rig_init(struct rig *r);
/* rig_peer() - Let the probe examine the peer, too */
void rig_peer(struct rig *r);
/*
 * rig_interface() - Act as if the kernel had the IPoIB interface ib0 on the port, up and with
 * carrier
 */
void rig_interface(struct rig *r);
/* rig_run() - Run the probe, and write its findings into r->report */
void rig_run(struct rig *r);
/* rig_healthy() - Run the probe, and expect no finding */
void rig_healthy(struct rig *r);
/*
 * rig_finds() - Run the probe, and expect exactly one finding, which is of @kind and has @words in
 * its text
 */
void rig_finds(struct rig *r, enum probe_kind kind, const char *words);
/* rig_finds_both() - Run the probe, and expect exactly the findings @a and @b */
void rig_finds_both(struct rig *r, enum probe_kind a, enum probe_kind b);
/* rig_fact() - Return the text of the fact called @name; NULL: the report has no such fact */
const char *rig_fact(const struct rig *r, const char *name);

#endif

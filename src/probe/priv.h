/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROBE_PRIV_H
#define PROBE_PRIV_H

#include "probe/probe.h"
#include "util/text.h"
#include "wire/records.h"
#include "wire/records_sm.h"

/* largest number of P_Keys that are read from a table; HCAs have at most 128 */
#define PROBE_PKEYS_MAX 512
#define PROBE_GROUPS_MAX 64 /* largest number of groups of the partition that are checked */

/* The questions, in the order in which they are asked */
enum probe_ask {
	ASK_NODE, /* NodeInfo of the node that has the probed port */
	ASK_PORT, /* PortInfo of the port */
	ASK_PKEYS, /* P_Key table of the port, block by block */
	ASK_SLTOVL, /* SLtoVL table of the port */
	ASK_LINK_NODE, /* NodeInfo of the node behind the link */
	ASK_LINK_PORT, /* PortInfo of the other end of the link */
	ASK_SM, /* SMInfo of the port with the SM LID */
	ASK_SA, /* ClassPortInfo of the SA */
	ASK_SELF, /* the path from the port to itself, which shows the LID that the SA has stored for the port */
	ASK_GROUP, /* the broadcast group */
	ASK_GROUPS, /* all groups of the partition */
	ASK_MEMBER, /* is the port a member of the broadcast group? */
	ASK_PATH, /* path to the peer in the partition */
	ASK_PATH_ANY, /* path to the peer with any P_Key */
	ASK_PEER_MEMBER, /* is the peer a member of the broadcast group? */
	ASK_PEER_NODE, /* NodeInfo by LID, to identify the node */
	ASK_PEER_PORT,
	ASK_PEER_PKEYS,
	ASK_KINDS,
};

enum probe_outcome {
	NOT_ASKED,
	LOST, /* no answer came */
	REFUSED, /* an answer came that has an error status */
	MALFORMED, /* an answer came that does not fit the question */
	ANSWERED,
};

struct probe_reply {
	enum probe_outcome how;
	uint16_t status; /* MAD status of an answer that is REFUSED */
	ns_t took;
};

struct probe_pkeys {
	uint16_t pkey[PROBE_PKEYS_MAX]; /* 0: an empty entry */
	unsigned int n; /* number of entries that were read */
};

struct probe {
	struct probe_cfg cfg;
	enum probe_ask ask;
	unsigned int block; /* number of the P_Key block that is being requested */
	/* the request that has no answer yet */
	bool open;
	struct survey_mad sent;
	ns_t sent_at;
	uint32_t seq;
	unsigned int nsent, nlost;
	/* the answers, by question */
	struct probe_reply reply[ASK_KINDS];
	struct smp_node_info node, link_node, peer_node;
	struct smp_port_info port, link_port, peer_port;
	struct probe_pkeys pkeys, peer_pkeys;
	uint8_t vl[16];
	struct smp_sm_info sm;
	struct ib_path_rec self, path, path_any;
	struct ib_mcmember_rec group, groups[PROBE_GROUPS_MAX];
	unsigned int ngroups;
};

static inline bool probe_has(const struct probe *p, enum probe_ask ask)
{
	return p->reply[ask].how == ANSWERED;
}

/*
 * probe_fill() - Write the request of p->ask into p->sent. Return: false if the question p->ask is
 * not needed, or cannot be sent
 */
bool probe_fill(struct probe *p);
/* probe_take() - Process the answer to p->ask. Return: false if the answer is malformed */
bool probe_take(struct probe *p, const uint8_t *mad, size_t len);

/* probe_pkey() - Return: the P_Key of the IPoIB link, with bit 15 set; 0: not known */
uint16_t probe_pkey(const struct probe *p);
/* probe_mgid() - Return: the MGID of the link's broadcast group */
ib_gid probe_mgid(const struct probe *p);
/* probe_gid() - Return: the GID with index 0 of the probed port */
ib_gid probe_gid(const struct probe *p);
/*
 * probe_own_pkey() - Return: the entry of @t that has the low 15 bits of @pkey; of two such
 * entries, the entry of a full member; 0: there is no such entry
 */
uint16_t probe_own_pkey(const struct probe_pkeys *t, uint16_t pkey);
/*
 * probe_is_broadcast() - Tell whether @mgid is the MGID of the broadcast group of @pkey, with any
 * scope
 */
bool probe_is_broadcast(const ib_gid *mgid, uint16_t pkey);

/*
 * --- evaluation of the answers, in this order. A function returns false if the remaining functions
 * have nothing to judge, for example because the port is down
 */

struct probe_case {
	const struct probe *p;
	struct probe_report *r;
};
void probe_found(struct probe_case *c, enum probe_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void probe_tell(struct probe_case *c, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * probe_status() - Describe a reply that has no data, such as "no answer", "status 0x0700
 * (ERR_REQ_DENIED)"
 */
const char *probe_status(char ret[80], const struct probe_reply *r);

bool probe_judge_port(struct probe_case *c);
void probe_judge_managers(struct probe_case *c);
bool probe_judge_pkey(struct probe_case *c);
void probe_judge_group(struct probe_case *c);
void probe_judge_if(struct probe_case *c);
void probe_judge_peer(struct probe_case *c);

#endif

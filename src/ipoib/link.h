/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_LINK_H
#define IPOIB_LINK_H

/* The insides of a link, shared by the files of ipoib/. */

#include "ipoib/ipoib.h"
#include "ipoib/slots.h"
#include "wire/print_text.h"

/*
 * An address handle in the making or in use. While a new one is made the old one stays; an answer
 * that was overtaken by a newer request is given back at once.
 */
struct ipoib_ah {
	void *ah; /* in use; NULL: none */
	uint64_t cookie; /* of the open AH_CREATE; 0: none */
	struct ipoib_ah_attr attr; /* of ah */
	struct ipoib_ah_attr next; /* of the open request */
};

/* A port that has neighbours: one path, one address handle, whatever the number of QPNs. */
struct ipoib_path {
	struct ipoib_link *link; /* NULL: the slot is free */
	struct hnode by_gid;
	uint32_t slot;
	enum ipoib_path_state state;
	int status; /* of the last query */
	unsigned int ah_failures;
	bool ah_refused; /* FAILED because of the CA */
	ns_t until; /* READY: verify after; FAILED, STALE: not before */
	ib_gid gid;
	struct list neighs;
	struct sac_path_wait wait;
	struct ib_path_rec rec;
	struct ipoib_ah ah;
};

struct ipoib_mcast {
	struct ipoib_link *link; /* NULL: the slot is free */
	struct hnode by_mgid;
	uint32_t slot;
	enum ipoib_mcast_state state;
	enum ipoib_proto proto;
	uint8_t group[16];
	bool broadcast;
	bool beyond_link; /* scope of the IP group above link-local */
	bool used; /* by a sender since the last sweep */
	bool full_ok, so_ok; /* granted */
	bool attached;
	bool attach_failed; /* tried again at the next sweep */
	uint16_t attached_mlid;
	unsigned int receivers;
	unsigned int failures;
	int status;
	ns_t until;
	ns_t last_used;
	ib_gid mgid;
	struct ib_mcmember_rec rec; /* as last granted */
	struct sac_group_ref full, so;
	struct sac_group_query query;
	struct ipoib_ah ah;
	struct pkt_queue held;
	struct list waiting; /* absent groups whose packets wait for this (all-routers) group */
	struct list wait_node;
};

struct ipoib_link {
	/* Hot. */
	bool up; /* UP or REJOINING */
	unsigned int ip_mtu;
	uint32_t qkey;
	const struct ipoib_profile *profile;
	unsigned int nheld;
	struct {
		uint16_t lid;
		uint32_t qpn;
		struct ipoib_neigh *neigh; /* NULL: nothing cached */
	} rx_last;
	struct ipoib_stats stats;

	/* Who it is. */
	char name[IPOIB_NAME_LEN];
	struct ipoib_link_cfg cfg;
	struct sac *sac;
	struct sac_user user;
	uint16_t pkey; /* full form */
	ib_gid mgid; /* broadcast group */

	/* State; only set_state() in link.c writes it. */
	enum ipoib_link_state state;
	ns_t since;
	char reason[IPOIB_REASON_LEN];
	bool admin;
	bool carrier;
	struct ipoib_port port;
	bool has_qp, qp_asked;
	bool joined; /* the broadcast group was granted and adopted */
	bool renewing; /* and is being asked for again */
	bool qkey_said; /* "uncontrolled Q_Key" was logged */
	bool refusal_said; /* so was this refusal of the broadcast group */
	bool qp_stale; /* QP_MODIFY failed */
	uint32_t qpn;
	uint16_t qp_pkey_index; /* as last handed out */
	uint32_t qp_qkey;
	struct ib_mcmember_rec group_rec;
	unsigned int said_mtu; /* as last handed out */
	unsigned int retries;
	struct timer retry; /* QP creation, own refusal of the broadcast group */
	struct timer sweep;
	uint32_t own_qpn[IPOIB_MAX_OWN_QPS];
	unsigned int n_own_qpn;

	/* Tables. */
	struct ipoib_neigh *neighs;
	struct ipoib_slots neigh_slots;
	struct htab neigh_tab, rev_tab;
	uint32_t neigh_hand;
	struct ipoib_path *paths;
	struct ipoib_slots path_slots;
	struct htab path_tab;
	struct ipoib_mcast *mcasts;
	struct ipoib_slots mcast_slots;
	struct htab mcast_tab;
	uint32_t mcast_hand;
	struct ipoib_mcast *bcast; /* the broadcast group's entry, always there */

	/* Actions, a ring. */
	struct ipoib_action *acts;
	uint32_t act_head, act_n, act_cap;
	uint32_t ah_seq;
};

#define ipoib_log(l, lvl, fmt, ...) log_to((l)->cfg.log, lvl, "%s: " fmt, (l)->name, ##__VA_ARGS__)

/* link.c */
/* ipoib_link_advance() - Enter the state that the facts call for */
void ipoib_link_advance(struct ipoib_link *l, ns_t now);
/* ipoib_link_reason() - Begin a new text of why it is not UP */
struct text ipoib_link_reason(struct ipoib_link *l);

/* link_join.c */
void ipoib_link_join(struct ipoib_link *l, ns_t now); /* the broadcast group */
void ipoib_link_unjoin(struct ipoib_link *l, ns_t now); /* everything */
void ipoib_link_check_mtu(struct ipoib_link *l, ns_t now); /* the port's MTU changed */
void ipoib_link_event(struct sac_user *u, enum sac_event ev, const ib_gid *gid, ns_t now);
/* ipoib_link_sync_qp() - Bring the QP's P_Key index and Q_Key in line with the link's */
void ipoib_link_sync_qp(struct ipoib_link *l);

#endif

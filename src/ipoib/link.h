/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_LINK_H
#define IPOIB_LINK_H

/* Private structures of a link, shared by the files of ipoib/. */

#include "ipoib/ipoib.h"
#include "ipoib/slots.h"
#include "util/pace.h"
#include "util/text.h"

/*
 * An address handle, and the request for the handle that replaces it. The old handle stays in use
 * until the new handle is ready. When the owner answers a request that is not the newest, the link
 * destroys the handle in the answer at once.
 */
struct ipoib_ah {
	void *ah; /* handle in use; NULL: none */
	uint64_t cookie; /* cookie of the open (not answered) AH_CREATE; 0: no AH_CREATE is open */
	struct ipoib_ah_attr attr; /* attributes of .ah */
	struct ipoib_ah_attr next; /* attributes of the open AH_CREATE */
};

/* Path to a port with one or more neighbours (QPNs), which share one address handle. */
struct ipoib_path {
	struct ipoib_link *link; /* NULL: the slot is free */
	struct hlink by_gid; /* in ipoib_link.path_tab */
	uint32_t slot; /* index in ipoib_link.paths */
	enum ipoib_path_state state;
	int status; /* status of the last path query, as in sac.h */
	/* number of times in a row that the CA refused the address handle, for the back-off */
	unsigned int ah_failures;
	bool ah_refused; /* the path is FAILED because the CA refused the address handle */
	/*
	 * in READY: the path becomes stale at this time; in FAILED and STALE: the SA is not asked
	 * before this time
	 */
	ns_t until;
	ib_gid gid;
	struct list neighs; /* list of struct ipoib_neigh.path_node */
	struct sac_path_wait wait; /* query of this path that the SA client has not answered yet */
	struct ib_path_rec rec; /* path record of the last query that succeeded */
	struct ipoib_ah ah;
};

struct ipoib_mcast {
	struct ipoib_link *link; /* NULL: the slot is free */
	struct hlink by_mgid; /* in ipoib_link.mcast_tab */
	uint32_t slot; /* index in ipoib_link.mcasts */
	enum ipoib_mcast_state state;
	enum ipoib_proto proto;
	uint8_t group[16];
	bool broadcast;
	bool beyond_link; /* the scope of the IP group is wider than link-local */
	bool used; /* a packet was sent to the group since the last sweep */
	/* memberships that the SA granted: FullMember, send-only, NonMember */
	bool full_ok, so_ok, non_ok;
	bool routed; /* the link belongs to a multicast router, which receives the group as NonMember */
	/*
	 * MLIDs with which the QP is attached to .mgid: the MLID of the group, and those of lenders
	 * (mcast_attach.c)
	 */
	uint16_t attached[IPOIB_MAX_ATTACHED];
	unsigned int nattached;
	/* the CA refused an ATTACH, which the next sweep (IPOIB_SWEEP) queues again */
	bool attach_failed;
	/* number of calls of ipoib_mcast_add() that ipoib_mcast_del() has not undone */
	unsigned int receivers;
	unsigned int failures; /* joins or AHs that failed in a row, for the back-off */
	int status; /* status of the last query or join, as in sac.h */
	/* in ABSENT and FAILED: the SA is not asked again before this time */
	ns_t until;
	ns_t last_used; /* time of the last sweep (IPOIB_SWEEP) that found .used set */
	ib_gid mgid;
	/* record that the SA returned for the last join that it granted */
	struct ib_mcmember_rec rec;
	/* references to the group as FullMember, send-only member and NonMember */
	struct sac_group_ref full, so, non;
	struct sac_group_query query;
	struct ipoib_ah ah;
	/*
	 * handle for packets to a group that cannot be joined; these packets have the MGID .mgid
	 * and the MLID of a lender (mcast_lent.c)
	 */
	struct ipoib_ah lent;
	/* after the CA has refused .lent: time before which the CA is not asked again */
	ns_t lent_until;
	struct pkt_queue held;
	/*
	 * used if this group is the all-routers or the all-systems group: list of other groups,
	 * which do not exist or cannot be joined. Their packets wait until this group is joined or
	 * refused, and are then routed again (ipoib_mcast_release_held())
	 */
	struct list waiting;
	struct list wait_node; /* entry in .waiting of the all-routers or the all-systems group */
};

struct ipoib_link {
	/* Fields that are read for each packet */
	bool up; /* UP or REJOINING */
	unsigned int ip_mtu;
	uint32_t qkey;
	const struct ipoib_profile *profile;
	unsigned int nheld; /* number of packets that are held back in all queues of the link */
	uint32_t held_octets; /* octets of the buffers of the packets that are held back */
	struct {
		uint16_t lid;
		uint32_t qpn;
		struct ipoib_neigh *neigh; /* NULL: no result is stored */
	} rx_last; /* result of the last search for a neighbour by (SLID, QPN) */
	struct ipoib_stats stats;

	/* Identity */
	char name[IPOIB_NAME_LEN];
	struct ipoib_link_cfg cfg;
	struct sac *sac;
	struct sac_user user;
	uint16_t pkey; /* P_Key with bit 15 set */
	struct ipoib_map map; /* values from which the MGIDs of the link's groups are computed */
	ib_gid mgid; /* MGID of the broadcast group */
	/*
	 * Source of the SL of unicast packets; the configuration or the profile selects the source
	 */
	enum ipoib_sl_from sl_from;

	/* State; only set_state() in link.c writes .state and .since. */
	enum ipoib_link_state state;
	ns_t since; /* time at which .state was entered */
	char reason[IPOIB_REASON_LEN]; /* why the link is not UP, in words */
	bool admin; /* administratively up */
	bool carrier; /* state of the carrier in the last IPOIB_ACT_CARRIER */
	struct ipoib_port port;
	/* .has_qp: the QP exists; .qp_asked: QP_CREATE was queued and has not failed */
	bool has_qp, qp_asked;
	/* the SA granted the join of the broadcast group, and the group's record fits this port */
	bool joined;
	/*
	 * true while the link is a member of the broadcast group (.joined) and the SA client joins
	 * this group again
	 */
	bool renewing;
	/* true if the warnings about the broadcast group's Q_Key and MTU were logged */
	bool qkey_said;
	bool no_group; /* true if the SA refused to join the broadcast group because the group does not exist */
	/*
	 * true if the log already says why the broadcast group cannot be joined at present
	 */
	bool refusal_said;
	/* true if QP_MODIFY failed; the next sweep (IPOIB_SWEEP) queues QP_MODIFY again */
	bool qp_stale;
	uint32_t qpn;
	uint16_t qp_pkey_index; /* P_Key index in the last QP_CREATE or QP_MODIFY */
	uint32_t qp_qkey; /* Q_Key in the last QP_CREATE or QP_MODIFY */
	/* MCMemberRecord that the SA returned for the join of the broadcast group */
	struct ib_mcmember_rec group_rec;

	/* For links that get the broadcast group by SIDR (link_group.c) */
	struct sidr_ask sidr;
	struct sidr_group sidr_group; /* last answer of SIDR */
	enum sidr_why sidr_why; /* result of the last question to SIDR */
	/*
	 * .group_asked: sidr_start() was called; .group_known: .sidr_group was received after the
	 * last restart of the SA client
	 */
	bool group_asked, group_known;
	/*
	 * the broadcast group was joined after SIDR's last answer, with the values of this answer
	 * (.sidr_group)
	 */
	bool group_proved;
	/*
	 * true if SIDR was asked once more, because the SA's answer differs from SIDR's answer in the SL or in a
	 * field of the GRH
	 */
	bool group_doubted;
	/*
	 * true if .granted_rec is valid: the record of a join that was granted after the last
	 * restart of the SA client
	 */
	bool granted;
	struct ib_mcmember_rec granted_rec;

	unsigned int said_mtu; /* IP MTU in the last IPOIB_ACT_MTU */
	/* number of joins of the broadcast group that failed in a row, for the back-off */
	unsigned int retries;
	/*
	 * timer that repeats a failed QP_CREATE, a join that did not start, or a join whose granted
	 * record did not fit
	 */
	struct timer retry;
	struct timer sweep;
	/* The timer .sweep begins a sweep of the tables of neighbours and paths, and .sweep_step continues it */
	struct timer sweep_step;
	ns_t sweep_began;
	uint32_t sweep_at; /* first slot that the next step visits */
	uint32_t own_qpn[IPOIB_MAX_OWN_QPS]; /* QPNs of stations */
	unsigned int n_own_qpn;

	/* Tables. */
	struct ipoib_neigh *neighs;
	struct ipoib_slots neigh_slots;
	struct htab neigh_tab, rev_tab; /* neighbours by (GID, QPN), and by (SLID, QPN) */
	/* slot at which the next search for a removable neighbour begins */
	uint32_t neigh_hand;
	struct ipoib_path *paths;
	struct ipoib_slots path_slots;
	struct htab path_tab;
	struct pace_lines path_lines; /* log lines about refused paths */
	struct ipoib_mcast *mcasts;
	struct ipoib_slots mcast_slots;
	struct htab mcast_tab;
	/* slot at which the next search for a removable group begins */
	uint32_t mcast_hand;
	struct ipoib_mcast *bcast; /* entry of the broadcast group in .mcasts; every link has it */

	/* Multicast router */
	bool router; /* the link belongs to a multicast router, see ipoib_link_set_router() */
	/* open request to the SA for the list of all groups */
	struct sac_group_query router_list;
	struct timer router_timer; /* timer that requests the list of all groups */
	/* number of requests for the list of all groups that failed in a row, for the back-off */
	unsigned int router_failures;
	/*
	 * true if the subscription to trap 66 was complete before the list of all groups was
	 * requested, so that the link learns of each new group
	 */
	bool router_sure;
	bool router_full_logged; /* true if the log already says that there are more groups than fit in the table */

	/* Queue of actions */
	struct ipoib_action *acts; /* ring of .act_cap elements */
	uint32_t act_head, act_n, act_cap;
	uint32_t ah_seq; /* sequence number in the last cookie of an AH_CREATE */
};

/* The arguments are evaluated only if the log takes lines of this level, because printing a GID takes longer than most changes of a state. */
#define ipoib_log(l, lvl, fmt, ...)                                                      \
	do {                                                                             \
		if (log_wants((l)->cfg.log, lvl))                                        \
			log_to((l)->cfg.log, lvl, "%s: " fmt, (l)->name, ##__VA_ARGS__); \
	} while (0)

/* link.c */
/* ipoib_link_advance() - Enter the state that the link's conditions require (see link.c) */
void ipoib_link_advance(struct ipoib_link *l, ns_t now);
/*
 * ipoib_link_reason() - Empty .reason, and return a struct text by which the caller writes the new
 * reason why the link is not UP
 */
struct text ipoib_link_reason(struct ipoib_link *l);

/*
 * functions of link_group.c; they have no effect if the profile computes the MGID of the broadcast
 * group
 */
void ipoib_link_group_init(struct ipoib_link *l);
bool ipoib_link_group_known(const struct ipoib_link *l);
void ipoib_link_group_ask(struct ipoib_link *l, ns_t now);
void ipoib_link_group_forget(struct ipoib_link *l); /* stops SIDR when the link goes down */
void ipoib_link_group_restart(
	struct ipoib_link *l); /* forgets SIDR's values, because the SA client restarted */
/*
 * ipoib_link_group_again() - Ask the next SIDR server after a back-off, because the broadcast group
 * that SIDR named cannot be used. If the group is joined before the back-off ends,
 * ipoib_link_group_good() cancels the question
 */
void ipoib_link_group_again(struct ipoib_link *l, ns_t now);
/*
 * ipoib_link_group_wrong() - Report that SIDR's values differ from the values of the group's record
 */
void ipoib_link_group_wrong(struct ipoib_link *l, ns_t now);
/* ipoib_link_group_good() - Report that the broadcast group was joined and that its record fits */
void ipoib_link_group_good(struct ipoib_link *l);
/*
 * ipoib_link_group_renew() - Ask SIDR for new values at once, because the SA's answer to a new join
 * contradicts SIDR's values. Such a contradiction is normal if the group was deleted and created
 * again. .granted_rec is later compared with the new values. Return: false if the SA's answer to an
 * earlier join has not agreed with SIDR's last answer; SIDR is then not asked
 */
bool ipoib_link_group_renew(struct ipoib_link *l, ns_t now);
/*
 * ipoib_link_group_doubt() - Ask SIDR once more if its last answer differs from the granted record
 * @rec in the SL or in fields of the GRH. SIDR's values may be the older ones. .granted_rec is
 * later compared with the new answer. Return: false if the values agree, or if SIDR has already
 * repeated its values
 */
bool ipoib_link_group_doubt(struct ipoib_link *l, const struct ib_mcmember_rec *rec, ns_t now);
/*
 * ipoib_link_group_differs() - Write to @t which value of the record @rec differs from the value of
 * SIDR. Return: false if no value differs
 */
bool ipoib_link_group_differs(const struct ipoib_link *l, const struct ib_mcmember_rec *rec,
			      struct text *t);
/* ipoib_link_group_values() - Overwrite values of the granted record @rec with SIDR's values */
void ipoib_link_group_values(const struct ipoib_link *l, struct ib_mcmember_rec *rec);

/* link_join.c */
void ipoib_link_granted(struct ipoib_link *l, ns_t now); /* adopts or refuses l->granted_rec */
void ipoib_link_leave(struct ipoib_link *l, ns_t now); /* leaves all groups, and clears .up */
void ipoib_link_join(struct ipoib_link *l, ns_t now); /* joins the broadcast group */
/* ipoib_link_unjoin() - Leave all groups, and forget SIDR's answers */
void ipoib_link_unjoin(struct ipoib_link *l, ns_t now);
/*
 * ipoib_link_check_mtu() - Leave the broadcast group if the group's record no longer fits the
 * port's MTU or P_Key
 */
void ipoib_link_check_mtu(struct ipoib_link *l, ns_t now);
void ipoib_link_event(struct sac_user *u, enum sac_event ev, const ib_gid *gid, ns_t now);
/*
 * ipoib_link_sync_qp() - Queue QP_MODIFY if the QP's P_Key index or Q_Key differs from the link's
 */
void ipoib_link_sync_qp(struct ipoib_link *l);

#endif

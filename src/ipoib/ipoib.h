/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_IPOIB_H
#define IPOIB_IPOIB_H

/*
 * DOC: IPoIB core
 *
 * A struct ipoib_link is one IP interface on (port, P_Key), without any I/O of its own. The owner of the link
 * passes the port's attributes, packets and the time (timers) to the link, and carries out the actions that
 * ipoib_next_action() returns. The link calls the SA client directly.
 *
 * ipoib_tx() and ipoib_rx() return a verdict for every packet of a batch. The link requests control operations by its
 * queue of actions. The owner empties this queue (until -EAGAIN) after every call into the link or into the SA
 * client, and after timers and received MADs were handled. An owner of
 * many links can set ipoib_link_cfg.on_action, to learn which queues are not empty. The owner also empties the queue before it passes
 * newer packets to ipoib_tx(), so that packets that the link releases (IPOIB_ACT_SEND) precede the newer
 * packets. The owner may answer an action (ipoib_qp_ready(), ipoib_ah_ready(), ipoib_action_failed()) while it
 * empties the queue, or later.
 *
 * The link frees a dropped packet, and counts the packet once, under the reason of the drop.
 *
 * States of a link, and the function that ends each:
 *
 *	DOWN		administratively down; ends with ipoib_link_set_admin()
 *	WAIT_PORT	the port is not Active or has no LID; ends with ipoib_link_port_update()
 *	WAIT_PKEY	the P_Key is not in the port's table; ends with ipoib_link_port_update()
 *	WAIT_QP		the owner makes the QP; ends with ipoib_qp_ready()
 *	JOINING		if the profile gets the broadcast group by SIDR, a SIDR server is asked for
 *			it first; the SA client joins the group, 1 to 16 s between attempts
 *	UP		joined and attached, with an address handle; packets pass
 *	REJOINING	joined, but the SA lost its state, and the link joins again; packets pass
 */

#include "ipoib/limits.h"
#include "ipoib/profile.h"
#include "sac/sac.h"
#include "sidr/sidr.h"
#include "util/hash.h"
#include "util/pkt.h"
#include "wire/ipoib_hdr.h"

struct ipoib_link;
struct ipoib_path;

/* --- Reasons --- */

enum ipoib_drop {
	IPOIB_DROP_NONE,
	/* reasons to drop a packet that is to be sent */
	IPOIB_DROP_LINK_DOWN, /* the link is not up */
	IPOIB_DROP_TX_TYPE, /* ethertype that the profile does not carry (RFC 4391 §6) */
	IPOIB_DROP_TOO_BIG, /* the packet is longer than the IP MTU */
	IPOIB_DROP_HEADROOM, /* the packet's buffer has no room for the encapsulation */
	/*
	 * too many packets wait for the same neighbour or group, or the link holds too many
	 * packets, or few packet buffers are free
	 */
	IPOIB_DROP_HELD_FULL,
	/*
	 * the SA has no path or did not answer, and the link does not ask again before the back-off
	 * ends
	 */
	IPOIB_DROP_NO_PATH,
	IPOIB_DROP_NO_AH, /* the CA refused to make the address handle */
	IPOIB_DROP_NOT_GROUP, /* the destination is not a multicast address */
	/* neither the group nor a substitute group (RFC 4391 §10) exists */
	IPOIB_DROP_NO_GROUP,
	/* the SA refused the join or did not answer, or the CA refused the address handle */
	IPOIB_DROP_GROUP_REFUSED,
	IPOIB_DROP_GROUPS_FULL, /* the link has no room for another group */
	IPOIB_DROP_NEIGH_GONE, /* the packet was held for a neighbour that was removed */
	/* reasons to drop a received packet */
	IPOIB_DROP_SHORT, /* the packet is shorter than the encapsulation */
	IPOIB_DROP_RX_TYPE, /* ethertype that the profile does not carry (RFC 4391 §6) */
	IPOIB_DROP_OWN_ECHO, /* a multicast packet that this interface sent came back */
	IPOIB_DROP_RX_LINK_DOWN, /* the link is not up */
	IPOIB_DROP_N,
};

/* ipoib_drop_name() - Return the name of a reason, such as "own-echo"; never NULL */
const char *ipoib_drop_name(enum ipoib_drop reason);

struct ipoib_stats {
	/*
	 * These counters count packet descriptors, so a super-frame counts as one packet (eth/
	 * counts the segments). Octets of the encapsulation are not counted.
	 */
	uint64_t tx_packets, tx_octets, tx_mcast, tx_held;
	uint64_t rx_packets, rx_octets, rx_mcast, rx_no_source;
	uint64_t drops[IPOIB_DROP_N];
	uint64_t joins_failed, path_failures, ah_failures, attach_failures;
	uint64_t neigh_full, neigh_expired, paths_refreshed;
};
const struct ipoib_stats *ipoib_link_stats(const struct ipoib_link *l);

/* --- Link --- */

enum ipoib_link_state {
	IPOIB_LINK_DOWN,
	IPOIB_LINK_WAIT_PORT,
	IPOIB_LINK_WAIT_PKEY,
	IPOIB_LINK_WAIT_QP,
	IPOIB_LINK_JOINING,
	IPOIB_LINK_UP,
	IPOIB_LINK_REJOINING,
};
const char *ipoib_link_state_name(enum ipoib_link_state state);

struct ipoib_link_cfg {
	char name[IPOIB_NAME_LEN]; /* name of the link in the log */
	/*
	 * SA client of the port; it and the objects to which the pointers below point must outlive
	 * the link
	 */
	struct sac *sac;
	/*
	 * CM agent of the port, by which the link asks for its broadcast group if the profile uses
	 * SIDR for this
	 */
	struct cm *cm;
	/* ServiceID of the SIDR service, if the profile gets the broadcast group by SIDR */
	uint64_t sidr_service;
	struct timers *timers;
	const struct log_sink *log;
	/*
	 * Called before the empty queue of actions gets an action. The function may not call the link. NULL: it is not
	 * called
	 */
	void (*on_action)(void *ctx);
	/* Called when the state of the link has changed. The function may not call the link. NULL: it is not called */
	void (*on_state)(void *ctx);
	void *on_ctx; /* argument of .on_action and .on_state */
	const struct ipoib_profile *profile; /* NULL: the default profile */
	/*
	 * P_Key; the link sets bit 15, because the P_Key in an MGID has bit 15 set (RFC 4391 §4.1)
	 */
	uint16_t pkey;
	/* scope of the broadcast group; 0: global if .subnet is set, otherwise the profile's scope */
	uint8_t scope;
	/* number of the IP subnet, for profiles whose MGIDs contain this number; 0: none */
	uint16_t subnet;
	/* upper limit of the IP MTU; 0: only the broadcast group limits the IP MTU */
	unsigned int max_ip_mtu;
	/* largest number of neighbours, up to IPOIB_NEIGH_LIMIT; 0: IPOIB_NEIGH_DEFAULT */
	uint32_t max_neighs;
	enum ipoib_sl_from sl_from;
	uint8_t sl; /* SL of unicast packets if .sl_from is IPOIB_SL_FIXED */
	/*
	 * If neither a packet's group nor the all-routers group exists, send the packet to the broadcast group,
	 * instead of dropping it.
	 */
	bool absent_to_broadcast;
	struct sac_tries join_tries,
		/*
		 * .join_tries: number of tries of a join; .path_tries: number of tries of a path
		 * query; zero: the default of the SA client
		 */
		path_tries;
	/* true: the link belongs to a multicast router from the start, see ipoib_link_set_router() */
	bool router;
	/*
	 * Create the broadcast group if it does not exist (RFC 4391 §5), unless the profile has
	 * .joins_only. If the link does not create the group, the administrator has to create it.
	 */
	bool create_broadcast;
	/* MTU code of a broadcast group that the link creates; 0: the code of the port's MTU */
	uint8_t create_mtu_code;
	/*
	 * Q_Key of a broadcast group that the link creates; 0: CREATE_QKEY (link_join.c), a
	 * controlled Q_Key
	 */
	uint32_t create_qkey;
};

/*
 * ipoib_link_create() - Make a link, in state DOWN. Return: 0; -EINVAL: P_Key whose low 15 bits are
 * 0, scope > 15, a scope or subnet number that the profile does not have, or no CM agent though the
 * profile needs one; -EOPNOTSUPP: .router is set, but the profile ignores Reports; -ENOMEM
 */
int ipoib_link_create(struct ipoib_link **ret, const struct ipoib_link_cfg *cfg);

/*
 * ipoib_link_destroy() - Free the link, its held packets and its neighbours
 *
 * Take the link down first (ipoib_link_set_admin()) and carry out the actions that result, because
 * this function returns no more actions. References to neighbours (ipoib_neigh_hold()) become
 * invalid. NULL is accepted.
 */
void ipoib_link_destroy(struct ipoib_link *l);

/*
 * ipoib_link_set_admin() - Set the link administratively up or down
 *
 * A link that is set down leaves all groups. Its neighbours stay in the table of neighbours. Groups
 * that were added with ipoib_mcast_add() stay recorded, and are joined again when the link is up.
 */
void ipoib_link_set_admin(struct ipoib_link *l, bool up, ns_t now);

/*
 * ipoib_link_set_router() - Turn the link into a multicast router's link, or into an ordinary link again
 * (RFC 4391 §11)
 *
 * A router's link receives all IP groups of the link, as NonMember, and the two all-routers groups as FullMember.
 * Return: 0; -EOPNOTSUPP: the profile ignores Reports; -ENOBUFS: no room for the all-routers groups
 */
int ipoib_link_set_router(struct ipoib_link *l, bool router, ns_t now);

struct ipoib_port {
	uint8_t state; /* enum ib_port_state */
	uint8_t lmc;
	uint8_t mtu_code; /* code of the port's active MTU */
	uint8_t rate_code;
	uint16_t lid;
	ib_gid gid;
	int pkey_index; /* index of the P_Key in the port's table; negative: not in the table */
};

/*
 * ipoib_link_port_update() - Set the port's attributes. The caller has to call sac_port_update()
 * first.
 */
void ipoib_link_port_update(struct ipoib_link *l, const struct ipoib_port *port, ns_t now);

/*
 * Add and remove a further UD QP of this interface (the QP of a station), so that the link
 * recognizes multicast packets that this QP sent and that came back. Return: 0; -ENOSPC; -EEXIST
 */
int ipoib_link_own_qp_add(struct ipoib_link *l, uint32_t qpn);
void ipoib_link_own_qp_del(struct ipoib_link *l, uint32_t qpn);

struct ipoib_link_info {
	const char *name;
	const struct ipoib_profile *profile;
	enum ipoib_link_state state;
	/*
	 * text of the reason why the link is not UP, valid until the next call into the link; "" if
	 * the link is UP
	 */
	const char *reason;
	ns_t since; /* time at which the state began */
	struct ipoib_port port;
	uint16_t pkey;
	bool has_qp;
	uint32_t qpn;
	struct ipoib_lladdr lladdr; /* valid if .has_qp is set */
	bool router; /* the link belongs to a multicast router */
	/* true if the last answer of the SA said that the broadcast group does not exist */
	bool no_group;
	/*
	 * true if the link is a member of the broadcast group; .group, .group_mtu and .ip_mtu are
	 * then valid
	 */
	bool joined;
	ib_gid mgid; /* MGID of the broadcast group; zero: not known yet */
	/* MCMemberRecord that the SA returned for the join of the broadcast group */
	struct ib_mcmember_rec group;
	unsigned int group_mtu, ip_mtu;
	unsigned int neighs, max_neighs, paths, groups, held;
};
void ipoib_link_info(const struct ipoib_link *l, struct ipoib_link_info *ret);

/*
 * Single values of struct ipoib_link_info, for the data path. The MTU is 0 before the first join.
 */
/* the profile never changes */
const struct ipoib_profile *ipoib_link_profile(const struct ipoib_link *l);
unsigned int ipoib_link_ip_mtu(const struct ipoib_link *l);
/*
 * MGID of the broadcast group; zero before the MGID is known. The pointer is valid until the next
 * call into the link
 */
const ib_gid *ipoib_link_broadcast(const struct ipoib_link *l);
bool ipoib_link_is_up(const struct ipoib_link *l); /* true in UP and REJOINING */

/* --- Actions --- */

/*
 * Address vector. This struct repeats the fields of struct ca_ah_attr, because this layer does not
 * include ca/.
 */
struct ipoib_ah_attr {
	uint16_t dlid;
	uint8_t sl, src_path_bits, rate_code;
	bool has_grh;
	uint8_t tclass, hop_limit;
	uint32_t flow_label;
	ib_gid dgid;
};

enum ipoib_action_type {
	/*
	 * make a QP with the values of .qp and answer with ipoib_qp_ready(); after a success, the
	 * link requests no further QP
	 */
	IPOIB_ACT_QP_CREATE,
	/* reset the QP, and give it the values of .qp; its attachments to groups stay */
	IPOIB_ACT_QP_MODIFY,
	/* make the address handle .ah_create.attr, and answer with ipoib_ah_ready() */
	IPOIB_ACT_AH_CREATE,
	IPOIB_ACT_AH_DESTROY, /* destroy the address handle .ah */
	IPOIB_ACT_ATTACH, /* attach the QP to the group .mcast */
	IPOIB_ACT_DETACH, /* detach the QP from the group .mcast */
	/* set the interface's carrier to .carrier; ipoib_link_info() returns the reason */
	IPOIB_ACT_CARRIER,
	IPOIB_ACT_MTU, /* set the MTU of the interface to .ip_mtu */
	/* the neighbour .neigh is idle: drop all references to it (ipoib_neigh_put()) */
	IPOIB_ACT_NEIGH_GONE,
	/* .mcast_ready: the SA has granted or refused the join that ipoib_mcast_add() requested */
	IPOIB_ACT_MCAST_READY,
	/*
	 * post .send.pkt, a packet that was held back and now has its encapsulation; the owner then
	 * owns the packet, and segments it if it is a super-frame (gso)
	 */
	IPOIB_ACT_SEND,
};

struct ipoib_action {
	enum ipoib_action_type type;
	union {
		struct {
			uint16_t pkey_index;
			/* Q_Key of the QP; 0 in QP_CREATE, because the Q_Key is known only after the join */
			uint32_t qkey;
		} qp;
		struct {
			uint64_t cookie;
			struct ipoib_ah_attr attr;
		} ah_create;
		void *ah;
		struct {
			ib_gid mgid;
			uint16_t mlid;
		} mcast;
		struct {
			bool up;
		} carrier;
		unsigned int ip_mtu;
		struct ipoib_neigh *neigh;
		struct {
			enum ipoib_proto proto;
			uint8_t group[16]; /* IPv4: the first 4 octets */
			/*
			 * status of the join as in sac.h; 0: joined, and the ATTACH was queued
			 * before this action
			 */
			int status;
		} mcast_ready;
		struct {
			struct pkt *pkt;
			void *ah;
			uint32_t dest_qpn, qkey;
		} send;
	};
};

/*
 * ipoib_next_action() - Take the next action out of the queue. Return: 0; -EAGAIN: the queue is
 * empty
 */
int ipoib_next_action(struct ipoib_link *l, struct ipoib_action *ret);

/*
 * ipoib_qp_ready() - Answer QP_CREATE. After a success, @qpn is the number of the QP and @err is 0.
 * After a failure, @err is -errno, and the link queues QP_CREATE again later
 */
void ipoib_qp_ready(struct ipoib_link *l, uint32_t qpn, int err, ns_t now);

/*
 * ipoib_link_set_qpn() - Report that the owner of the link made a new queue pair with number @qpn
 * after the device had failed. The next ipoib_link_port_update() starts the link again from the
 * beginning
 */
void ipoib_link_set_qpn(struct ipoib_link *l, uint32_t qpn, ns_t now);

/*
 * ipoib_ah_ready() - Answer AH_CREATE, with the handle @ah and 0 in @err, or with -errno in @err
 *
 * From now on the link owns @ah, until it requests AH_DESTROY. If no path or group needs the handle
 * any more, the link requests AH_DESTROY at once.
 */
void ipoib_ah_ready(struct ipoib_link *l, uint64_t cookie, void *ah, int err, ns_t now);

/*
 * ipoib_action_failed() - Report that the owner of the link could not carry out an action
 *
 * A failed QP_MODIFY or ATTACH is logged, and the next sweep (IPOIB_SWEEP) queues the action again.
 * For QP_CREATE and AH_CREATE, this function calls ipoib_qp_ready() or ipoib_ah_ready().
 */
void ipoib_action_failed(struct ipoib_link *l, const struct ipoib_action *act, int err, ns_t now);

/* --- Neighbours --- */

/* Entry of ipoib_link.rev_tab, which maps SLID and QPN of a packet without GRH to its sender. */
struct ipoib_neigh_rev {
	struct hlink by_lid_qpn;
	struct ipoib_neigh *neigh;
	uint16_t lid; /* SLID of packets from .neigh; 0: this entry is not in the table rev_tab */
};

/*
 * A neighbour: one link-layer address (GID, QPN). Users of the link may read the members above the
 * empty line, and may write the members whose comment says "written by the user of the link". The
 * members below the empty line are private to the link. A pointer to a neighbour is valid until the
 * next call into the link, unless ipoib_neigh_hold() took a reference. The link removes an idle
 * neighbour. For an idle neighbour with references, the link first queues NEIGH_GONE, and removes
 * the neighbour when the last reference is dropped.
 */
struct ipoib_neigh {
	struct ipoib_lladdr lladdr; /* address, with flags 0 */
	/*
	 * written by the user of the link; NULL at first. While .user is set, the user has to hold
	 * a reference to the neighbour
	 */
	void *user;
	uint8_t token[6]; /* written by the user of the link; zero at first */
	/* written by the user of the link: true if .token is valid */
	bool has_token;

	/*
	 * true if the neighbour advertised the Q_Key .qkey; false: packets to the neighbour have
	 * the Q_Key of the link
	 */
	bool has_qkey;
	uint32_t qkey;
	uint64_t eui64; /* EUI-64 that the neighbour advertised; 0: it advertised none */
	/*
	 * the action NEIGH_GONE for this neighbour is queued, or was returned to the owner of the
	 * link
	 */
	bool dying;
	bool used; /* a packet was sent to or received from the neighbour since the last sweep */
	uint32_t refs; /* number of references that are held, see ipoib_neigh_hold() */
	uint32_t slot; /* index in ipoib_link.neighs */
	ns_t last_used; /* time of the last sweep (IPOIB_SWEEP) that found .used set */
	struct ipoib_link *link;
	struct ipoib_path *path;
	struct list path_node; /* in ipoib_path.neighs */
	struct pkt_queue held; /* packets to the neighbour that wait until its path is known */
	struct hlink by_addr; /* in ipoib_link.neigh_tab */
	/*
	 * this neighbour's entries in ipoib_link.rev_tab: [0] has the DLID of the path to the
	 * neighbour, and [1] has the SLID of the last packet from it
	 */
	struct ipoib_neigh_rev rev[2];
};

/*
 * ipoib_lladdr_is_unicast() - Tell whether @a can be the address of a port: its GID is neither a
 * group's nor zero, and its QPN can be that of a UD queue pair
 */
bool ipoib_lladdr_is_unicast(const struct ipoib_lladdr *a);
/* ipoib_neigh_get() - Find or make a neighbour; NULL: table full, or @a is no unicast address */
struct ipoib_neigh *ipoib_neigh_get(struct ipoib_link *l, const struct ipoib_lladdr *a, ns_t now);
struct ipoib_neigh *ipoib_neigh_find(const struct ipoib_link *l, const struct ipoib_lladdr *a);
/*
 * ipoib_neigh_said() - Store the Q_Key and the EUI-64 that a message from @src (NULL: unknown)
 * contains about the neighbour @n
 *
 * Once the path to the neighbour is known, messages about the neighbour from other ports have no
 * effect. Return: 0; -EKEYREJECTED: bit 31 of the Q_Key is set, and the Q_Key is not the link's, so
 * the link cannot send packets with it. The reason: if bit 31 is set, the HCA replaces the Q_Key by
 * that of the sending queue pair, which is the link's Q_Key (IBTA 10.2.5)
 */
int ipoib_neigh_said(struct ipoib_neigh *n, const struct ipoib_neigh *src,
		     const struct nd_port *port);
/*
 * ipoib_nd_port() - Return the values that a Neighbour Discovery option can contain for @a, which
 * is the link's own address or that of a neighbour
 */
struct nd_port ipoib_nd_port(const struct ipoib_link *l, const struct ipoib_lladdr *a);
void ipoib_neigh_hold(struct ipoib_neigh *n);
void ipoib_neigh_put(struct ipoib_neigh *n);

/*
 * ipoib_neigh_probe() - Ask the SA for the path to a neighbour before the first packet is sent.
 * Call this function when an ARP reply or NA about the neighbour was received
 */
void ipoib_neigh_probe(struct ipoib_neigh *n, ns_t now);

enum ipoib_path_state {
	IPOIB_PATH_NONE, /* the SA was not asked for the path yet */
	IPOIB_PATH_QUERY, /* the SA was asked for the path; packets are held back */
	/* the owner of the link makes the address handle; packets are held back */
	IPOIB_PATH_AH_WAIT,
	IPOIB_PATH_READY,
	IPOIB_PATH_STALE, /* the path is usable; the next packet causes a new query to the SA */
	IPOIB_PATH_REFRESH, /* the path is usable; the SA was asked for the path again */
	IPOIB_PATH_FAILED, /* packets are dropped until the back-off is over */
};
const char *ipoib_path_state_name(enum ipoib_path_state state);

struct ipoib_neigh_info {
	const struct ipoib_neigh *neigh;
	enum ipoib_path_state state;
	int status; /* status of the last path query, as in sac.h */
	/*
	 * in FAILED and STALE: the SA is not asked before this time; in READY: the path becomes
	 * stale at this time; otherwise 0
	 */
	ns_t until;
	struct ib_path_rec rec; /* path record; valid in READY, STALE and REFRESH */
	uint8_t sl; /* SL of packets to the neighbour; valid in the same states as .rec */
	unsigned int held; /* number of packets that wait for the path */
};

/*
 * ipoib_neigh_some() - Call @fn for about @n neighbours, beginning with slot *at of the table, and advance *at
 *
 * 16 free slots count as a neighbour. So a table can be visited in several calls, the first of which has *at = 0. A neighbour that comes or goes between two calls
 * may be left out, or, if it goes and comes again, appear twice. Return: true if there are further slots
 */
bool ipoib_neigh_some(const struct ipoib_link *l, uint32_t *at, uint32_t n,
		      void (*fn)(void *ctx, const struct ipoib_neigh_info *i), void *ctx);

/* --- Groups --- */

/* ipoib_mcast_mgid() - Write the MGID of a group on this link. Return: 0; -EINVAL: the link has no such group */
int ipoib_mcast_mgid(const struct ipoib_link *l, enum ipoib_proto proto, const uint8_t *group,
		     ib_gid *ret);

/**
 * ipoib_mcast_add() - Receive a group: join it as FullMember, which creates a missing group, and attach the QP
 * @group:	4 or 16 octets by @proto, network order
 *
 * Calls are counted, and the group is joined again whenever the link comes up, until ipoib_mcast_del() was called as
 * often as this function. MCAST_READY reports the result of each join. If the group is joined already, this function
 * queues a further MCAST_READY. @group may also be an IP group that the profile maps to the broadcast group, of
 * which every interface is a FullMember anyway.
 * Return: 0; -EINVAL: not a multicast address; -ENOBUFS: too many groups
 */
int ipoib_mcast_add(struct ipoib_link *l, enum ipoib_proto proto, const uint8_t *group, ns_t now);

/*
 * ipoib_mcast_del() - Undo one call of ipoib_mcast_add(). Return: 0; -ENOENT: the group was not
 * added
 */
int ipoib_mcast_del(struct ipoib_link *l, enum ipoib_proto proto, const uint8_t *group, ns_t now);

enum ipoib_mcast_state {
	IPOIB_MCAST_IDLE, /* it is not known whether the group exists */
	/* the SA was asked whether the group exists; packets are held back */
	IPOIB_MCAST_QUERY,
	IPOIB_MCAST_ABSENT, /* the group does not exist, or the SA refuses to let senders join */
	IPOIB_MCAST_JOINING, /* the SA was asked to join; packets are held back */
	/* the owner of the link makes the address handle; packets are held back */
	IPOIB_MCAST_AH_WAIT,
	IPOIB_MCAST_READY,
	IPOIB_MCAST_FAILED, /* packets are dropped until the back-off is over */
};
const char *ipoib_mcast_state_name(enum ipoib_mcast_state state);

struct ipoib_mcast_info {
	bool broadcast;
	enum ipoib_proto proto;
	uint8_t group[16];
	ib_gid mgid;
	/* number of calls of ipoib_mcast_add() that ipoib_mcast_del() has not undone */
	unsigned int receivers;
	bool full, send_only, non_member; /* memberships that the SA granted */
	bool attached;
	enum ipoib_mcast_state state;
	int status; /* status of the last query or join */
	/* in ABSENT and FAILED: the SA is not asked again before this time */
	ns_t until;
	/*
	 * MLID by which packets reach the group: the group's own MLID, or the MLID of a lender (mcast_lent.c); 0:
	 * none
	 */
	uint16_t mlid;
	unsigned int held; /* number of packets that wait for the group */
};
void ipoib_mcast_each(const struct ipoib_link *l,
		      void (*fn)(void *ctx, const struct ipoib_mcast_info *i), void *ctx);

/* --- Data path --- */

enum ipoib_verdict {
	IPOIB_SEND, /* tx: the packet has its encapsulation; the owner posts the packet with ah, dest_qpn, qkey */
	/*
	 * tx: the link holds the packet back until the SA answers, or until the owner answers
	 * AH_CREATE
	 */
	IPOIB_HELD,
	IPOIB_DELIVER, /* rx: the encapsulation was removed; the owner takes the packet */
	IPOIB_DROP, /* the link has freed the packet and counted it in ipoib_stats.drops */
};

enum ipoib_dst {
	IPOIB_DST_NEIGH,
	IPOIB_DST_BROADCAST,
	IPOIB_DST_MCAST4, /* the IPv4 group in .group[0..3] */
	IPOIB_DST_MCAST6, /* the IPv6 group in .group[0..15] */
};

struct ipoib_tx {
	/* set by the caller */
	/* packet, beginning with the IP or ARP header; possibly a super-frame (gso) */
	struct pkt *pkt;
	struct ipoib_neigh *neigh; /* destination if .dst is IPOIB_DST_NEIGH */
	uint16_t ethertype;
	uint8_t dst; /* enum ipoib_dst */
	uint8_t group[16];
	/* set by ipoib_tx() */
	uint8_t verdict; /* IPOIB_SEND, _HELD, _DROP */
	uint8_t reason; /* enum ipoib_drop */
	uint32_t dest_qpn, qkey;
	void *ah;
};

/*
 * ipoib_tx() - Give each packet its verdict. @n is at most PKT_BATCH.
 *
 * A super-frame gets its encapsulation once. The code that segments the super-frame repeats the octets of the
 * encapsulation in each segment.
 */
void ipoib_tx(struct ipoib_link *l, struct ipoib_tx *v, unsigned int n, ns_t now);

struct ipoib_rx {
	/* set by the caller, as in struct ca_wc */
	struct pkt *pkt; /* packet, beginning with the encapsulation */
	const uint8_t *grh; /* the GRH, 40 octets; NULL: the packet has no GRH */
	uint32_t src_qp;
	uint16_t slid;
	uint8_t sl, dlid_path_bits;
	/* set by ipoib_rx() */
	uint8_t verdict; /* IPOIB_DELIVER, _DROP */
	uint8_t reason; /* enum ipoib_drop */
	bool mcast; /* the packet was sent to an IB multicast group */
	uint16_t ethertype;
	struct ipoib_neigh *src; /* neighbour that sent the packet; NULL: unknown */
};

/*
 * ipoib_rx() - Check @n packets, remove the encapsulation, find the sender. @n is at most
 * PKT_BATCH.
 */
void ipoib_rx(struct ipoib_link *l, struct ipoib_rx *v, unsigned int n, ns_t now);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_IPOIB_H
#define IPOIB_IPOIB_H

/*
 * DOC: IPoIB core
 *
 * One struct ipoib_link is one IP interface on (port, P_Key), sans I/O. Its owner feeds it port
 * attributes, packets and time (timers), and carries out the actions that ipoib_next_action()
 * hands out; the SA client is used directly.
 *
 * Data travels by return value: ipoib_tx() and ipoib_rx() give every packet of a batch its
 * verdict. Control travels by the action queue. The owner drains it to -EAGAIN after every call
 * into the link, into the SA client, and after timers and received MADs ran, and always before
 * it hands newer packets to ipoib_tx(): released packets (IPOIB_ACT_SEND) then precede them.
 * Answers (ipoib_qp_ready(), ipoib_ah_ready(), ipoib_action_failed()) may be given while
 * draining, or later.
 *
 * A dropped packet is freed here and counted once, under its reason.
 *
 * States of a link, and what leaves them:
 *
 *	DOWN		administratively down: ipoib_link_set_admin()
 *	WAIT_PORT	the port is not Active, or has no LID: ipoib_link_port_update()
 *	WAIT_PKEY	the P_Key is not in the port's table: ipoib_link_port_update()
 *	WAIT_QP		the owner makes the QP: ipoib_qp_ready()
 *	JOINING		the broadcast group is being joined, 1 to 16 s between tries: SA client
 *	UP		joined, attached, address handle made: packets pass
 *	REJOINING	up, and the SA was asked again after it lost its state; packets pass
 */

#include "ipoib/limits.h"
#include "ipoib/profile.h"
#include "sac/sac.h"
#include "util/hash.h"
#include "util/pkt.h"
#include "wire/ipoib_hdr.h"

struct ipoib_link;
struct ipoib_path;

/* --- Reasons --- */

enum ipoib_drop {
	IPOIB_DROP_NONE,
	/* tx */
	IPOIB_DROP_LINK_DOWN, /* the link is not up */
	IPOIB_DROP_TX_TYPE, /* ethertype outside RFC 4391 §6 */
	IPOIB_DROP_TOO_BIG, /* longer than the IP MTU */
	IPOIB_DROP_HEADROOM, /* no room for the encapsulation */
	IPOIB_DROP_HELD_FULL, /* too many packets wait for the same answer, or in all */
	IPOIB_DROP_NO_PATH, /* the SA has no path, or did not answer; backing off */
	IPOIB_DROP_NO_AH, /* the CA refused the address handle */
	IPOIB_DROP_NOT_GROUP, /* destination is not a multicast address */
	IPOIB_DROP_NO_GROUP, /* the group does not exist, nor a substitute (RFC 4391 §10) */
	IPOIB_DROP_GROUP_REFUSED, /* the SA refused the join; backing off */
	IPOIB_DROP_GROUPS_FULL, /* no room for another group */
	IPOIB_DROP_NEIGH_GONE, /* held for a neighbour or group that was dropped */
	/* rx */
	IPOIB_DROP_SHORT, /* shorter than the encapsulation */
	IPOIB_DROP_RX_TYPE, /* ethertype outside RFC 4391 §6 */
	IPOIB_DROP_OWN_ECHO, /* a multicast of our own came back */
	IPOIB_DROP_RX_LINK_DOWN, /* the link is not up */
	IPOIB_DROP_N,
};

/* ipoib_drop_name() - "own-echo" and the like, for counters; never NULL */
const char *ipoib_drop_name(enum ipoib_drop reason);

struct ipoib_stats {
	/* Descriptors: a super-frame counts once, eth/ knows its segments. Octets: IP payload. */
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
	char name[IPOIB_NAME_LEN]; /* for traces */
	struct sac *sac; /* borrowed, as all below */
	struct timers *timers;
	const struct log_sink *log;
	const struct ipoib_profile *profile; /* NULL: the default */
	uint16_t pkey; /* bit 15 is added: the full form makes MGIDs (RFC 4391 §4.1) */
	uint8_t scope; /* of the broadcast group; 0: the profile's */
	unsigned int max_ip_mtu; /* 0: what the group allows */
	/* An absent group that has no routers goes to the broadcast group instead of being dropped. */
	bool absent_to_broadcast;
	/* Make the broadcast group if the SA has none (RFC 4391 §5); else the administrator does. */
	bool create_broadcast;
	uint8_t create_mtu_code; /* 0: the port's */
	uint32_t create_qkey; /* 0: a controlled one */
};

/* ipoib_link_create() - 0; -EINVAL: P_Key whose low 15 bits are 0, or scope > 15; -ENOMEM. Starts DOWN */
int ipoib_link_create(struct ipoib_link **ret, const struct ipoib_link_cfg *cfg);

/*
 * ipoib_link_destroy() - Take the link down before (ipoib_link_set_admin(), then drain): this
 * frees memory and held packets, hands out nothing any more and voids all holds on neighbours.
 * NULL is accepted.
 */
void ipoib_link_destroy(struct ipoib_link *l);

/* ipoib_link_set_admin() - Down leaves all groups; neighbours and receivers' wishes survive */
void ipoib_link_set_admin(struct ipoib_link *l, bool up, ns_t now);

struct ipoib_port {
	uint8_t state; /* enum ib_port_state */
	uint8_t lmc;
	uint8_t mtu_code; /* active MTU of the port */
	uint8_t rate_code;
	uint16_t lid;
	ib_gid gid;
	int pkey_index; /* where the table matches the P_Key; negative: nowhere */
};

/* ipoib_link_port_update() - The port's attributes now. Update the SA client (sac_port_update()) first. */
void ipoib_link_port_update(struct ipoib_link *l, const struct ipoib_port *port, ns_t now);

/* Own UD QPs besides the main one (stations), for own-echo detection. 0; -ENOSPC; -EEXIST */
int ipoib_link_own_qp_add(struct ipoib_link *l, uint32_t qpn);
void ipoib_link_own_qp_del(struct ipoib_link *l, uint32_t qpn);

struct ipoib_link_info {
	const char *name;
	const struct ipoib_profile *profile;
	enum ipoib_link_state state;
	const char
		*reason; /* why it is not UP, in words; "" when it is; valid until the next call */
	ns_t since; /* of the state */
	struct ipoib_port port;
	uint16_t pkey;
	bool has_qp;
	uint32_t qpn;
	struct ipoib_lladdr lladdr; /* valid with has_qp */
	bool joined; /* the rest is valid */
	ib_gid mgid; /* broadcast group */
	struct ib_mcmember_rec group;
	unsigned int group_mtu, ip_mtu;
	unsigned int neighs, paths, groups, held;
};
void ipoib_link_info(const struct ipoib_link *l, struct ipoib_link_info *ret);

/* Shortcuts for the data path; 0 before the first join. */
unsigned int ipoib_link_ip_mtu(const struct ipoib_link *l);
uint32_t ipoib_link_qkey(const struct ipoib_link *l);
bool ipoib_link_is_up(const struct ipoib_link *l); /* UP or REJOINING */

/* --- Actions --- */

/* Address vector: ca_ah_attr has the same fields. */
struct ipoib_ah_attr {
	uint16_t dlid;
	uint8_t sl, src_path_bits, rate_code;
	bool has_grh;
	uint8_t tclass, hop_limit;
	uint32_t flow_label;
	ib_gid dgid;
};

enum ipoib_proto {
	IPOIB_IPV4,
	IPOIB_IPV6,
};

enum ipoib_action_type {
	IPOIB_ACT_QP_CREATE, /* .qp; answer ipoib_qp_ready(); handed out once in a link's life */
	IPOIB_ACT_QP_MODIFY, /* .qp; the QP is reset, attachments stay */
	IPOIB_ACT_AH_CREATE, /* .ah_create; answer ipoib_ah_ready() */
	IPOIB_ACT_AH_DESTROY, /* .ah */
	IPOIB_ACT_ATTACH, /* .mcast */
	IPOIB_ACT_DETACH, /* .mcast */
	IPOIB_ACT_CARRIER, /* .carrier; the reason is in ipoib_link_info() */
	IPOIB_ACT_MTU, /* .ip_mtu */
	IPOIB_ACT_NEIGH_GONE, /* .neigh: idle; its holders let go (ipoib_neigh_put()) */
	IPOIB_ACT_MCAST_READY, /* .mcast_ready: a join of ipoib_mcast_add() came out, each time it does */
	IPOIB_ACT_SEND, /* .send: takes pkt; a held packet, encapsulated (gso: still to be segmented) */
};

struct ipoib_action {
	enum ipoib_action_type type;
	union {
		struct {
			uint16_t pkey_index;
			uint32_t qkey; /* 0 in QP_CREATE: not known yet */
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
			uint8_t group[16]; /* IPv4: the first 4 */
			int status; /* as in sac.h; 0: joined and handed out for attaching */
		} mcast_ready;
		struct {
			struct pkt *pkt;
			void *ah;
			uint32_t dest_qpn, qkey;
		} send;
	};
};

/* ipoib_next_action() - 0 or -EAGAIN: there is none */
int ipoib_next_action(struct ipoib_link *l, struct ipoib_action *ret);

/* ipoib_qp_ready() - Answer to QP_CREATE: @qpn with @err 0, or why it failed (tried again later) */
void ipoib_qp_ready(struct ipoib_link *l, uint32_t qpn, int err, ns_t now);

/*
 * ipoib_ah_ready() - Answer to AH_CREATE: @ah with @err 0, or -errno. The link owns @ah from here
 * and gives it back by AH_DESTROY, at once if nobody wants it any more.
 */
void ipoib_ah_ready(struct ipoib_link *l, uint64_t cookie, void *ah, int err, ns_t now);

/* ipoib_action_failed() - QP_MODIFY or ATTACH failed: tried again later, said in the reason */
void ipoib_action_failed(struct ipoib_link *l, const struct ipoib_action *act, int err, ns_t now);

/* --- Neighbours --- */

/* A place in the table by (SLID, QPN), which names senders of packets without GRH. */
struct ipoib_neigh_rev {
	struct hnode node;
	struct ipoib_neigh *neigh;
	uint16_t lid; /* 0: not in the table */
};

/*
 * One link-layer address (GID, QPN). The first part is for users to read and, where said, to
 * write; the rest is the link's. A pointer is valid until the next call into the link unless a
 * hold is taken. An idle neighbour is given up: if held, after NEIGH_GONE and the last put.
 */
struct ipoib_neigh {
	struct ipoib_lladdr lladdr; /* flags 0 */
	void *user; /* the user's, NULL at first; keep a hold while it is set */
	uint8_t token[6]; /* the user's, zero at first */
	bool has_token; /* the user's */

	bool dying; /* NEIGH_GONE is queued or was handed out */
	bool used; /* since the last sweep */
	uint32_t refs;
	uint32_t slot; /* in the pool */
	ns_t last_used; /* to a sweep's accuracy */
	struct ipoib_link *link;
	struct ipoib_path *path;
	struct list path_node;
	struct pkt_queue held;
	struct hnode by_addr;
	struct ipoib_neigh_rev rev[2]; /* as the path says, and as last received */
};

/* ipoib_neigh_get() - Find or make; NULL: the table is full, or @a is no unicast address */
struct ipoib_neigh *ipoib_neigh_get(struct ipoib_link *l, const struct ipoib_lladdr *a, ns_t now);
struct ipoib_neigh *ipoib_neigh_find(const struct ipoib_link *l, const struct ipoib_lladdr *a);
void ipoib_neigh_hold(struct ipoib_neigh *n);
void ipoib_neigh_put(struct ipoib_neigh *n);

/* ipoib_neigh_probe() - Ask for the path already now, as when an ARP reply or NA is seen */
void ipoib_neigh_probe(struct ipoib_neigh *n, ns_t now);

enum ipoib_path_state {
	IPOIB_PATH_NONE, /* not asked yet */
	IPOIB_PATH_QUERY, /* the SA is asked; packets are held */
	IPOIB_PATH_AH_WAIT, /* the CA makes the address handle; packets are held */
	IPOIB_PATH_READY,
	IPOIB_PATH_STALE, /* usable; the next packet has it verified */
	IPOIB_PATH_REFRESH, /* usable; being verified */
	IPOIB_PATH_FAILED, /* packets are dropped until the back-off is over */
};
const char *ipoib_path_state_name(enum ipoib_path_state state);

struct ipoib_neigh_info {
	const struct ipoib_neigh *neigh;
	enum ipoib_path_state state;
	int status; /* of the last path query, as in sac.h */
	ns_t until; /* FAILED: back-off; READY: verified again after; else 0 */
	struct ib_path_rec rec; /* READY, STALE, REFRESH */
	unsigned int held;
};
void ipoib_neigh_each(const struct ipoib_link *l,
		      void (*fn)(void *ctx, const struct ipoib_neigh_info *i), void *ctx);

/* --- Groups --- */

/**
 * ipoib_mcast_add() - Receive a group: FullMember join, made if absent, and attach
 * @group:	4 or 16 octets by @proto, network order
 *
 * Calls are counted. The wish survives whatever happens to the link. MCAST_READY tells each
 * outcome, also (again) where the group is joined already.
 * Return: 0; -EINVAL: not a multicast address; -ENOBUFS: too many groups
 */
int ipoib_mcast_add(struct ipoib_link *l, enum ipoib_proto proto, const uint8_t *group, ns_t now);

/* ipoib_mcast_del() - 0; -ENOENT: not added */
int ipoib_mcast_del(struct ipoib_link *l, enum ipoib_proto proto, const uint8_t *group, ns_t now);

enum ipoib_mcast_state {
	IPOIB_MCAST_IDLE, /* nothing known */
	IPOIB_MCAST_QUERY, /* the SA is asked whether it exists; packets are held */
	IPOIB_MCAST_ABSENT, /* it does not */
	IPOIB_MCAST_JOINING, /* packets are held */
	IPOIB_MCAST_AH_WAIT, /* packets are held */
	IPOIB_MCAST_READY,
	IPOIB_MCAST_FAILED, /* packets are dropped until the back-off is over */
};
const char *ipoib_mcast_state_name(enum ipoib_mcast_state state);

struct ipoib_mcast_info {
	bool broadcast;
	enum ipoib_proto proto;
	uint8_t group[16];
	ib_gid mgid;
	unsigned int receivers; /* ipoib_mcast_add() calls */
	bool full, send_only; /* granted memberships */
	bool attached;
	enum ipoib_mcast_state state;
	int status; /* of the last question or join */
	ns_t until; /* ABSENT, FAILED */
	uint16_t mlid;
	unsigned int held;
};
void ipoib_mcast_each(const struct ipoib_link *l,
		      void (*fn)(void *ctx, const struct ipoib_mcast_info *i), void *ctx);

/* --- Data path --- */

enum ipoib_verdict {
	IPOIB_SEND, /* tx: encapsulated; the owner posts it with ah, dest_qpn, qkey */
	IPOIB_HELD, /* tx: the link keeps it */
	IPOIB_DELIVER, /* rx: decapsulated */
	IPOIB_DROP, /* freed and counted */
};

enum ipoib_dst {
	IPOIB_DST_NEIGH,
	IPOIB_DST_BROADCAST,
	IPOIB_DST_MCAST4, /* group[0..3] */
	IPOIB_DST_MCAST6, /* group[0..15] */
};

struct ipoib_tx {
	/* in */
	struct pkt *pkt; /* head at the IP or ARP payload; may be a super-frame (gso) */
	struct ipoib_neigh *neigh; /* IPOIB_DST_NEIGH */
	uint16_t ethertype;
	uint8_t dst; /* enum ipoib_dst */
	uint8_t group[16];
	/* out */
	uint8_t verdict; /* IPOIB_SEND, _HELD, _DROP */
	uint8_t reason; /* enum ipoib_drop */
	uint32_t dest_qpn, qkey;
	void *ah;
};

/*
 * ipoib_tx() - Give each packet its verdict. A super-frame gets its encapsulation once; whoever
 * segments it repeats those octets. @n at most PKT_BATCH.
 */
void ipoib_tx(struct ipoib_link *l, struct ipoib_tx *v, unsigned int n, ns_t now);

struct ipoib_rx {
	/* in, as struct ca_wc has it */
	struct pkt *pkt; /* head at the encapsulation */
	const uint8_t *grh; /* 40 octets, or NULL */
	uint32_t src_qp;
	uint16_t slid;
	uint8_t sl, dlid_path_bits;
	/* out */
	uint8_t verdict; /* IPOIB_DELIVER, _DROP */
	uint8_t reason; /* enum ipoib_drop */
	bool mcast; /* came by an IB multicast group */
	uint16_t ethertype;
	struct ipoib_neigh *src; /* who sent it; NULL: not known */
};

/* ipoib_rx() - Check, decapsulate, name the sender. @n at most PKT_BATCH. */
void ipoib_rx(struct ipoib_link *l, struct ipoib_rx *v, unsigned int n, ns_t now);

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef UIB_H
#define UIB_H

/*
 * DOC: uib - an InfiniBand HCA in software
 *
 * One device has one port. Instead of a cable the port has a UDP socket, see doc/udp-link.md.
 *
 *	verbs.c cq.c qp.c post.c mcast.c	the functions that ib_core calls
 *	user.c				contexts and quotas of programs
 *	mr.c				memory regions, and all copies from and to the buffers of work requests
 *	tx.c burst.c			make packets from work requests, and send them, in the work item of a QP
 *	inet.c				checksums, and the headers of large sends
 *	rx.c				passes packets to QPs, in the softirq that received them
 *	mad.c sma.c pma.c samples.c	process_mad(): requests of subnet and performance management
 *	trap.c				the traps that the SMA sends to the subnet manager
 *	port.c				PortInfo and the tables, port states, events
 *	link.c udp.c			the state of the link, and its socket
 *	stats.c				counters, debugfs
 *	main.c				adds and removes devices
 *
 * Contexts: packets arrive in softirq, under rcu_read_lock(). Verbs may be called from any context, and post_send() even
 * with interrupts disabled. So post_send() only queues a work request, and the QP's work item sends the packet. A
 * completion handler is called with no lock held and bottom halves disabled.
 *
 * Locks: link.lock is taken before port.lock, port.lock before traps.lock, qp.lock before cq.lock. No other two locks are
 * held at the same time. The data path reads the port without a lock, because each field that it reads is one word.
 */

#include <linux/hrtimer.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <net/dst_cache.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "verbs.h"
#include "wire.h"

#define UIB_PKEYS 64
#define UIB_GUIDS 32
#define UIB_PORT 1

/*
 * The rate in PortInfo. UDP has no rate of its own, so these values give the lowest rate with which a port may join
 * IPoIB's groups, 10 Gb/s.
 */
#define UIB_WIDTHS 3 /* LinkWidthSupported: 1x and 4x */
#define UIB_WIDTH 2 /* LinkWidthActive: 4x */
#define UIB_SPEED 1 /* LinkSpeedSupported and LinkSpeedActive: SDR */
#define UIB_VL_CAP 4 /* VLCap: the port has VL0 to VL7 */
#define UIB_VLARB_CAP 8 /* entries for each priority; they fit in the first block of 32 entries */
#define UIB_VLARB_LOW 0
#define UIB_VLARB_HIGH 2
enum uib_phys_state {
	UIB_PHYS_NOP,
	UIB_PHYS_SLEEP,
	UIB_PHYS_POLLING,
	UIB_PHYS_DISABLED,
	UIB_PHYS_TRAINING,
	UIB_PHYS_LINK_UP,
};

/* Counters of a device. The counters before UIB_C_PORT_END belong to the port, and the PMA shows them. */
enum uib_counter {
	UIB_C_NONE, /* no counter; as the result of a check it means that the packet is good */
	UIB_C_XMIT_DATA, /* words of 4 octets, from LRH to ICRC */
	UIB_C_RCV_DATA,
	UIB_C_XMIT_PKTS,
	UIB_C_RCV_PKTS,
	UIB_C_UCAST_XMIT,
	UIB_C_UCAST_RCV,
	UIB_C_MCAST_XMIT,
	UIB_C_MCAST_RCV,
	UIB_C_LINK_DOWNED,
	UIB_C_RCV_ERRORS,
	UIB_C_RCV_PHYSICAL, /* part of RCV_ERRORS: a wrong CRC */
	UIB_C_RCV_MALFORMED, /* part of RCV_ERRORS: a wrong length or version */
	UIB_C_XMIT_DISCARDS,
	UIB_C_XMIT_INACTIVE, /* part of XMIT_DISCARDS: the port or the link was down */
	UIB_C_XMIT_MTU, /* part of XMIT_DISCARDS: longer than the MTU */
	UIB_C_VL15_DROPPED,
	UIB_C_XMIT_SL,
	UIB_C_RCV_SL = UIB_C_XMIT_SL + 16,
	UIB_C_PORT_END = UIB_C_RCV_SL + 16,

	UIB_C_RX_KEEPALIVES = UIB_C_PORT_END,
	UIB_C_TX_KEEPALIVES,
	UIB_C_LINK_UPS,

	/* reasons for which datagrams or packets were discarded */
	UIB_DROP_SILENT,
	UIB_DROP_STRAY_ADDR,
	UIB_DROP_STRAY_PORT,
	UIB_DROP_SHORT,
	UIB_DROP_OVERSIZED,
	UIB_DROP_LVER,
	UIB_DROP_LEN,
	UIB_DROP_VCRC,
	UIB_DROP_ICRC,
	UIB_DROP_VERSION, /* LNH, opcode, TVer, IPVer or NxtHdr is not that of a UD packet */
	UIB_DROP_PORT_STATE,
	UIB_DROP_VL15,
	UIB_DROP_MTU,
	UIB_DROP_DLID,
	UIB_DROP_DGID,
	UIB_DROP_NO_GRH,
	UIB_DROP_QPN,
	UIB_DROP_QP_STATE,
	UIB_DROP_MGID,
	UIB_DROP_PKEY,
	UIB_DROP_QKEY,
	UIB_DROP_NO_RX, /* no receive was posted, or the posted buffer is too small */
	UIB_DROP_NO_MEM,
	UIB_DROP_CQ_FULL,
	UIB_DROP_MKEY,
	UIB_DROP_TX_STATE,
	UIB_DROP_TX_MTU,
	UIB_DROP_TX_PKEY,
	UIB_DROP_TX_VL15,
	UIB_DROP_TX_DOWN,
	UIB_DROP_TX_ERROR, /* the socket has too many datagrams that have not left, or there is no route */
	UIB_C_MAX,
};

/* --- the link */

enum uib_link_state {
	UIB_LINK_OFF, /* not started, Disabled, or stopped */
	UIB_LINK_SILENT, /* neither sends nor receives, so that the peer notices that the link is down */
	UIB_LINK_POLLING, /* sends keepalives to the peer, if one is known, and waits for a datagram */
	UIB_LINK_UP,
};

union uib_addr {
	struct sockaddr sa;
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;
	struct sockaddr_storage ss;
};

#define UIB_SILENCE_MS 4000

struct uib_link {
	struct net *net;
	struct socket *sock;
	struct dst_cache route; /* to .peer */
	spinlock_t lock; /* protects state, peer and the times */
	enum uib_link_state state;
	/* true if no peer is configured: the first valid sender becomes the peer, until the link goes down */
	bool learn;
	bool has_peer;
	union uib_addr listen, peer;
	unsigned long start_silence; /* length of the silence after the start, in jiffies */
	unsigned long heard; /* time of the last valid datagram, in jiffies */
	u64 silent_until; /* end of SILENT, in jiffies64, because jiffies may wrap while the link is OFF */
	struct delayed_work state_work; /* work item that ends the states SILENT and UP */
	struct delayed_work keepalive_work;
	struct delayed_work retrain_work; /* takes the link down after the SM has requested it */
};

/* --- the port */

struct uib_port {
	spinlock_t lock; /* serializes writers; taken with bottom halves disabled */
	u64 mkey, gid_prefix;
	u32 cap_mask;
	u16 lid, sm_lid;
	u16 mkey_lease; /* lease period of the M_Key in seconds */
	u16 mkey_violations, pkey_violations, qkey_violations;
	u8 state, phys_state, down_default;
	u8 mkey_protect, lmc, sm_sl;
	u8 neighbor_mtu, mtu_cap; /* MTU codes */
	u8 oper_vls;
	u8 width_enabled, speed_enabled;
	u8 speed_ext_enabled, trap_suppress;
	u8 vl_high_limit, vl_stall_hoq_life, init_type_reply, subnet_timeout, error_limits;
	u16 max_credit_hint;
	u8 link_latency[3]; /* LinkRoundTripLatency, big-endian */
	bool mkey_lease_runs;
	unsigned long mkey_lease_ends; /* time at which the lease ends, in jiffies */
	u16 pkeys[UIB_PKEYS];
	u64 guids[UIB_GUIDS];
	u8 sltovl[16];
	u8 vlarb[4][IB_SMP_DATA_SIZE];
	/* values of the counters when the PMA last cleared them */
	u64 counter_base[UIB_C_PORT_END];
	/* the same for PortCountersExtended, whose counters are cleared separately */
	u64 ext_base[UIB_C_PORT_END];
};

/*
 * Bits for the actions that must follow a change of the port. uib_port_raise() performs them
 * when port.lock has been released.
 */
#define UIB_EV_ACTIVE BIT(0)
#define UIB_EV_ERR BIT(1)
#define UIB_EV_LID BIT(2)
#define UIB_EV_PKEY BIT(3)
#define UIB_EV_SM BIT(4)
#define UIB_EV_REREGISTER BIT(5)
#define UIB_EV_GID BIT(6)
/*
 * take the link down as port.phys_state demands, after the answer to the Set(PortInfo) has been
 * sent
 */
#define UIB_EV_RETRAIN BIT(7)
#define UIB_EV_ENABLE BIT(8) /* switch the link on again: the port is no longer Disabled */

/* --- samples */

/* largest number of counters in one measurement; PortSamplesControl has room for 15 */
#define UIB_SAMPLES 5
enum uib_sample_status {
	UIB_SAMPLE_DONE,
	UIB_SAMPLE_STARTED,
	UIB_SAMPLE_RUNNING,
};

struct uib_sampler {
	spinlock_t lock;
	struct hrtimer timer;
	enum uib_sample_status status;
	u8 op_code;
	u16 tag;
	u32 start, interval; /* SampleStart and SampleInterval, in ticks */
	u16 select[UIB_SAMPLES];
	u64 before[UIB_SAMPLES];
	u32 result[UIB_SAMPLES];
};

/* --- traps */

struct uib_trap {
	enum {
		UIB_TRAP_IDLE,
		UIB_TRAP_QUEUED, /* not sent yet; a newer notice replaces .notice */
		UIB_TRAP_SENT, /* repeated until the SM represses it */
	} state;
	bool again; /* only in SENT: .next is to be sent as a new trap after the repress */
	u64 tid;
	unsigned long next_at; /* earliest time of the next transmission, in jiffies */
	u8 notice[IB_SMP_DATA_SIZE], next[IB_SMP_DATA_SIZE];
};

struct uib_traps {
	spinlock_t lock;
	u64 last_tid;
	struct uib_trap slot[4];
	struct delayed_work work;
};

/* A received packet whose P_Key or Q_Key does not match, for traps 257 and 258 */
struct uib_violation {
	u16 slid, dlid;
	u32 src_qpn, dest_qpn, key;
	u8 sl;
	bool is_qkey;
	const u8 *gids; /* source and destination GID of the GRH; NULL if the packet has none */
};

/* --- the device */

struct uib_dev {
	struct ib_device ibdev;
	struct platform_device *parent; /* parent device of .ibdev */
	struct list_head node;
	struct uib_link link;
	struct uib_port port;
	u64 __percpu *counters;
	struct xarray qps; /* QPN -> struct uib_qp */
	u32 next_qpn;
	struct xarray mrs; /* index of the key -> struct uib_mr */
	u32 next_mr;
	struct mutex quota_lock; /* protects .quotas */
	struct list_head quotas;
	struct uib_traps traps;
	struct uib_sampler sampler;
	struct uib_qp sma_qp; /* QP with which the SMA sends traps; no consumer has it */
	spinlock_t mcast_lock;
	u32 mcast_seed;
	struct hlist_head mcast[64];
	struct dentry *debugfs;
};

static inline struct uib_dev *to_uib(struct ib_device *ibdev)
{
	return container_of(ibdev, struct uib_dev, ibdev);
}

static inline void uib_count(struct uib_dev *dev, enum uib_counter c)
{
	this_cpu_inc(dev->counters[c]);
}

static inline void uib_count_add(struct uib_dev *dev, enum uib_counter c, u64 n)
{
	this_cpu_add(dev->counters[c], n);
}

extern struct workqueue_struct *uib_wq;

/* --- link.c */

int uib_link_open(struct uib_link *l);
void uib_link_start(struct uib_link *l);
void uib_link_stop(struct uib_link *l);
/* uib_link_close() - Close the socket of the link; to be called when no more packets are sent */
void uib_link_close(struct uib_link *l);
/*
 * uib_link_send() - Send a buffer of uib_udp_alloc() to the peer. The buffer is freed. Return: 0; -ENETDOWN if the link is
 * not UP; or the error of uib_udp_send()
 */
int uib_link_send(struct uib_link *l, struct sk_buff *skb);
/*
 * uib_link_check_sender() - Tell whether the link now accepts datagrams from @from. Return:
 * UIB_C_NONE if it does; otherwise the reason why not
 */
enum uib_counter uib_link_check_sender(struct uib_link *l, const union uib_addr *from);
/*
 * uib_link_heard() - Process the arrival of a valid datagram of the peer. Return: UIB_C_NONE if the datagram is to be
 * delivered
 */
enum uib_counter uib_link_heard(struct uib_link *l, const union uib_addr *from);
/*
 * uib_link_retrain() - Take the link down as PortInfo:PortPhysicalState demands: after @delay, or
 * earlier if uib_link_retrain_now() reports that the answer to the Set(PortInfo) has been sent
 */
void uib_link_retrain(struct uib_link *l, unsigned long delay);
void uib_link_retrain_now(struct uib_link *l);
void uib_link_enable(struct uib_link *l, bool on);
const char *uib_link_state_name(enum uib_link_state s);

/* --- udp.c */

int uib_udp_open(struct uib_link *l);
void uib_udp_close(struct uib_link *l);
/* uib_udp_alloc() - Make an empty buffer with room for the headers of a datagram before the data; NULL: no memory */
struct sk_buff *uib_udp_alloc(gfp_t gfp);
/*
 * uib_udp_send() - Send the datagram in @skb, or the datagrams if @skb has a gso_size, and free @skb. Return: 0; -ENOBUFS:
 * the socket's earlier datagrams have not left yet; or the error of the routing
 */
int uib_udp_send(struct uib_link *l, const union uib_addr *to, struct sk_buff *skb);
/* uib_udp_new_peer() - Forget the route, because the link has another peer now */
void uib_udp_new_peer(struct uib_link *l);

/* --- port.c */

void uib_port_init(struct uib_port *p, u64 guid, u8 mtu_cap);
/*
 * uib_port_link_up() - Record that the link has come up. Return: false if the port is Disabled, and the link must not
 * be used
 */
bool uib_port_link_up(struct uib_dev *dev);
void uib_port_link_down(struct uib_dev *dev);
/* uib_port_armed_rx() - Make the port Active, because a packet on another VL than 15 has arrived in state Armed */
void uib_port_armed_rx(struct uib_dev *dev);
/* uib_port_raise() - Perform the actions of the UIB_EV_* bits; to be called without port.lock */
void uib_port_raise(struct uib_dev *dev, u32 events);
int uib_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr);
int uib_modify_port(struct ib_device *ibdev, u32 port, int mask, struct ib_port_modify *m);
int uib_query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid);
int uib_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
/*
 * uib_pkey_find() - Return the index of the table entry that matches @pkey, preferably an entry of a full member;
 * -ENOENT: no entry matches
 */
int uib_pkey_find(const struct uib_port *p, u16 pkey);
/* uib_own_lid() - Tell whether @lid is one of the 2^LMC LIDs of the port */
bool uib_own_lid(const struct uib_port *p, u16 lid);
/* uib_port_vl() - Return the VL on which packets of @sl leave; UIB_VL15: they are discarded */
u8 uib_port_vl(const struct uib_port *p, u8 sl);

static inline unsigned int uib_mtu_octets(u8 code)
{
	return 128u << code;
}

/* --- mad.c sma.c pma.c samples.c */

int uib_process_mad(struct ib_device *ibdev, int flags, u32 port, const struct ib_wc *wc,
		    const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index);
/* uib_sma() - Change the request in @smp into its response. Return: false if the M_Key forbids an answer */
bool uib_sma(struct uib_dev *dev, struct ib_smp *smp, bool ignore_mkey);
void uib_pma(struct uib_dev *dev, struct ib_mad *mad);
/* uib_samples() - Execute a Get or Set of @attr. Return: the MAD status; if it is 0, @data is now the answer */
u16 uib_samples(struct uib_dev *dev, __be16 attr, u8 *data, bool set);
void uib_samples_init(struct uib_dev *dev);
void uib_samples_exit(struct uib_dev *dev);

#define UIB_STATUS_BAD_VERSION 0x0004
#define UIB_STATUS_BAD_METHOD 0x0008
#define UIB_STATUS_BAD_ATTR 0x000c
#define UIB_STATUS_BAD_VALUE 0x001c

/* --- trap.c */

void uib_traps_init(struct uib_dev *dev);
void uib_traps_exit(struct uib_dev *dev);
void uib_trap_cap_change(struct uib_dev *dev, bool node_desc);
void uib_trap_bad_mkey(struct uib_dev *dev, const struct ib_smp *smp);
void uib_trap_bad_key(struct uib_dev *dev, const struct uib_violation *v);
/* uib_trap_repress() - Stop the trap with the TID of @smp. Return: false if no trap of the SMA has this TID */
bool uib_trap_repress(struct uib_dev *dev, const struct ib_smp *smp);
/* uib_trap_get_notice() - Copy the oldest unacknowledged notice into the 64 octets of @data, if there is one */
void uib_trap_get_notice(struct uib_dev *dev, u8 *data);
/*
 * uib_trap_set_notice() - Acknowledge the notice that uib_trap_get_notice() copies, if @data repeats
 * its trap number (IBTA 13.4.8.2)
 */
void uib_trap_set_notice(struct uib_dev *dev, const u8 *data);

/* --- burst.c */

/* uib_burst_room() - Return memory for a packet of @len octets; NULL: there is none */
u8 *uib_burst_room(struct uib_burst *b, u32 len);
/*
 * uib_burst_add() - Add the packet in the memory that uib_burst_room() returned last. If the packet does not fit into the
 * burst, the earlier packets are sent now
 */
void uib_burst_add(struct uib_dev *dev, struct uib_burst *b, u32 len, u8 sl, bool mcast);
/* uib_burst_send() - Send the packets now, and count them or the reason why they were discarded */
void uib_burst_send(struct uib_dev *dev, struct uib_burst *b);
void uib_burst_free(struct uib_burst *b);

/* --- tx.c rx.c */

/* uib_tx_dropped() - Count @n packets that were not sent */
void uib_tx_dropped(struct uib_dev *dev, enum uib_counter why, u32 n);
/*
 * uib_send() - Make the packets that @w and @sge describe, or discard them, and add them to the QP's burst. The caller
 * calls uib_burst_send() when it has no more work requests. The buffers of @sge are not used any more after this call.
 * Return the completion status of the work request
 */
enum ib_wc_status uib_send(struct uib_qp *qp, const struct uib_swqe *w, const struct uib_sge *sge);
/*
 * uib_rx() - Deliver a packet, from LRH to VCRC, to its destination QPs; called with bottom halves
 * disabled
 * @wire:	true: the packet came over the link, whose code has checked the VCRC; false: this port itself sent the packet
 */
void uib_rx(struct uib_dev *dev, const u8 *pkt, u32 len, bool wire);

/* --- stats.c */

u64 uib_counter_sum(const struct uib_dev *dev, enum uib_counter c);
void uib_stats_init(void);
void uib_stats_exit(void);
void uib_stats_add(struct uib_dev *dev);

/* --- verbs.c */

extern const struct ib_device_ops uib_ops;

/* --- main.c */

int uib_enable(struct ib_device *ibdev);
void uib_dealloc(struct ib_device *ibdev);

#endif

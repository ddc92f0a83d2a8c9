/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IFC_IFC_H
#define IFC_IFC_H

/*
 * DOC: Interfaces, without the kernel's side of them
 *
 * An interface consists of an IPoIB link (ipoib/), the shape of the kernel's device (eth/), and
 * queue pairs of a CA port (ca/). This module joins these three parts. It carries out the actions
 * of the link, passes on the events of the port, and polls the queue pairs. It also decides which
 * TAP is read next and how many frames are read. It does no I/O and reads no clock, so the daemon
 * and the simulations on virtual time run the same code. Everything that needs a kernel is a
 * function in struct ifc_ops.
 *
 *	struct ifc_set		all interfaces and ports that one thread serves
 *	struct ifc_port		a CA port in use, with the SA client that its interfaces share
 *	struct ifc		an interface
 *
 * The owner embeds the structs, and reports events (ifc_readable(), ifc_port_notify). It works in
 * rounds until nothing is left to do. In each round it calls:
 *
 *	ifc_work()	port changes, received packets, actions of links
 *	ifc_transmit()	frames from TAPs, as far as there is room for their packets
 *
 * If the ports belong to a software fabric, the owner then moves packets through this fabric, in
 * the same round.
 */

#include "ca/ca.h"
#include "eth/eth.h"
#include "ipoib/ipoib.h"
#include "sac/sac.h"
#include "sidr/offer.h"

/*
 * Limit of packets from TAPs in the queues behind a port. Real InfiniBand links lose no packets by
 * congestion, because credits stop the sender. Links of the software fabric have no credits. So
 * while this number of packets or more is in the queues, TAPs are not read, and the kernel's queue
 * stops the sender. The egress queues of a fabric (2048 packets) and the receive rings have room
 * for more than this number, so no packet is lost there.
 */
#define IFC_ROOM 1024u
/*
 * Default time of the transmit watchdog. intel-ipoib-linux-hld-2002 asks for such a watchdog (H15
 * in CONFORMANCE.md). If packets wait in the send queue, but no packet leaves it for this time, the
 * interface counts and logs a transmit timeout. The interface also discards the waiting packets, so
 * that later packets are not sent late.
 */
#define IFC_TX_TIMEOUT NS_SEC(1)
#define IFC_STALL_POLL NS_MSEC(10) /* interval between checks of a send queue that cannot send */
/*
 * Default number of packets that the receive ring of an interface holds; the receive ring of a
 * station holds half as many
 */
#define IFC_RQ_DEPTH 4096u
#define IFC_QUANTUM 64 /* number of packets that one TAP may send before another TAP is read */
/* time until the next read of a TAP after a read found no free packet buffer */
#define IFC_RETRY NS_MSEC(1)

struct ifc;
struct ifc_port;

struct ifc_set {
	struct timers *timers;
	struct pkt_pool *pool;
	const struct log_sink *log;
	/* random secret, from which numbers are made that others must not be able to guess */
	struct hash_key secret;
	struct list ports; /* list of struct ifc_port.link */
	struct list all; /* list of struct ifc.link: all interfaces */
	/* list of struct ifc_qp.rx_link: queue pairs that have received packets */
	struct list rx_ready;
	struct list acting; /* list of struct ifc.act_link: interfaces whose link has actions */
	/* list of struct ifc.tx_link: interfaces whose TAP may have frames, in the order in which they are read */
	struct list tx_ready;
	bool ports_dirty; /* a port in .ports has .dirty set */
	bool starved; /* a read of a TAP found no free packet buffer, and the timer .retry runs */
	struct timer retry;
};

/*
 * ifc_set_init() - Initialize @s; the pointers must stay valid until ifc_set_fini(). The caller
 * sets .secret before the first port starts
 */
void ifc_set_init(struct ifc_set *s, struct timers *timers, struct pkt_pool *pool,
		  const struct log_sink *log);
void ifc_set_fini(struct ifc_set *s);

/*
 * ifc_work() - Tell the links about changes of their ports, deliver received packets, and carry out
 * the actions of the links that have any
 */
void ifc_work(struct ifc_set *s, ns_t now);
/* ifc_work_left() - Tell whether ifc_work() has more to do */
bool ifc_work_left(const struct ifc_set *s);

/*
 * ifc_transmit() - Read frames from TAPs and post their packets, while there is room
 *
 * Each TAP that may have frames has one turn in a call (deficit round robin), in which it may send
 * IFC_QUANTUM packets. If the TAP sends more packets, it may send fewer in its next turn. If it
 * sends fewer, but has more frames, it may send more in its next turn.
 * The quantum is so small that the packets of super-frames fit into one batch (PKT_BATCH). It is
 * also so small that the octets of the packets are still in the CPU's cache when the packets are
 * delivered.
 */
void ifc_transmit(struct ifc_set *s, ns_t now);
/*
 * ifc_transmit_left() - Tell whether ifc_transmit() has to be called again soon: a TAP may have
 * frames to read, and packet buffers are free (.starved is not set)
 */
bool ifc_transmit_left(const struct ifc_set *s);

/* --- a CA port */

struct ifc_port {
	struct list link; /* in ifc_set.ports */
	struct ifc_set *set;
	struct ca *ca; /* owned: ifc_port_close() closes it */
	/*
	 * log for the SA client and the CM agent; by default the log of .set. Another log must be
	 * set before ifc_port_start()
	 */
	const struct log_sink *log;
	struct sac *sac;
	struct cm *cm; /* CM agent of the port, for SIDR */
	bool cm_supported; /* true while the port's bit IsCommunicationManagementSupported is set */
	uint64_t guid; /* port GUID */
	struct list ifs; /* list of struct ifc.on_port */
	/*
	 * list of struct ifc_pkeys.link: the users that follow the P_Key table of this port, see
	 * ifc/pkeys.h
	 */
	struct list pkeys;
	bool dirty; /* the port's attributes must be read again */
	bool back; /* the device was reopened after the attributes were read; all QPNs are new */
	bool rereg; /* the SM has set ClientReregister since the attributes were read */
	/*
	 * Called for every event of the port, inside the CA's callback, so the function must not
	 * call the CA. NULL: no function is called
	 */
	void (*on_event)(struct ifc_port *p, enum ca_event ev, ns_t now);
};

/* The callbacks to pass when a CA is opened; their context is the struct ifc_port. */
extern const struct ca_notify ifc_port_notify;

/*
 * ifc_port_init() - Initialize @p, with the log of the set. Afterwards the caller opens the CA with
 * ifc_port_notify, and stores it in p->ca
 */
void ifc_port_init(struct ifc_port *p, struct ifc_set *s);
/*
 * ifc_port_start() - Ask the CA for the port's GUID, and make the port's SA client and CM agent.
 * Return: 0 or -errno
 */
int ifc_port_start(struct ifc_port *p);
/*
 * ifc_port_close() - Free the SA client and the CA, after all interfaces on @p were destroyed, or
 * after ifc_port_start() failed
 */
void ifc_port_close(struct ifc_port *p);

/* --- an interface */

struct ifc_ops {
	/*
	 * Read the next frame of the TAP to *ret. Return: 0; -EAGAIN: there is no frame now, and the owner calls
	 * ifc_readable() when there is one; -ENOBUFS: no free buffer; another -errno: the TAP is gone
	 */
	int (*read)(void *ctx, struct pkt **ret);
	/* Write the frame to the TAP, then call eth_frame_free(). The function owns the frame. */
	void (*deliver)(void *ctx, struct eth_frame *f);
	/*
	 * Ethernet shape: delete the kernel's neighbour entries that contain the token @mac, because this token is
	 * not valid any more.
	 */
	void (*neigh_gone)(void *ctx, const uint8_t mac[6]);
	/* InfiniBand shape: as .lladdr_gone of struct eth_ops; may be NULL */
	void (*lladdr_gone)(void *ctx, const struct ipoib_lladdr *a);
	/* Ethernet shape: set the MAC of the network interface */
	void (*set_mac)(void *ctx, const uint8_t mac[6]);
	/*
	 * InfiniBand shape: set the addresses of the network interface and of its broadcast group.
	 * @broadcast: MGID; NULL: not known yet. Called when one of the addresses has changed. Both
	 * addresses are known before the carrier is set
	 */
	void (*set_lladdr)(void *ctx, const struct ipoib_lladdr *own, const ib_gid *broadcast);
	void (*set_mtu)(void *ctx, unsigned int mtu);
	/* Set the carrier of the network interface to the state of the link. */
	void (*set_carrier)(void *ctx, bool up);
	/* Called when the state of the link has changed, and may not call the link; may be NULL */
	void (*state_changed)(void *ctx);
	/*
	 * Called after the link got new attributes of the port, for example another LID. This
	 * pointer may be NULL
	 */
	void (*port_changed)(void *ctx);
};

/*
 * A queue pair of an interface. This struct is the context that the CA passes to the callbacks of
 * .ca.
 */
struct ifc_qp {
	struct list rx_link; /* membership in ifc_set.rx_ready */
	struct list link; /* in ifc.station_qps */
	struct ifc *ifc;
	/* station to which the queue pair belongs; NULL: it belongs to the interface itself */
	struct eth_station *station;
	struct ca_qp *ca; /* NULL: not made yet */
};

struct ifc_watchdog {
	/*
	 * the watchdog acts if the send queue is not empty and no packet has left it for this time
	 */
	ns_t timeout;
	/*
	 * timer for the next check of the send queue; it runs while packets may wait in the queue
	 */
	struct timer timer;
	ns_t since; /* time at which .sent was last set */
	uint64_t sent; /* number of packets that had left the send queue at .since */
	/* the TAP is not read now, because the send queue is full and sends nothing */
	bool blocked;
	/* a transmit timeout was logged, and no packet has left the send queue since then */
	bool logged;
	uint64_t timeouts; /* number of transmit timeouts */
	uint64_t discarded; /* number of packets that these timeouts discarded */
};

struct ifc {
	struct list link; /* in ifc_set.all */
	struct list on_port; /* in ifc_port.ifs */
	struct list act_link; /* membership in ifc_set.acting */
	struct list tx_link; /* membership in ifc_set.tx_ready */
	struct ifc_set *set;
	struct ifc_port *port;
	const struct ifc_ops *ops;
	void *ctx;
	char name[16]; /* name of the network interface */
	char link_name[IPOIB_NAME_LEN]; /* name of the link in the log */
	const struct log_sink *log;
	uint16_t pkey;
	/* number of packets that the receive ring of the interface's own queue pair holds */
	unsigned int rq_depth;
	/* the TAP is read only while fewer packets than this wait in the send queue */
	unsigned int sq_depth;
	struct ifc_watchdog watchdog;
	/* QPN for the interface's own queue pair; 0: ifc_qpn_hint() chooses one */
	uint32_t qpn;
	enum eth_shape shape;
	uint8_t mac[6]; /* Ethernet shape: MAC of the network interface */
	/*
	 * InfiniBand shape: the addresses that the last call of .set_lladdr passed. An address is
	 * zero if there was no such call, or if it was unknown at the time of the call
	 */
	struct ipoib_lladdr own;
	ib_gid broadcast;
	struct ipoib_link *ipoib;
	struct eth_if *eth;
	struct ifc_qp qp; /* queue pair of the interface itself */
	struct list station_qps; /* list of struct ifc_qp.link */
	/*
	 * true: while the interface is up, it answers SIDR requests for the broadcast group of its
	 * partition
	 */
	bool sidr_server;
	uint64_t sidr_service; /* ServiceID of SIDR requests that are sent or answered */
	uint8_t sidr_scope; /* scope of the broadcast group in .offer */
	struct sidr_offer offer;
	uint16_t qp_pkey_index; /* P_Key index of all queue pairs (last QP_CREATE or QP_MODIFY) */
	uint32_t qp_qkey; /* Q_Key of all queue pairs (last QP_CREATE or QP_MODIFY) */
	/*
	 * number of packets that the TAP may still send in its present turn; negative: its next
	 * turns are shortened by this number of packets
	 */
	int deficit;
	unsigned int posted; /* number of packets posted to queue pairs since the start; may wrap */
};

struct ifc_cfg {
	const char *name; /* name of the network interface */
	const char *link_name; /* name of the link in the log */
	const struct ipoib_profile *profile; /* NULL: the default profile */
	uint16_t pkey;
	/* upper limit of the IP MTU; 0: no limit but the MTU of the link */
	unsigned int max_ip_mtu;
	uint32_t max_neighs; /* largest number of neighbours, as in struct ipoib_link_cfg */
	uint8_t scope; /* scope of the broadcast group, as in struct ipoib_link_cfg */
	uint16_t subnet;
	/* source of the SL of unicast packets, as in struct ipoib_link_cfg */
	enum ipoib_sl_from sl_from;
	uint8_t sl;
	uint32_t qpn; /* QPN of the interface; 0: ifc_qpn_hint() chooses */
	const struct log_sink *log; /* log of the interface; NULL: the log of the set */
	/*
	 * number of packets that the receive ring of the interface's own queue pair holds; 0:
	 * IFC_RQ_DEPTH
	 */
	unsigned int rq_depth;
	/* the TAP is read only while fewer packets than this wait in the send queue; 0: IFC_ROOM */
	unsigned int sq_depth;
	ns_t tx_timeout; /* time-out of the transmit watchdog; 0: IFC_TX_TIMEOUT */
	/* tries of joins and of path queries, as in struct ipoib_link_cfg */
	struct sac_tries join_tries, path_tries;
	bool router; /* true for a multicast router's link, as in struct ipoib_link_cfg */
	enum eth_shape shape; /* shape of the kernel's device, as in struct eth_if_cfg */
	bool gro_tcp, gro_udp, dhcp_raw; /* options of the device, as in struct eth_if_cfg */
	unsigned int stations; /* largest number of stations, as in struct eth_if_cfg */
	/* true to answer SIDR requests for the broadcast group of the partition (sidr/offer.h) */
	bool sidr_server;
	uint64_t sidr_service; /* ServiceID; 0: SIDR_SERVICE_ID_DEFAULT */
};

/*
 * ifc_init() - Initialize the fields that ifc_qpn_hint() and ifc_destroy() use; cannot fail
 *
 * i->mac becomes the MAC that the interface will have if its queue pair gets the QPN that ifc_qpn_hint() returns.
 */
void ifc_init(struct ifc *i, struct ifc_port *port, const struct ifc_cfg *cfg,
	      const struct ifc_ops *ops, void *ctx);
/*
 * ifc_start() - Make the link (ipoib/) and the shape (eth/) of the interface. Return: 0; -errno,
 * after which only ifc_destroy() is allowed
 */
int ifc_start(struct ifc *i, const struct ifc_cfg *cfg);
/* ifc_destroy() - Free the interface, at any time after ifc_init(); the ops are not called any more */
void ifc_destroy(struct ifc *i);

/* ifc_set_up() - Tell the interface that its TAP was set up or down */
void ifc_set_up(struct ifc *i, bool up, ns_t now);
/*
 * ifc_set_router() - Turn the interface into a multicast router's interface, or into an ordinary
 * one again. Return: as ipoib_link_set_router()
 */
int ifc_set_router(struct ifc *i, bool router, ns_t now);
/* ifc_readable() - Tell the set of the interface that the TAP may have frames to read */
void ifc_readable(struct ifc *i);
/*
 * ifc_actions() - Carry out the actions of the interface's link; ifc_work() does this for all
 * interfaces
 */
void ifc_actions(struct ifc *i, ns_t now);

/*
 * ifc_qpn_hint() - Return the QPN for the interface, or, if @mac is not NULL, for the station with
 * this MAC
 *
 * The number is the same after a restart, so that entries in the caches of peers stay valid.
 */
uint32_t ifc_qpn_hint(const struct ifc *i, const uint8_t *mac);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_PRIV_H
#define VERBS_PRIV_H

/*
 * DOC: Inside a port of libibverbs
 *
 *	port.c	opening and closing, attributes, P_Key table
 *	device.c	the device below the port, which may be replaced
 *	csum.c	whether the adapter makes and verifies checksums
 *	event.c	the descriptors that ca_dispatch() serves, asynchronous events
 *	qp.c	states of queue pairs, restart after errors
 *	group.c	attachments to groups
 *	tx.c	sends and their completions
 *	rx.c	receive buffers and received packets
 *	ah.c	address handles
 *	tap.c	packets and their headers for those who watch the port
 *	mads.c	MADs through umad
 *	lib.c	the functions of the library and of the kernel
 *
 * A queue pair has a CQ for sends and one for receives, each as long as its queue, so that no CQ can overrun. All CQs of a
 * port share one completion channel.
 */

#include "ca/ca.h"
#include "util/frame.h"
#include "util/hash.h"
#include "util/list.h"
#include "util/log.h"
#include "verbs/lib.h"
#include "verbs/verbs.h"

#define VERBS_GRH 40 /* octets before the payload in a receive buffer: the GRH, if there was one */
#define VERBS_SLOT \
	4160 /* octets of an arena slot: GRH and largest payload, rounded up to a cache line */
#define VERBS_BATCH 32 /* largest number of completions that one call polls */
/*
 * Largest number of work requests in one list. The first ABI of ipathverbs has an array for ten in
 * its driver.
 */
#define VERBS_CHAIN 8
#define VERBS_DEPTH_MAX 1024 /* longest send queue and receive queue */
/* smallest number of receive buffers of a queue pair that does not request fewer */
#define VERBS_RX_MIN 64
#define VERBS_AHS_MAX 16384 /* largest number of address handles of a port */
/* largest number of unused address handles that are not destroyed at once */
#define VERBS_AHS_IDLE 256
#define VERBS_MADS 1024 /* number of requests whose TIDs are stored; a power of two */

/* A request that was sent through umad, which replaces the upper half of the request's TID */
struct verbs_mad {
	uint64_t tid; /* TID of the endpoint; 0: the entry is free */
	uint32_t first,
		sent; /* lower half of the TID in the first and in the last MAD that was sent */
	uint64_t
		wire; /* TID in the last response that arrived, for ACKs of its segments; 0: none has arrived */
	uint16_t lid;
};

struct verbs_mads {
	int fd; /* -1: the port has no umad device, or the device is gone */
	int agent, sa_agent, cm_agent; /* numbers of the agents; -1: not registered */
	struct mad_ep *ep;
	struct verbs_mad open[VERBS_MADS];
};

struct verbs_port {
	struct ca ca;
	const struct verbs_lib *lib;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_device_attr limits;
	struct verbs_stats stats;
	const struct log_sink *log;
	struct pkt_pool *pool;
	struct timers *timers;
	uint8_t num;
	char device[64];
	char name[80]; /* name of the port in messages of the log */
	bool dead; /* the device failed or is gone, and nothing works until verbs_reopen() */
	unsigned int
		rx_csum; /* IBV_WC_IP_CSUM_OK if this flag of a completion has a meaning, or 0 */
	bool grh_required; /* the port sends no packet without GRH */
	unsigned int mtu; /* octets of the largest payload that the port sends */
	struct ca_port_attr attr; /* attributes as of the last query */
	int pkeys_fd;
	uint16_t *pkeys; /* P_Key table, attr.pkey_tbl_len entries */
	uint8_t *arena;
	/* indices of the arena's slots that hold no packet and belong to no queue pair */
	uint32_t *free_slot;
	unsigned int nslots, nfree;
	struct list qps; /* struct verbs_qp.link */
	struct list taps; /* struct verbs_tap.link */
	struct htab ahs; /* struct verbs_ah.by_attr */
	struct list idle_ahs; /* struct verbs_ah.idle, least recently used first */
	unsigned int nidle;
	uint64_t sent; /* number of sends that have completed */
	struct verbs_mads mads;
};

struct verbs_ah {
	struct ca_ah ah;
	struct hlink by_attr;
	struct ca_ah_attr attr; /* the caller's attributes, with zeros in the padding */
	struct ibv_ah *h; /* NULL: the handle still has to be made on the new device */
	unsigned int refs; /* handles that callers have, and sends that have not completed */
	struct list idle; /* in verbs_port.idle_ahs while .refs is 0 */
};

struct verbs_tx {
	uint32_t slot;
	struct verbs_ah *ah;
};

struct verbs_qp {
	struct ca_qp qp;
	struct list link;
	struct verbs_port *port;
	/*
	 * NULL while the port has no device; then .stopped is set, and the queue pair is made again
	 * on the next device
	 */
	struct ibv_qp *h;
	struct ibv_cq *scq, *rcq;
	uint32_t num; /* QPN */
	uint16_t pkey_index;
	uint32_t qkey;
	bool stopped; /* the queue pair is not in state RTS, so packets to it are lost */
	bool broken; /* a work request completed with an error, so the queue pair is checked and perhaps restarted */
	bool scq_armed; /* a completion of a send makes an event */
	struct verbs_tx *
		tx; /* sends that have not completed, from .tx_head on, in the order in which they were posted */
	unsigned int tx_depth, tx_head, tx_n;
	uint32_t tx_seq; /* number of the next send, which is its wr_id */
	/*
	 * the .nidle receive slots that are not posted; from index .rx_depth on, all receive slots
	 */
	uint32_t *idle;
	unsigned int rx_depth, nidle;
	/* receive completions that were polled and not yet returned by verbs_poll() */
	struct ibv_wc stash[VERBS_BATCH];
	unsigned int stash_at, stash_n;
	struct list groups; /* struct verbs_group.link */
};

/* An attachment to a group. The kernel destroys no queue pair that has an attachment. */
struct verbs_group {
	struct list link;
	union ibv_gid gid;
	uint16_t mlid;
	unsigned int refs; /* a queue pair that attaches twice must detach twice */
};

static inline struct verbs_port *verbs_port_of(struct ca *ca)
{
	return container_of(ca, struct verbs_port, ca);
}

static inline struct verbs_qp *verbs_qp_of(struct ca_qp *qp)
{
	return container_of(qp, struct verbs_qp, qp);
}

static inline uint8_t *verbs_slot(const struct verbs_port *p, uint32_t slot)
{
	return p->arena + (size_t)slot * VERBS_SLOT;
}

/* port.c */
int verbs_port_query(struct ca *ca, struct ca_port_attr *ret);
/* verbs_port_read() - Read the attributes from the device. Return: 0 or -errno */
int verbs_port_read(struct verbs_port *p);
void verbs_pkeys_read(struct verbs_port *p);
/* verbs_died() - Record that the device failed, and report the failure once */
void verbs_died(struct verbs_port *p, const char *why, ns_t now);

/* device.c */
/*
 * verbs_refused() - Write to @err that the kernel or the library refused the step @what, and return
 * @status
 */
int verbs_refused(char err[VERBS_ERR_MAX], int status, const char *what);
/* verbs_device_open() - Open the device, and make all objects that the queue pairs share. Return: 0 or -errno, with @err */
int verbs_device_open(struct verbs_port *p, char err[VERBS_ERR_MAX]);
/*
 * verbs_device_close() - Close the device and free its shared objects, as far as they exist. The
 * caller must have destroyed the queue pairs and address handles
 */
void verbs_device_close(struct verbs_port *p);

/* csum.c */
/* verbs_csum_detect() - Find out which checksums the device of the port makes and verifies, from .limits and the driver */
void verbs_csum_detect(struct verbs_port *p);

/* event.c */
/*
 * verbs_events_watch() - Let ca_dispatch() serve the descriptors of the device. Return: 0 or
 * -errno
 */
int verbs_events_watch(struct verbs_port *p);
void verbs_dispatch(struct ca *ca, ns_t now);
/* verbs_unwatch() - Remove @fd from the descriptors that ca_dispatch() serves */
void verbs_unwatch(struct verbs_port *p, int fd);

/* qp.c */
int verbs_qp_create(struct ca *ca, const struct ca_qp_attr *attr, void *ctx, struct ca_qp **ret);
void verbs_qp_destroy(struct ca_qp *qp);
int verbs_qp_modify(struct ca_qp *qp, uint16_t pkey_index, uint32_t qkey);
uint32_t verbs_qp_num(const struct ca_qp *qp);
/*
 * verbs_qp_unmake() - Destroy the adapter's objects for a queue pair. Return: false if the adapter may still
 * write to the receive buffers
 */
bool verbs_qp_unmake(struct verbs_qp *q);
/*
 * verbs_qp_remake() - Make the adapter's objects for a queue pair again on another device, with the
 * same attachments to groups. Return: 0 or -errno
 */
int verbs_qp_remake(struct verbs_qp *q);
/*
 * verbs_qp_restart() - Reset the queue pair, and bring it back to RTS. Return: 0 or -errno, after which the queue
 * pair is .stopped
 */
int verbs_qp_restart(struct verbs_qp *q);
/* verbs_qp_mend() - Restart a queue pair that is in an error state */
void verbs_qp_mend(struct verbs_qp *q);

/* group.c */
int verbs_attach(struct ca_qp *qp, const ib_gid *mgid, uint16_t mlid);
int verbs_detach(struct ca_qp *qp, const ib_gid *mgid, uint16_t mlid);
/* verbs_groups_leave() - End all attachments of a queue pair */
void verbs_groups_leave(struct verbs_qp *q);
/* verbs_groups_attach() - Make all attachments at the adapter. Return: 0 or the first -errno */
int verbs_groups_attach(struct verbs_qp *q);
/* verbs_groups_detach() - End all attachments at the adapter, as far as they exist there */
void verbs_groups_detach(struct verbs_qp *q);

/* tx.c */
unsigned int verbs_post_send(struct ca_qp *qp, const struct ca_send *v, unsigned int n, ns_t now);
/* verbs_tx_reap() - Poll the completions of sends. Return: true if there was a completion */
bool verbs_tx_reap(struct verbs_qp *q);
/* verbs_tx_drop() - Forget all sends that have not completed. Only for a queue pair that the adapter has stopped */
void verbs_tx_drop(struct verbs_qp *q);
unsigned int verbs_queued(struct ca *ca);
struct ca_send_queue verbs_send_queue(struct ca *ca);
unsigned int verbs_send_flush(struct ca *ca, ns_t now);

/* rx.c */
unsigned int verbs_poll(struct ca_qp *qp, struct ca_wc *v, unsigned int n);
bool verbs_arm(struct ca_qp *qp);
/* verbs_rx_fill() - Post all receive slots that are not posted */
void verbs_rx_fill(struct verbs_qp *q);

/* tap.c */
/* verbs_tap_sent(), verbs_tap_received() - Show a packet that was posted, or received, to the watchers of the port */
void verbs_tap_sent(struct verbs_qp *q, const struct ca_send *s);
void verbs_tap_received(struct verbs_qp *q, const struct ca_wc *wc);

/* ah.c */
int verbs_ah_create(struct ca *ca, const struct ca_ah_attr *attr, struct ca_ah **ret);
void verbs_ah_destroy(struct ca_ah *ah);
/* verbs_ah_put() - Give back one reference */
void verbs_ah_put(struct verbs_ah *ah);
/* verbs_ah_make() - Make @ah->h on the port's present device if it is NULL. Return: 0 or -errno */
int verbs_ah_make(struct verbs_ah *ah);
/* verbs_ahs_unmake() - Destroy the handles at the adapter, but keep their attributes */
void verbs_ahs_unmake(struct verbs_port *p);
/* verbs_ahs_fini() - Destroy all address handles, which no send uses any more */
void verbs_ahs_fini(struct verbs_port *p);

/* mads.c */
/* verbs_mads_init() - Make the endpoint. Return: 0 or -ENOMEM */
int verbs_mads_init(struct verbs_port *p);
/* verbs_mads_open() - Open the umad device. Return: 0 or -errno */
int verbs_mads_open(struct verbs_port *p);
void verbs_mads_close(struct verbs_port *p);
/* verbs_mads_recv() - Read and deliver the MADs that have arrived */
void verbs_mads_recv(struct verbs_port *p, ns_t now);

#endif

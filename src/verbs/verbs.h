/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_VERBS_H
#define VERBS_VERBS_H

/*
 * DOC: The backend of ca.h for ports that the kernel serves
 *
 * UD queue pairs through libibverbs, which is loaded when the first port is opened, and MADs through the kernel's
 * umad device. In a build with VERBS=0, verbs_open() returns -EOPNOTSUPP, and the other functions have no effect.
 *
 * Packets are copied. For each port one block of memory, the arena, is registered with the adapter.
 * Sends are copied into the arena, and a receive buffer in it is posted again as soon as its packet
 * was copied out. So packets of the pool never wait for the adapter, and the memory that the kernel
 * pins is fixed when the port is opened.
 *
 * The arena bounds the receive queues. The first queue pair of a port gets an eighth of it, and
 * each later queue pair gets a part of the rest. When the arena is used up, ca_qp_create() returns
 * -ENOBUFS. Send and receive queues have at most 1024 entries.
 *
 * Callbacks of ca_notify are called by ca_dispatch() only, and must not close the port.
 */

#include "ca/ca.h"
#include "util/list.h"

#define VERBS_ERR_MAX 256
#define VERBS_SLOTS 8192 /* default size of the arena in packets, 34 MB */

struct verbs_lib;

struct verbs_cfg {
	const char *device; /* name of the RDMA device, such as "mlx5_0" */
	uint8_t port;
	unsigned int slots; /* packets in the arena; 0: VERBS_SLOTS */
	struct pkt_pool *pool;
	struct timers *timers;
	const struct log_sink *log;
	const struct verbs_lib
		*lib; /* functions of the libraries and the kernel; NULL: load them */
};

/* Counters of packets that a port did not send or deliver, and of faults that it repaired */
struct verbs_stats {
	uint64_t rx_error; /* number of receive completions with an error */
	uint64_t rx_short; /* number of received packets without payload */
	uint64_t rx_no_mem; /* received packets for which the pool had no descriptor or buffer */
	/* packets above the MTU of the port; such a packet would stop the queue pair */
	uint64_t tx_too_long;
	uint64_t tx_error; /* sends that completed with an error */
	/*
	 * packets that the library refused to post, packets to a dead port or from a stopped queue
	 * pair, packets without an address handle on the device, and packets with a partial
	 * checksum that the adapter cannot complete
	 */
	uint64_t tx_refused;
	uint64_t qp_restarts; /* queue pairs that were in an error state and work again */
	uint64_t ah_evicted; /* address handles that were destroyed to make room */
	uint64_t mad_refused; /* MADs that the kernel did not send */
	uint64_t mad_late; /* responses to requests that are no longer open */
};

/**
 * verbs_open() - Open a port
 * @notify, @ctx: callbacks of the port, borrowed until ca_close()
 * @err:	message on failure
 *
 * The process may change its credentials after the call, for example drop its privileges, if the kernel takes all
 * commands by ioctl() (Linux 5.0). Earlier kernels refuse commands after such a change.
 * Return: 0; -ENODEV: no such device or port; -EMEDIUMTYPE: the port is not InfiniBand; -EOPNOTSUPP: this build has no
 * verbs; -ELIBACC: the library is missing; -ENOMEM; -errno
 */
int verbs_open(const struct verbs_cfg *cfg, const struct ca_notify *notify, void *ctx,
	       struct ca **ret, char err[VERBS_ERR_MAX]);

/*
 * A packet as a queue pair of a port has sent or received it. The headers from LRH to DETH are not
 * copies of those on the link: they are made from the address handle and the work request, or from
 * the work completion. Only the GRH of a received packet is a copy
 */
struct verbs_seen {
	bool sent;
	bool no_csum; /* the packet was sent with a partial checksum, which the adapter completes */
	bool has_grh; /* the packet was received, and had a GRH */
	const uint8_t *hdr; /* .hdr_len octets, at most VERBS_HDR_MAX */
	unsigned int hdr_len;
	const struct pkt *payload;
};
#define VERBS_HDR_MAX 68

/*
 * A watcher of a port. The callback .seen must not call functions of the port, and its arguments
 * are valid only during the call
 */
struct verbs_tap {
	struct list link;
	void (*seen)(struct verbs_tap *t, const struct verbs_seen *s);
};

/*
 * verbs_tap_add() - Call t->seen for each packet that a queue pair of @ca sends or receives. @ca
 * must come from verbs_open(). The caller ends these calls by list_del(&t->link), at the latest
 * before ca_close()
 */
void verbs_tap_add(struct ca *ca, struct verbs_tap *t);

/*
 * verbs_lost() - Tell whether the device of @ca, which must come from verbs_open(), has failed or
 * was removed
 */
bool verbs_lost(const struct ca *ca);

/**
 * verbs_reopen() - Open the device of a port again after it was lost
 *
 * Queue pairs, attachments to groups and address handles are made again on the new device. Queue pairs have new numbers
 * and must be armed, and packets that waited are lost. On success the event CA_EVENT_DEVICE_BACK is reported. Not to be
 * called in a callback of the port.
 * Return: as verbs_open(); after an error the port is still lost
 */
int verbs_reopen(struct ca *ca, ns_t now, char err[VERBS_ERR_MAX]);

/*
 * verbs_stats() - Return the counters of a port that verbs_open() has opened; NULL for a CA of
 * another backend
 */
const struct verbs_stats *verbs_stats(const struct ca *ca);

#endif

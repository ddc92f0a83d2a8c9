/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IBSIM_PRIV_H
#define IBSIM_PRIV_H

/*
 * DOC: Files of the server for clients of ibsim
 *
 *	proto.c		encoding and decoding of the datagrams
 *	srv.c		making and removal of clients, queues of MADs to clients, IsSM
 *	ctl.c		control messages
 *	mads.c		MADs from and to clients
 *	rmpp.c		changes to MADs with an RMPP header
 */

#include "ibsim/srv.h"
#include "util/list.h"

#define IBSIM_OPEN_HASH 256 /* number of chains of ibsim_client.by_tid, a power of 2 */

/* A request that waits for its response. */
struct ibsim_open {
	struct ibsim_client *c;
	struct ibsim_open *next; /* next free entry, or next open request of the same hash chain */
	/* the request as the client sent it; it is sent back to the client after a time-out */
	struct ibsim_pkt pkt;
};

struct ibsim_client {
	struct ibsim_srv *s;
	struct node_port *port;
	char node[IBSIM_NODE_MAX];
	unsigned int id;
	uint32_t pid;
	struct ibsim_peer peer;
	bool dead; /* true when the client has ended and waits for the reaper to free it */
	bool issm;
	/* true after the client's first SMP. An SM registers its classes before its first SMP */
	bool sent_smp;
	struct mad_agent *agent[2]; /* agents that send the client's MADs, by QP */
	/*
	 * agents that get unsolicited SMPs and SA requests for the client; NULL unless the client
	 * is an SM
	 */
	struct mad_agent *sm, *sa;
	struct ibsim_open open[IBSIM_OPEN_MAX], *free_open;
	struct ibsim_open *by_tid[IBSIM_OPEN_HASH]; /* open requests by TID and class */
	unsigned int nopen;
	uint8_t (*queue)[IBSIM_PKT_LEN]; /* ring with room for .qcap MADs; NULL while .qcap is 0 */
	unsigned int qhead, qlen, qcap;
	struct ibsim_client_stats st;
};

struct ibsim_srv {
	const struct ibsim_ops *ops;
	void *ctx;
	struct timers *timers;
	const struct log_sink *log;
	struct ibsim_client *client[IBSIM_CLIENTS_MAX];
	struct timer reaper;
	unsigned int queued; /* number of MADs in the queues of all clients */
	struct ibsim_stats st;
};

/* ibsim_client_by_id() - Return a client; NULL if there is none with this id, or if it has ended */
struct ibsim_client *ibsim_client_by_id(const struct ibsim_srv *s, unsigned int id);
/*
 * ibsim_client_add() - Make a client. Return: 0; -EMFILE: the fabric or @port has too many clients;
 * -ENOMEM; or the error of ops->open
 */
int ibsim_client_add(struct ibsim_srv *s, const struct ibsim_peer *from, struct node_port *port,
		     const char *node, uint32_t pid, struct ibsim_client **ret);
/* ibsim_client_end() - Mark a client as dead; the reaper frees its memory and agents later */
void ibsim_client_end(struct ibsim_client *c, ns_t now);
/*
 * ibsim_client_issm() - Record that a client is an SM (@on), or that the client is no SM any more.
 * Return: 0; -EBUSY: the port has an SM that is not a client; -ENOMEM
 */
int ibsim_client_issm(struct ibsim_client *c, bool on, ns_t now);
/* ibsim_client_queue_free() - Free the queue of a client with the MADs in it */
void ibsim_client_queue_free(struct ibsim_client *c);
/*
 * ibsim_client_send() - Send a MAD to a client, or queue the MAD after the MADs that wait already.
 * The MAD is dropped if the queue has @max MADs already
 */
void ibsim_client_send(struct ibsim_client *c, const struct ibsim_pkt *k, unsigned int max,
		       ns_t now);

/* ibsim_mads_init(), ibsim_mads_fini() - Set up and remove a client's agents. Return: 0, -ENOMEM */
int ibsim_mads_init(struct ibsim_client *c);
void ibsim_mads_fini(struct ibsim_client *c);
/*
 * ibsim_mads_listen() - Register for unsolicited MADs to the client's port if @on is true,
 * otherwise unregister. Return: 0, -ENOMEM
 */
int ibsim_mads_listen(struct ibsim_client *c, bool on);

/*
 * ibsim_rmpp_complete() - If the RMPP header of @k has the flag Active but no type, make it the
 * header of a first segment
 */
void ibsim_rmpp_complete(struct ibsim_pkt *k);
/* ibsim_rmpp_is_control() - Tell whether @mad uses RMPP but is not a data segment, such as an ACK */
bool ibsim_rmpp_is_control(const void *mad);
/*
 * ibsim_rmpp_len() - Return: the number of octets of @mad that the receiving client should get:
 * 256, or fewer if @mad is the end of an RMPP message
 */
uint16_t ibsim_rmpp_len(const void *mad);
/*
 * ibsim_rmpp_end() - Write the answer to the RMPP segment @mad to @ret, which has 256 octets. The
 * last segment of a message gets an ACK, any other segment a STOP. Return: false if @mad is not a
 * segment
 */
bool ibsim_rmpp_end(void *ret, const void *mad);

#endif

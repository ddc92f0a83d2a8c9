/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IBSIM_PRIV_H
#define IBSIM_PRIV_H

/*
 * DOC: Inside the server
 *
 *	proto.c		formats
 *	srv.c		clients: life, queue towards them, IsSM
 *	ctl.c		control messages
 *	mads.c		MADs, both ways
 *	rmpp.c		what becomes of RMPP
 */

#include "ibsim/srv.h"
#include "util/list.h"

/* A request that waits for its response. */
#define IBSIM_OPEN_HASH 256 /* a power of 2 */

struct ibsim_open {
	struct ibsim_client *c;
	struct ibsim_open *next; /* free ones; those in use of the same hash */
	struct ibsim_pkt pkt; /* as the client would get it back */
};

struct ibsim_client {
	struct ibsim_srv *s;
	struct node_port *port;
	char node[IBSIM_NODE_MAX];
	unsigned int id;
	uint32_t pid;
	struct ibsim_peer peer;
	bool dead; /* the reaper frees it */
	bool issm;
	bool sent_smp; /* it has registered for what it uses */
	struct mad_agent *agent[2]; /* by QP: what it sends */
	struct mad_agent *sm, *sa; /* for unsolicited MADs; NULL: not an SM */
	struct ibsim_open open[IBSIM_OPEN_MAX], *free_open;
	struct ibsim_open *by_tid[IBSIM_OPEN_HASH]; /* those in use, by TID and class */
	unsigned int nopen;
	uint8_t (*queue)[IBSIM_PKT_LEN]; /* a ring of @qcap; NULL: nothing waits */
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
	unsigned int queued; /* of all clients */
	struct ibsim_stats st;
};

/* ibsim_client_by_id() - NULL: none, or it is dead */
struct ibsim_client *ibsim_client_by_id(const struct ibsim_srv *s, unsigned int id);
/* ibsim_client_add() - 0; -EMFILE too many; -ENOMEM; what ops->open said */
int ibsim_client_add(struct ibsim_srv *s, const struct ibsim_peer *from, struct node_port *port,
		     const char *node, uint32_t pid, struct ibsim_client **ret);
/* ibsim_client_end() - It is no client any more; memory and agents go with the reaper */
void ibsim_client_end(struct ibsim_client *c, ns_t now);
/* ibsim_client_issm() - 0; -EBUSY the port has an SM that is not a client; -ENOMEM */
int ibsim_client_issm(struct ibsim_client *c, bool on, ns_t now);
/* ibsim_client_queue_free() - What waits is lost */
void ibsim_client_queue_free(struct ibsim_client *c);
/* ibsim_client_send() - Hand it a MAD now or, in order, later; @max: not if so many wait already */
void ibsim_client_send(struct ibsim_client *c, const struct ibsim_pkt *k, unsigned int max,
		       ns_t now);

/* ibsim_mads_init(), ibsim_mads_fini() - A client's requests and agents. 0 or -ENOMEM */
int ibsim_mads_init(struct ibsim_client *c);
void ibsim_mads_fini(struct ibsim_client *c);
/* ibsim_mads_listen() - Begin or end to get unsolicited MADs. 0 or -ENOMEM */
int ibsim_mads_listen(struct ibsim_client *c, bool on);

/* ibsim_rmpp_complete() - Make a client's RMPP message, if @k is one, a first segment */
void ibsim_rmpp_complete(struct ibsim_pkt *k);
/* ibsim_rmpp_is_control() - An ACK and the like, or a client's bare header */
bool ibsim_rmpp_is_control(const void *mad);
/* ibsim_rmpp_len() - Octets of @mad that a client should see: less than 256 where a whole RMPP message has less */
uint16_t ibsim_rmpp_len(const void *mad);
/* ibsim_rmpp_end() - What is to be answered to a segment: 256 octets. False: @mad is none */
bool ibsim_rmpp_end(void *ret, const void *mad);

#endif

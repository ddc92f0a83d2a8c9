/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IBSIM_SRV_H
#define IBSIM_SRV_H

/*
 * DOC: Server of ibsim's client protocol
 *
 * Programs that believe to sit on a CA or switch of ibsim use QP0 and QP1 of a node's end port,
 * beside the port's own agents and each other. What a client sends:
 *
 *	a request	goes out as a transaction of the port's endpoint, with the low half of the
 *			client's TID. The response comes back with the TID as ibsim has it: bits
 *			63-48 the client's id, the rest as sent. So it can only reach its owner.
 *			Nobody answered, or it cannot be sent: the request comes back, status 110
 *	a response,	goes out as it is
 *	Send or Trap
 *
 * Unsolicited MADs go to the first client of the port that is an SM (IsSM): SMPs and SA requests.
 * libumad2sim ends with a segmentation fault when it gets a class for which its program has not
 * registered; an SM registers for both before it sends its first SMP, so they wait for that.
 *
 * The library neither retries nor reassembles: a request is repeated here as the kernel would for
 * OpenSM, within the second after which libibmad gives up; every segment of an RMPP message is a MAD by
 * itself.
 *
 * The owner moves the datagrams. A client that is gone is known to it (ibsim_srv_gone()), or
 * is noticed when it cannot be sent to. Clients are freed by a timer: never inside a call of the owner's.
 */

#include "ibsim/proto.h"
#include "node/node.h"

#define IBSIM_CLIENTS_MAX 256
#define IBSIM_PORT_CLIENTS_MAX 16 /* on one end port */
#define IBSIM_OPEN_MAX 1024 /* requests of a client waiting for their response */
/*
 * MADs waiting until a client reads; its socket holds ten. OpenSM stands still for ever once an answer is lost,
 * and libumad2sim.so holds one lock while it reads or writes: who made it wait until it has read would wait for ever.
 * So answers have room as long as there is memory for them, of all clients together.
 */
#define IBSIM_UNSOLICITED_MAX 4096 /* no more of these are added to a queue of so many */
#define IBSIM_QUEUE_MAX 65536 /* of one client */
#define IBSIM_QUEUED_MAX 262144 /* of all */
#define IBSIM_TRY_MS 200 /* OpenSM's time-out for each of its tries, */
#define IBSIM_RETRIES 3 /* and its retries: 0.8 s, below the second that libibmad waits */
#define IBSIM_PEER_MAX 128

struct ibsim_srv;

/* Who sent a control message: the owner's word for the place (a namespace), and the address there. */
struct ibsim_peer {
	void *place;
	size_t len;
	uint8_t addr[IBSIM_PEER_MAX];
	uint32_t pid; /* as the kernel says; 0: unknown */
};

struct ibsim_ops {
	/*
	 * The end port that a client at @place means by @name ("": where it is by default), and the
	 * name to tell it; NULL: there is none
	 */
	struct node_port *(*find)(void *ctx, void *place, const char *name, const char **ret_name);
	/*
	 * Make the way for MADs to and from the client @id, whose own end is named after @pid
	 * (as it says: its namespace's). 0; -errno, then no client is made
	 */
	int (*open)(void *ctx, unsigned int id, const struct ibsim_peer *peer, uint32_t pid);
	void (*close)(void *ctx, unsigned int id);
	/* 0; -EAGAIN: call ibsim_srv_writable() when there is room; else the client is gone */
	int (*send)(void *ctx, unsigned int id, const void *pkt, size_t len);
	/* The port's IsSM: it has a client that is an SM, or no longer. 0; -EBUSY it has an SM already */
	int (*issm)(void *ctx, struct node_port *port, bool on, ns_t now);
};

/* @timers and @log are borrowed. NULL if out of memory. */
struct ibsim_srv *ibsim_srv_create(const struct ibsim_ops *ops, void *ctx, struct timers *timers,
				   const struct log_sink *log);
/* Closes all clients; NULL is accepted. */
void ibsim_srv_destroy(struct ibsim_srv *s, ns_t now);

/**
 * ibsim_srv_ctl() - A datagram for NAME:ctl
 * @ret:	the answer for its sender, IBSIM_CTL_LEN octets
 *
 * A client's requests are taken only from where it sent its Connect.
 * Return: octets of the answer; 0: none, what came is not of this protocol
 */
size_t ibsim_srv_ctl(struct ibsim_srv *s, const struct ibsim_peer *from, const void *msg,
		     size_t len, void *ret, ns_t now);

/* ibsim_srv_recv() - A datagram for NAME:out@id, from that client */
void ibsim_srv_recv(struct ibsim_srv *s, unsigned int id, const void *pkt, size_t len, ns_t now);

/* ibsim_srv_writable() - ops->send() said -EAGAIN, now there is room */
void ibsim_srv_writable(struct ibsim_srv *s, unsigned int id, ns_t now);

/* ibsim_srv_gone() - The client's process ended, or its socket is no more */
void ibsim_srv_gone(struct ibsim_srv *s, unsigned int id, const char *why, ns_t now);

struct ibsim_client_stats {
	uint64_t requests, responses; /* that it sent */
	uint64_t answers, timeouts; /* that it got */
	uint64_t unsolicited;
};

struct ibsim_stats {
	uint64_t connects, disconnects, deaths;
	uint64_t requests, responses, answers, timeouts, unsolicited;
	/* Control messages: other lengths and magics; what a client may not; no room */
	uint64_t drop_ctl_malformed, refused_ctl, refused_connect;
	uint64_t drop_malformed; /* MADs of a wrong length or version */
	uint64_t drop_no_client; /* MADs from who is no client (any more) */
	uint64_t drop_duplicate; /* a request with a TID that is open */
	uint64_t drop_open; /* too many requests are open: back at once, status 110 */
	uint64_t drop_address; /* no LID: the same */
	uint64_t drop_queue; /* the client does not read, see IBSIM_UNSOLICITED_MAX */
	uint64_t drop_rmpp; /* ACK and the like for a client, which cannot do RMPP */
};
const struct ibsim_stats *ibsim_srv_stats(const struct ibsim_srv *s);

struct ibsim_client_show {
	unsigned int id;
	uint32_t pid; /* as the kernel says, else as it says */
	const char *node;
	uint8_t port;
	bool issm;
	unsigned int open, queued;
	struct ibsim_client_stats st;
};
/* ibsim_srv_client() - Client @id as it is now; false: there is none */
bool ibsim_srv_client(const struct ibsim_srv *s, unsigned int id, struct ibsim_client_show *ret);

#endif

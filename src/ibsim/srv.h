/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IBSIM_SRV_H
#define IBSIM_SRV_H

/*
 * DOC: Server of ibsim's client protocol
 *
 * Programs that were written for ibsim use QP0 and QP1 of a node's end port. They share the port
 * with the agents of the node and with other clients. The MADs that a client sends are handled as
 * follows:
 *
 *	a request,	is sent as a transaction of the port's endpoint, with the low half of the
 *	also a Trap	client's TID. The client gets the response with the TID that ibsim would
 *			give it: bits 63-48 are the id of the client, and the other bits are those
 *			of the request. So the response can only reach the client that asked. If
 *			there is no response, or the request cannot be sent, the request is returned
 *			to the client with status 110.
 *	a response	is sent unchanged
 *	or a Send
 *
 * Unsolicited SMPs and SA requests go only to clients that are SMs (IsSM) and have sent an SMP. If
 * a port has several such clients, only the client with the lowest id gets these MADs.
 * The reason for the second condition: libumad2sim crashes when it receives a MAD of a class for
 * which its program has not registered. An SM registers for SMPs and for SA requests before it
 * sends its first SMP.
 *
 * libumad2sim does not repeat requests, so the server repeats them, as the kernel would do for
 * OpenSM. libibmad gives up after one second, so all tries end earlier.
 * libumad2sim does not reassemble RMPP messages either. Each segment of such a message is passed on
 * as a separate MAD.
 *
 * The caller of these functions, called the owner here, sends and receives the datagrams. The owner
 * tells the server when a client's process has ended (ibsim_srv_gone()). The server also notices
 * the end when a datagram to the client cannot be sent. Clients are freed by a timer, and so never
 * inside a call of the owner.
 */

#include "ibsim/proto.h"
#include "node/node.h"

#define IBSIM_CLIENTS_MAX 256
#define IBSIM_PORT_CLIENTS_MAX 16 /* largest number of clients of one end port */
/* largest number of requests of a client that wait for their responses */
#define IBSIM_OPEN_MAX 1024
/*
 * Limits of the queues of MADs that clients have not yet read. A client's socket itself holds only
 * ten MADs. OpenSM waits for ever for an answer that was lost, so answers must not be dropped.
 * Nor may the server wait with its reading from a client until the client has read its answers: a
 * thread of the client could then block in a write to the server. libumad2sim.so holds one lock
 * while it reads or writes, so the thread that reads the answers would wait for this lock for ever.
 * So the limits for answers are large, and serve only to bound the memory. Unsolicited MADs have a
 * lower limit.
 */
#define IBSIM_UNSOLICITED_MAX 4096 /* queue length at which unsolicited MADs are dropped */
#define IBSIM_QUEUE_MAX 65536 /* largest number of MADs in the queue of one client */
#define IBSIM_QUEUED_MAX 262144 /* largest number of MADs in the queues of all clients together */
#define IBSIM_TRY_MS 200 /* time-out of each try, as in OpenSM */
/* number of retries, as in OpenSM: all tries take 0.8 s, and libibmad waits 1 s */
#define IBSIM_RETRIES 3
#define IBSIM_PEER_MAX 128

struct ibsim_srv;

/* Sender of a control message. */
struct ibsim_peer {
	void *place; /* network namespace of the sender, opaque to the server */
	size_t len;
	uint8_t addr[IBSIM_PEER_MAX]; /* socket address of the sender, .len octets */
	uint32_t pid; /* PID of the sender according to the kernel; 0: unknown */
};

struct ibsim_ops {
	/*
	 * Find the end port of a node for a client in the network namespace @place. @name is the
	 * name of the node, or "" for the default node. *ret_name becomes the name of the node for
	 * the answer to the client. Return: NULL if there is no such node
	 */
	struct node_port *(*find)(void *ctx, void *place, const char *name, const char **ret_name);
	/*
	 * Open the socket for the MADs of client @id. @pid is from the client's Connect, and is the
	 * PID in the client's PID namespace; the name of the client's own socket contains this PID.
	 * Return: 0; -errno, after which the client is refused
	 */
	int (*open)(void *ctx, unsigned int id, const struct ibsim_peer *peer, uint32_t pid);
	void (*close)(void *ctx, unsigned int id);
	/*
	 * Send a datagram to a client. Return: 0; -EAGAIN: the owner calls ibsim_srv_writable()
	 * when the client's socket has room; any other error: the client has ended
	 */
	int (*send)(void *ctx, unsigned int id, const void *pkt, size_t len);
	/*
	 * Set IsSM of a port when its first client becomes an SM, and clear IsSM when no client is
	 * an SM any more. Return: 0; -EBUSY: the port has another SM
	 */
	int (*issm)(void *ctx, struct node_port *port, bool on, ns_t now);
};

/* @timers and @log are borrowed until ibsim_srv_destroy(). Return: NULL if out of memory */
struct ibsim_srv *ibsim_srv_create(const struct ibsim_ops *ops, void *ctx, struct timers *timers,
				   const struct log_sink *log);
/* Close all clients and free the server; NULL is accepted. */
void ibsim_srv_destroy(struct ibsim_srv *s, ns_t now);

/**
 * ibsim_srv_ctl() - Handle a datagram that arrived at NAME:ctl
 * @ret:	the answer to the sender, IBSIM_CTL_LEN octets
 *
 * Requests of a client are accepted only from the address from which the client sent its Connect.
 * Return: octets of the answer; 0: there is no answer, because the datagram is not of this protocol
 */
size_t ibsim_srv_ctl(struct ibsim_srv *s, const struct ibsim_peer *from, const void *msg,
		     size_t len, void *ret, ns_t now);

/* ibsim_srv_recv() - Handle a datagram that client @id sent to the server's socket NAME:outID */
void ibsim_srv_recv(struct ibsim_srv *s, unsigned int id, const void *pkt, size_t len, ns_t now);

/* ibsim_srv_writable() - Send queued MADs, because the client's socket has room again */
void ibsim_srv_writable(struct ibsim_srv *s, unsigned int id, ns_t now);

/* ibsim_srv_gone() - End a client whose process has ended or whose socket was closed */
void ibsim_srv_gone(struct ibsim_srv *s, unsigned int id, const char *why, ns_t now);

struct ibsim_client_stats {
	/*
	 * numbers of requests and of responses that the client has sent; MADs with the method Send
	 * count as responses
	 */
	uint64_t requests, responses;
	/*
	 * answers: number of responses that were sent to the client; timeouts: number of requests
	 * that were returned to the client because no response came
	 */
	uint64_t answers, timeouts;
	uint64_t unsolicited; /* unsolicited MADs for the client */
};

struct ibsim_stats {
	uint64_t connects, disconnects, deaths;
	uint64_t requests, responses, answers, timeouts, unsolicited;
	/*
	 * Numbers of control messages. drop_ctl_malformed: dropped because of a wrong length or
	 * magic; refused_ctl: answered with an error; refused_connect: those among refused_ctl that
	 * were a Connect
	 */
	uint64_t drop_ctl_malformed, refused_ctl, refused_connect;
	uint64_t drop_malformed; /* MADs of a wrong length or version */
	uint64_t drop_no_client; /* MADs whose sender is not, or no longer, a client */
	uint64_t drop_duplicate; /* requests with the TID and class of an open request */
	/*
	 * requests that were returned at once with status 110, because too many were open or
	 * sending failed
	 */
	uint64_t drop_open;
	uint64_t drop_address; /* MADs to an invalid LID; a request is returned with status 110 */
	uint64_t drop_queue; /* MADs for clients whose queue is full, see IBSIM_UNSOLICITED_MAX */
	uint64_t drop_rmpp; /* RMPP ACKs, STOPs and ABORTs for clients, which do not support RMPP */
};
const struct ibsim_stats *ibsim_srv_stats(const struct ibsim_srv *s);

struct ibsim_client_show {
	unsigned int id;
	/* PID according to the kernel, or according to the client if the kernel does not know it */
	uint32_t pid;
	const char *node;
	uint8_t port;
	bool issm;
	unsigned int open, queued;
	struct ibsim_client_stats st;
};
/*
 * ibsim_srv_client() - Describe client @id for the command line. Return: false if there is no such
 * client
 */
bool ibsim_srv_client(const struct ibsim_srv *s, unsigned int id, struct ibsim_client_show *ret);

#endif

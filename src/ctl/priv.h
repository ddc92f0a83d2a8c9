/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CTL_PRIV_H
#define CTL_PRIV_H

/* Structures and functions that ctl.c (the sockets, the search for a command) and client.c (one connection) share. */

#include "ctl/req.h"
#include "os/listener.h"

/* largest number of octets that may wait to be sent to one client */
#define CTL_OUT_MAX (64u * 1024 * 1024)
#define CTL_STUCK NS_SEC(1) /* a client that reads nothing for this time is dropped */

/* Counters of the control socket, `stats show` layer "control" */
struct ctl_stats {
	uint64_t clients; /* number of connections that were served */
	uint64_t requests; /* number of lines taken from clients as requests */
	/* connections that were dropped because the client read nothing for CTL_STUCK */
	uint64_t clients_stuck;
	/*
	 * connections closed at once, because the socket already had the largest number of clients,
	 * or because the client belonged to another user
	 */
	uint64_t clients_refused;
	uint64_t
		changes_refused; /* requests for commands that the read-only socket does not answer */
};

/*
 * One of the server's two sockets. Each socket has its own limit of clients, so that clients of the read-only socket,
 * however many, do not keep users from controlling the instance.
 */
struct ctl_door {
	struct ctl *ctl;
	struct listener listen;
	bool reads_only; /* all commands without CTL_READS are refused */
	unsigned int nclients, clients_max;
	char path[108];
};

/* Clients that wait for a reload, and the supervisor, which carries out the reload: cmd/reload.c */
struct ctl_reload {
	struct ctl_hold keeper; /* "reload await", answered when a client asks for a reload */
	enum {
		CTL_RELOAD_NONE, /* no supervisor waits for reloads */
		CTL_RELOAD_KEPT, /* .keeper waits for clients */
		CTL_RELOAD_RUNNING, /* the supervisor was told that a client waits */
		/*
		 * the supervisor has reported the outcome of the reload, and has not yet sent its
		 * next `reload await`
		 */
		CTL_RELOAD_REPORTED,
	} phase;
	bool again; /* true if a client has asked for a reload since .keeper was answered */
	struct list waiters;
};

/* The answers that are sent in slices: ctl/slices.h */
struct ctl_turns {
	struct list answers; /* list of struct ctl_slices, in the order of their next slices */
	struct timer timer; /* armed while .answers is not empty */
	ns_t next; /* time from which the next slice may be sent */
};

/* The drop counters of which clients of `monitor` are told: cmd/mon_drops.c */
struct ctl_drops {
	struct list clients; /* list of struct mon_drops */
	struct timer timer; /* armed while there are clients */
	struct ctl_drop *was; /* drop counters at the last reading, in the order of stats_each() */
	size_t n, cap, at; /* number of counters; room for counters; place of a reading in them */
	ns_t now; /* time of the reading */
};

struct ctl {
	struct inst *in;
	const struct ctl_cmd *const *tables; /* tables of all commands; the last pointer is NULL */
	/* pidfd of the process of the instance that ends last; -1 if there is none, as in tests */
	int supervisor;
	/* sockets of management programs; NULL if the instance has none, as in tests */
	const struct tools *tools;
	struct ctl_door control, reader;
	struct list clients; /* clients of both sockets */
	struct ctl_stats stats;
	struct ctl_reload reload;
	struct ctl_turns slices;
	struct ctl_drops drops;
	/*
	 * timer that frees dropped clients outside the callbacks of the loop, because a callback may still use them
	 */
	struct timer reaper;
};

struct ctl_client {
	struct list link;
	struct ctl *ctl;
	struct ctl_door *door; /* socket to which the client has connected */
	int sock;
	struct loop_fd fd;
	struct timer stuck;
	/*
	 * command of the request that is being answered; if no request is being answered, command
	 * of the last request
	 */
	const struct ctl_cmd *cmd;
	struct ctl_hold *hold; /* request whose answer comes later (ctl_hold()); NULL: none */
	char *out;
	size_t out_len, out_done, out_cap;
	int fds[2]; /* descriptors that are sent with the next octet */
	unsigned int nfds;
	/* descriptor that was received last and that no command has taken yet; -1: none */
	int in_fd;
	bool busy; /* a request is being answered */
	bool dead;
	/*
	 * true if the client sends no more requests; the client is dropped when all its answers are
	 * sent
	 */
	bool eof;
	size_t in_len;
	char in[PROTO_LINE_MAX];
};

void ctl_turns_init(struct ctl_turns *t);

/* ctl_init() - Initialize a server that has no sockets yet */
void ctl_init(struct ctl *ctl, struct inst *in, const struct ctl_cmd *const *tables);

/*
 * ctl_cmd_find() - Return the first command, in all tables of @ctl, for which @is returns true; NULL if
 * there is none
 */
const struct ctl_cmd *ctl_cmd_find(const struct ctl *ctl,
				   bool (*is)(void *ctx, const struct ctl_cmd *c), void *ctx);

/*
 * ctl_client_add() - Serve a connection to the socket @door; takes ownership of @sock. Return: 0;
 * -ENOSPC: there are too many clients; -errno
 */
int ctl_client_add(struct ctl_door *door, int sock);

/*
 * ctl_client_drop() - Close a client's connection. The reaper frees the client later, so a command
 * may still send rows to the client; the rows are discarded
 */
void ctl_client_drop(struct ctl_client *c);
void ctl_client_free(struct ctl_client *c);

/* ctl_serve_line() - Answer one request now, or begin to answer it (ctl_hold()) */
void ctl_serve_line(struct ctl_client *c, const char *line, size_t len, ns_t now);

#endif

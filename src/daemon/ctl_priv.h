/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CTL_PRIV_H
#define DAEMON_CTL_PRIV_H

/* What ctl.c (the socket, the commands) and ctl_client.c (one connection) share. */

#include "daemon/ctl_req.h"

#define CTL_CLIENTS_MAX 64
#define CTL_OUT_MAX (64u * 1024 * 1024) /* octets that wait for one client */
#define CTL_STUCK NS_SEC(1) /* a client that takes nothing for so long is dropped */

struct ctl {
	struct inst *in;
	struct loop_fd listen;
	struct list clients;
	unsigned int nclients;
	struct timer reaper; /* frees clients outside the loop's callbacks */
	char path[108];
};

struct ctl_client {
	struct list link;
	struct ctl *ctl;
	int sock;
	struct loop_fd fd;
	struct timer stuck;
	struct ctl_hold *hold; /* the request that is still open */
	char *out;
	size_t out_len, out_done, out_cap;
	int fds[2]; /* to go with the next octet sent */
	unsigned int nfds;
	int in_fd; /* the last one received that no command has taken; -1 */
	bool busy; /* a request is being answered */
	bool dead;
	bool eof; /* it sends no more: drop it when everything is out */
	size_t in_len;
	char in[PROTO_LINE_MAX];
};

/* ctl_init() - A server without a socket yet */
void ctl_init(struct ctl *ctl, struct inst *in);

/* ctl_client_add() - Serve a connection; takes @sock. 0; -ENOSPC too many; -errno */
int ctl_client_add(struct ctl *ctl, int sock);

/* ctl_client_drop() - It goes: freed by the reaper, so that whoever is answering may go on, into the void */
void ctl_client_drop(struct ctl_client *c);
void ctl_client_free(struct ctl_client *c);

/* ctl_serve_line() - Answer one request, or take it on */
void ctl_serve_line(struct ctl_client *c, const char *line, size_t len, ns_t now);

#endif

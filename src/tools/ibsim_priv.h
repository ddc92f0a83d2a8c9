/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_IBSIM_PRIV_H
#define TOOLS_IBSIM_PRIV_H

/*
 * Declarations that ibsim.c (the control sockets) and ibsim_client.c (the sockets for MADs) share.
 */

#include <sys/socket.h>
#include <sys/un.h>

#include "inst/fab.h"
#include "tools/ibsim.h"

/*
 * Number of sockets that are kept ready for clients of one namespace. The helper process makes
 * these sockets, and the loop does not wait for the helper, so at most this many clients can
 * connect at the same moment.
 */
#define IBSIM_SPARE 16

/* A network namespace where clients find the control socket NAME:ctl. */
struct ibsim_place {
	struct list link; /* link in ibsim_net.places */
	struct ibsim_net *net;
	struct inst_host *host; /* host that has this namespace; NULL if no host has it */
	bool own; /* true for the daemon's own network namespace */
	uint32_t ns; /* the helper's handle of the namespace */
	struct loop_fd ctl;
	int spare[IBSIM_SPARE]; /* sockets made in advance; -1 marks a free place */
	/* number of sockets that the helper was asked for and has not yet sent */
	unsigned int asked;
};

struct ibsim_addr {
	struct sockaddr_un un;
	socklen_t len;
};

struct ibsim_conn {
	struct ibsim_net *net;
	unsigned int id;
	struct ibsim_addr peer;
	struct loop_fd mads; /* connected socket, which receives from this client only */
	struct loop_fd process; /* pidfd of the client; its .fd is -1 if there is none */
};

struct ibsim_net {
	struct inst_fabric *f;
	char name[CONF_NAME_MAX];
	struct ibsim_srv *srv;
	struct list places;
	struct inst_watch watch; /* tells when the namespace of a host appears or disappears */
	struct ibsim_conn *conn[IBSIM_CLIENTS_MAX];
	struct timer probe;
};

static inline struct loop *ibsim_loop(const struct ibsim_net *n)
{
	return &n->f->inst->loop;
}

/* ibsim_addr() - Return: the abstract socket address that consists of "NAME:", @what and @id */
struct ibsim_addr ibsim_addr(const struct ibsim_net *n, const char *what, const char *id);
/* ibsim_bind() - Bind a socket to @a. Return: 0 or -errno */
int ibsim_bind(int fd, const struct ibsim_addr *a);
/*
 * ibsim_socket() - Get a socket in the namespace of @p. Return: 0; -EAGAIN: no socket is ready;
 * -errno
 */
int ibsim_socket(struct ibsim_place *p, int *ret_fd);
/* ibsim_drop_fd() - Unwatch and close a descriptor, if it is open */
void ibsim_drop_fd(struct ibsim_net *n, struct loop_fd *f);

/* ibsim_client.c */
extern const struct ibsim_ops ibsim_client_ops;
timer_fn ibsim_probe_all; /* function of the timer ibsim_net.probe */

#endif

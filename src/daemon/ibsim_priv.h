/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_IBSIM_PRIV_H
#define DAEMON_IBSIM_PRIV_H

/* Inside: ibsim.c has the places where clients ask and their control messages, ibsim_client.c their MADs. */

#include <sys/socket.h>
#include <sys/un.h>

#include "daemon/ibsim.h"

/* A namespace where NAME:ctl is served. */
struct ibsim_place {
	struct list link; /* in ibsim_net.places */
	struct ibsim_net *net;
	struct inst_host *host; /* NULL: nobody's */
	bool own; /* the daemon's own namespace */
	uint32_t ns; /* helper's handle */
	struct loop_fd ctl;
};

struct ibsim_addr {
	struct sockaddr_un un;
	socklen_t len;
};

struct ibsim_conn {
	struct ibsim_net *net;
	unsigned int id;
	struct ibsim_addr peer;
	struct loop_fd mads; /* connected: nobody else can send to it */
	struct loop_fd process; /* pidfd; fd -1: none */
};

struct ibsim_net {
	struct inst_fabric *f;
	char name[CONF_NAME_MAX];
	struct ibsim_srv *srv;
	struct list places;
	struct ibsim_conn *conn[IBSIM_CLIENTS_MAX];
	struct timer probe;
};

static inline struct loop *ibsim_loop(const struct ibsim_net *n)
{
	return &n->f->inst->loop;
}

/* ibsim_addr() - NAME:@what@id */
struct ibsim_addr ibsim_addr(const struct ibsim_net *n, const char *what, const char *id);
/* ibsim_bind() - 0 or -errno */
int ibsim_bind(int fd, const struct ibsim_addr *a);
/* ibsim_socket() - A socket in the namespace of @p. 0 or -errno */
int ibsim_socket(const struct ibsim_place *p, int *ret_fd);
/* ibsim_drop_fd() - Unwatch and close it, if it is open */
void ibsim_drop_fd(struct ibsim_net *n, struct loop_fd *f);

/* ibsim_client.c */
extern const struct ibsim_ops ibsim_client_ops;
timer_fn ibsim_probe_all; /* of ibsim_net.probe */

#endif

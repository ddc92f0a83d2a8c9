/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_HELPER_SRV_H
#define NETDEV_HELPER_SRV_H

/* The helper's side: helper_srv.c is the process, helper_ns.c and helper_dev.c what it does. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "netdev/helper_proto.h"

/* A namespace with handle (index in srv.ns) + 1; free while refs is 0. */
struct srv_ns {
	unsigned int refs;
	int fd;
	bool created; /* by us */
	bool bound; /* we put its name into /run/netns, and take it out */
	bool has_spec; /* @spec names it, for netns_check() */
	struct netns_spec spec;
	char name[NETNS_NAME_MAX + 1]; /* in a user namespace: a name of our own, or "" */
	struct rtnl nl; /* nl.fd -1 until it is needed */
	int32_t *taps; /* ifindexes of the TAPs made in it */
	unsigned int ntaps, taps_cap;
};

struct srv {
	int sock;
	int home; /* the namespace in which the main process started */
	int user_fd; /* our user namespace, -1: none */
	struct srv_ns *ns;
	unsigned int ns_cap;
	unsigned int ntaps; /* in all namespaces */
};

/* What goes back; @fds in the order of the bits of rsp.fds. */
struct srv_reply {
	struct helper_rsp rsp;
	int fds[HELPER_FDS_MAX];
	unsigned int n;
	bool keep_fds; /* they are the server's own */
};

typedef int (*srv_handler)(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
			   struct srv_reply *r);

/* helper_srv_run() - Be the helper; never returns. @flags of netdev_helper_start() */
void helper_srv_run(int sock, pid_t parent, uint32_t flags) __attribute__((noreturn));

/* srv_refuse() - Note what was refused, and return @err */
int srv_refuse(struct srv_reply *r, enum netdev_refusal refused, int err, const char *what);

/* The same for rtnetlink, with the kernel's own words if it gave any; 0 stays 0. */
int srv_rtnl_result(struct srv_reply *r, enum netdev_refusal refused, int err, const char *what,
		    const struct rtnl *nl);

/* srv_reply_fd() - Add descriptor number @bit */
void srv_reply_fd(struct srv_reply *r, unsigned int bit, int fd);

/* srv_ns_get() - The namespace of a handle, or NULL */
struct srv_ns *srv_ns_get(struct srv *s, uint32_t handle);

/* srv_ns_fini() - Let all namespaces go, and take our names out of /run/netns */
void srv_ns_fini(struct srv *s);

/* srv_ns_rtnl() - A netlink socket in it. 0 or -errno */
int srv_ns_rtnl(struct srv_ns *ns);

int srv_ns_open(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		struct srv_reply *r);
int srv_ns_create(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r);
int srv_ns_close(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r);
int srv_ns_check(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r);
int srv_ns_fds(struct srv *s, struct srv_ns *ns, const struct helper_req *req, struct srv_reply *r);
int srv_ns_files(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r);
int srv_ns_socket(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r);

int srv_tap_create(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		   struct srv_reply *r);
int srv_tap_forget(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		   struct srv_reply *r);
int srv_link_set(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r);
int srv_addr_add(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r);
int srv_addr_del(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r);
int srv_neigh_add(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r);
int srv_neigh_del(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r);
int srv_neigh_del_mac(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		      struct srv_reply *r);
int srv_route_default(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		      struct srv_reply *r);
int srv_sysctl_set(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		   struct srv_reply *r);

#endif

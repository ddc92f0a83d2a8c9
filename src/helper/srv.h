/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HELPER_SRV_H
#define HELPER_SRV_H

/*
 * The helper's side of the protocol: srv.c is the process; ns.c, dev.c, follow.c, spare.c, stable.c, neigh.c and
 * rdma.c handle its requests.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "helper/proto.h"
#include "os/umad_dev.h"

/* A TAP that the helper made */
struct srv_tap {
	enum tap_kind kind;
	uint32_t number; /* number by which the main process names a spare TAP */
	/* interface index; 0 while the TAP is parked, or if the TAP was missing when its namespace was deleted */
	int32_t ifindex;
	/* name in the host's namespace; "" for a spare TAP that is not placed */
	char name[IFNAMSIZ];
	/* beginning of the names that a spare TAP may have; "" for all other TAPs */
	char prefix[IFNAMSIZ];
	bool named; /* true if .prefix is the only name that the spare TAP may have */
	/*
	 * true if the helper may give the kernel a secret for the TAP's interface identifiers, see
	 * stable.c
	 */
	bool stable;
	/* MAC that the helper set last, or that the kernel chose; zero for TAP_INFINIBAND */
	uint8_t mac[6];
	/*
	 * alias that the helper gave the TAP's link, to recognize the link by it; "" if the kernel
	 * refused the alias
	 */
	char mark[24];
	/*
	 * name in the parking namespace (follow.c); "" while the TAP is not in the parking
	 * namespace
	 */
	char parked[IFNAMSIZ];
};

/* The parking namespace, in which TAPs wait until they are placed, or until their own namespace is made again */
struct srv_park {
	int fd; /* descriptor of the namespace; -1 until the namespace is needed */
	struct rtnl nl;
	unsigned int names; /* number of names given to TAPs in this namespace so far */
};

/* A namespace. Its handle is its index in srv.ns plus 1. The entry is free while .refs is 0. */
struct srv_ns {
	unsigned int refs;
	/*
	 * descriptor of the namespace; -1 after the namespace was deleted, until it is made again
	 * (follow.c)
	 */
	int fd;
	/* true if srv_ns_follow() looks for a new namespace under .spec when this namespace is gone */
	bool follow;
	uint32_t gen; /* number of times that the namespace was gone, plus 1 */
	bool created; /* true if the helper made the namespace */
	bool bound; /* true if the helper put the namespace's name into /run/netns, and has to remove it */
	bool has_spec; /* true if .spec names the namespace, for netns_check() */
	struct netns_spec spec;
	/* Name that only this helper knows, used in a user namespace; "" if there is none */
	char name[NETNS_NAME_MAX + 1];
	struct rtnl nl; /* netlink socket; .fd is -1 until the socket is needed */
	/* the deletion of neighbours that is running; NULL: none is running */
	struct srv_neigh *neigh;
	struct srv_tap *taps; /* TAPs that the helper made for this namespace */
	unsigned int ntaps, taps_cap;
};

#define SRV_RDMA_NODE 16

/* A port of an RDMA device, and its files in the folder; "" while a file does not exist */
struct srv_rdma_port {
	char name[UMAD_DEV_NAME]; /* DEVICE/PORT, for example "mlx5_0/1" */
	char uverbs[SRV_RDMA_NODE], umad[SRV_RDMA_NODE];
};

/* Device files for the main process: rdma.c */
struct srv_rdma {
	int fd; /* the folder; -1: no port was named */
	struct srv_rdma_port *port;
	unsigned int n;
};

struct srv {
	int sock;
	int home; /* descriptor of the namespace in which the main process started */
	/*
	 * user namespace that the helper made or entered; -1: the helper is in no user namespace of
	 * its own
	 */
	int user_fd;
	int given; /* descriptor that came with the request that is served; -1: none */
	/* File with the list of named namespaces, helper/record.h; NULL: there is no such file */
	const char *record;
	bool sealed; /* true after HELPER_SEAL, see ops[].sealed in srv.c */
	/*
	 * True if a socket was requested before the seal; only then may sockets be requested after
	 * the seal
	 */
	bool gives_sockets;
	struct srv_ns *ns;
	unsigned int ns_cap;
	unsigned int ntaps; /* number of TAPs in all namespaces */
	unsigned int nneigh; /* number of namespaces with a .neigh */
	unsigned int numbers; /* number of TAPs made so far */
	struct srv_park park;
	struct srv_rdma rdma;
	/* socket to the writer, the process that writes secrets (stable.c); -1: there is no writer */
	int writer;
	bool writer_owes; /* true while the writer has not answered the last request */
};

/* A response, with descriptors in the order of the bits of .rsp.fds */
struct srv_reply {
	struct helper_rsp rsp;
	int fds[HELPER_FDS_MAX];
	unsigned int n;
	/*
	 * True if the helper needs the descriptors itself, so that they must not be closed after
	 * the response was sent
	 */
	bool keep_fds;
};

typedef int (*srv_handler)(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
			   struct srv_reply *r);

/*
 * helper_srv_run() - Run as the helper; never returns. @flags and @end as in
 * netdev_helper_start_end(), @user_fd as in netdev_helper_start_in()
 */
void helper_srv_run(int sock, pid_t parent, uint32_t flags, const struct netdev_helper_end *end,
		    int user_fd) __attribute__((noreturn));

/* srv_refuse() - Note the refused step in the response, and return @err */
int srv_refuse(struct srv_reply *r, enum netdev_refusal refused, int err, const char *what);

/*
 * srv_rtnl_result() - Call srv_refuse() if a request to rtnetlink failed (@err below 0); the
 * response gets the kernel's text if the kernel gave one
 *
 * If @err is 0 or more, @r stays unchanged.
 */
int srv_rtnl_result(struct srv_reply *r, enum netdev_refusal refused, int err, const char *what,
		    const struct rtnl *nl);

#define SRV_LATER 1 /* return value of a handler that answers later by srv_answer() */

/*
 * srv_answer() - Send a response, and close its descriptors unless .keep_fds is set. Return: 0 or
 * -errno
 */
int srv_answer(struct srv *s, struct srv_reply *r);

/*
 * srv_tap_enter() - Check that @ifindex is a TAP that this helper made in @ns and that still exists, and open the
 * namespace's netlink socket
 *
 * The check is needed because another link may have got the index of a deleted TAP, and the helper
 * must not change this link.
 * Return: 0; -errno: the check or the open failed, and @r says which step was refused (srv_refuse())
 */
int srv_tap_enter(struct srv_ns *ns, int32_t ifindex, struct srv_reply *r);
/* srv_tap_at() - Find the TAP that this helper made in @ns with index @ifindex; NULL if there is none */
struct srv_tap *srv_tap_at(const struct srv_ns *ns, int32_t ifindex);

/* srv_reply_fd() - Add @fd to a response, as number @bit of helper_rsp.fds */
void srv_reply_fd(struct srv_reply *r, unsigned int bit, int fd);

/* srv_ns_get() - Find the namespace of a handle; NULL if there is none */
struct srv_ns *srv_ns_get(struct srv *s, uint32_t handle);

/* srv_ns_fini() - Close all namespaces, and remove the names that the helper put into /run/netns */
void srv_ns_fini(struct srv *s);

/*
 * srv_ns_seal_flags() - Return the operations on namespaces that a sealed helper still needs, as a mask of
 * enum privs_helper_flags
 */
uint32_t srv_ns_seal_flags(const struct srv *s);

/* srv_ns_rtnl() - Open the netlink socket of a namespace, unless it is open. 0 or -errno */
int srv_ns_rtnl(struct srv_ns *ns);

/*
 * srv_ns_open_files() - Open files of a namespace and add them to a response
 * @files:	mask of enum netdev_file
 * @bit:	number of the first file's descriptor in the response
 *
 * Return: 0 or -errno
 */
int srv_ns_open_files(struct srv_ns *ns, uint32_t files, unsigned int bit, struct srv_reply *r);

/* srv_tap_named() - Find a TAP that the helper made for @ns, even if it is parked; NULL if there is none */
struct srv_tap *srv_tap_named(const struct srv_ns *ns, const char *name);
/* srv_tap_conf_ok() - Tell whether a TAP of the given kind can have these settings */
bool srv_tap_conf_ok(const struct netdev_tap_conf *c);
/**
 * srv_tap_open() - Make a TAP of kind t->kind in a namespace
 * @ret_what:	step that failed; unchanged if the namespace could not be entered
 *
 * Return: 0 or -errno
 */
int srv_tap_open(const struct srv_tap *t, int ns_fd, const char *ifname, int *ret_fd,
		 const char **ret_what);
/*
 * srv_tap_number() - Give the TAP @t a number, and set the alias of its link to t->mark, by which the helper
 * recognizes the link later
 *
 * @nl is the netlink socket of the link's namespace, and @ifindex is the index of the link. If the kernel
 * refuses the alias, t->mark is "".
 */
void srv_tap_number(struct srv *s, struct rtnl *nl, int ifindex, struct srv_tap *t);
/* srv_tap_remember() - Add the TAP @t to ns->taps. 0 or -ENOMEM */
int srv_tap_remember(struct srv *s, struct srv_ns *ns, const struct srv_tap *t);
/* srv_tap_drop() - Remove the TAP @t from ns->taps */
void srv_tap_drop(struct srv *s, struct srv_ns *ns, struct srv_tap *t);
/* srv_tap_refuse() - Refuse a request because a TAP cannot be made; @what is the step that failed, or NULL */
int srv_tap_refuse(struct srv_reply *r, int err, const char *what);
/*
 * srv_tap_set_up() - Apply the settings @c to the link of the TAP @t, after the TAP came into @ns.
 * 0 or -errno
 */
int srv_tap_set_up(struct srv *s, struct srv_ns *ns, struct srv_tap *t,
		   const struct netdev_tap_conf *c);
/*
 * srv_tap_is() - Tell whether the link @l is the TAP @t
 *
 * The link must have the kind of @t. It must also have the MAC or the mark of @t. One of the two is
 * enough, because an administrator may have changed the other. The name is not compared, because
 * the administrator may have changed the name, too. The rule for a device of type 32 is different:
 * it must have the mark of @t, or both the index and the name of @t.
 */
bool srv_tap_is(const struct srv_tap *t, const struct rtnl_link *l);
/*
 * srv_tap_present() - Check that the link with the index of @t is the TAP @t, and not another link that got
 * the index later
 * Return: 0; -ENODEV if the TAP was deleted or moved away; -errno
 */
int srv_tap_present(struct srv_ns *ns, const struct srv_tap *t);

/**
 * srv_park_make() - Make a TAP in the parking namespace and move it to @ns, a namespace that the
 * helper follows (follow.c)
 * @t:		.name is the name for the TAP; the function sets the other members
 * @ret_what:	step that failed; unchanged if the parking namespace cannot be made
 *
 * Return: 0 or -errno
 */
int srv_park_make(struct srv *s, struct srv_ns *ns, struct srv_tap *t, int *ret_fd,
		  const char **ret_what);
/*
 * srv_park_spare() - Make a TAP in the parking namespace, where it stays until it is placed
 *
 * Parameters and result are as in srv_park_make().
 */
int srv_park_spare(struct srv *s, struct srv_tap *t, int *ret_fd, const char **ret_what);
/*
 * srv_park_leave() - Move a parked TAP to @ns, under the name t->name. Return: 0; -EBUSY: another device has the
 * name; -ENODEV; -errno
 */
int srv_park_leave(struct srv *s, struct srv_ns *ns, struct srv_tap *t);
/*
 * srv_park() - Move a TAP to the parking namespace, unless it is there already; t->parked is "" if this fails. A
 * spare TAP loses its name
 */
void srv_park(struct srv *s, struct srv_ns *ns, struct srv_tap *t);
/* srv_tap_is_spare() - Tell whether the TAP was made by HELPER_TAP_SPARE or HELPER_TAP_NAMED */
static inline bool srv_tap_is_spare(const struct srv_tap *t)
{
	return *t->prefix;
}
/*
 * srv_tap_may_come() - Check that the TAP @t may be moved into its namespace with the settings @c.
 * The TAP must be parked, or be in the namespace already under the name in @c. If @c has .stable,
 * the TAP must have been made with .stable.
 * Return: 0; -errno, with the refusal in @r
 */
int srv_tap_may_come(const struct srv_tap *t, const struct netdev_tap_conf *c, struct srv_reply *r);
/*
 * srv_tap_bring() - Move a TAP to its namespace, unless it is there already, set it up, and answer with its index. A
 * TAP that was moved but cannot be set up is parked again. 0 or -errno
 */
int srv_tap_bring(struct srv *s, struct srv_ns *ns, struct srv_tap *t,
		  const struct netdev_tap_conf *c, struct srv_reply *r);
void srv_park_fini(struct srv_park *p);

/*
 * srv_stable_prepare() - Fork the process that writes secrets for a sealed helper, if a TAP can need a secret after
 * the seal. Call this function immediately before the seal. 0 or -errno
 */
int srv_stable_prepare(struct srv *s);
/*
 * srv_stable_set() - Write the secret from which the kernel makes the interface identifiers of a TAP. The TAP is in
 * @ns
 *
 * Return: 0; -EPERM: the TAP was made without .stable; -ETIMEDOUT: the writer does not answer; -EBUSY: the writer has not answered
 * an earlier request; -EPIPE: there is no writer (any more); -errno
 */
int srv_stable_set(struct srv *s, struct srv_ns *ns, const struct srv_tap *t,
		   const uint8_t secret[16]);

int srv_ns_open(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		struct srv_reply *r);
int srv_ns_create(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r);
int srv_ns_adopt(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r);
int srv_ns_close(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r);
int srv_ns_follow(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r);
int srv_ns_fds(struct srv *s, struct srv_ns *ns, const struct helper_req *req, struct srv_reply *r);
int srv_ns_files(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r);
int srv_ns_socket(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r);

int srv_rdma_add(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r);
int srv_rdma_nodes(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		   struct srv_reply *r);
void srv_rdma_fini(struct srv_rdma *d);

/*
 * srv_neigh_step() - Do one piece of each running deletion of neighbours. Return: 0; -errno: the
 * response after the last piece of a deletion could not be sent
 */
int srv_neigh_step(struct srv *s);
void srv_neigh_free(struct srv *s, struct srv_ns *ns);

int srv_tap_create(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		   struct srv_reply *r);
int srv_tap_return(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		   struct srv_reply *r);
int srv_tap_spare(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r);
int srv_tap_place(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r);
int srv_tap_park(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r);
int srv_tap_forget(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		   struct srv_reply *r);
int srv_link_set(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r);
int srv_addr_add(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r);
int srv_addr_del(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r);
int srv_neigh_use(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r);
int srv_neigh_del(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r);

#endif

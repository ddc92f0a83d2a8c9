/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/srv.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/fdpass.h"
#include "os/privs.h"

/*
 * DOC: The helper process
 *
 * One thread serves one request after the other. Only the deletion of neighbours, which may have to
 * search a table of 100,000 entries, is done in pieces between requests. The helper ends when no
 * process has the other end of its socket open any more, or when its parent dies. Signals to the
 * terminal's foreground group or the service's control group do not end the helper. The main
 * process still needs the helper while it shuts down, and then ends the helper itself.
 */

int srv_refuse(struct srv_reply *r, enum netdev_refusal refused, int err, const char *what)
{
	r->rsp.refused = refused;
	snprintf(r->rsp.text, sizeof(r->rsp.text), "%s: %s", what, strerror(-err));
	return err;
}

int srv_rtnl_result(struct srv_reply *r, enum netdev_refusal refused, int err, const char *what,
		    const struct rtnl *nl)
{
	size_t len;

	if (err >= 0)
		return err;
	srv_refuse(r, refused, err, what);
	len = strlen(r->rsp.text);
	if (nl->err[0])
		snprintf(r->rsp.text + len, sizeof(r->rsp.text) - len, " (%s)", nl->err);
	return err;
}

void srv_reply_fd(struct srv_reply *r, unsigned int bit, int fd)
{
	r->rsp.fds |= 1u << bit;
	r->fds[r->n++] = fd;
}

static int srv_hello(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		     struct srv_reply *r)
{
	r->rsp.value = s->user_fd >= 0;
	return 0;
}

/*
 * Serves the last request of the start. Afterwards the helper makes neither TAPs nor namespaces. It
 * still opens sockets and those namespaces that were deleted and made again. It makes device files
 * only of ports that were named before the seal. The helper drops all privileges that these tasks
 * do not need.
 */
static int srv_seal(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		    struct srv_reply *r)
{
	uint32_t flags = srv_ns_seal_flags(s) | (s->gives_sockets ? PRIVS_HELPER_ENTER : 0);
	int err = s->sealed ? 0 : srv_stable_prepare(s);

	if (s->rdma.n)
		flags |= PRIVS_HELPER_MKNOD;
	if (!s->sealed && !err)
		err = privs_helper_seal(flags);
	s->sealed = true;
	return err ? srv_refuse(r, NETDEV_REFUSED_HELPER, err, "sealing the helper") : 0;
}

static const struct {
	srv_handler run;
	bool ns; /* true if the request names a namespace */
	bool sealed; /* true if the request is still served after HELPER_SEAL */
	bool gone; /* true if the request is served even while the namespace is gone */
} ops[HELPER_N_OPS] = {
	[HELPER_HELLO] = { srv_hello, false, true },
	[HELPER_NS_OPEN] = { srv_ns_open },
	[HELPER_NS_CREATE] = { srv_ns_create },
	[HELPER_NS_ADOPT] = { srv_ns_adopt },
	[HELPER_NS_CLOSE] = { srv_ns_close, true, true, true },
	[HELPER_NS_FOLLOW] = { srv_ns_follow, true, true, true },
	[HELPER_NS_FDS] = { srv_ns_fds, true },
	[HELPER_NS_FILES] = { srv_ns_files, true },
	[HELPER_NS_SOCKET] = { srv_ns_socket, true, true },
	[HELPER_TAP_CREATE] = { srv_tap_create, true },
	[HELPER_TAP_SPARE] = { srv_tap_spare, true },
	[HELPER_TAP_NAMED] = { srv_tap_spare, true },
	[HELPER_TAP_PLACE] = { srv_tap_place, true, true },
	[HELPER_TAP_PARK] = { srv_tap_park, true, true, true },
	[HELPER_TAP_RETURN] = { srv_tap_return, true, true },
	[HELPER_TAP_FORGET] = { srv_tap_forget, true, true },
	[HELPER_LINK_SET] = { srv_link_set, true, true },
	[HELPER_ADDR_ADD] = { srv_addr_add, true, true },
	[HELPER_ADDR_DEL] = { srv_addr_del, true, true },
	[HELPER_NEIGH_USE] = { srv_neigh_use, true, true },
	[HELPER_RDMA_ADD] = { srv_rdma_add },
	[HELPER_RDMA_NODES] = { srv_rdma_nodes, false, true },
	[HELPER_SEAL] = { srv_seal, false, true },
	[HELPER_NEIGH_DEL] = { srv_neigh_del, true, true },
};

static int dispatch(struct srv *s, const struct helper_req *req, struct srv_reply *r)
{
	struct srv_ns *ns = NULL;

	if (req->op >= HELPER_N_OPS)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -ENOSYS, "unknown request");
	if (s->sealed && !ops[req->op].sealed)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EPERM, "the instance runs");
	if (ops[req->op].ns) {
		ns = srv_ns_get(s, req->ns);
		if (!ns)
			return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EBADF,
					  "unknown namespace handle");
	}
	if (ns && ns->fd < 0 && !ops[req->op].gone)
		return srv_refuse(r, NETDEV_REFUSED_NETNS, -ESTALE, "entering the namespace");
	/*
	 * The main process sends a request for a namespace only after the answer to the previous request for this
	 * namespace. A request that comes earlier is refused.
	 */
	if (ns && ns->neigh)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EBUSY, "the namespace is busy");
	return ops[req->op].run(s, ns, req, r);
}

int srv_answer(struct srv *s, struct srv_reply *r)
{
	int err;

	if (r->rsp.err) {
		if (!r->keep_fds)
			fdpass_close(r->fds, r->n);
		r->n = 0;
		r->rsp.fds = 0;
	}
	err = fdpass_send(s->sock, &r->rsp, sizeof(r->rsp), r->fds, r->n);
	if (!r->keep_fds)
		fdpass_close(r->fds, r->n);
	return err;
}

/* Serve one request. Returns 0, or an error if there will be no more requests. */
static int serve(struct srv *s, int start_err)
{
	struct srv_reply r = { 0 };
	struct helper_req req;
	int fds[FDPASS_MAX], err;
	unsigned int n;

	err = fdpass_recv(s->sock, &req, sizeof(req), fds, &n);
	if (err == -EBADMSG)
		/* A message of the wrong length cannot come from the main process, so it gets no answer */
		return 0;
	if (err)
		return err;
	/* A sealed helper takes no descriptors. */
	s->given = n && !s->sealed ? fds[0] : -1;
	fdpass_close(fds + (s->given >= 0), n - (s->given >= 0));
	r.rsp.seq = req.seq;
	if (start_err)
		r.rsp.err =
			srv_refuse(&r, NETDEV_REFUSED_NETNS, start_err, "making a user namespace");
	else
		r.rsp.err = dispatch(s, &req, &r);
	fdpass_close(&s->given, 1);
	s->given = -1;
	return r.rsp.err == SRV_LATER ? 0 : srv_answer(s, &r);
}

/* ----- the process */

/*
 * Close all descriptors but the socket, the user namespace (-1: none) and standard error, to which libraries may
 * write. The socket gets the number 3, and the user namespace the number 4.
 */
static void keep_only(int *sock, int *user_fd)
{
	int null = open("/dev/null", O_RDWR), high = 5, s, u;

	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
	}
	/*
	 * First copy both descriptors to numbers above 4, because dup2() closes the descriptor that
	 * has the number 3 or 4, and one of the two descriptors may have this number.
	 */
	s = fcntl(*sock, F_DUPFD, high);
	u = *user_fd < 0 ? -1 : fcntl(*user_fd, F_DUPFD, high);
	*sock = dup2(s, 3);
	if (u >= 0)
		*user_fd = dup2(u, 4);
	fd_close_from(u >= 0 ? 5 : 4);
}

/* Make a descriptor that becomes readable when the parent dies. */
static int watch_parent(pid_t parent)
{
	sigset_t all;
	int fd;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&all);
	sigaddset(&all, SIGTERM);
	fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent)
		_exit(1);
	return fd;
}

static bool parent_died(int sigfd, pid_t parent)
{
	struct signalfd_siginfo si;

	while (read(sigfd, &si, sizeof(si)) > 0)
		;
	return getppid() != parent;
}

static bool may_administer(void)
{
	return capng_get_caps_process() == 0 &&
	       capng_have_capability(CAPNG_EFFECTIVE, CAP_NET_ADMIN) &&
	       capng_have_capability(CAPNG_EFFECTIVE, CAP_SYS_ADMIN);
}

/*
 * Enters the user namespace of another helper, and makes a network namespace that belongs to this
 * user namespace. Whenever the process is in no host's namespace, it is in this new network
 * namespace, because a process in a user namespace may not enter the machine's network namespace
 * again.
 */
static int enter_userns(int user_fd)
{
	uid_t owner;

	/*
	 * The descriptor comes from the daemon. The check keeps the daemon from making a
	 * helper that runs as root enter another user's namespace.
	 */
	if (ioctl(user_fd, NS_GET_OWNER_UID, &owner) || owner != geteuid())
		return -EPERM;
	return setns(user_fd, CLONE_NEWUSER) || unshare(CLONE_NEWNET) ? -errno : 0;
}

static int become(struct srv *s, uint32_t flags)
{
	int err;

	s->home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (s->home < 0)
		return -errno;
	if (s->user_fd >= 0)
		return enter_userns(s->user_fd);
	if (!(flags & NETDEV_HELPER_USERNS) &&
	    ((flags & NETDEV_HELPER_NO_USERNS) || may_administer()))
		return privs_helper_caps();
	err = netns_enter_userns();
	if (err)
		return err;
	s->user_fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	return s->user_fd < 0 ? -errno : 0;
}

void helper_srv_run(int sock, pid_t parent, uint32_t flags, const struct netdev_helper_end *end,
		    int user_fd)
{
	struct srv s = {
		.sock = sock,
		.user_fd = user_fd,
		.given = -1,
		.record = end ? end->record : NULL,
		.park = { .fd = -1, .nl.fd = -1 },
		.rdma.fd = -1,
		.writer = -1,
	};
	struct pollfd p[2] = { { .events = POLLIN } };
	int start_err;

	keep_only(&s.sock, &s.user_fd);
	p[0].fd = s.sock;
	prctl(PR_SET_NAME, "uipoib-helper");
	/*
	 * watch_parent() must follow become(), which changes the credentials: the kernel then
	 * clears the setting that signals the parent's death.
	 */
	start_err = become(&s, flags);
	p[1] = (struct pollfd){ .fd = watch_parent(parent), .events = POLLIN };
	for (;;) {
		if (poll(p, 2, s.nneigh ? 0 : -1) < 0)
			continue;
		if (p[1].revents && parent_died(p[1].fd, parent))
			break;
		if (p[0].revents && serve(&s, start_err))
			break;
		if (srv_neigh_step(&s))
			break;
	}
	srv_ns_fini(&s);
	srv_park_fini(&s.park);
	srv_rdma_fini(&s.rdma);
	if (s.record)
		unlink(s.record);
	if (end)
		end->fn(end->arg);
	_exit(0);
}

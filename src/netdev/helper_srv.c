/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/helper_srv.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "netdev/fdpass.h"
#include "netdev/privs.h"

/*
 * DOC: The helper process
 *
 * One thread, one request after the other. It ends when its socket is closed by the last
 * process that has it, or its parent dies. Signals meant for the terminal's foreground
 * group or the service's control group do not end it: the main process has use for it
 * while it shuts down, and takes it along.
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

static const struct {
	srv_handler run;
	bool ns; /* needs a namespace */
} ops[HELPER_N_OPS] = {
	[HELPER_HELLO] = { srv_hello },
	[HELPER_NS_OPEN] = { srv_ns_open },
	[HELPER_NS_CREATE] = { srv_ns_create },
	[HELPER_NS_CLOSE] = { srv_ns_close, true },
	[HELPER_NS_CHECK] = { srv_ns_check, true },
	[HELPER_NS_FDS] = { srv_ns_fds, true },
	[HELPER_NS_FILES] = { srv_ns_files, true },
	[HELPER_NS_SOCKET] = { srv_ns_socket, true },
	[HELPER_TAP_CREATE] = { srv_tap_create, true },
	[HELPER_TAP_FORGET] = { srv_tap_forget, true },
	[HELPER_LINK_SET] = { srv_link_set, true },
	[HELPER_ADDR_ADD] = { srv_addr_add, true },
	[HELPER_ADDR_DEL] = { srv_addr_del, true },
	[HELPER_NEIGH_ADD] = { srv_neigh_add, true },
	[HELPER_NEIGH_DEL] = { srv_neigh_del, true },
	[HELPER_NEIGH_DEL_MAC] = { srv_neigh_del_mac, true },
	[HELPER_ROUTE_DEFAULT] = { srv_route_default, true },
	[HELPER_SYSCTL_SET] = { srv_sysctl_set, true },
};

static int dispatch(struct srv *s, const struct helper_req *req, struct srv_reply *r)
{
	struct srv_ns *ns = NULL;

	if (req->op >= HELPER_N_OPS)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -ENOSYS, "unknown request");
	if (ops[req->op].ns) {
		ns = srv_ns_get(s, req->ns);
		if (!ns)
			return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EBADF,
					  "unknown namespace handle");
	}
	return ops[req->op].run(s, ns, req, r);
}

/* One request; other than 0 when there will be no more. */
static int serve(struct srv *s, int start_err)
{
	struct srv_reply r = { 0 };
	struct helper_req req;
	int fds[FDPASS_MAX], err;
	unsigned int n;

	err = fdpass_recv(s->sock, &req, sizeof(req), fds, &n);
	if (err == -EBADMSG)
		return 0; /* not from our own code: it gets no answer */
	if (err)
		return err;
	fdpass_close(fds, n);
	r.rsp.seq = req.seq;
	if (start_err)
		r.rsp.err =
			srv_refuse(&r, NETDEV_REFUSED_NETNS, start_err, "making a user namespace");
	else
		r.rsp.err = dispatch(s, &req, &r);
	if (r.rsp.err) {
		if (!r.keep_fds)
			fdpass_close(r.fds, r.n);
		r.n = 0;
		r.rsp.fds = 0;
	}
	err = fdpass_send(s->sock, &r.rsp, sizeof(r.rsp), r.fds, r.n);
	if (!r.keep_fds)
		fdpass_close(r.fds, r.n);
	return err;
}

/* ----- the process */

/* Standard error stays, for what libraries have to say. Returns where the socket now is. */
static int keep_only(int sock)
{
	int null = open("/dev/null", O_RDWR);

	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
	}
	if (sock != 3)
		dup2(sock, 3);
	close_range(4, ~0u, 0);
	return 3;
}

/* A descriptor for the signal that tells of the parent's death. */
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

static int become(struct srv *s, uint32_t flags)
{
	int err;

	s->home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (s->home < 0)
		return -errno;
	if (!(flags & NETDEV_HELPER_USERNS) &&
	    ((flags & NETDEV_HELPER_NO_USERNS) || may_administer()))
		return privs_helper_caps();
	err = netns_enter_userns();
	if (err)
		return err;
	s->user_fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	return s->user_fd < 0 ? -errno : 0;
}

void helper_srv_run(int sock, pid_t parent, uint32_t flags)
{
	struct srv s = { .sock = keep_only(sock), .user_fd = -1 };
	struct pollfd p[2] = { { .fd = s.sock, .events = POLLIN } };
	int start_err;

	prctl(PR_SET_NAME, "uipoib-helper");
	/* In this order: new credentials may cancel the signal of the parent's death. */
	start_err = become(&s, flags);
	p[1] = (struct pollfd){ .fd = watch_parent(parent), .events = POLLIN };
	for (;;) {
		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents && parent_died(p[1].fd, parent))
			break;
		if (p[0].revents && serve(&s, start_err))
			break;
	}
	srv_ns_fini(&s);
	_exit(0);
}

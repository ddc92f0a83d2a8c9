/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fdpass.h"
#include "helper/proto.h"
#include "helper/priv.h"
#include "helper/srv.h"

/*
 * The longest time that a call waits for its answer. The time is long, because the kernel
 * configures interfaces and removes namespaces under one lock. Requests of other programs can hold
 * this lock for seconds. A long time does no harm: calls are made only while the instance starts or
 * ends, and a call does not wait for a dead helper, whose socket is closed.
 */
#define TIMEOUT_MS 60000

/* ----- calls, which wait for their answer */

static int refuse(struct netdev_helper *h, int err, enum netdev_refusal refused, const char *what)
{
	h->refused = refused;
	snprintf(h->err, sizeof(h->err), "%s: %s", what, strerror(-err));
	return err;
}

/* Makes @rsp a refusal, because the descriptors of this response could not be received. */
static void lose_files(struct helper_rsp *rsp, int err)
{
	rsp->err = err;
	rsp->fds = 0;
	rsp->refused = NETDEV_REFUSED_HELPER;
	snprintf(rsp->text, sizeof(rsp->text), "taking files from the network helper: %s",
		 strerror(-err));
}

int helper_receive(struct netdev_helper *h, struct helper_rsp *rsp, int ret_fds[HELPER_FDS_MAX])
{
	int fds[FDPASS_MAX], err;
	unsigned int n, used = 0;

	err = fdpass_recv(h->sock, rsp, sizeof(*rsp), fds, &n);
	/* The response was received without its descriptors, so only this request has failed. */
	if (err == -EMFILE) {
		lose_files(rsp, err);
		n = 0;
	} else if (err) {
		return err;
	}
	for (unsigned int i = 0; i < HELPER_FDS_MAX; i++)
		ret_fds[i] = (rsp->fds & (1u << i)) && used < n ? fds[used++] : -1;
	fdpass_close(fds + used, n - used);
	rsp->text[sizeof(rsp->text) - 1] = 0;
	return 0;
}

/* Wait until the socket is ready for @events. 0; -ETIMEDOUT; -errno */
static int await(struct netdev_helper *h, short events)
{
	struct pollfd p = { .fd = h->sock, .events = events };
	int n;

	do
		n = poll(&p, 1, TIMEOUT_MS);
	while (n < 0 && errno == EINTR);
	return n > 0 ? 0 : n ? -errno : -ETIMEDOUT;
}

static int take_response(struct netdev_helper *h, uint32_t seq, struct helper_rsp *rsp,
			 int ret_fds[HELPER_FDS_MAX])
{
	for (;;) {
		int err = helper_receive(h, rsp, ret_fds);

		if (err == -EAGAIN)
			err = await(h, POLLIN);
		else if (!err && rsp->seq == seq)
			return 0;
		else if (!err) /* a response to a job, or to a call that timed out */
			helper_job_done(h, rsp, ret_fds);
		if (err)
			return err;
	}
}

/* Send a request, with the descriptor @fd unless it is -1, and wait for the response. */
static int exchange(struct netdev_helper *h, struct helper_req *req, int fd, struct helper_rsp *rsp,
		    int ret_fds[HELPER_FDS_MAX])
{
	int err;

	req->seq = ++h->seq;
	do
		err = fdpass_send(h->sock, req, sizeof(*req), &fd, fd >= 0);
	while (err == -EAGAIN && !(err = await(h, POLLOUT)));
	return err ? err : take_response(h, req->seq, rsp, ret_fds);
}

/*
 * Waits until the helper has closed its copies of the descriptors that it sent. Before that, a TAP is not deleted
 * and its name is not free, even if this process closes its own copies. The helper closes its copies before it
 * answers the next request.
 */
static int wait_let_go(struct netdev_helper *h)
{
	struct helper_req req = { .op = HELPER_HELLO };
	int fds[HELPER_FDS_MAX];
	struct helper_rsp rsp;

	return exchange(h, &req, -1, &rsp, fds);
}

/* Send one request and wait for its response. Sets @ret_fds in every case. */
static int call_fd(struct netdev_helper *h, struct helper_req *req, int fd, struct helper_rsp *rsp,
		   int ret_fds[HELPER_FDS_MAX])
{
	int err;

	for (unsigned int i = 0; i < HELPER_FDS_MAX; i++)
		ret_fds[i] = -1;
	h->refused = NETDEV_REFUSED_NONE;
	h->err[0] = 0;
	err = exchange(h, req, fd, rsp, ret_fds);
	if (!err && rsp->fds)
		err = wait_let_go(h);
	if (err) {
		fdpass_close(ret_fds, HELPER_FDS_MAX);
		memset(ret_fds, -1, HELPER_FDS_MAX * sizeof(*ret_fds));
		return refuse(h, err, NETDEV_REFUSED_HELPER, "asking the network helper");
	}
	if (rsp->err) {
		h->refused = rsp->refused;
		memcpy(h->err, rsp->text, sizeof(h->err));
	}
	return rsp->err;
}

static int call(struct netdev_helper *h, struct helper_req *req, struct helper_rsp *rsp,
		int ret_fds[HELPER_FDS_MAX])
{
	return call_fd(h, req, -1, rsp, ret_fds);
}

/* Make a call whose response has no descriptors. Returns the response's value, or -errno. */
static int call_value(struct netdev_helper *h, struct helper_req *req)
{
	int fds[HELPER_FDS_MAX], err;
	struct helper_rsp rsp;

	err = call(h, req, &rsp, fds);
	fdpass_close(fds, HELPER_FDS_MAX);
	return err ? err : rsp.value;
}

/* ----- the process */

static void raise_nofile(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	r.rlim_cur = r.rlim_max;
	/* if setrlimit() fails, the old limit stays, which is enough for a few hosts */
	setrlimit(RLIMIT_NOFILE, &r);
}

static int hello(struct netdev_helper *h)
{
	struct helper_req req = { .op = HELPER_HELLO };
	int res = call_value(h, &req);

	if (res < 0)
		return res;
	h->userns = res;
	return 0;
}

int netdev_helper_start(uint32_t flags, struct netdev_helper **ret)
{
	return netdev_helper_start_end(flags, NULL, ret);
}

int netdev_helper_seal(struct netdev_helper *h)
{
	struct helper_req req = { .op = HELPER_SEAL };

	return call_value(h, &req);
}

static int start(uint32_t flags, const struct netdev_helper_end *end, int user_fd,
		 struct netdev_helper **ret)
{
	struct netdev_helper *h = calloc(1, sizeof(*h));
	pid_t parent = getpid();
	int sock[2], err;

	if (!h)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock)) {
		err = -errno;
		free(h);
		return err;
	}
	helper_jobs_init(h);
	raise_nofile();
	h->pid = fork();
	if (!h->pid) {
		close(sock[0]);
		helper_srv_run(sock[1], parent, flags, end, user_fd);
	}
	err = h->pid < 0 ? -errno : 0;
	h->sock = sock[0];
	close(sock[1]);
	if (err) {
		close(h->sock);
		free(h);
		return err;
	}
	h->pidfd = pidfd_open(h->pid, 0);
	err = fcntl(h->sock, F_SETFL, O_NONBLOCK) < 0 ? -errno : hello(h);
	if (err) {
		netdev_helper_stop(h);
		return err;
	}
	*ret = h;
	return 0;
}

int netdev_helper_start_end(uint32_t flags, const struct netdev_helper_end *end,
			    struct netdev_helper **ret)
{
	return start(flags, end, -1, ret);
}

int netdev_helper_start_in(int user_fd, struct netdev_helper **ret)
{
	return start(0, NULL, user_fd, ret);
}

int netdev_helper_detach(struct netdev_helper *h, pid_t *ret_pid)
{
	int sock = h->sock;

	*ret_pid = h->pid;
	helper_jobs_fini(h);
	if (h->pidfd >= 0)
		close(h->pidfd);
	free(h);
	return sock;
}

int netdev_helper_attach(int sock, struct netdev_helper **ret)
{
	struct netdev_helper *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->sock = sock;
	h->pidfd = -1;
	helper_jobs_init(h);
	*ret = h;
	return 0;
}

/* Waits until the helper has ended; kills it if a system call takes too long. */
static void reap(struct netdev_helper *h)
{
	struct pollfd p = { .fd = h->pidfd, .events = POLLIN };

	if (h->pidfd >= 0 && !poll(&p, 1, TIMEOUT_MS))
		pidfd_send_signal(h->pidfd, SIGKILL, NULL, 0);
	while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (h->pidfd >= 0)
		close(h->pidfd);
}

void netdev_helper_stop(struct netdev_helper *h)
{
	if (!h)
		return;
	helper_jobs_fini(h);
	/* The helper ends by itself when the socket is closed. */
	close(h->sock);
	if (h->pid > 0)
		reap(h);
	free(h);
}

int netdev_helper_fd(const struct netdev_helper *h)
{
	return h->sock;
}

bool netdev_helper_in_userns(const struct netdev_helper *h)
{
	return h->userns;
}

const char *netdev_helper_error(const struct netdev_helper *h)
{
	return h->err;
}

enum netdev_refusal netdev_helper_refused(const struct netdev_helper *h)
{
	return h->refused;
}

/* ----- namespaces */

int netdev_ns_open(struct netdev_helper *h, const char *spec, uint32_t *ret_ns,
		   struct netdev_ns_info *ret_info)
{
	struct helper_req req = { .op = HELPER_NS_OPEN };
	int fds[HELPER_FDS_MAX], err;
	struct helper_rsp rsp;

	if (spec && (!*spec || strlen(spec) > NETNS_SPEC_MAX))
		return refuse(h, -EINVAL, NETDEV_REFUSED_REQUEST, "naming the namespace");
	if (spec)
		memcpy(req.spec, spec, strlen(spec) + 1);
	err = call(h, &req, &rsp, fds);
	if (err)
		return err;
	*ret_ns = rsp.ns;
	if (ret_info) {
		*ret_info = rsp.info;
		ret_info->path[sizeof(ret_info->path) - 1] = 0;
	}
	return 0;
}

int netdev_ns_create(struct netdev_helper *h, uint32_t *ret_ns)
{
	struct helper_req req = { .op = HELPER_NS_CREATE };
	int fds[HELPER_FDS_MAX], err;
	struct helper_rsp rsp;

	err = call(h, &req, &rsp, fds);
	if (!err)
		*ret_ns = rsp.ns;
	return err;
}

int netdev_ns_adopt(struct netdev_helper *h, int fd, uint32_t *ret_ns)
{
	struct helper_req req = { .op = HELPER_NS_ADOPT };
	int fds[HELPER_FDS_MAX], err;
	struct helper_rsp rsp;

	err = call_fd(h, &req, fd, &rsp, fds);
	if (!err)
		*ret_ns = rsp.ns;
	return err;
}

int netdev_ns_close(struct netdev_helper *h, uint32_t ns)
{
	struct helper_req req = { .op = HELPER_NS_CLOSE, .ns = ns };

	return call_value(h, &req);
}

int netdev_ns_fds(struct netdev_helper *h, uint32_t ns, int *ret_net_fd, int *ret_user_fd)
{
	struct helper_req req = { .op = HELPER_NS_FDS, .ns = ns };
	int fds[HELPER_FDS_MAX], err;
	struct helper_rsp rsp;

	err = call(h, &req, &rsp, fds);
	if (err)
		return err;
	*ret_net_fd = fds[0];
	if (ret_user_fd)
		*ret_user_fd = fds[1];
	else if (fds[1] >= 0)
		close(fds[1]);
	return 0;
}

int netdev_ns_files(struct netdev_helper *h, uint32_t ns, uint32_t files,
		    struct netdev_ns_files *ret)
{
	struct helper_req req = { .op = HELPER_NS_FILES, .ns = ns, .files = files };
	int fds[HELPER_FDS_MAX], err;
	struct helper_rsp rsp;

	err = call(h, &req, &rsp, fds);
	if (err)
		return err;
	*ret = (struct netdev_ns_files){
		.rtnl = fds[0],
		.events = fds[1],
		.igmp = fds[2],
		.igmp6 = fds[3],
		.dump = fds[4],
	};
	return 0;
}

int netdev_ns_socket(struct netdev_helper *h, uint32_t ns, int type, int *ret_fd)
{
	struct helper_req req = { .op = HELPER_NS_SOCKET, .ns = ns, .socket_type = type };
	int fds[HELPER_FDS_MAX], err;
	struct helper_rsp rsp;

	err = call(h, &req, &rsp, fds);
	if (!err)
		*ret_fd = fds[0];
	return err;
}

int netdev_rdma_add(struct netdev_helper *h, const char *port, int *ret_folder)
{
	struct helper_req req = { .op = HELPER_RDMA_ADD };
	int fds[HELPER_FDS_MAX], err;
	struct helper_rsp rsp;

	if (strlen(port) > NETNS_SPEC_MAX)
		return refuse(h, -EINVAL, NETDEV_REFUSED_REQUEST, "naming the RDMA port");
	memcpy(req.spec, port, strlen(port) + 1);
	err = call(h, &req, &rsp, fds);
	if (!err)
		*ret_folder = fds[0];
	return err;
}

/* ----- interfaces */

int netdev_tap_create(struct netdev_helper *h, uint32_t ns, const struct netdev_tap_conf *conf,
		      int *ret_fd, int *ret_ifindex)
{
	struct helper_req req = { .op = HELPER_TAP_CREATE, .ns = ns, .tap = *conf };
	int fds[HELPER_FDS_MAX], err;
	struct helper_rsp rsp;

	err = call(h, &req, &rsp, fds);
	if (err)
		return err;
	*ret_fd = fds[0];
	*ret_ifindex = rsp.value;
	return 0;
}

static int make_spare(struct netdev_helper *h, enum helper_op op, uint32_t ns, enum tap_kind kind,
		      const char *name, bool stable, int *ret_fd, uint32_t *ret_number)
{
	struct helper_req req = {
		.op = op,
		.ns = ns,
		.tap = { .kind = kind, .stable = stable },
	};
	int fds[HELPER_FDS_MAX], err;
	struct helper_rsp rsp;

	snprintf(req.tap.ifname, sizeof(req.tap.ifname), "%s", name);
	err = call(h, &req, &rsp, fds);
	if (err)
		return err;
	*ret_fd = fds[0];
	*ret_number = (uint32_t)rsp.value;
	return 0;
}

int netdev_tap_spare(struct netdev_helper *h, uint32_t ns, enum tap_kind kind, const char *prefix,
		     bool stable, int *ret_fd, uint32_t *ret_number)
{
	return make_spare(h, HELPER_TAP_SPARE, ns, kind, prefix, stable, ret_fd, ret_number);
}

int netdev_tap_named(struct netdev_helper *h, uint32_t ns, enum tap_kind kind, const char *name,
		     bool stable, int *ret_fd, uint32_t *ret_number)
{
	return make_spare(h, HELPER_TAP_NAMED, ns, kind, name, stable, ret_fd, ret_number);
}

int netdev_link_up(struct netdev_helper *h, uint32_t ns, int ifindex, bool up)
{
	struct helper_req req = {
		.op = HELPER_LINK_SET,
		.ns = ns,
		.ifindex = ifindex,
		.link.set = up ? RTNL_SET_UP : RTNL_SET_DOWN,
	};

	return call_value(h, &req);
}

int netdev_addr_add(struct netdev_helper *h, uint32_t ns, int ifindex, const struct rtnl_ip *ip,
		    uint8_t plen)
{
	struct helper_req req = {
		.op = HELPER_ADDR_ADD,
		.ns = ns,
		.ifindex = ifindex,
		.addr = { *ip, plen },
	};

	return call_value(h, &req);
}

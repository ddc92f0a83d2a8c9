/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/helper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netdev/fdpass.h"
#include "netdev/helper_proto.h"
#include "netdev/helper_srv.h"

#define TIMEOUT_MS 5000

struct netdev_helper {
	int sock;
	int pidfd;
	pid_t pid;
	uint32_t seq;
	bool userns;
	enum netdev_refusal refused;
	char err[NETDEV_ERR_MAX];
};

/* ----- a call */

static int refuse(struct netdev_helper *h, int err, enum netdev_refusal refused, const char *what)
{
	h->refused = refused;
	snprintf(h->err, sizeof(h->err), "%s: %s", what, strerror(-err));
	return err;
}

static int take_response(struct netdev_helper *h, uint32_t seq, struct helper_rsp *rsp,
			 int ret_fds[HELPER_FDS_MAX])
{
	int fds[FDPASS_MAX], err;
	unsigned int n, used = 0;

	for (;;) {
		err = fdpass_recv(h->sock, rsp, sizeof(*rsp), fds, &n);
		if (err)
			return err;
		if (rsp->seq == seq)
			break;
		fdpass_close(fds, n); /* the answer to a call that timed out */
	}
	for (unsigned int i = 0; i < HELPER_FDS_MAX; i++)
		ret_fds[i] = (rsp->fds & (1u << i)) && used < n ? fds[used++] : -1;
	fdpass_close(fds + used, n - used);
	rsp->text[sizeof(rsp->text) - 1] = 0;
	return 0;
}

static int exchange(struct netdev_helper *h, struct helper_req *req, struct helper_rsp *rsp,
		    int ret_fds[HELPER_FDS_MAX])
{
	int err;

	req->seq = ++h->seq;
	err = fdpass_send(h->sock, req, sizeof(*req), NULL, 0);
	if (!err)
		err = take_response(h, req->seq, rsp, ret_fds);
	return err == -EAGAIN ? -ETIMEDOUT : err;
}

/*
 * The helper closes its copies of descriptors after it has sent them. An answer to a further
 * request shows that it has: only then does closing ours delete a TAP or free a name.
 */
static int settle(struct netdev_helper *h)
{
	struct helper_req req = { .op = HELPER_HELLO };
	int fds[HELPER_FDS_MAX];
	struct helper_rsp rsp;

	return exchange(h, &req, &rsp, fds);
}

/* One request, one response; @ret_fds is set in every case. */
static int call(struct netdev_helper *h, struct helper_req *req, struct helper_rsp *rsp,
		int ret_fds[HELPER_FDS_MAX])
{
	int err;

	for (unsigned int i = 0; i < HELPER_FDS_MAX; i++)
		ret_fds[i] = -1;
	h->refused = NETDEV_REFUSED_NONE;
	h->err[0] = 0;
	err = exchange(h, req, rsp, ret_fds);
	if (!err && rsp->fds)
		err = settle(h);
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

/* For what answers with a number, or nothing, and brings no descriptors. */
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
	setrlimit(RLIMIT_NOFILE, &r); /* where it fails the old limit will do for a few hosts */
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
	raise_nofile();
	h->pid = fork();
	if (!h->pid) {
		close(sock[0]);
		helper_srv_run(sock[1], parent, flags);
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
	netdev_helper_set_timeout(h, TIMEOUT_MS);
	err = hello(h);
	if (err) {
		netdev_helper_stop(h);
		return err;
	}
	*ret = h;
	return 0;
}

void netdev_helper_stop(struct netdev_helper *h)
{
	struct pollfd p;

	if (!h)
		return;
	close(h->sock);
	/* It ends by itself, unless the kernel holds it up. */
	p = (struct pollfd){ .fd = h->pidfd, .events = POLLIN };
	if (h->pidfd >= 0 && !poll(&p, 1, TIMEOUT_MS))
		pidfd_send_signal(h->pidfd, SIGKILL, NULL, 0);
	while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (h->pidfd >= 0)
		close(h->pidfd);
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

void netdev_helper_set_timeout(struct netdev_helper *h, unsigned int timeout_ms)
{
	struct timeval tv = {
		.tv_sec = timeout_ms / 1000,
		.tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000,
	};

	setsockopt(h->sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(h->sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
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

int netdev_ns_close(struct netdev_helper *h, uint32_t ns)
{
	struct helper_req req = { .op = HELPER_NS_CLOSE, .ns = ns };

	return call_value(h, &req);
}

int netdev_ns_check(struct netdev_helper *h, uint32_t ns)
{
	struct helper_req req = { .op = HELPER_NS_CHECK, .ns = ns };

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
	};
	return 0;
}

int netdev_ns_socket(struct netdev_helper *h, uint32_t ns, int family, int type, int *ret_fd)
{
	struct helper_req req = {
		.op = HELPER_NS_SOCKET,
		.ns = ns,
		.socket = { family, type },
	};
	int fds[HELPER_FDS_MAX], err;
	struct helper_rsp rsp;

	err = call(h, &req, &rsp, fds);
	if (!err)
		*ret_fd = fds[0];
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

int netdev_tap_forget(struct netdev_helper *h, uint32_t ns, int ifindex)
{
	struct helper_req req = { .op = HELPER_TAP_FORGET, .ns = ns, .ifindex = ifindex };

	return call_value(h, &req);
}

static int link_set(struct netdev_helper *h, uint32_t ns, int ifindex,
		    const struct rtnl_link_conf *conf)
{
	struct helper_req req = {
		.op = HELPER_LINK_SET,
		.ns = ns,
		.ifindex = ifindex,
		.link = *conf,
	};

	return call_value(h, &req);
}

int netdev_link_up(struct netdev_helper *h, uint32_t ns, int ifindex, bool up)
{
	struct rtnl_link_conf c = { .set = up ? RTNL_SET_UP : RTNL_SET_DOWN };

	return link_set(h, ns, ifindex, &c);
}

int netdev_link_mtu(struct netdev_helper *h, uint32_t ns, int ifindex, uint32_t mtu)
{
	struct rtnl_link_conf c = { .set = RTNL_SET_MTU, .mtu = mtu };

	return link_set(h, ns, ifindex, &c);
}

int netdev_link_mac(struct netdev_helper *h, uint32_t ns, int ifindex, const uint8_t mac[6])
{
	struct rtnl_link_conf c = { .set = RTNL_SET_MAC };

	memcpy(c.mac, mac, sizeof(c.mac));
	return link_set(h, ns, ifindex, &c);
}

int netdev_token_set(struct netdev_helper *h, uint32_t ns, int ifindex, const uint8_t token[8])
{
	struct rtnl_link_conf c = { .set = RTNL_SET_TOKEN };

	memcpy(c.token, token, sizeof(c.token));
	return link_set(h, ns, ifindex, &c);
}

/* What carries an address, a MAC, or both. */
static int call_addr(struct netdev_helper *h, enum helper_op op, uint32_t ns, int ifindex,
		     const struct rtnl_ip *ip, uint8_t plen, const uint8_t *mac)
{
	struct helper_req req = { .op = op, .ns = ns, .ifindex = ifindex, .addr.plen = plen };

	if (ip)
		req.addr.ip = *ip;
	if (mac)
		memcpy(req.addr.mac, mac, sizeof(req.addr.mac));
	return call_value(h, &req);
}

int netdev_addr_add(struct netdev_helper *h, uint32_t ns, int ifindex, const struct rtnl_ip *ip,
		    uint8_t plen)
{
	return call_addr(h, HELPER_ADDR_ADD, ns, ifindex, ip, plen, NULL);
}

int netdev_addr_del(struct netdev_helper *h, uint32_t ns, int ifindex, const struct rtnl_ip *ip,
		    uint8_t plen)
{
	return call_addr(h, HELPER_ADDR_DEL, ns, ifindex, ip, plen, NULL);
}

int netdev_neigh_add(struct netdev_helper *h, uint32_t ns, int ifindex, const struct rtnl_ip *ip,
		     const uint8_t mac[6])
{
	return call_addr(h, HELPER_NEIGH_ADD, ns, ifindex, ip, 0, mac);
}

int netdev_neigh_del(struct netdev_helper *h, uint32_t ns, int ifindex, const struct rtnl_ip *ip)
{
	return call_addr(h, HELPER_NEIGH_DEL, ns, ifindex, ip, 0, NULL);
}

int netdev_neigh_del_mac(struct netdev_helper *h, uint32_t ns, int ifindex, const uint8_t mac[6])
{
	return call_addr(h, HELPER_NEIGH_DEL_MAC, ns, ifindex, NULL, 0, mac);
}

int netdev_route_default(struct netdev_helper *h, uint32_t ns, int ifindex,
			 const struct rtnl_ip *gw)
{
	return call_addr(h, HELPER_ROUTE_DEFAULT, ns, ifindex, gw, 0, NULL);
}

int netdev_sysctl_set(struct netdev_helper *h, uint32_t ns, int ifindex, const char *key,
		      const char *value)
{
	struct helper_req req = { .op = HELPER_SYSCTL_SET, .ns = ns, .ifindex = ifindex };

	if (strlen(key) >= sizeof(req.sysctl.key) || strlen(value) >= sizeof(req.sysctl.value))
		return refuse(h, -EINVAL, NETDEV_REFUSED_REQUEST, "setting a sysctl");
	memcpy(req.sysctl.key, key, strlen(key) + 1);
	memcpy(req.sysctl.value, value, strlen(value) + 1);
	return call_value(h, &req);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "netdev/helper_srv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ----- the table */

struct srv_ns *srv_ns_get(struct srv *s, uint32_t handle)
{
	if (!handle || handle > s->ns_cap || !s->ns[handle - 1].refs)
		return NULL;
	return &s->ns[handle - 1];
}

static uint32_t handle_of(const struct srv *s, const struct srv_ns *ns)
{
	return (uint32_t)(ns - s->ns) + 1;
}

/* A free place; what was known of others by address moves. */
static struct srv_ns *ns_alloc(struct srv *s)
{
	unsigned int i = 0, cap;
	struct srv_ns *v;

	while (i < s->ns_cap && s->ns[i].refs)
		i++;
	if (i == s->ns_cap) {
		cap = s->ns_cap ? 2 * s->ns_cap : 16;
		if (cap > NETDEV_NS_MAX)
			return NULL;
		v = realloc(s->ns, cap * sizeof(*v));
		if (!v)
			return NULL;
		memset(v + s->ns_cap, 0, (cap - s->ns_cap) * sizeof(*v));
		s->ns = v;
		s->ns_cap = cap;
	}
	s->ns[i] = (struct srv_ns){ .fd = -1, .nl.fd = -1 };
	return &s->ns[i];
}

static void ns_free(struct srv *s, struct srv_ns *ns)
{
	/* A name that the administrator has since given away is not ours: -ESTALE. */
	if (ns->bound)
		netns_remove_named(&ns->spec, ns->fd);
	rtnl_close(&ns->nl);
	close(ns->fd);
	s->ntaps -= ns->ntaps;
	free(ns->taps);
	*ns = (struct srv_ns){ .fd = -1, .nl.fd = -1 };
}

void srv_ns_fini(struct srv *s)
{
	for (unsigned int i = 0; i < s->ns_cap; i++) {
		if (s->ns[i].refs)
			ns_free(s, &s->ns[i]);
	}
	free(s->ns);
}

static struct srv_ns *find_fd(struct srv *s, int fd)
{
	for (unsigned int i = 0; i < s->ns_cap; i++) {
		if (s->ns[i].refs && netns_same(s->ns[i].fd, fd))
			return &s->ns[i];
	}
	return NULL;
}

static struct srv_ns *find_name(struct srv *s, const char *name)
{
	for (unsigned int i = 0; i < s->ns_cap; i++) {
		if (s->ns[i].refs && !strcmp(s->ns[i].name, name))
			return &s->ns[i];
	}
	return NULL;
}

static int open_rtnl(void *arg)
{
	return rtnl_open(arg);
}

int srv_ns_rtnl(struct srv_ns *ns)
{
	return ns->nl.fd >= 0 ? 0 : netns_call(ns->fd, open_rtnl, &ns->nl);
}

/* ----- opening */

static int answer(struct srv *s, struct srv_ns *ns, struct srv_reply *r)
{
	ns->refs++;
	r->rsp.ns = handle_of(s, ns);
	r->rsp.info.created = ns->created;
	r->rsp.info.named = ns->has_spec;
	if (ns->has_spec)
		snprintf(r->rsp.info.path, sizeof(r->rsp.info.path), "%s", ns->spec.path);
	return 0;
}

/* Answer with the namespace @fd, which is taken, known already or not. */
static int answer_fd(struct srv *s, int fd, const struct srv_ns *what, struct srv_reply *r)
{
	struct srv_ns *ns = find_fd(s, fd);

	if (ns) {
		close(fd);
		return answer(s, ns, r);
	}
	ns = ns_alloc(s);
	if (!ns) {
		if (what->bound)
			netns_remove_named(&what->spec, fd);
		close(fd);
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -ENOSPC, "too many namespaces");
	}
	*ns = *what;
	ns->fd = fd;
	ns->nl.fd = -1;
	return answer(s, ns, r);
}

static int open_own(struct srv *s, struct srv_reply *r)
{
	struct srv_ns what = { .created = false };
	int fd = fcntl(s->home, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return srv_refuse(r, NETDEV_REFUSED_NETNS, -errno, "opening our own namespace");
	return answer_fd(s, fd, &what, r);
}

/* A name that is not there yet. */
static int open_new(struct srv *s, const char *name, struct srv_ns *what, struct srv_reply *r)
{
	int fd, err;

	what->created = true;
	if (s->user_fd >= 0) {
		what->has_spec = false;
		/* netns_spec_parse() has seen to its length. */
		memcpy(what->name, name, strlen(name) + 1);
		err = netns_create(&fd);
	} else {
		what->bound = true;
		err = netns_create_named(&what->spec, &fd);
	}
	if (err)
		return srv_refuse(r, NETDEV_REFUSED_NAME, err, "making a named namespace");
	return answer_fd(s, fd, what, r);
}

int srv_ns_open(struct srv *s, struct srv_ns *unused, const struct helper_req *req,
		struct srv_reply *r)
{
	struct srv_ns what = { .has_spec = true }, *known;
	int fd, err;

	if (!memchr(req->spec, 0, sizeof(req->spec)))
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EINVAL, "namespace not terminated");
	if (!req->spec[0])
		return open_own(s, r);
	err = netns_spec_parse(&what.spec, req->spec);
	if (err)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, err, "naming the namespace");
	known = find_name(s, req->spec);
	if (known)
		return answer(s, known, r);
	err = netns_open(&what.spec, &fd);
	if (err == -ENOENT && what.spec.kind == NETNS_NAME)
		return open_new(s, req->spec, &what, r);
	if (err)
		return srv_refuse(r, NETDEV_REFUSED_NETNS, err, "opening the namespace");
	return answer_fd(s, fd, &what, r);
}

int srv_ns_create(struct srv *s, struct srv_ns *unused, const struct helper_req *req,
		  struct srv_reply *r)
{
	struct srv_ns what = { .created = true };
	int fd, err = netns_create(&fd);

	if (err)
		return srv_refuse(r, NETDEV_REFUSED_NETNS, err, "making a namespace");
	return answer_fd(s, fd, &what, r);
}

int srv_ns_close(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r)
{
	if (ns->refs == 1)
		ns_free(s, ns);
	else
		ns->refs--;
	return 0;
}

int srv_ns_check(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r)
{
	int err = ns->has_spec ? netns_check(&ns->spec, ns->fd) : 0;

	return err ? srv_refuse(r, NETDEV_REFUSED_NETNS, err, ns->spec.path) : 0;
}

/* ----- descriptors of it */

int srv_ns_fds(struct srv *s, struct srv_ns *ns, const struct helper_req *req, struct srv_reply *r)
{
	r->keep_fds = true;
	srv_reply_fd(r, 0, ns->fd);
	if (s->user_fd >= 0)
		srv_reply_fd(r, 1, s->user_fd);
	return 0;
}

struct open_files {
	uint32_t files;
	struct srv_reply *r;
};

static int open_proc(struct srv_reply *r, unsigned int bit, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	srv_reply_fd(r, bit, fd);
	return 0;
}

static int open_files(void *arg)
{
	struct open_files *o = arg;
	struct rtnl nl;
	int fd, err;

	if (o->files & NETDEV_FILE_RTNL) {
		err = rtnl_open(&nl);
		if (err)
			return err;
		srv_reply_fd(o->r, 0, nl.fd);
	}
	if (o->files & NETDEV_FILE_EVENTS) {
		err = rtnl_events_open(&fd);
		if (err)
			return err;
		srv_reply_fd(o->r, 1, fd);
	}
	if (o->files & NETDEV_FILE_GROUPS) {
		err = open_proc(o->r, 2, "/proc/thread-self/net/igmp");
		if (err)
			return err;
		err = open_proc(o->r, 3, "/proc/thread-self/net/igmp6");
		if (err && err != -ENOENT) /* a kernel without IPv6 */
			return err;
	}
	return 0;
}

int srv_ns_files(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r)
{
	struct open_files o = { req->files, r };
	int err = netns_call(ns->fd, open_files, &o);

	return err ? srv_refuse(r, NETDEV_REFUSED_FILE, err, "opening files of the namespace") : 0;
}

static int open_socket(void *arg)
{
	const struct helper_socket_req *q = arg;
	int fd = socket(q->family, q->type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

int srv_ns_socket(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r)
{
	struct helper_socket_req q = req->socket;
	int fd;

	/* Nothing that needs a capability to open, or to use. */
	if ((q.family != AF_UNIX && q.family != AF_INET && q.family != AF_INET6) ||
	    (q.type != SOCK_STREAM && q.type != SOCK_DGRAM && q.type != SOCK_SEQPACKET))
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EINVAL, "family or type of a socket");
	fd = netns_call(ns->fd, open_socket, &q);
	if (fd < 0)
		return srv_refuse(r, NETDEV_REFUSED_FILE, fd, "opening a socket in the namespace");
	srv_reply_fd(r, 0, fd);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/record.h"
#include "helper/srv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/privs.h"

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

/*
 * Find a free entry in the table of namespaces. The function may move the table, so earlier
 * pointers into the table become invalid.
 */
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
	s->ns[i] = (struct srv_ns){ .fd = -1, .nl.fd = -1, .gen = 1 };
	return &s->ns[i];
}

static void ns_free(struct srv *s, struct srv_ns *ns)
{
	/*
	 * If the administrator has given the name to another namespace, netns_remove_named()
	 * returns -ESTALE and does not remove the name.
	 */
	if (ns->bound)
		netns_remove_named(&ns->spec, ns->fd);
	srv_neigh_free(s, ns);
	rtnl_close(&ns->nl);
	if (ns->fd >= 0)
		close(ns->fd);
	s->ntaps -= ns->ntaps;
	free(ns->taps);
	*ns = (struct srv_ns){ .fd = -1, .nl.fd = -1 };
}

uint32_t srv_ns_seal_flags(const struct srv *s)
{
	uint32_t flags = 0;

	for (unsigned int i = 0; i < s->ns_cap; i++) {
		if (s->ns[i].refs && s->ns[i].bound)
			flags |= PRIVS_HELPER_UNMOUNT;
		if (s->ns[i].refs && s->ns[i].follow)
			flags |= PRIVS_HELPER_ENTER | PRIVS_HELPER_FOLLOW;
	}
	return flags;
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
	r->rsp.info.follows = ns->follow;
	if (ns->has_spec)
		snprintf(r->rsp.info.path, sizeof(r->rsp.info.path), "%s", ns->spec.path);
	return 0;
}

/* Answer with the namespace of @fd, which may be in the table already. Takes ownership of @fd. */
static int answer_fd(struct srv *s, int fd, const struct srv_ns *what, struct srv_reply *r)
{
	struct srv_ns *ns = find_fd(s, fd);

	if (ns) {
		close(fd);
		/*
		 * Two hosts may open the namespace in different ways. When the file that names the
		 * namespace for one host is gone, the other host still uses the namespace. So after
		 * two different ways, the helper does not leave the namespace for a new one.
		 */
		if (!what->follow || strcmp(what->spec.path, ns->spec.path) != 0)
			ns->follow = false;
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
	ns->gen = 1;
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

/* Make a namespace for a name that does not exist. */
static int open_new(struct srv *s, const char *name, struct srv_ns *what, struct srv_reply *r)
{
	int fd, err;

	what->created = true;
	if (s->user_fd >= 0) {
		what->has_spec = false;
		/* netns_spec_parse() has checked the length. */
		memcpy(what->name, name, strlen(name) + 1);
		err = netns_create(&fd);
	} else {
		what->bound = true;
		what->follow = true;
		err = netns_create_named(&what->spec, &fd);
		/*
		 * A failure is ignored, because the record is needed only to remove the namespaces
		 * after the helper was killed.
		 */
		if (!err && s->record)
			helper_record_add(s->record, name, fd);
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
	/*
	 * The root user of a user namespace may not enter a namespace that another program makes,
	 * so a helper in a user namespace does not follow the name.
	 */
	what.follow = s->user_fd < 0 && netns_spec_lasts(&what.spec, fd);
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

static bool is_netns(int fd)
{
	return ioctl(fd, NS_GET_NSTYPE) == CLONE_NEWNET;
}

int srv_ns_adopt(struct srv *s, struct srv_ns *unused, const struct helper_req *req,
		 struct srv_reply *r)
{
	struct srv_ns what = { .created = false };
	int fd = s->given;

	/*
	 * Refuse s->home, the namespace in which the helper was started, whatever process sent the
	 * descriptor, because s->home is never the namespace of a named host.
	 */
	if (fd < 0 || !is_netns(fd) || netns_same(fd, s->home))
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EINVAL,
				  "the descriptor of a network namespace");
	s->given = -1;
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

/* ----- descriptors of a namespace */

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
	unsigned int bit; /* bit of rsp.fds that stands for the first file's descriptor */
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

static int open_rtnl_fd(struct srv_reply *r, unsigned int bit, int flags)
{
	struct rtnl nl;
	int err = rtnl_open(&nl);

	if (err)
		return err;
	srv_reply_fd(r, bit, nl.fd);
	return fcntl(nl.fd, F_SETFL, flags) ? -errno : 0;
}

static int open_files(void *arg)
{
	struct open_files *o = arg;
	int fd, err;

	if (o->files & NETDEV_FILE_RTNL) {
		err = open_rtnl_fd(o->r, o->bit, 0);
		if (err)
			return err;
	}
	if (o->files & NETDEV_FILE_EVENTS) {
		err = rtnl_events_open(&fd);
		if (err)
			return err;
		srv_reply_fd(o->r, o->bit + 1, fd);
	}
	if (o->files & NETDEV_FILE_GROUPS) {
		err = open_proc(o->r, o->bit + 2, "/proc/thread-self/net/igmp");
		if (err)
			return err;
		err = open_proc(o->r, o->bit + 3, "/proc/thread-self/net/igmp6");
		if (err && err != -ENOENT) /* -ENOENT if the kernel has no IPv6 */
			return err;
	}
	return o->files & NETDEV_FILE_DUMP ? open_rtnl_fd(o->r, o->bit + 4, O_NONBLOCK) : 0;
}

int srv_ns_open_files(struct srv_ns *ns, uint32_t files, unsigned int bit, struct srv_reply *r)
{
	struct open_files o = { files, bit, r };

	return netns_call(ns->fd, open_files, &o);
}

int srv_ns_files(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r)
{
	int err = srv_ns_open_files(ns, req->files, 0, r);

	return err ? srv_refuse(r, NETDEV_REFUSED_FILE, err, "opening files of the namespace") : 0;
}

static int open_socket(void *arg)
{
	const int32_t *type = arg;
	int fd = socket(AF_UNIX, *type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

int srv_ns_socket(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r)
{
	int32_t type = req->socket_type;
	int fd;

	if (s->sealed && !s->gives_sockets)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EPERM, "a socket");
	if (type != SOCK_STREAM && type != SOCK_DGRAM && type != SOCK_SEQPACKET)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EINVAL, "type of a socket");
	s->gives_sockets = true;
	fd = netns_call(ns->fd, open_socket, &type);
	if (fd < 0)
		return srv_refuse(r, NETDEV_REFUSED_FILE, fd, "opening a socket in the namespace");
	srv_reply_fd(r, 0, fd);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/srv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * DOC: Namespaces that may be deleted and made again while the instance runs
 *
 * A sealed helper cannot make a TAP, because its filter of system calls forbids open for writing,
 * which /dev/net/tun needs. So if the namespace of a host may be deleted and made again, the host's
 * TAPs are made at the start in the parking namespace, which only the helper uses. Then they are
 * moved into the host's namespace. When the host's namespace is deleted, the TAPs are moved to the
 * parking namespace. When the host's namespace is made again, the TAPs are moved into the new
 * namespace. A TAP keeps alive only the namespace in which /dev/net/tun was opened, which is the
 * parking namespace. So the TAPs do not keep the deleted namespace alive, and the daemon's
 * descriptors of the TAPs stay valid.
 */

static int open_rtnl(void *arg)
{
	return rtnl_open(arg);
}

static int park_open(struct srv_park *p)
{
	int err;

	if (p->fd >= 0)
		return 0;
	err = netns_create(&p->fd);
	if (err)
		return err;
	err = netns_call(p->fd, open_rtnl, &p->nl);
	if (!err)
		return 0;
	close(p->fd);
	p->fd = -1;
	return err;
}

/*
 * Makes a name that no other TAP in the parking namespace has, because several hosts may have TAPs
 * of the same name.
 */
static void park_name(struct srv_park *p, char name[IFNAMSIZ])
{
	snprintf(name, IFNAMSIZ, "tap%u", ++p->names);
}

int srv_park_leave(struct srv *s, struct srv_ns *ns, struct srv_tap *t)
{
	struct srv_park *p = &s->park;
	struct rtnl_link l;
	int err = rtnl_link_get(&ns->nl, 0, t->name, &l);

	/*
	 * First check that no other link has the name, because the kernel notices a conflict of names only
	 * after it has moved the link.
	 */
	if (!err)
		return -EBUSY;
	err = rtnl_link_get(&p->nl, 0, t->parked, &l);
	if (err)
		return err;
	/*
	 * After the move, the link is recognized by the mark in its alias. Set the alias again, because somebody in
	 * the former namespace may have changed it.
	 */
	if (t->kind == TAP_INFINIBAND)
		rtnl_link_alias(&p->nl, l.ifindex, t->mark);
	err = rtnl_link_move(&p->nl, l.ifindex, ns->fd, t->name);
	if (err)
		return err;
	*t->parked = 0;
	memcpy(t->mac, l.mac, sizeof(t->mac));
	/*
	 * Somebody in the namespace may have renamed the TAP already, and made another link that has the TAP's name.
	 */
	err = rtnl_link_get(&ns->nl, 0, t->name, &l);
	if (err)
		return err;
	if (!srv_tap_is(t, &l))
		return -ENODEV;
	t->ifindex = l.ifindex;
	return 0;
}

int srv_park_spare(struct srv *s, struct srv_tap *t, int *ret_fd, const char **ret_what)
{
	struct rtnl_link l;
	int fd, err = park_open(&s->park);

	if (err)
		return err;
	park_name(&s->park, t->parked);
	err = srv_tap_open(t, s->park.fd, t->parked, &fd, ret_what);
	if (err)
		return err;
	*ret_what = "making the TAP";
	err = rtnl_link_get(&s->park.nl, 0, t->parked, &l);
	if (err) {
		close(fd);
		return err;
	}
	memcpy(t->mac, l.mac, sizeof(t->mac));
	srv_tap_number(s, &s->park.nl, l.ifindex, t);
	*ret_fd = fd;
	return 0;
}

int srv_park_make(struct srv *s, struct srv_ns *ns, struct srv_tap *t, int *ret_fd,
		  const char **ret_what)
{
	int fd, err = srv_park_spare(s, t, &fd, ret_what);

	if (err)
		return err;
	err = srv_park_leave(s, ns, t);
	if (err)
		close(fd);
	else
		*ret_fd = fd;
	return err;
}

void srv_park_fini(struct srv_park *p)
{
	rtnl_close(&p->nl);
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* ----- a namespace that was deleted */

void srv_park(struct srv *s, struct srv_ns *ns, struct srv_tap *t)
{
	/* With index 0, the kernel would move any link of the host that has the parking name. */
	if (*t->parked || !t->ifindex)
		return;
	if (srv_tap_is_spare(t))
		*t->name = 0;
	/*
	 * Move only a TAP that is still there: the administrator may have deleted the TAP or moved
	 * it away.
	 */
	if (!srv_tap_present(ns, t)) {
		park_name(&s->park, t->parked);
		if (rtnl_link_move(&ns->nl, t->ifindex, s->park.fd, t->parked))
			*t->parked = 0;
	}
	t->ifindex = 0;
}

static void let_go(struct srv *s, struct srv_ns *ns)
{
	for (unsigned int i = 0; i < ns->ntaps; i++)
		srv_park(s, ns, &ns->taps[i]);
	rtnl_close(&ns->nl);
	close(ns->fd);
	ns->fd = -1;
	/*
	 * Another program makes the next namespace with this name, so the helper must not remove
	 * that namespace.
	 */
	ns->bound = false;
	ns->created = false;
	ns->gen++;
}

static int give_files(struct srv_ns *ns, struct srv_reply *r)
{
	int fd = fcntl(ns->fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	srv_reply_fd(r, 0, fd);
	return srv_ns_open_files(
		ns, NETDEV_FILE_RTNL | NETDEV_FILE_EVENTS | NETDEV_FILE_GROUPS | NETDEV_FILE_DUMP,
		1, r);
}

int srv_ns_follow(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r)
{
	int err = 0;

	if (!ns->follow)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EINVAL,
				  "a namespace that cannot come back");
	if (ns->fd >= 0)
		err = netns_check(&ns->spec, ns->fd);
	/* If the file cannot be examined, the namespace may still exist. */
	if (err && err != -ESTALE)
		return srv_refuse(r, NETDEV_REFUSED_NETNS, err, "looking for the namespace");
	if (err)
		let_go(s, ns);
	/* netns_open() fails while no namespace is mounted on the file. */
	if (ns->fd < 0 && netns_open(&ns->spec, &ns->fd)) {
		ns->fd = -1;
		return 0;
	}
	/*
	 * If the daemon has files of an older namespace, answer 0, so that the daemon closes these
	 * files first: the daemon's limit of open files may be too low for the files of both
	 * namespaces.
	 */
	if (req->gen && req->gen != ns->gen)
		return 0;
	r->rsp.value = (int32_t)ns->gen;
	if (req->gen)
		return 0;
	err = give_files(ns, r);
	return err ? srv_refuse(r, NETDEV_REFUSED_FILE, err, "opening files of the namespace") : 0;
}

int srv_tap_may_come(const struct srv_tap *t, const struct netdev_tap_conf *c, struct srv_reply *r)
{
	if (!*t->parked && !t->ifindex)
		return srv_refuse(r, NETDEV_REFUSED_TAP, -ENODEV, "the TAP was deleted");
	if (!*t->parked && strcmp(t->name, c->ifname) != 0)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EALREADY,
				  "the TAP is in the namespace under another name");
	if (c->stable && !t->stable)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EPERM,
				  "a secret for a TAP that was made without");
	return 0;
}

/*
 * Moves a TAP to its namespace, unless it is there already. The TAP may be there already if two
 * hosts share a namespace that was deleted and made again. The daemon notices this for each host
 * separately. So the daemon may request a TAP before it has noticed the deletion for the TAP's
 * host. When it notices the new namespace for this host, it requests the same TAP again.
 */
int srv_tap_bring(struct srv *s, struct srv_ns *ns, struct srv_tap *t,
		  const struct netdev_tap_conf *c, struct srv_reply *r)
{
	bool came = *t->parked;
	int err = srv_ns_rtnl(ns);

	if (!err)
		err = came ? srv_park_leave(s, ns, t) : srv_tap_present(ns, t);
	if (err)
		return srv_refuse(r, NETDEV_REFUSED_TAP, err, "moving the TAP to the namespace");
	err = srv_tap_set_up(s, ns, t, c);
	if (err) {
		srv_rtnl_result(r, NETDEV_REFUSED_LINK, err, "setting up the TAP", &ns->nl);
		if (came)
			srv_park(s, ns, t);
		return err;
	}
	r->rsp.value = t->ifindex;
	return 0;
}

int srv_tap_return(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		   struct srv_reply *r)
{
	struct srv_tap *t;
	int err;

	if (!srv_tap_conf_ok(&req->tap))
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EINVAL, "name, MAC or MTU of a TAP");
	t = srv_tap_named(ns, req->tap.ifname);
	if (!t || srv_tap_is_spare(t))
		return srv_refuse(r, NETDEV_REFUSED_TAP, -ENODEV, "the TAP was deleted");
	err = srv_tap_may_come(t, &req->tap, r);
	return err ? err : srv_tap_bring(s, ns, t, &req->tap, r);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/srv.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/*
 * DOC: Spare TAPs
 *
 * Which P_Keys a port will have is not known at the start, and a sealed helper makes no TAP. So TAPs for them are made at
 * the start and wait in the parking namespace (follow.c). When one is needed, it is given a name and moved into the
 * namespace for which it was made; when it is not needed any more, it is moved back.
 */

static struct srv_tap *numbered(const struct srv_ns *ns, int32_t number)
{
	for (unsigned int i = 0; i < ns->ntaps; i++) {
		if (number && ns->taps[i].number == (uint32_t)number)
			return &ns->taps[i];
	}
	return NULL;
}

int srv_tap_spare(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r)
{
	struct srv_tap t = { .ifindex = 0 };
	const char *what = NULL;
	int fd, err;

	if (s->ntaps >= NETDEV_TAP_MAX)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -ENOSPC, "too many TAPs");
	/* Needed to place the TAP, and a sealed helper may not be able to open it. */
	err = srv_ns_rtnl(ns);
	if (!err && req->tap.stable)
		err = srv_stable_prepare(s);
	if (!err)
		err = srv_park_spare(s, &t, &fd, &what);
	if (err)
		return srv_tap_refuse(r, err, what);
	err = srv_tap_remember(s, ns, &t);
	if (err) {
		close(fd);
		return srv_refuse(r, NETDEV_REFUSED_TAP, err, "remembering the TAP");
	}
	r->rsp.value = (int32_t)t.number;
	srv_reply_fd(r, 0, fd);
	return 0;
}

int srv_tap_place(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r)
{
	struct srv_tap *t = numbered(ns, req->ifindex), *other;

	if (!srv_tap_conf_ok(&req->tap))
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EINVAL, "name, MAC or MTU of a TAP");
	if (!t || (!*t->parked && !t->ifindex))
		return srv_refuse(r, NETDEV_REFUSED_TAP, -ENODEV, "the TAP was deleted");
	other = srv_tap_named(ns, req->tap.ifname);
	if (other && other != t)
		return srv_refuse(r, NETDEV_REFUSED_TAP, -EBUSY, "the name is that of another TAP");
	memcpy(t->name, req->tap.ifname, sizeof(t->name));
	return srv_tap_bring(s, ns, t, &req->tap, r);
}

int srv_tap_park(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r)
{
	struct srv_tap *t = numbered(ns, req->ifindex);

	if (!t)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -ENODEV, "not a TAP of ours");
	if (ns->fd >= 0)
		srv_park(s, ns, t);
	if (!*t->parked) {
		srv_tap_drop(s, ns, t);
		return srv_refuse(r, NETDEV_REFUSED_TAP, -ENODEV,
				  "the TAP was deleted, or moved to another namespace");
	}
	*t->name = 0;
	return 0;
}

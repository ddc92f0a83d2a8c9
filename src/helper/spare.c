/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/srv.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/*
 * DOC: Spare TAPs
 *
 * At the start it is not known which P_Keys a port will have, and a sealed helper makes no TAPs. So the TAPs for
 * these P_Keys are made at the start and wait in the parking namespace (follow.c). When a TAP is needed, it gets a
 * name and is moved into the namespace for which it was made. When it is not needed any more, it is moved back.
 *
 * Requests to a sealed helper may come from an attacker who controls the main process. So a request
 * that this file serves can only place or park a spare TAP. The TAP can only be placed in the
 * namespace for which it was made, and only under a name with the prefix that the configuration
 * gave at the start.
 *
 * The interfaces that a reload adds have spare TAPs, too. A second helper makes these TAPs, each
 * for one name (src/reload). A spare TAP gets its name only when it is placed. So the main process
 * can first remove an interface, and then give the name of this interface to a new one.
 */

/*
 * Finds the TAP with this number, even a TAP that is not spare: a request for such a TAP is then
 * refused with the right reason.
 */
static struct srv_tap *numbered(const struct srv_ns *ns, int32_t number)
{
	for (unsigned int i = 0; i < ns->ntaps; i++) {
		if (number && ns->taps[i].number == (uint32_t)number)
			return &ns->taps[i];
	}
	return NULL;
}

/* largest number of hexadecimal digits at the end of a name, which are those of a P_Key */
#define DIGITS_MAX 4

static bool prefix_ok(const struct netdev_tap_conf *c, bool named)
{
	return srv_tap_conf_ok(c) && (named || strlen(c->ifname) + DIGITS_MAX < sizeof(c->ifname));
}

/*
 * Tells whether the TAP may have the name: t->prefix and a hexadecimal number in lower case without leading zeros.
 * A TAP of HELPER_TAP_NAMED may only have the name t->prefix itself
 */
static bool name_allowed(const struct srv_tap *t, const char *name)
{
	const char *digits = name + strlen(t->prefix);
	size_t n;

	if (t->named)
		return !strcmp(name, t->prefix);
	if (strncmp(name, t->prefix, strlen(t->prefix)) != 0)
		return false;
	n = strspn(digits, "0123456789abcdef");
	return n && n <= DIGITS_MAX && !digits[n] && *digits != '0';
}

int srv_tap_spare(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		  struct srv_reply *r)
{
	struct srv_tap t = {
		.kind = req->tap.kind,
		.stable = req->tap.stable,
		.named = req->op == HELPER_TAP_NAMED,
	};
	const char *what = NULL;
	int fd, err;

	if (!prefix_ok(&req->tap, t.named))
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EINVAL, "prefix of a TAP's names");
	if (s->ntaps >= NETDEV_TAP_MAX)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -ENOSPC, "too many TAPs");
	memcpy(t.prefix, req->tap.ifname, sizeof(t.prefix));
	/* Placing the TAP needs the namespace's netlink socket, which a sealed helper may not be able to open. */
	err = srv_ns_rtnl(ns);
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
	int err;

	if (!srv_tap_conf_ok(&req->tap))
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EINVAL, "name, MAC or MTU of a TAP");
	if (!t)
		return srv_refuse(r, NETDEV_REFUSED_TAP, -ENODEV, "the TAP was deleted");
	if (!srv_tap_is_spare(t))
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EPERM, "not a spare TAP");
	if (!name_allowed(t, req->tap.ifname))
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EPERM, "name of a spare TAP");
	err = srv_tap_may_come(t, &req->tap, r);
	if (err)
		return err;
	other = srv_tap_named(ns, req->tap.ifname);
	if (other && other != t)
		return srv_refuse(r, NETDEV_REFUSED_TAP, -EBUSY, "the name is that of another TAP");
	memcpy(t->name, req->tap.ifname, sizeof(t->name));
	err = srv_tap_bring(s, ns, t, &req->tap, r);
	if (!t->ifindex)
		*t->name = 0; /* the TAP has not reached the namespace */
	return err;
}

int srv_tap_park(struct srv *s, struct srv_ns *ns, const struct helper_req *req,
		 struct srv_reply *r)
{
	struct srv_tap *t = numbered(ns, req->ifindex);

	if (!t)
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -ENODEV, "not a TAP of ours");
	if (!srv_tap_is_spare(t))
		return srv_refuse(r, NETDEV_REFUSED_REQUEST, -EPERM, "not a spare TAP");
	if (ns->fd >= 0)
		srv_park(s, ns, t);
	if (!*t->parked) {
		srv_tap_drop(s, ns, t);
		return srv_refuse(r, NETDEV_REFUSED_TAP, -ENODEV,
				  "the TAP was deleted, or moved to another namespace");
	}
	return 0;
}

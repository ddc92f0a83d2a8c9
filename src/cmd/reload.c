/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "ctl/priv.h"
#include "reload/set.h"

/*
 * DOC: reload
 *
 *	reload		request of a client; answered after the reload, with the outcome
 *	reload await	request of the supervisor; answered when a client has sent `reload`
 *	reload apply	request of the supervisor, with a socket for the messages of reload/msg.h, which
 *			describe the changes; answered when the changes are applied
 *	reload done	request of the supervisor, with the outcome for the clients
 *
 * The supervisor, which is the parent of this process, reads the file and decides what may change.
 * The three requests of the supervisor are refused from any other process, because this process
 * trusts the descriptors that they bring.
 */

/*
 * Largest number of clients that may wait for a reload. The limit leaves connections for the
 * supervisor.
 */
#define WAITERS_MAX 16

struct waiter {
	struct ctl_hold hold;
	struct list link; /* link in ctl_reload.waiters */
	bool next; /* the client asked while a reload was running, and waits for the next reload */
};

static struct ctl_reload *state(const struct ctl_req *r)
{
	return &r->client->ctl->reload;
}

static bool from_supervisor(struct ctl_req *r)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	if (!getsockopt(r->client->sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
	    peer.pid == getppid())
		return true;
	ctl_end_errno(r, PROTO_EXIT_FAILED, EPERM, "a request of the supervisor only");
	return false;
}

/* --- `reload` of clients; `reload await` and `reload done` of the supervisor */

static void waiter_gone(struct ctl_hold *h)
{
	struct waiter *w = container_of(h, struct waiter, hold);

	list_del(&w->link);
	free(w);
}

/*
 * Answers the clients that waited for the reload that has ended. The other clients go on waiting,
 * for the next reload.
 */
static void answer(struct ctl_reload *s, int status, const char *text, ns_t now)
{
	struct waiter *w, *tmp;

	list_for_each_safe (w, tmp, &s->waiters, link) {
		if (w->next) {
			w->next = false;
			continue;
		}
		w->hold.req.now = now;
		if (status) {
			ctl_end(&w->hold.req, (enum proto_exit)status, "%s", text);
		} else {
			ctl_row(&w->hold.req, json_pack("{s:o}", "changes", ctl_str(text)));
			ctl_end(&w->hold.req, PROTO_EXIT_OK, NULL);
		}
		list_del(&w->link);
		free(w);
	}
}

static void keeper_gone(struct ctl_hold *h)
{
	struct ctl_reload *s = container_of(h, struct ctl_reload, keeper);

	s->phase = CTL_RELOAD_NONE;
	s->again = false;
	answer(s, PROTO_EXIT_FAILED, "the supervisor has ended", h->req.now);
}

/*
 * Answers the supervisor's `reload await`, so that the supervisor begins a reload. If a reload is
 * running, another reload follows it.
 */
static void begin(struct ctl_reload *s, ns_t now)
{
	s->again = s->phase != CTL_RELOAD_KEPT;
	if (s->again)
		return;
	s->phase = CTL_RELOAD_RUNNING;
	s->keeper.req.now = now;
	ctl_end(&s->keeper.req, PROTO_EXIT_OK, NULL);
}

static void reload(struct ctl_req *r)
{
	struct ctl_reload *s = state(r);
	struct waiter *w;

	if (s->phase == CTL_RELOAD_NONE) {
		ctl_end(r, PROTO_EXIT_FAILED,
			"there is no file to read again: the instance was not started by run -c "
			"FILE");
		return;
	}
	w = calloc(1, sizeof(*w));
	if (!w) {
		ctl_end(r, PROTO_EXIT_FAILED, "out of memory");
		return;
	}
	w->next = s->phase == CTL_RELOAD_RUNNING;
	list_add_tail(&s->waiters, &w->link);
	ctl_hold(r, &w->hold, waiter_gone);
	begin(s, r->now);
}

static void await(struct ctl_req *r)
{
	struct ctl_reload *s = state(r);

	if (!from_supervisor(r))
		return;
	if (s->phase == CTL_RELOAD_KEPT) {
		ctl_end(r, PROTO_EXIT_FAILED, "the supervisor waits already");
		return;
	}
	s->phase = CTL_RELOAD_KEPT;
	ctl_hold(r, &s->keeper, keeper_gone);
	if (s->again)
		begin(s, r->now);
}

static void done(struct ctl_req *r)
{
	bool bad;
	struct ctl_reload *s = state(r);
	const char *text = from_supervisor(r) ? ctl_arg_str(r, "text", &bad) : NULL;
	long long status;
	bool asked, changed;

	if (!text)
		return;
	status = ctl_arg_int(r, "status", 0, PROTO_EXIT_TIMEOUT, 0, &bad);
	if (bad)
		return;
	asked = ctl_arg_bool(r, "asked", &bad);
	if (bad)
		return;
	changed = ctl_arg_bool(r, "changed", &bad);
	if (bad)
		return;
	log_to(&r->in->cfg.log, status ? LOG_LVL_ERR : LOG_LVL_INFO, "%s: %s",
	       !status	 ? "reloaded"
	       : changed ? "not reloaded"
			 : "not reloaded, and nothing has changed",
	       text);
	if (asked) {
		answer(s, (int)status, text, r->now);
		if (s->phase == CTL_RELOAD_RUNNING)
			s->phase = CTL_RELOAD_REPORTED;
	}
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

/* --- the changes arrive */

struct applying {
	struct ctl_hold hold;
	struct inst *in;
	struct reload_set set;
	struct loop_fd fd;
	/*
	 * Timer whose function applies the changes. on_message() cannot apply them: the changes
	 * free objects, and the events that the loop has read together with the event of .fd may
	 * belong to these objects.
	 */
	struct timer end;
	int sock, status;
};

static void applying_free(struct applying *a)
{
	int sock = a->sock;

	timer_cancel(&a->in->loop.timers, &a->end);
	loop_unwatch(&a->in->loop, &a->fd);
	close(sock);
	reload_set_free(&a->set);
	free(a);
}

static void applying_gone(struct ctl_hold *h)
{
	applying_free(container_of(h, struct applying, hold));
}

static void on_message(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct applying *a = container_of(fd, struct applying, fd);
	int status;

	(void)events;
	do
		status = reload_set_take(&a->set, fd->fd);
	while (!status);
	if (status == -EAGAIN)
		return;
	a->status = status;
	loop_unwatch(&a->in->loop, fd);
	timer_arm(&a->in->loop.timers, &a->end, now);
}

static void all_came(struct timer *t, ns_t now)
{
	struct applying *a = container_of(t, struct applying, end);
	char err[INST_ERR_MAX] = "";
	int status = a->status;

	a->hold.req.now = now;
	if (status == 1)
		status = reload_apply(&a->set, a->in, now, err);
	else
		snprintf(err, sizeof(err), "messages of the supervisor: %s", strerror(-status));
	for (unsigned int k = 0; k < a->set.nadds; k++)
		if (a->set.add[k].missing)
			ctl_row(&a->hold.req,
				json_pack("{s:s, s:s}", "missing", a->set.add[k].conf.name, "host",
					  a->set.add[k].conf.host));
	if (status)
		ctl_end(&a->hold.req, PROTO_EXIT_FAILED, "%s", err);
	else
		ctl_end(&a->hold.req, PROTO_EXIT_OK, NULL);
	applying_free(a);
}

static void apply(struct ctl_req *r)
{
	struct applying *a;
	int sock;

	if (!from_supervisor(r))
		return;
	sock = ctl_take_fd(r);
	if (sock < 0) {
		ctl_end(r, PROTO_EXIT_USAGE, "expected a socket with the request");
		return;
	}
	a = calloc(1, sizeof(*a));
	if (!a || loop_watch(&r->in->loop, &a->fd, sock, EPOLLIN, on_message)) {
		free(a);
		close(sock);
		ctl_end(r, PROTO_EXIT_FAILED, "out of memory");
		return;
	}
	a->in = r->in;
	a->sock = sock;
	timer_init(&a->end, all_came);
	reload_set_init(&a->set);
	ctl_hold(r, &a->hold, applying_gone);
}

const struct ctl_cmd cmd_reload[] = {
	{ "reload", CTL_CHANGES, reload, NULL, .at_most = WAITERS_MAX },
	{ "reload await", CTL_CHANGES, await, NULL },
	{ "reload apply", CTL_CHANGES, apply, NULL },
	{ "reload done", CTL_CHANGES, done,
	  (const char *const[]){ "status", "text", "asked", "changed", NULL } },
	{ NULL },
};

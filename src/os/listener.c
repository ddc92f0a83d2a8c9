/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/listener.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/privs.h"
#include "util/list.h"

int listener_socket(int *ret, const char *path, int type, int backlog)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int s, status = 0;
	mode_t mask;

	if ((size_t)snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path) >= sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	s = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s < 0)
		return -errno;
	unlink(sa.sun_path);
	mask = umask(0177);
	if (bind(s, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(s, backlog) < 0)
		status = -errno;
	umask(mask);
	if (status)
		close(s);
	else
		*ret = s;
	return status;
}

/*
 * Tell whether the peer's user is allowed to use the socket. The mode of the socket's path alone is
 * not enough: a process that was passed a descriptor of the socket's file can connect by this
 * descriptor.
 */
static bool peer_allowed(int sock, int *ret_pid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) || !privs_peer_ok(cred.uid))
		return false;
	*ret_pid = cred.pid;
	return true;
}

static bool is_shortage(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOBUFS || err == ENOMEM;
}

static void on_event(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct listener *l = container_of(fd, struct listener, fd);
	int s = accept4(fd->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), pid;

	(void)events;
	if (s < 0 && is_shortage(errno)) {
		loop_watch(l->loop, fd, fd->fd, 0, on_event);
		timer_arm(&l->loop->timers, &l->again, now + LISTENER_PAUSE);
	}
	if (s < 0)
		return;
	if (peer_allowed(s, &pid)) {
		l->take(l, s, pid, now);
		return;
	}
	if (l->refused)
		++*l->refused;
	close(s);
}

static void look_again(struct timer *t, ns_t now)
{
	struct listener *l = container_of(t, struct listener, again);

	(void)now;
	loop_watch(l->loop, &l->fd, l->fd.fd, EPOLLIN, on_event);
}

void listener_init(struct listener *l)
{
	*l = (struct listener){ .fd.fd = -1 };
	timer_init(&l->again, look_again);
}

int listener_start(struct listener *l, struct loop *loop, int sock,
		   void (*take)(struct listener *l, int sock, int pid, ns_t now))
{
	l->loop = loop;
	l->take = take;
	return loop_watch(loop, &l->fd, sock, EPOLLIN, on_event);
}

void listener_stop(struct listener *l)
{
	int s = l->fd.fd;

	if (s < 0)
		return;
	timer_cancel(&l->loop->timers, &l->again);
	loop_unwatch(l->loop, &l->fd);
	close(s);
}

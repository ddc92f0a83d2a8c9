/* SPDX-License-Identifier: BSD-2-Clause */
#include "helper/srv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/fdpass.h"
#include "os/privs.h"

/*
 * DOC: Secrets of stable interface identifiers
 *
 * The kernel makes stable opaque identifiers (RFC 7217) from a secret. The kernel takes the secret only from a file
 * under /proc/sys. When a TAP is moved into another namespace, the kernel makes a new file without the secret, so
 * the secret must be written again.
 *
 * A sealed helper may open no file for writing. So, before it is sealed, a helper that may have to write a secret
 * later makes a child process, the writer. The writer accepts a namespace, the name of an interface and a secret,
 * writes the secret to the file of this interface, and does nothing else.
 *
 * Two kinds of TAPs get a secret after the seal: spare TAPs, which wait for their P_Key, and TAPs of a host whose
 * namespace may be deleted and made again.
 */

#define WRITER_WAIT_MS 2000 /* longest time that the helper waits for the writer */

struct secret {
	char ifname[IFNAMSIZ];
	uint8_t octets[16];
};

/*
 * Tells whether x->ifname can name an interface. "all" and "default" are refused: a secret in
 * /proc/sys/net/ipv6/conf/all or default would change other interfaces.
 */
static bool name_ok(const struct secret *x)
{
	return memchr(x->ifname, 0, sizeof(x->ifname)) && x->ifname[0] && x->ifname[0] != '.' &&
	       !strchr(x->ifname, '/') && strcmp(x->ifname, "all") != 0 &&
	       strcmp(x->ifname, "default") != 0;
}

static int write_secret(void *arg)
{
	const struct secret *x = arg;
	char path[64 + IFNAMSIZ], text[INET6_ADDRSTRLEN];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/stable_secret", x->ifname);
	fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	inet_ntop(AF_INET6, x->octets, text, sizeof(text));
	err = fd_write_all(fd, text, strlen(text));
	close(fd);
	return err;
}

/* ----- the writer */

static int serve(int sock)
{
	int fds[FDPASS_MAX], err;
	struct secret x;
	unsigned int n;

	err = fdpass_recv(sock, &x, sizeof(x), fds, &n);
	if (err)
		return err;
	err = n == 1 && name_ok(&x) ? netns_call(fds[0], write_secret, &x) : -EINVAL;
	fdpass_close(fds, n);
	return fdpass_send(sock, &err, sizeof(err), NULL, 0);
}

static void writer_run(int sock) __attribute__((noreturn));
static void writer_run(int sock)
{
	prctl(PR_SET_NAME, "uipoib-writer");
	if (dup2(sock, 3) != 3)
		_exit(1);
	fd_close_from(4);
	if (privs_helper_seal(PRIVS_HELPER_ENTER | PRIVS_HELPER_WRITE))
		_exit(1);
	/*
	 * When the helper ends, the kernel closes the helper's end of the socket; then serve() fails, and the writer
	 * ends.
	 */
	while (!serve(3))
		;
	_exit(0);
}

/* ----- the helper */

static bool needs_writer(const struct srv *s)
{
	for (unsigned int i = 0; i < s->ns_cap; i++) {
		const struct srv_ns *ns = &s->ns[i];

		for (unsigned int k = 0; ns->refs && k < ns->ntaps; k++)
			if (ns->taps[k].stable && (ns->follow || srv_tap_is_spare(&ns->taps[k])))
				return true;
	}
	return false;
}

int srv_stable_prepare(struct srv *s)
{
	int sock[2];
	pid_t pid;

	if (!needs_writer(s))
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock))
		return -errno;
	pid = fork();
	if (!pid)
		writer_run(sock[1]);
	close(sock[1]);
	if (pid < 0) {
		close(sock[0]);
		return -EAGAIN;
	}
	s->writer = sock[0];
	return 0;
}

/* Called when the writer has been killed. A sealed helper cannot make another writer. */
static int writer_gone(struct srv *s)
{
	close(s->writer);
	s->writer = -1;
	return -EPIPE;
}

/*
 * Receives the writer's answer to the last request. Return: 0; -EBUSY: the writer has not answered
 * yet; -EPIPE: the writer has ended
 */
static int take_answer(struct srv *s, int wait_ms, int *ret_status)
{
	struct pollfd p = { .fd = s->writer, .events = POLLIN };
	int fds[FDPASS_MAX], err;
	unsigned int n;

	if (poll(&p, 1, wait_ms) <= 0)
		return -EBUSY;
	err = fdpass_recv(s->writer, ret_status, sizeof(*ret_status), fds, &n);
	if (err)
		return writer_gone(s);
	fdpass_close(fds, n);
	s->writer_owes = false;
	return 0;
}

/*
 * Sends a request to the writer and waits for the answer. The wait is limited, because the requests of all hosts wait
 * meanwhile. If the writer has not answered in time, the helper sends no further request to the writer before this
 * answer has come; the main process repeats its request later.
 */
static int ask_writer(struct srv *s, int ns_fd, const struct secret *x)
{
	int status, err = 0;

	if (s->writer < 0)
		return -EPIPE;
	if (s->writer_owes)
		err = take_answer(s, 0, &status);
	if (err)
		return err;
	if (fdpass_send(s->writer, x, sizeof(*x), &ns_fd, 1))
		return writer_gone(s);
	s->writer_owes = true;
	err = take_answer(s, WRITER_WAIT_MS, &status);
	if (err == -EBUSY)
		return -ETIMEDOUT;
	return err ? err : status;
}

/*
 * Finds the present name of the TAP. The request may have an old name, because somebody in the namespace may have
 * renamed the TAP.
 */
static int name_of(struct srv_ns *ns, const struct srv_tap *t, char ret[IFNAMSIZ])
{
	struct rtnl_link l;
	int err = rtnl_link_get(&ns->nl, t->ifindex, NULL, &l);

	if (err)
		return err;
	if (!srv_tap_is(t, &l))
		return -ENODEV;
	snprintf(ret, IFNAMSIZ, "%s", l.name);
	return 0;
}

int srv_stable_set(struct srv *s, struct srv_ns *ns, const struct srv_tap *t,
		   const uint8_t secret[16])
{
	struct secret x = { 0 };
	int err = t->stable ? name_of(ns, t, x.ifname) : -EPERM;

	if (err)
		return err;
	memcpy(x.octets, secret, sizeof(x.octets));
	if (!name_ok(&x))
		return -EINVAL;
	if (!s->sealed)
		err = netns_call(ns->fd, write_secret, &x);
	else
		err = ask_writer(s, ns->fd, &x);
	explicit_bzero(&x, sizeof(x));
	return err;
}

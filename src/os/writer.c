/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/privs.h"

#define SOCK_BUF (4 << 20) /* requested size of the buffer; net.core.wmem_max may allow less */

bool writer_is_regular(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode);
}

bool writer_is_socket(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(domain);

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_UNIX &&
	       !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_STREAM;
}

int writer_pair(int *ret_write, int *ret_read)
{
	int s[2], size = SOCK_BUF;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		return -errno;
	setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	*ret_write = s[0];
	*ret_read = s[1];
	return 0;
}

int writer_copy(int from, int out)
{
	static uint8_t buf[256 * 1024];
	ssize_t n = read(from, buf, sizeof(buf));
	int err;

	if (n < 0)
		return -errno;
	err = fd_write_all(out, buf, (size_t)n);
	return err ? err : n > 0;
}

int writer_report(int sock, int *ret)
{
	int32_t status;
	ssize_t n = recv(sock, &status, sizeof(status), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (n != sizeof(status) || status > 0)
		return -EPIPE;
	*ret = status;
	return 0;
}

static void report(int sock, int32_t status)
{
	if (send(sock, &status, sizeof(status), MSG_NOSIGNAL) < 0)
		_exit(1); /* the other end has closed */
}

/*
 * Copy all octets of the socket @from to the file @out. Return: 0, or -errno if a read or write
 * failed
 */
static int copy_all(int from, int out, bool truncate)
{
	uint8_t octet;
	int status;

	if (truncate && recv(from, &octet, 1, MSG_PEEK) == 1 && ftruncate(out, 0))
		return -errno;
	status = writer_copy(from, out);
	if (status > 0)
		report(from, 0);
	while (status > 0 || status == -EINTR)
		status = writer_copy(from, out);
	return status;
}

static void child(int from, int out, bool truncate) __attribute__((noreturn));

static void child(int from, int out, bool truncate)
{
	int null = open("/dev/null", O_RDWR), status;

	/*
	 * Ctrl-C must not end the writer before all captured packets are written. The writer ends
	 * when its socket is shut down.
	 */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* a write() beyond RLIMIT_FSIZE then fails, and the error is reported */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_NAME, "uipoib-writer");
	setsid();
	/*
	 * Replace standard error by /dev/null, because a shell's $(... 2>&1) would otherwise wait
	 * until the writer ends.
	 */
	if (null < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(from, STDIN_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0 || chdir("/") || privs_drop_caps(0))
		_exit(1);
	fd_close_from(STDERR_FILENO + 1);
	status = copy_all(STDIN_FILENO, STDOUT_FILENO, truncate);
	if (close(STDOUT_FILENO) && !status)
		status = -errno;
	report(STDIN_FILENO, status);
	_exit(status ? 1 : 0);
}

int writer_fork(int *ret, int out, bool truncate)
{
	int ours = -1, theirs = -1, err = writer_pair(&ours, &theirs);
	pid_t pid;

	if (err)
		return err;
	pid = fork();
	if (pid == 0)
		child(theirs, out, truncate);
	err = pid < 0 ? -errno : 0;
	close(theirs);
	if (err)
		close(ours);
	else
		*ret = ours;
	return err;
}

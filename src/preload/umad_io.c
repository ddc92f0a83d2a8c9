/* SPDX-License-Identifier: BSD-2-Clause */
#include "preload/umad.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/ib_user_mad.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/conn.h"
#include "preload/real.h"

#define PREFIX offsetof(struct umad_mad, id)
#define MAX_AGENTS 32 /* IB_UMAD_MAX_AGENTS */
/* IB_MGMT_MAD_HDR: number of octets that read() returns of a request that had no answer */
#define MAD_HDR 24
#define MAD_SIZE 256
#define RMPP_HDR 36 /* IB_MGMT_RMPP_HDR: smallest length of a MAD that can be sent */

/*
 * A read first examines the first message in the queue and then receives it. In between, no other
 * reader may receive this message. Two locks keep other readers out:
 *
 * - The mutex keeps out other threads of this process.
 * - A record lock on the socket keeps out other processes that got the descriptor by fork(), exec()
 *   or SCM_RIGHTS.
 *
 * A record lock belongs to a process, so it does not keep out other threads. A lock of flock()
 * belongs to the open file, which these processes share, so it would not keep out other processes.
 *
 * A reader never waits for a message while it holds the locks. While a reader holds the locks,
 * signals are blocked, because signal handlers are allowed to call read().
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_process(int fd, short type)
{
	struct flock whole = { .l_type = type, .l_whence = SEEK_SET };

	/*
	 * If a kernel or a sandbox refuses the record lock, the mutex still keeps the threads of one process apart.
	 */
	(void)syscall(SYS_fcntl, fd, F_SETLKW, &whole);
}

static void lock_take(int fd, sigset_t *ret_saved)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, ret_saved);
	pthread_mutex_lock(&lock);
	lock_process(fd, F_WRLCK);
}

static void lock_give(int fd, const sigset_t *saved)
{
	lock_process(fd, F_UNLCK);
	pthread_mutex_unlock(&lock);
	pthread_sigmask(SIG_SETMASK, saved, NULL);
}

static void after_fork(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	/*
	 * Reset the lock in the child, because another thread of the parent may have held it at the
	 * fork().
	 */
	memcpy(&lock, &fresh, sizeof(lock));
}

void umad_start(void)
{
	pthread_atfork(NULL, NULL, after_fork);
}

static atomic_int
	times_gone; /* number of successive reads that failed because the daemon has ended */

/*
 * Result of a read after the daemon has ended: the same error as for a device that was removed. Some programs then
 * read again at once, for ever. After UMAD_GONE_PATIENCE such reads, the next read sends SIGTERM to the program, and
 * from then on each read takes 10 ms.
 */
static ssize_t gone(void)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int n = atomic_fetch_add(&times_gone, 1);

	if (n == UMAD_GONE_PATIENCE)
		kill(getpid(), SIGTERM);
	if (n >= UMAD_GONE_PATIENCE)
		nanosleep(&pause, NULL);
	return -EIO;
}

static bool is_gone(long n)
{
	return n == 0 || n == -ECONNRESET || n == -EPIPE || n == -ENOTCONN;
}

/*
 * One message on the connection. .iov points to the header and the data in the program's buffer, so
 * that the library does not copy them. .prefix is the part of struct umad_mad that the program does
 * not see. .no_pkey takes the place of the P_Key index if the program's header has none.
 */
struct io {
	char prefix[PREFIX];
	char no_pkey[sizeof(struct ib_user_mad_hdr) - sizeof(struct ib_user_mad_hdr_old)];
	struct iovec iov[4];
	struct msghdr m;
	union {
		struct cmsghdr c;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
};

static void io_init(struct io *io, void *buf, size_t hdr, size_t data_len)
{
	memset(io, 0, sizeof(*io));
	io->iov[0] = (struct iovec){ io->prefix, sizeof(io->prefix) };
	io->iov[1] = (struct iovec){ buf, hdr };
	io->iov[2] = (struct iovec){ io->no_pkey, sizeof(struct ib_user_mad_hdr) - hdr };
	io->iov[3] = (struct iovec){ (char *)buf + hdr, data_len };
	io->m.msg_iov = io->iov;
	io->m.msg_iovlen = 4;
}

/*
 * Read the header of the first message and leave it in the queue. Return: length of the message,
 * -errno
 */
static long peek(int fd, struct umad_mad *ret)
{
	struct iovec iov = { ret, sizeof(*ret) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	return conn_recv(fd, &m, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
}

static bool is_long(const struct umad_mad *mad)
{
	return mad->data_len > UMAD_INLINE_MAX;
}

static bool is_valid(const struct umad_mad *mad, long len)
{
	return len >= (long)sizeof(*mad) && mad->msg.type == UMAD_MAD && mad->msg.len == len &&
	       mad->data_len >= MAD_HDR && mad->data_len <= UMAD_DATA_MAX &&
	       len == (long)(sizeof(*mad) + (is_long(mad) ? 0 : mad->data_len));
}

static void drop(int fd)
{
	struct msghdr m = { 0 };

	conn_recv(fd, &m, MSG_DONTWAIT);
}

static bool has_octets(int fd, size_t len)
{
	struct stat st;

	return real.fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= (off_t)len;
}

/* Return the memfd of the first message, which stays in the queue. */
static int peek_memfd(int fd, struct umad_mad *mad)
{
	struct io io;
	int ret, spare;

	io_init(&io, &mad->id, sizeof(struct ib_user_mad_hdr), 0);
	io.m.msg_control = &io.control;
	io.m.msg_controllen = sizeof(io.control);
	if (conn_recv(fd, &io.m, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return -EBADMSG;
	ret = conn_received_fd(&io.m);
	if (ret >= 0 && has_octets(ret, mad->data_len))
		return ret;
	if (ret >= 0) {
		conn_close(ret);
		return -EBADMSG;
	}
	/*
	 * Either no memfd came, or the process had no free descriptor for it. A dup() shows which of the two is true.
	 */
	spare = (int)syscall(SYS_dup, fd);
	if (spare < 0)
		return -ENOMEM;
	conn_close(spare);
	return -EBADMSG;
}

static int read_all(int fd, char *buf, size_t len)
{
	size_t at = 0;
	long n;

	while (at < len) {
		n = syscall(SYS_pread64, fd, buf + at, len - at, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EFAULT)
			return -EFAULT;
		if (n <= 0)
			return -EIO;
		at += (size_t)n;
	}
	return 0;
}

/*
 * Apply the kernel's rules for a buffer with @room octets (copy_recv_mad(), copy_send_mad()). Return: 0 if the MAD
 * fits, -ENOSPC if only its first 256 octets are to be copied, -EINVAL if nothing is to be copied
 */
static int fits(const struct umad_mad *mad, size_t room)
{
	if (room >= mad->data_len)
		return 0;
	return mad->status == 0 && mad->data_len > MAD_SIZE && room >= MAD_SIZE ? -ENOSPC : -EINVAL;
}

/*
 * Receive a MAD whose data are in the message itself. If @fit is not 0, only the first 256 octets
 * of the MAD are read, and the MAD stays in the queue.
 */
static int take_inline(int fd, const struct umad_mad *mad, void *buf, size_t hdr, int fit)
{
	struct io io;
	long n;

	io_init(&io, buf, hdr, fit ? MAD_SIZE : mad->data_len);
	n = conn_recv(fd, &io.m, MSG_DONTWAIT | (fit ? MSG_PEEK : 0));
	return n < 0 ? (int)n : 0;
}

/*
 * Receive a MAD whose data are in a memfd. If @fit is not 0, only the header is read, and the MAD
 * stays in the queue.
 */
static int take_long(int fd, int memfd, void *buf, size_t hdr, int fit)
{
	struct io io;
	long n;

	io_init(&io, buf, hdr, 0);
	n = conn_recv(fd, &io.m, MSG_DONTWAIT | (fit ? MSG_PEEK : 0));
	return n < 0 ? (int)n : 0;
}

/*
 * Receive the first message; the caller holds the lock. Return: 0; -EAGAIN if the queue is empty; -ENOMSG if the
 * message was not a valid MAD, and was dropped; -ENODEV if the daemon is gone; other values as fits()
 */
static int take(int fd, struct umad_mad *ret, int *ret_memfd, void *buf, size_t hdr, size_t count)
{
	long n = peek(fd, ret);
	int fit, err;

	if (is_gone(n))
		return -ENODEV;
	if (n < 0)
		return (int)n;
	if (!is_valid(ret, n)) {
		drop(fd);
		return -ENOMSG;
	}
	fit = fits(ret, count - hdr);
	if (fit == -EINVAL)
		return fit;
	if (!is_long(ret)) {
		err = take_inline(fd, ret, buf, hdr, fit);
		return err ? err : fit;
	}
	*ret_memfd = peek_memfd(fd, ret);
	if (*ret_memfd == -EBADMSG)
		drop(fd);
	if (*ret_memfd < 0)
		return *ret_memfd == -EBADMSG ? -ENOMSG : *ret_memfd;
	err = take_long(fd, *ret_memfd, buf, hdr, fit);
	return err ? err : fit;
}

/* Receive one MAD without waiting. */
static ssize_t read_one(int fd, void *buf, size_t hdr, size_t count)
{
	struct umad_mad mad;
	uint32_t length;
	sigset_t saved;
	int memfd = -1, err, copy;

	lock_take(fd, &saved);
	err = take(fd, &mad, &memfd, buf, hdr, count);
	lock_give(fd, &saved);
	if (memfd >= 0 && (err == 0 || err == -ENOSPC)) {
		copy = read_all(memfd, (char *)buf + hdr, err ? MAD_SIZE : mad.data_len);
		err = copy ? copy : err;
	}
	conn_close(memfd);
	if (err && err != -ENOSPC)
		return err;
	/* A request that had no answer is returned with the length that it had when it was sent. */
	length = mad.status ? mad.length : (uint32_t)hdr + mad.data_len;
	memcpy((char *)buf + offsetof(struct ib_user_mad_hdr, length), &length, sizeof(length));
	return err ? err : (ssize_t)(hdr + mad.data_len);
}

/*
 * Wait by recvmsg() of the C library, which, like read(), is a cancellation point and is restarted
 * after signals.
 */
static int wait_for_mad(int fd)
{
	char octet;
	struct iovec iov = { &octet, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	return recvmsg(fd, &m, MSG_PEEK) < 0 && errno != ECONNRESET ? -errno : 0;
}

ssize_t umad_read(int fd, void *buf, size_t count)
{
	size_t hdr = umad_hdr_size(fd);
	ssize_t n;
	int err;

	pthread_testcancel();
	if (count < hdr)
		return -EINVAL;
	for (;;) {
		n = read_one(fd, buf, hdr, count);
		if (n == -ENODEV)
			return gone();
		atomic_store_explicit(&times_gone, 0, memory_order_relaxed);
		if (n != -EAGAIN && n != -ENOMSG)
			return n;
		err = n == -EAGAIN ? wait_for_mad(fd) : 0;
		if (err)
			return err;
	}
}

static int memfd_of(const char *data, size_t len)
{
	int fd = memfd_create("uipoib-mad", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t at = 0;
	long n;

	if (fd < 0)
		return -ENOMEM;
	while (at < len) {
		n = syscall(SYS_write, fd, data + at, len - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			n = n < 0 && errno == EFAULT ? -EFAULT : -ENOMEM;
			conn_close(fd);
			return (int)n;
		}
		at += (size_t)n;
	}
	/* The seals keep the memfd from changing while the daemon reads it. */
	fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return fd;
}

/*
 * Send, and wait for room even on a non-blocking descriptor, because write() of the kernel's
 * ib_umad never fails for lack of room.
 */
static ssize_t send_waiting(int fd, const struct msghdr *m)
{
	long n;

	while ((n = conn_send(fd, m, MSG_DONTWAIT)) == -EAGAIN || n == -EINTR)
		if (conn_wait(fd, POLLOUT) != 0)
			return -ENOMEM;
	if (is_gone(n))
		return -EIO;
	return n == -ENOBUFS || n == -EMSGSIZE || n == -ETOOMANYREFS ? -ENOMEM : n;
}

ssize_t umad_write(int fd, const void *buf, size_t count)
{
	struct umad_mad mad = { .msg.type = UMAD_MAD, .msg.len = sizeof(mad) };
	size_t hdr = umad_hdr_size(fd);
	struct io io;
	uint32_t id;
	ssize_t n;
	int memfd = -1;

	pthread_testcancel();
	if (count < hdr + RMPP_HDR)
		return -EINVAL;
	memcpy(&id, buf, sizeof(id));
	if (id >= MAX_AGENTS)
		return -EINVAL;
	if (count - hdr > UMAD_DATA_MAX)
		return -ENOMEM;
	mad.data_len = (uint32_t)(count - hdr);
	if (is_long(&mad)) {
		memfd = memfd_of((const char *)buf + hdr, mad.data_len);
		if (memfd < 0)
			return memfd;
	} else {
		mad.msg.len += mad.data_len;
	}
	io_init(&io, (void *)buf, hdr, memfd < 0 ? mad.data_len : 0);
	memcpy(io.prefix, &mad, sizeof(io.prefix));
	if (memfd >= 0) {
		io.control.c.cmsg_len = CMSG_LEN(sizeof(int));
		io.control.c.cmsg_level = SOL_SOCKET;
		io.control.c.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&io.control.c), &memfd, sizeof(memfd));
		io.m.msg_control = &io.control;
		io.m.msg_controllen = sizeof(io.control);
	}
	n = send_waiting(fd, &io.m);
	conn_close(memfd);
	return n < 0 ? n : (ssize_t)count;
}

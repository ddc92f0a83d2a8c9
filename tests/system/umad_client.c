/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Tests that each operation on /dev/infiniband/umad0 and issm0 has the same result as with the
 * kernel's ib_umad. The program runs with libuipoib-umad.so preloaded, and sends commands to
 * tests/interop/umad_server.py.
 *
 *	umad_client		run all cases but the last one
 *	umad_client gone	run the last case, in which the server ends
 */

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/ib_user_mad.h>
#include <rdma/rdma_user_ioctl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/tap.h"

#define UMAD "/dev/infiniband/umad0"
#define ISSM "/dev/infiniband/issm0"
#define HDR sizeof(struct ib_user_mad_hdr)
#define OLD sizeof(struct ib_user_mad_hdr_old)
#define BIG (64u << 20)

static char *self;
/*
 * These numbers are volatile, so that the compiler does not know them. Otherwise it would warn about
 * the calls that must fail.
 */
static volatile int minus_one = -1;
static volatile size_t too_long = HDR + (96u << 20) + 1;

/*
 * A header of HDR octets, or of OLD octets in the layout without P_Key index, and after it a MAD with
 * a command for the server.
 */
struct mad {
	char b[HDR + 256];
};

static void mad_fill(struct mad *m, size_t hdr, unsigned int id, const char *command)
{
	struct ib_user_mad_hdr h = {
		.id = id, .timeout_ms = 100, .retries = 3, .qpn = htonl(1), .lid = htons(7), .sl = 2
	};

	memset(m, 0, sizeof(*m));
	memcpy(m->b, &h, hdr);
	m->b[hdr] = 1;
	m->b[hdr + 1] = 3;
	snprintf(m->b + hdr + 40, 32, "%s", command);
}

static uint32_t field(const void *buf, size_t at)
{
	uint32_t v;

	memcpy(&v, (const char *)buf + at, sizeof(v));
	return v;
}
#define LENGTH(buf) field(buf, offsetof(struct ib_user_mad_hdr, length))
#define STATUS(buf) field(buf, offsetof(struct ib_user_mad_hdr, status))

static int try_register(int fd, unsigned int mclass)
{
	struct ib_user_mad_reg_req r = { .qpn = 1, .mgmt_class = mclass, .mgmt_class_version = 2 };

	return ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &r) == 0 ? (int)r.id : -1;
}

/* Open the device with the P_Key index in its headers enabled, and register agent 0. */
static int ready(int flags)
{
	int fd = open(UMAD, O_RDWR | flags);

	EXPECT(fd >= 0);
	EXPECT(ioctl(fd, IB_USER_MAD_ENABLE_PKEY, NULL) == 0);
	EXPECT(try_register(fd, 3) == 0);
	return fd;
}

static int say(int fd, const char *command)
{
	struct mad m;

	mad_fill(&m, HDR, 0, command);
	return write(fd, &m, sizeof(m)) == sizeof(m) ? 0 : -1;
}

static int wait_in(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 10000) == 1 && (p.revents & POLLIN) ? 0 : -1;
}

static void t_open(void)
{
	int fd = open(UMAD, O_RDWR), fd2;
	struct stat st;

	EXPECT(fd >= 0);
	EXPECT(fcntl(fd, F_GETFD) == 0 && !(fcntl(fd, F_GETFL) & O_NONBLOCK));
	EXPECT(fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(231, 0));
	EXPECT(stat(UMAD, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(231, 0));
	EXPECT(stat(ISSM, &st) == 0 && st.st_rdev == makedev(231, 64));
	EXPECT(access(UMAD, R_OK | W_OK) == 0);
	fd2 = open(UMAD, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	EXPECT(fcntl(fd2, F_GETFD) == FD_CLOEXEC && (fcntl(fd2, F_GETFL) & O_NONBLOCK));
	EXPECT(close(fd) == 0 && close(fd2) == 0);
	EXPECT_ERR(close(fd), EBADF);
	errno = E2BIG;
	fd = open(UMAD, O_RDWR);
	EXPECT(errno == E2BIG);
	EXPECT(lseek(fd, 0, SEEK_SET) == -1 && errno == ESPIPE);
	EXPECT(isatty(fd) == 0);
	close(fd);
	EXPECT_ERR(open("/dev/infiniband/umad9", O_RDWR), ENOENT);
	EXPECT_ERR(open("/dev/infiniband/umad00", O_RDWR), ENOENT);
	EXPECT_ERR(open("/dev/infiniband/umad", O_RDWR), ENOENT);
	EXPECT_ERR(open("/dev/infiniband/umad4294967296", O_RDWR), ENOENT);
	EXPECT_ERR(open("/dev/infiniband/uverbs0", O_RDWR), ENOENT);
	EXPECT_ERR(open("/dev/infiniband/umad5", O_RDWR), EACCES);
	EXPECT_ERR(open(UMAD "/", O_RDWR), ENOTDIR);
	EXPECT_ERR(open(UMAD, O_RDWR | O_DIRECTORY), ENOTDIR);
	EXPECT_ERR(open(UMAD, O_RDWR | O_CREAT | O_EXCL, 0600), EEXIST);
}

static void t_pkey_rules(void)
{
	struct ib_user_mad_reg_req2 r2 = { .qpn = 1, .mgmt_class = 3, .mgmt_class_version = 2 };
	int fd = open(UMAD, O_RDWR | O_NONBLOCK);
	struct mad m;

	EXPECT(try_register(fd, 3) == 0); /* from now on the layout without P_Key index is fixed */
	EXPECT_ERR(ioctl(fd, IB_USER_MAD_ENABLE_PKEY, NULL), EINVAL);
	mad_fill(&m, OLD, 0, "header");
	EXPECT(write(fd, &m, OLD + 256) == OLD + 256);
	EXPECT(wait_in(fd) == 0);
	EXPECT_ERR(read(fd, &m, OLD + 255), EINVAL);
	EXPECT(read(fd, &m, sizeof(m)) == OLD + 256 && LENGTH(&m) == OLD + 256);
	EXPECT(field(&m, OLD + 24) == 0 && field(&m, OLD + 24 + 8) == 100);
	close(fd);
	fd = open(UMAD, O_RDWR | O_NONBLOCK);
	EXPECT(ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &r2) == 0 && r2.id == 0);
	EXPECT(say(fd, "echo") == 0 && wait_in(fd) == 0);
	EXPECT(read(fd, &m, sizeof(m)) == HDR + 256 && LENGTH(&m) == HDR + 256);
	EXPECT_ERR(ioctl(fd, IB_USER_MAD_ENABLE_PKEY, NULL), EINVAL);
	close(fd);
}

static void t_register(void)
{
	struct ib_user_mad_reg_req2 r2 = { .qpn = 1, .mgmt_class = 0x32, .oui = 0x01001405 };
	struct ib_user_mad_reg_req r = { .qpn = 2, .mgmt_class = 3 };
	int fd = open(UMAD, O_RDWR);
	uint32_t id;

	EXPECT_ERR(ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &r), EINVAL);
	EXPECT_ERR(ioctl(fd, IB_USER_MAD_REGISTER_AGENT, NULL), EFAULT);
	EXPECT_ERR(ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &r2), EINVAL);
	r2.oui = 0x1405;
	r2.flags = 6;
	EXPECT_ERR(ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &r2), EINVAL);
	EXPECT(r2.flags == IB_USER_MAD_REG_FLAGS_CAP);
	EXPECT(ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &r2) == 0 && r2.id == 0);
	for (int i = 1; i < 32; i++)
		EXPECT(try_register(fd, 3) == i);
	EXPECT_ERR(try_register(fd, 3), ENOMEM);
	id = 7;
	EXPECT(ioctl(fd, IB_USER_MAD_UNREGISTER_AGENT, &id) == 0);
	EXPECT_ERR(ioctl(fd, IB_USER_MAD_UNREGISTER_AGENT, &id), EINVAL);
	EXPECT(try_register(fd, 3) == 7);
	EXPECT_ERR(try_register(fd, 0x66), ENOMEM);
	EXPECT_ERR(ioctl(fd, _IO(0x1b, 99)), ENOTTY);
	EXPECT_ERR(ioctl(fd, FIONREAD, &id), ENOTTY);
	id = 1;
	EXPECT(ioctl(fd, FIONBIO, &id) == 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK));
	close(fd);
}

/* Each field of a MAD's header and of a registration arrives in its place. */
static void t_fields(void)
{
	struct ib_user_mad_reg_req r = { .qpn = 1,
					 .method_mask = { 0x1122334455667788, 0x99aabbccddeeff00 },
					 .mgmt_class = 0x32,
					 .mgmt_class_version = 1,
					 .oui = { 0xab, 0xcd, 0xef },
					 .rmpp_version = 1 };
	struct {
		uint32_t qpn, flags;
		uint64_t methods[2];
		uint32_t oui;
		uint8_t mclass, version, rmpp;
	} __attribute__((packed)) seen;
	int fd = open(UMAD, O_RDWR);
	struct mad m, back;

	EXPECT(ioctl(fd, IB_USER_MAD_ENABLE_PKEY) == 0);
	EXPECT(ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &r) == 0);
	mad_fill(&m, HDR, 0, "header");
	for (size_t i = sizeof(uint32_t); i < HDR; i++) /* everything but the agent id */
		m.b[i] = (char)(i * 7);
	EXPECT(write(fd, &m, sizeof(m)) == sizeof(m));
	EXPECT(read(fd, &back, sizeof(back)) == sizeof(back));
	EXPECT(memcmp(back.b + HDR + 24, m.b, HDR) == 0);
	EXPECT(memcmp(back.b + 20, m.b + 20, HDR - 20) == 0);
	memcpy(&seen, back.b + HDR + 24 + HDR, sizeof(seen));
	EXPECT(seen.qpn == 1 && seen.flags == 0 && seen.oui == 0xabcdef && seen.mclass == 0x32 &&
	       seen.version == 1 && seen.rmpp == 1);
	EXPECT(memcmp(seen.methods, r.method_mask, sizeof(seen.methods)) == 0);
	close(fd);
}

static void t_read_rules(void)
{
	int fd = ready(O_NONBLOCK);
	struct mad m;
	char *big = malloc(BIG + HDR);

	EXPECT_ERR(read(fd, &m, sizeof(m)), EAGAIN);
	EXPECT_ERR(read(fd, &m, HDR - 1), EINVAL);
	EXPECT(say(fd, "long 5000") == 0 && say(fd, "echo") == 0 && wait_in(fd) == 0);
	EXPECT_ERR(read(fd, &m, HDR + 255), EINVAL);
	for (int i = 0; i < 2; i++) { /* a MAD that does not fit stays in the queue */
		memset(&m, 0, sizeof(m));
		EXPECT_ERR(read(fd, &m, sizeof(m)), ENOSPC);
		EXPECT(LENGTH(&m) == HDR + 5000 && m.b[HDR] == 1 &&
		       (unsigned char)m.b[HDR + 255] == 231);
	}
	EXPECT_ERR(read(fd, big, HDR + 4999), ENOSPC);
	memset(big, 0x55, HDR + 5001);
	EXPECT(read(fd, big, BIG) == HDR + 5000 && big[HDR + 5000] == 0x55);
	EXPECT((unsigned char)big[HDR + 4999] == (5000 - 24 - 1) % 251);
	EXPECT(wait_in(fd) == 0 && read(fd, &m, sizeof(m)) == sizeof(m));
	EXPECT_ERR(read(fd, &m, sizeof(m)), EAGAIN);
	free(big);
	close(fd);
}

static void t_timeout(void)
{
	int fd = ready(0);
	struct mad m;

	mad_fill(&m, HDR, 0, "timeout");
	m.b[offsetof(struct ib_user_mad_hdr, length)] = 99;
	EXPECT(write(fd, &m, sizeof(m)) == sizeof(m));
	EXPECT_ERR(read(fd, &m, HDR + 23), EINVAL);
	EXPECT(read(fd, &m, sizeof(m)) == HDR + 24);
	EXPECT(STATUS(&m) == ETIMEDOUT && LENGTH(&m) == 99);
	close(fd);
}

static void t_write_rules(void)
{
	int fd = ready(0);
	struct mad m;

	mad_fill(&m, HDR, 0, "echo");
	EXPECT_ERR(write(fd, &m, 0), EINVAL);
	EXPECT_ERR(write(fd, &m, HDR + 35), EINVAL);
	EXPECT(write(fd, &m, HDR + 36) == HDR + 36);
	EXPECT(read(fd, &m, sizeof(m)) == HDR + 36);
	mad_fill(&m, HDR, 32, "echo");
	EXPECT_ERR(write(fd, &m, sizeof(m)), EINVAL);
	EXPECT_ERR(write(fd, &m, too_long), EINVAL);
	m.b[0] = 0;
	EXPECT_ERR(write(fd, &m, too_long), ENOMEM);
	close(fd);
}

/* Send a message of @n octets, and receive one of @n octets. */
static void both_ways(int fd, char *buf, size_t n)
{
	struct mad m;

	mad_fill(&m, HDR, 0, "echo");
	memset(buf, 0, HDR + n);
	memcpy(buf, &m, sizeof(m));
	for (size_t i = sizeof(m); i < HDR + n; i++)
		buf[i] = (char)(i * 31 >> 3);
	EXPECT(write(fd, buf, HDR + n) == (ssize_t)(HDR + n));
	EXPECT_ERR(read(fd, &m, sizeof(m)), ENOSPC);
	EXPECT(LENGTH(&m) == HDR + n && memcmp(m.b + HDR, buf + HDR, 256) == 0);
	memset(buf + HDR, 0, n);
	EXPECT(read(fd, buf, HDR + n) == (ssize_t)(HDR + n));
	for (size_t i = sizeof(m); i < HDR + n; i++)
		if (buf[i] != (char)(i * 31 >> 3)) {
			EXPECT(!"octets as they were sent");
			break;
		}
}

static void t_long(void)
{
	static const size_t sizes[] = { 257, 65535, 65536, 65537, 1000000, BIG };
	char *buf = malloc(HDR + BIG);
	int fd = ready(0);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		both_ways(fd, buf, sizes[i]);
	free(buf);
	close(fd);
}

/*
 * A long MAD cannot be received while the process has no free descriptor. The MAD waits until there
 * is one.
 */
static void t_long_without_fds(void)
{
	struct rlimit saved, tight;
	int fd = ready(0), first = dup(fd);
	char *buf = malloc(HDR + 100000);

	EXPECT(say(fd, "long 100000") == 0 && wait_in(fd) == 0);
	close(first);
	getrlimit(RLIMIT_NOFILE, &saved);
	tight = saved;
	tight.rlim_cur = (rlim_t)first; /* all lower numbers are in use */
	EXPECT(setrlimit(RLIMIT_NOFILE, &tight) == 0);
	EXPECT_ERR(read(fd, buf, HDR + 100000), ENOMEM);
	EXPECT_ERR(open(UMAD, O_RDWR), EMFILE);
	setrlimit(RLIMIT_NOFILE, &saved);
	EXPECT(read(fd, buf, HDR + 100000) == HDR + 100000);
	free(buf);
	close(fd);
}

static void t_poll(void)
{
	int fd = ready(O_NONBLOCK), ep = epoll_create1(0);
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };
	struct timeval tv = { .tv_sec = 10 };
	struct mad m;
	fd_set set;

	EXPECT(poll(&p, 1, 0) == 1 && p.revents == POLLOUT);
	EXPECT(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0 && epoll_wait(ep, &ev, 1, 0) == 0);
	EXPECT(say(fd, "echo") == 0);
	EXPECT(epoll_wait(ep, &ev, 1, 10000) == 1);
	FD_ZERO(&set);
	FD_SET(fd, &set);
	EXPECT(select(fd + 1, &set, NULL, NULL, &tv) == 1);
	EXPECT(poll(&p, 1, 0) == 1 && p.revents == (POLLIN | POLLOUT));
	EXPECT(read(fd, &m, sizeof(m)) == sizeof(m));
	EXPECT(poll(&p, 1, 0) == 1 && p.revents == POLLOUT);
	close(ep);
	close(fd);
}

/* readv() and writev() treat each element as a read() or write() of its own, so each element is one MAD. */
static void t_vectors(void)
{
	int fd = ready(0);
	struct mad a, b;
	struct iovec whole[2] = { { &a, sizeof(a) }, { &b, sizeof(b) } };
	struct iovec split[2] = { { &a, HDR }, { a.b + HDR, 256 } };

	mad_fill(&a, HDR, 0, "echo");
	mad_fill(&b, HDR, 0, "echo");
	EXPECT(writev(fd, whole, 2) == 2 * sizeof(a));
	EXPECT(readv(fd, whole, 2) == 2 * sizeof(a));
	EXPECT_ERR(writev(fd, split, 2), EINVAL);
	EXPECT_ERR(readv(fd, split, minus_one), EINVAL);
	close(fd);
}

/*
 * All copies of a descriptor refer to one open file, so an option that one process sets applies to
 * the other process, too.
 */
static void t_copies(void)
{
	int fd = open(UMAD, O_RDWR), status, copies[5];
	struct mad m;

	copies[0] = dup(fd);
	copies[1] = dup2(fd, 300);
	copies[2] = dup3(fd, 2000, O_CLOEXEC);
	copies[3] = fcntl(fd, F_DUPFD, 100);
	copies[4] = fcntl(fd, F_DUPFD_CLOEXEC, 100);
	EXPECT(copies[1] == 300 && copies[2] == 2000 && copies[3] >= 100 && copies[4] >= 100);
	EXPECT(fcntl(2000, F_GETFD) == FD_CLOEXEC && fcntl(copies[4], F_GETFD) == FD_CLOEXEC);
	if (fork() == 0) {
		int bad =
			ioctl(copies[0], IB_USER_MAD_ENABLE_PKEY) != 0 || try_register(fd, 3) != 0;

		_exit(bad);
	}
	EXPECT(wait(&status) > 0 && status == 0);
	EXPECT_ERR(ioctl(fd, IB_USER_MAD_ENABLE_PKEY), EINVAL);
	for (int i = 0; i < 5; i++) {
		EXPECT(say(copies[i], "echo") == 0);
		EXPECT(read(copies[(i + 1) % 5], &m, sizeof(m)) == sizeof(m));
	}
	close(fd);
	for (int i = 0; i < 5; i++)
		close(copies[i]);
	fd = ready(0);
	if (fork() == 0) {
		char number[12];

		snprintf(number, sizeof(number), "%d", fd);
		execl(self, self, "inherited", number, NULL);
		_exit(1);
	}
	EXPECT(wait(&status) > 0 && status == 0);
	close(fd);
}

/* The program executes itself with "inherited" and a descriptor that has agent 0. The descriptor must still work. */
static int inherited(int fd)
{
	struct stat st;
	struct mad m;

	return say(fd, "echo") == 0 && read(fd, &m, sizeof(m)) == sizeof(m) &&
			       LENGTH(&m) == sizeof(m) && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode)
		       ? 0
		       : 1;
}

/*
 * A descriptor number that was closed without the library's knowledge does not belong to the
 * library any more.
 */
static void t_stale(void)
{
	int fd = ready(0), pipes[2];
	char c = 0;

	syscall(SYS_close, fd);
	EXPECT(pipe(pipes) == 0);
	EXPECT(pipes[0] == fd || pipes[1] == fd);
	EXPECT(write(pipes[1], "x", 1) == 1 && read(pipes[0], &c, 1) == 1 && c == 'x');
	EXPECT_ERR(ioctl(fd, IB_USER_MAD_ENABLE_PKEY), ENOTTY);
	close(pipes[0]);
	close(pipes[1]);
	EXPECT_ERR(read(fd, &c, 1), EBADF);
	EXPECT_ERR(dup(fd), EBADF);
}

static void t_issm(void)
{
	int fd = open(ISSM, O_NONBLOCK), status;
	char c;

	EXPECT(fd >= 0);
	EXPECT_ERR(open(ISSM, O_NONBLOCK), EAGAIN);
	EXPECT_ERR(read(fd, &c, 1), EINVAL);
	EXPECT_ERR(write(fd, &c, 1), EINVAL);
	EXPECT_ERR(ioctl(fd, IB_USER_MAD_ENABLE_PKEY), ENOTTY);
	if (fork() == 0) /* open() in the child waits until the parent closes the device */
		_exit(close(fd) != 0 || (fd = open(ISSM, O_RDWR)) < 0);
	usleep(50000);
	EXPECT(waitpid(-1, &status, WNOHANG) == 0);
	close(fd);
	EXPECT(wait(&status) > 0 && status == 0);
}

static void t_garbage(void)
{
	int fd = ready(0);
	struct mad m;

	EXPECT(say(fd, "garbage") == 0);
	EXPECT(read(fd, &m, sizeof(m)) == sizeof(m) &&
	       m.b[HDR] == 'g'); /* the message is valid, but lacks its descriptors */
	EXPECT(read(fd, &m, sizeof(m)) == sizeof(m) && m.b[HDR] == 1);
	EXPECT(say(fd, "short") == 0 && say(fd, "pipe") == 0 && say(fd, "echo") == 0);
	EXPECT(read(fd, &m, sizeof(m)) == sizeof(m) && m.b[HDR] == 1);
	close(fd);
	/* no descriptor was leaked, so the lowest free number is the same as before */
	fd = dup(0);
	EXPECT(fd < 10);
	close(fd);
}

static void on_alarm(int sig)
{
}

static volatile bool kicked_enough;

/* On a busy machine the thread perhaps has not reached its system call after one pause, so it gets more than one signal. */
static void *kick(void *thread)
{
	do {
		usleep(50000);
		pthread_kill(*(pthread_t *)thread, SIGUSR1);
	} while (!kicked_enough);
	return NULL;
}

static void t_signals(void)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	pthread_t me = pthread_self(), t;
	int fd = ready(0), status;
	struct mad m;

	sigaction(SIGUSR1, &sa, NULL);
	kicked_enough = false;
	pthread_create(&t, NULL, kick, &me);
	EXPECT_ERR(read(fd, &m, sizeof(m)), EINTR);
	kicked_enough = true;
	pthread_join(t, NULL);
	sa.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &sa, NULL);
	kicked_enough = false;
	pthread_create(&t, NULL, kick, &me);
	if (fork() == 0) {
		usleep(150000);
		_exit(say(fd, "echo"));
	}
	EXPECT(read(fd, &m, sizeof(m)) == sizeof(m));
	kicked_enough = true;
	pthread_join(t, NULL);
	EXPECT(wait(&status) > 0 && status == 0);
	close(fd);
}

static void *reader_forever(void *arg)
{
	struct mad m;

	for (;;)
		if (read(*(int *)arg, &m, sizeof(m)) < 0)
			return NULL;
}

static void *poller_forever(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };

	while (poll(&p, 1, -1) >= 0)
		;
	return NULL;
}

static void t_cancel(void)
{
	void *(*const fn[])(void *) = { reader_forever, poller_forever };
	int fd = ready(0);
	struct mad m;
	pthread_t t;
	void *end;

	for (int i = 0; i < 2; i++) {
		end = NULL;
		pthread_create(&t, NULL, fn[i], &fd);
		usleep(20000);
		EXPECT(pthread_cancel(t) == 0 && pthread_join(t, &end) == 0 &&
		       end == PTHREAD_CANCELED);
	}
	/* no lock was left held */
	EXPECT(say(fd, "echo") == 0 && read(fd, &m, sizeof(m)) == sizeof(m));
	close(fd);
}

#define THREADS 4
#define EACH 500
static int shared_fd;
static unsigned char seen[THREADS * EACH];

static void *sender(void *arg)
{
	long base = (long)arg;
	struct mad m;
	uint32_t tid;

	for (long i = 0; i < EACH; i++) {
		mad_fill(&m, HDR, 0, "echo");
		tid = (uint32_t)(base * EACH + i);
		memcpy(m.b + HDR + 8, &tid, sizeof(tid));
		if (write(shared_fd, &m, sizeof(m)) != sizeof(m))
			return arg ? arg : &shared_fd;
	}
	return NULL;
}

static void *receiver(void *arg)
{
	struct mad m;
	uint32_t tid;

	for (int i = 0; i < EACH; i++) {
		if (read(shared_fd, &m, sizeof(m)) != sizeof(m))
			return &shared_fd;
		tid = field(m.b, HDR + 8);
		if (tid >= sizeof(seen) || __atomic_fetch_add(&seen[tid], 1, __ATOMIC_SEQ_CST))
			return &shared_fd;
	}
	return NULL;
}

/* Several threads read and write one descriptor, and each MAD is read by one of them. */
static void t_threads(void)
{
	pthread_t t[2 * THREADS];
	void *bad;

	shared_fd = ready(0);
	for (long i = 0; i < THREADS; i++) {
		pthread_create(&t[i], NULL, receiver, NULL);
		pthread_create(&t[THREADS + i], NULL, sender, (void *)i);
	}
	for (int i = 0; i < 2 * THREADS; i++)
		EXPECT(pthread_join(t[i], &bad) == 0 && bad == NULL);
	for (size_t i = 0; i < sizeof(seen); i++)
		EXPECT(seen[i] == 1);
	close(shared_fd);
}

#define SHARED_MADS \
	30 /* as many MADs as fit into the socket, because they are not read while they are sent */
#define SHARED_READERS 4
#define SHARED_LONG 3000

/* MADs alternate between two lengths; all octets after the header are the same */
static size_t shared_len(uint32_t tid)
{
	return tid % 2 ? SHARED_LONG : 256;
}

static int shared_is_whole(const char *buf, ssize_t n)
{
	uint32_t tid = field(buf, HDR + 8);

	if (tid >= SHARED_MADS || n != (ssize_t)(HDR + shared_len(tid)) || LENGTH(buf) != n)
		return 0;
	for (size_t i = 100; i < shared_len(tid); i++)
		if (buf[HDR + i] != (char)tid)
			return 0;
	return 1;
}

/*
 * Wait until no process has @gate open for writing. Then read until all processes together have
 * read all MADs. Return an exit status.
 */
static int shared_reader(int *ret_read, const int gate[2])
{
	struct pollfd p = { .fd = shared_fd, .events = POLLIN };
	char buf[HDR + SHARED_LONG];
	int idle = 0;

	close(gate[1]);
	if (read(gate[0], buf, 1) != 0)
		return 3;
	while (__atomic_load_n(ret_read, __ATOMIC_SEQ_CST) < SHARED_MADS) {
		ssize_t n = read(shared_fd, buf, sizeof(buf));

		if (n < 0 && errno == EAGAIN) {
			if (++idle > 6000 || poll(&p, 1, 10) < 0)
				return 1; /* a MAD was lost */
			continue;
		}
		if (n < 0 || !shared_is_whole(buf, n))
			return 2;
		__atomic_add_fetch(ret_read, 1, __ATOMIC_SEQ_CST);
	}
	return 0;
}

static void shared_round(int *got)
{
	char buf[HDR + SHARED_LONG];
	int status, gate[2];

	*got = 0;
	EXPECT(pipe(gate) == 0);
	for (int i = 0; i < SHARED_READERS; i++)
		if (fork() == 0)
			_exit(shared_reader(got, gate));
	close(gate[0]);
	for (uint32_t tid = 0; tid < SHARED_MADS; tid++) {
		mad_fill((struct mad *)buf, HDR, 0, "echo");
		memset(buf + HDR + 100, (char)tid, sizeof(buf) - HDR - 100);
		memcpy(buf + HDR + 8, &tid, sizeof(tid));
		if (write(shared_fd, buf, HDR + shared_len(tid)) < 0)
			break;
	}
	close(gate[1]);
	for (int i = 0; i < SHARED_READERS; i++)
		EXPECT(wait(&status) > 0 && status == 0);
	EXPECT(*got == SHARED_MADS);
}

/*
 * Several processes share a descriptor by fork(), and each MAD is read completely by one of them.
 */
static void t_processes(void)
{
	int *got = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	shared_fd = ready(O_NONBLOCK);
	for (int i = 0; i < 100 && !tap_bad; i++)
		shared_round(got);
	munmap(got, 4096);
	close(shared_fd);
}

static volatile sig_atomic_t terms;

static void on_term(int sig)
{
	terms++;
}

/*
 * Tests the behaviour after the daemon has ended. It must be the kernel's behaviour after a device
 * was removed: see ib_umad_kill_port().
 */
static void t_gone(void)
{
	struct ib_user_mad_reg_req r = { .qpn = 1, .mgmt_class = 3 };
	int fd = ready(O_NONBLOCK), other = ready(0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct mad m;

	signal(SIGTERM, on_term);
	EXPECT(say(other, "die") == 0);
	EXPECT(poll(&p, 1, 10000) == 1);
	EXPECT_ERR(read(fd, &m, sizeof(m)), EIO);
	EXPECT_ERR(read(other, &m, sizeof(m)), EIO);
	EXPECT_ERR(say(fd, "echo"), EIO);
	EXPECT_ERR(ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &r), EPIPE);
	EXPECT_ERR(open(UMAD, O_RDWR), ENODEV);
	EXPECT_ERR(access("/sys/class/infiniband", F_OK), ENOENT);
	EXPECT(terms == 0);
	for (int i = 0; i < 40; i++) /* a program that ignores 32 errors in a row gets SIGTERM */
		EXPECT_ERR(read(fd, &m, sizeof(m)), EIO);
	EXPECT(terms == 1);
}

int main(int argc, char **argv)
{
	self = argv[0];
	if (argc == 3 && strcmp(argv[1], "inherited") == 0)
		return inherited(atoi(argv[2]));
	if (argc == 2 && strcmp(argv[1], "gone") == 0) {
		RUN(t_gone, "a server that ends is a device that was removed");
		return tap_end();
	}
	RUN(t_open, "devices are opened, or not, as character devices");
	RUN(t_pkey_rules, "the header's layout is decided before the first registration");
	RUN(t_register, "registration and its errors");
	RUN(t_fields, "every field of header and registration arrives");
	RUN(t_read_rules, "read: EINVAL, EAGAIN, ENOSPC with the first 256 octets");
	RUN(t_timeout, "a MAD without an answer comes back with its status");
	RUN(t_write_rules, "write: EINVAL, ENOMEM");
	RUN(t_long, "messages up to 64 MB in both directions");
	RUN(t_long_without_fds, "a long MAD waits for a free descriptor");
	RUN(t_poll, "poll, select, epoll");
	RUN(t_vectors, "readv and writev are calls one after the other");
	RUN(t_copies, "copies by dup, fork and exec are one file");
	RUN(t_stale, "a number that was closed and used again is not ours");
	RUN(t_issm, "issm: one holder, others wait or are told");
	RUN(t_garbage, "garbage of a server is passed over");
	RUN(t_signals, "EINTR, or a restart, as the handler says");
	RUN(t_cancel, "threads are cancelled in read and poll");
	RUN(t_threads, "threads share a descriptor");
	RUN(t_processes, "processes share a descriptor");
	return tap_end();
}

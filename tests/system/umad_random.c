/* SPDX-License-Identifier: BSD-2-Clause */

/*
 *	umad_random N SEED	make N rounds of random calls of all kinds, with tests/interop/umad_server.py as the server
 *
 * The server's messages are random, too, from a seed of its own. Whatever a message contains, the calls must return,
 * write only to their buffers, and lose no descriptor.
 */

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/ib_user_mad.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/tap.h"

#define ROOM (10u << 20)
#define GUARD 64

static char *buf;
static long mads, files, dirs, agents;

static int device(int fd)
{
	if (fd >= 0 && rand() % 50)
		return fd;
	if (fd >= 0)
		close(fd);
	fd = open("/dev/infiniband/umad0", O_RDWR | O_NONBLOCK);
	if (fd >= 0 && rand() % 2)
		ioctl(fd, IB_USER_MAD_ENABLE_PKEY);
	return fd;
}

static void receive(int fd)
{
	static const size_t sizes[] = { 320, 300, 5000, 70000, ROOM };
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t size;
	ssize_t n;

	poll(&p, 1, 2);
	for (int i = 0; i < 5; i++) {
		size = sizes[rand() % 5];
		memset(buf + size, 0x5a, GUARD);
		n = read(fd, buf, size);
		EXPECT(n <= (ssize_t)size);
		for (int k = 0; k < GUARD; k++)
			EXPECT(buf[size + k] == 0x5a);
		mads += n > 0;
	}
}

static void attribute(void)
{
	char path[64];
	struct stat st;
	DIR *d;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%d", rand() % 100);
	fd = open(path, O_RDONLY);
	if (fd >= 0) {
		files++;
		EXPECT(read(fd, buf, ROOM) >= 0 || errno == EISDIR);
		close(fd);
	}
	d = opendir(path);
	if (d) {
		dirs++;
		while (readdir(d))
			;
		rewinddir(d);
		closedir(d);
	}
	if (stat(path, &st) == 0)
		EXPECT(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

static int rounds;

static void t_random(void)
{
	struct ib_user_mad_reg_req r = { .qpn = 1, .mgmt_class = 3 };
	int fd = -1, lowest = dup(0), end;

	close(lowest);
	for (int i = 0; i < rounds; i++) {
		fd = device(fd);
		agents += ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &r) == 0;
		memset(buf, 0, 320);
		if (fd >= 0 && write(fd, buf, 320) == 320)
			receive(fd);
		attribute();
	}
	close(fd);
	end = dup(0);
	EXPECT(end == lowest);
	close(end);
	EXPECT(mads && files && dirs &&
	       agents); /* check that enough of the random messages were valid */
}

int main(int argc, char **argv)
{
	buf = malloc(ROOM + GUARD);
	if (argc != 3 || !buf)
		return 2;
	rounds = atoi(argv[1]);
	srand((unsigned int)atoi(argv[2]));
	signal(SIGTERM,
	       SIG_IGN); /* the preloaded library sends SIGTERM after the server has ended */
	RUN(t_random, "a server's random answers");
	free(buf);
	return tap_end();
}

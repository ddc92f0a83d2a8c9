/* SPDX-License-Identifier: BSD-2-Clause */

/*
 *	vm_ask NAME PID REQUESTS ANSWERS SECONDS SCRIPT
 *
 * Run SCRIPT in the virtual machine NAME by tests/interop/linux/guest/agent.py, print its output,
 * and return its status. PID is the process `uipoib vm`. REQUESTS is the number of an open
 * descriptor; what is written to it reaches the agent. ANSWERS is the file into which the agent
 * writes. Status 125 means that the virtual machine has ended, and 124 that it has not answered for
 * SECONDS.
 *
 * A shell could do this, but it would start several processes for each look at ANSWERS. These
 * processes took more CPU time than the virtual machine.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_USAGE = 2, STATUS_SILENT = 124, STATUS_ENDED = 125 };

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

struct answers {
	int fd;
	char *text; /* what was read after the last complete line */
	size_t len, size;
};

static int fail(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	return status;
}

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* Print @len octets to @to in base64. */
static void base64_print(FILE *to, const unsigned char *p, size_t len)
{
	for (size_t i = 0; i < len; i += 3) {
		unsigned int left = len - i < 3 ? (unsigned int)(len - i) : 3, v = 0;

		for (unsigned int k = 0; k < 3; k++)
			v = v << 8 | (k < left ? p[i + k] : 0);
		for (unsigned int k = 0; k < 4; k++)
			fputc(k <= left ? digits[v >> (18 - 6 * k) & 63] : '=', to);
	}
}

/* Print the octets of @text, which is base64. */
static void base64_decode(const char *text)
{
	unsigned int v = 0, bits = 0;
	const char *digit;

	for (; *text && (digit = strchr(digits, *text)); text++) {
		v = v << 6 | (unsigned int)(digit - digits);
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		putchar(v >> bits & 255);
	}
}

/* Send the request with one call of write(), because other requests can be sent at the same time. */
static int request(int fd, const char *id, const char *script)
{
	char *line = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&line, &len);
	int ret = -1;

	if (!f)
		return -1;
	fprintf(f, "%s ", id);
	base64_print(f, (const unsigned char *)script, strlen(script));
	fputc('\n', f);
	if (fclose(f) == 0)
		ret = write(fd, line, len) == (ssize_t)len ? 0 : -1;
	free(line);
	return ret;
}

/* If @line is the answer "ID STATUS OUTPUT .", print the output and return the status, else -1. */
static int answer_in(char *line, const char *id)
{
	size_t n = strlen(id), len = strlen(line);
	char *end;
	long status;

	if (strncmp(line, id, n) != 0 || line[n] != ' ' || len < n + 4 ||
	    strcmp(line + len - 2, " .") != 0)
		return -1;
	status = strtol(line + n + 1, &end, 10);
	if (*end == ' ')
		base64_decode(end + 1);
	return (int)status;
}

/*
 * Read what the agent has written since the last call. If the answer @id is complete, print it and
 * return its status, else return -1.
 */
static int look(struct answers *a, const char *id)
{
	for (;;) {
		char *line, *end;
		ssize_t n;

		if (a->size - a->len < 65536) {
			a->text = realloc(a->text, a->size += 1 << 20);
			if (!a->text)
				abort();
		}
		n = read(a->fd, a->text + a->len, a->size - a->len);
		if (n <= 0)
			return -1;
		a->len += (size_t)n;
		for (line = a->text; (end = memchr(line, '\n', a->len - (size_t)(line - a->text)));
		     line = end + 1) {
			int status;

			*end = '\0';
			status = answer_in(line, id);
			if (status >= 0)
				return status;
		}
		a->len -= (size_t)(line - a->text);
		memmove(a->text, line, a->len);
	}
}

static int wait_for(struct answers *a, const char *id, struct pollfd *fds, long long deadline)
{
	char events[4096];
	int status;

	for (;;) {
		long long left = deadline - now_ms();

		status = look(a, id);
		if (status >= 0)
			return status;
		if (fds[1].revents)
			return -STATUS_ENDED;
		if (left <= 0)
			return -STATUS_SILENT;
		if (poll(fds, 2, (int)left) < 0 && errno != EINTR)
			return -STATUS_USAGE;
		if (fds[0].revents && read(fds[0].fd, events, sizeof(events)) < 0)
			return -STATUS_USAGE;
	}
}

int main(int argc, char **argv)
{
	struct answers a = { .fd = -1 };
	struct pollfd fds[2] = { { .events = POLLIN }, { .events = POLLIN } };
	char id[64];
	int status;

	if (argc != 7)
		return fail(STATUS_USAGE, "usage: vm_ask NAME PID REQUESTS ANSWERS SECONDS SCRIPT");
	a.fd = open(argv[4], O_RDONLY | O_CLOEXEC);
	fds[0].fd = inotify_init1(IN_CLOEXEC);
	if (a.fd < 0 || lseek(a.fd, 0, SEEK_END) < 0 ||
	    inotify_add_watch(fds[0].fd, argv[4], IN_MODIFY) < 0)
		return fail(STATUS_USAGE, "%s: %s", argv[4], strerror(errno));
	fds[1].fd = (int)syscall(SYS_pidfd_open, atoi(argv[2]), 0);
	if (fds[1].fd < 0)
		return fail(STATUS_ENDED, "VM %s has ended", argv[1]);
	snprintf(id, sizeof(id), "%d.%lld", (int)getpid(), now_ms());
	if (request(atoi(argv[3]), id, argv[6]) < 0)
		return fail(STATUS_USAGE, "VM %s: the request cannot be sent: %s", argv[1],
			    strerror(errno));
	status = wait_for(&a, id, fds, now_ms() + atoi(argv[5]) * 1000LL);
	free(a.text);
	if (status == -STATUS_ENDED)
		return fail(STATUS_ENDED, "VM %s has ended", argv[1]);
	if (status == -STATUS_SILENT)
		return fail(STATUS_SILENT, "VM %s: no answer after %s s: %s", argv[1], argv[5],
			    argv[6]);
	return status < 0 ? fail(STATUS_USAGE, "VM %s: %s", argv[1], strerror(errno)) : status;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "vm/guest.h"

#define KLOG_READ_ALL 3 /* command of syslog(2) that reads the whole log */
#define KLOG_TAIL 12288
#ifndef MODULE_INIT_COMPRESSED_FILE
#define MODULE_INIT_COMPRESSED_FILE 4
#endif

/* --- the end */

void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	_exit(1); /* without init the kernel panics, which ends the machine too */
}

static void send_klog(void)
{
	static char log[1 << 18];
	int n = klogctl(KLOG_READ_ALL, log, sizeof(log)), at;

	for (at = n > KLOG_TAIL ? n - KLOG_TAIL : 0; at < n; at += FRAME_DATA_MAX)
		chan_send(FRAME_KLOG, log + at,
			  (size_t)(n - at < FRAME_DATA_MAX ? n - at : FRAME_DATA_MAX));
}

void fatal(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (chan_fd() < 0)
		fprintf(stderr, "init: %s\n", text);
	send_klog();
	chan_send(FRAME_ERROR, text, strlen(text));
	chan_wait_end();
	power_off();
}

void pause_ms(unsigned int ms)
{
	const struct timespec t = { .tv_nsec = ms * 1000000l };

	nanosleep(&t, NULL);
}

/* --- files */

int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), status = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		status = -errno;
	close(fd);
	return status;
}

char *read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return buf;
}

/* --- the entries "verb=value" of VM_CONFIG */

static void load_module(const char *name)
{
	char path[300];
	const char *ext = strrchr(name, '.');
	bool compressed = ext && strcmp(ext, ".ko");
	int fd;

	snprintf(path, sizeof(path), "/m/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fatal("%s: %m", path);
	if (syscall(SYS_finit_module, fd, "", compressed ? MODULE_INIT_COMPRESSED_FILE : 0) < 0 &&
	    errno != EEXIST)
		fatal("module %s: %m", name);
	close(fd);
}

struct job {
	char **env, **arg; /* NULL-terminated; each has room for one entry per line of VM_CONFIG */
	size_t nenv, narg;
	const char *cwd;
	bool tty, systemd;
	unsigned int hcas;
};

static void run(struct job *j)
{
	uint8_t status;

	if (j->systemd)
		systemd_start();
	chan_send(FRAME_READY, NULL, 0);
	status = (uint8_t)cmd_run(j->arg, j->env, j->cwd, j->tty);
	sync();
	chan_send(FRAME_EXIT, &status, 1);
	chan_wait_end();
	power_off();
}

static void obey(struct job *j, const char *verb, char *value)
{
	if (!strcmp(verb, "module"))
		load_module(value);
	else if (!strcmp(verb, "hostname"))
		sethostname(value, strlen(value));
	else if (!strcmp(verb, "channel"))
		chan_open();
	else if (!strcmp(verb, "cable"))
		cable_init();
	else if (!strcmp(verb, "hca")) {
		cable_add_hca(value);
		j->hcas++;
	} else if (!strcmp(verb, "root")) {
		mount_root();
		cable_name();
	} else if (!strcmp(verb, "modules"))
		mount_modules(value);
	else if (!strcmp(verb, "share"))
		mount_share(value);
	else if (!strcmp(verb, "address"))
		net_address(value);
	else if (!strcmp(verb, "env"))
		j->env[j->nenv++] = value;
	else if (!strcmp(verb, "arg"))
		j->arg[j->narg++] = value;
	else if (!strcmp(verb, "cwd"))
		j->cwd = value;
	else if (!strcmp(verb, "user"))
		user_set(value);
	else if (!strcmp(verb, "tty"))
		j->tty = true;
	else if (!strcmp(verb, "systemd"))
		j->systemd = true;
	else if (!strcmp(verb, "up"))
		net_up(j->hcas, (unsigned int)atoi(value));
	else if (!strcmp(verb, "run"))
		run(j);
	else
		fatal("'%s': init does not know this", verb);
}

static char *read_config(size_t *ret_len)
{
	int fd = open("/" VM_CONFIG, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *text;

	if (fd < 0 || fstat(fd, &st) < 0 || !(text = malloc((size_t)st.st_size + 1)) ||
	    read(fd, text, (size_t)st.st_size) != st.st_size)
		fatal("/" VM_CONFIG ": %m");
	close(fd);
	text[st.st_size] = '\0';
	*ret_len = (size_t)st.st_size;
	return text;
}

static size_t count_lines(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += !text[i];
	return n;
}

int main(void)
{
	struct job j = { .cwd = "/" };
	size_t len, lines;
	char *text;

	umask(022);
	mount_early();
	text = read_config(&len);
	lines = count_lines(text, len);
	j.env = calloc(lines + 1, sizeof(*j.env));
	j.arg = calloc(lines + 1, sizeof(*j.arg));
	if (!j.env || !j.arg)
		fatal("out of memory");
	for (char *p = text, *next; p < text + len; p = next) {
		char *eq = strchr(p, '=');

		next = p + strlen(p) + 1;
		if (!eq)
			fatal("'%s': expected verb=value", p);
		*eq = '\0';
		obey(&j, p, eq + 1);
	}
	fatal("the list ends without run=");
}

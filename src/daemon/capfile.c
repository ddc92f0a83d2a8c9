/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/capfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int write_all(int fd, const uint8_t *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno; /* also -EAGAIN: a pipe that nobody reads ends the capture */
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int flush(struct capfile *c)
{
	if (!c->error && c->len)
		c->error = write_all(c->fd, c->buf, c->len);
	c->len = 0;
	if (c->error && !c->said) {
		c->said = true;
		log_to(&c->fab->inst->cfg.log, LOG_LVL_ERR, "capture %s: %s; it has stopped",
		       c->path, strerror(-c->error));
	}
	return c->error;
}

static int on_write(void *ctx, const void *data, size_t len)
{
	struct capfile *c = ctx;

	if (c->error)
		return c->error;
	if (len > sizeof(c->buf) - c->len && flush(c))
		return c->error;
	if (len > sizeof(c->buf))
		return -EMSGSIZE;
	memcpy(c->buf + c->len, data, len);
	c->len += len;
	return 0;
}

static int tap(struct capfile *c, char err[INST_ERR_MAX])
{
	struct fabric_port *p;
	int status;

	if (!*c->what) {
		status = capture_add_end_ports(c->cap);
	} else {
		status = fabric_port_find(c->fab->fabric, c->what, &p);
		if (status) {
			snprintf(err, INST_ERR_MAX,
				 "capture: no port '%s' in fabric %s, expected NODE/PORT", c->what,
				 c->fab->name);
			return status;
		}
		status = capture_add_link(c->cap, p);
		if (status == -ENOTCONN) {
			snprintf(err, INST_ERR_MAX, "capture: port %s has no cable", c->what);
			return status;
		}
	}
	if (status)
		snprintf(err, INST_ERR_MAX, "capture %s: %s", c->path, strerror(-status));
	return status;
}

static bool is_pcapng(const char *path)
{
	size_t n = strlen(path);

	return n > 7 && !strcmp(path + n - 7, ".pcapng");
}

static int start(struct capfile *c, char err[INST_ERR_MAX])
{
	struct capture_cfg cc = {
		.format = *c->what || is_pcapng(c->path) ? CAPTURE_PCAPNG : CAPTURE_PCAP,
		.write = on_write,
		.ctx = c,
		.epoch = c->fab->inst->unix_epoch,
	};
	int status = capture_create(&c->cap, c->fab->fabric, &cc);

	if (status) {
		snprintf(err, INST_ERR_MAX, "capture %s: %s", c->path, strerror(-status));
		return status;
	}
	status = tap(c, err);
	c->said = true; /* by who asked for it */
	if (!status && flush(c)) {
		status = c->error;
		snprintf(err, INST_ERR_MAX, "capture %s: %s", c->path, strerror(-status));
	}
	c->said = status;
	return status;
}

int capfile_open_fd(struct inst_fabric *f, int fd, const char *path, const char *what,
		    struct capfile **ret, char err[INST_ERR_MAX])
{
	struct capfile *c = malloc(sizeof(*c));
	int status;

	if (!c) {
		snprintf(err, INST_ERR_MAX, "capture %s: out of memory", path);
		if (fd != STDOUT_FILENO)
			close(fd);
		return -ENOMEM;
	}
	memset(c, 0, offsetof(struct capfile, buf));
	list_init(&c->link);
	c->fab = f;
	c->fd = fd;
	c->owned = fd != STDOUT_FILENO;
	c->id = ++f->inst->capture_ids;
	snprintf(c->path, sizeof(c->path), "%s", path);
	snprintf(c->what, sizeof(c->what), "%s", what ? what : "");
	status = start(c, err);
	if (status) {
		c->error = status;
		capfile_close(c);
		return status;
	}
	list_add_tail(&f->captures, &c->link);
	if (ret)
		*ret = c;
	return 0;
}

static bool path_in_use(const struct inst *in, const char *path)
{
	struct capfile *c;

	for (unsigned int i = 0; i < in->nfabs; i++)
		list_for_each (c, &in->fab[i]->captures, link)
			if (!strcmp(c->path, path))
				return true;
	return false;
}

int capfile_open(struct inst_fabric *f, const char *path, const char *what, struct capfile **ret,
		 char err[INST_ERR_MAX])
{
	int fd = STDOUT_FILENO;

	if (path_in_use(f->inst, path)) {
		snprintf(err, INST_ERR_MAX, "capture %s: this instance is writing it already",
			 path);
		return -EEXIST;
	}
	if (strcmp(path, "-")) {
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (fd < 0) {
			int status = -errno;

			snprintf(err, INST_ERR_MAX, "capture %s: %s", path, strerror(-status));
			return status;
		}
	}
	return capfile_open_fd(f, fd, path, what, ret, err);
}

int capfile_close(struct capfile *c)
{
	int error;

	capture_destroy(c->cap);
	flush(c);
	error = c->error;
	list_del(&c->link);
	if (c->owned && close(c->fd) < 0 && !error)
		error = -errno;
	free(c);
	return error;
}

void capfile_close_all(struct inst_fabric *f)
{
	struct capfile *c, *tmp;

	list_for_each_safe (c, tmp, &f->captures, link)
		capfile_close(c);
}

void capfile_follow(struct inst_fabric *f)
{
	char err[INST_ERR_MAX];
	struct capfile *c;

	list_for_each (c, &f->captures, link)
		if (!*c->what && tap(c, err))
			log_to(&f->inst->cfg.log, LOG_LVL_WARN, "%s", err);
}

void capfile_flush_all(struct inst *in)
{
	struct capfile *c;

	for (unsigned int i = 0; i < in->nfabs; i++)
		list_for_each (c, &in->fab[i]->captures, link)
			if (c->len)
				flush(c);
}

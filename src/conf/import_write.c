/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/import_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.h"

/* A file that is written under a temporary name, and is renamed when it is complete */
struct out {
	const char *path;
	char *tmp; /* temporary name; NULL while no such file exists */
	bool placed;
};

static int fill(int fd, const char *text, size_t len)
{
	mode_t mask = umask(0);
	int err;

	umask(mask);
	/* Give the file the mode that open() would give, because mkstemp() makes files of mode 0600. */
	if (fchmod(fd, 0666 & ~mask))
		return -errno;
	err = fd_write_all(fd, text, len);
	return err ? err : fsync(fd) ? -errno : 0;
}

static int out_write(struct import *im, struct out *o, const char *path, const char *text,
		     size_t len)
{
	int fd, err;

	o->path = path;
	if (!im->o->force && !access(path, F_OK))
		return import_fail(im, -EEXIST, "%s: is there already, --force overwrites it",
				   path);
	if (asprintf(&o->tmp, "%s.XXXXXX", path) < 0) {
		o->tmp = NULL;
		return import_fail(im, -ENOMEM, "out of memory");
	}
	fd = mkstemp(o->tmp);
	if (fd < 0) {
		err = errno;
		free(o->tmp);
		o->tmp = NULL;
		return import_fail(im, -EIO, "%s: %s", path, strerror(err));
	}
	err = fill(fd, text, len);
	close(fd);
	return err ? import_fail(im, -EIO, "%s: %s", path, strerror(-err)) : 0;
}

static int out_place(struct import *im, struct out *o)
{
	/*
	 * Without --force, do not replace a file that another program made after this program
	 * checked that the file did not exist
	 */
	unsigned int flags = im->o->force ? 0 : RENAME_NOREPLACE;

	if (renameat2(AT_FDCWD, o->tmp, AT_FDCWD, o->path, flags))
		return import_fail(im, errno == EEXIST ? -EEXIST : -EIO, "%s: %s", o->path,
				   strerror(errno));
	free(o->tmp);
	o->tmp = NULL;
	o->placed = true;
	return 0;
}

int import_write(struct import *im)
{
	struct out topo = { 0 }, conf = { 0 };
	int err = out_write(im, &topo, im->o->topology, im->topo_text, im->topo_len);

	if (!err && im->o->config)
		err = out_write(im, &conf, im->o->config, im->conf_text, im->conf_len);
	if (!err)
		err = out_place(im, &topo);
	if (!err && im->o->config)
		err = out_place(im, &conf);
	if (err && topo.placed && !im->o->force)
		unlink(topo.path);
	if (topo.tmp)
		unlink(topo.tmp);
	if (conf.tmp)
		unlink(conf.tmp);
	free(topo.tmp);
	free(conf.tmp);
	return err;
}

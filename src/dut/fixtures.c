/* SPDX-License-Identifier: BSD-2-Clause */
#include "dut/fixtures.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmdline/cmdline.h"

static int fail(const char *path, int err)
{
	return cli_error(PROTO_EXIT_ENV, "conform: --fixtures %s: %s", path, strerror(err));
}

int conform_dir(const char *option, const char *dir)
{
	struct stat st;
	int err = 0;

	if ((mkdir(dir, 0777) && errno != EEXIST) || stat(dir, &st))
		err = errno;
	else if (!S_ISDIR(st.st_mode))
		err = ENOTDIR;
	else if (access(dir, W_OK | X_OK))
		err = errno;
	return err ? cli_error(PROTO_EXIT_ENV, "conform: %s %s: %s", option, dir, strerror(err))
		   : 0;
}

int conform_fixtures_dir(const char *dir)
{
	int n = 0, status = conform_dir("--fixtures", dir);
	struct dirent *e;
	DIR *d;

	if (status)
		return status;
	d = opendir(dir);
	if (!d)
		return fail(dir, errno);
	while ((e = readdir(d)))
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(d);
	return n ? cli_error(PROTO_EXIT_USAGE,
			     "conform: --fixtures %s: expected a new or an empty directory", dir)
		 : 0;
}

struct target {
	const struct fixtures *all;
	const struct fixture *x;
	const char *profile;
};

static int put_json(const struct target *t, FILE *f)
{
	return fixture_json(t->x, f);
}

static int put_pcap(const struct target *t, FILE *f)
{
	world_log_pcap_one(t->x->s, f);
	return 0;
}

static int put_index(const struct target *t, FILE *f)
{
	return fixtures_index(t->all, t->profile, f);
}

static int write_file(const char *dir, const char *name, const char *suffix,
		      int (*put)(const struct target *, FILE *), const struct target *t)
{
	char path[PATH_MAX];
	bool lost;
	FILE *f;
	int err;

	if (snprintf(path, sizeof(path), "%s/%s%s", dir, name, suffix) >= (int)sizeof(path))
		return fail(dir, ENAMETOOLONG);
	f = fopen(path, "wxe");
	if (!f)
		return fail(path, errno);
	err = put(t, f);
	lost = ferror(f);
	lost |= fclose(f) != 0;
	if (err)
		return fail(path, -err);
	return lost ? cli_error(PROTO_EXIT_ENV, "conform: %s: not written completely", path) : 0;
}

int conform_fixtures_write(struct fixtures *f, const char *dir, const char *profile)
{
	struct target t = { .all = f, .profile = profile };
	int status = 0;

	if (f->no_memory)
		return fail(dir, ENOMEM);
	fixtures_sort(f);
	for (size_t i = 0; i < f->n && !status; i++) {
		t.x = &f->v[i];
		status = write_file(dir, t.x->name, ".json", put_json, &t);
		if (!status)
			status = write_file(dir, t.x->name, ".pcap", put_pcap, &t);
	}
	if (!status)
		status = write_file(dir, "index", ".json", put_index, &t);
	return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "machine/root.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmdline/cmdline.h"
#include "vm/guest.h"

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int root_set(char **ret, const char *dir)
{
	char *path = realpath(dir, NULL), bin[PATH_MAX];
	bool folder = path && is_folder(path);

	snprintf(bin, sizeof(bin), "%s/bin", path ? path : "");
	if (!folder || !is_folder(bin)) {
		free(path);
		return cli_error(PROTO_EXIT_USAGE,
				 "vm: --root '%s': expected a folder with a root file system%s",
				 dir, folder ? ", but it has no folder bin" : "");
	}
	free(*ret);
	*ret = path;
	return 0;
}

int root_check_systemd(const char *root)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", root ? root : "", VM_SYSTEMD);
	if (!access(path, X_OK))
		return 0;
	return cli_error(PROTO_EXIT_ENV, "vm: --systemd: %s: %s: the package systemd has it", path,
			 strerror(errno));
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(path, dir, n) && (!path[n] || path[n] == '/' || (n && dir[n - 1] == '/'));
}

char *root_cwd(const char *root, const char *const *share)
{
	char *cwd = getcwd(NULL, 0), path[2 * PATH_MAX];

	if (!cwd || !root)
		return cwd;
	for (; *share; share++)
		if (is_below(cwd, *share))
			return cwd;
	snprintf(path, sizeof(path), "%s%s", root, cwd);
	if (is_folder(path))
		return cwd;
	free(cwd);
	return strdup("/");
}

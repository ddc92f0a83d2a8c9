/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/beside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/list.h"

bool beside_folder(char ret[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return false;
	ret[n] = '\0';
	slash = strrchr(ret, '/');
	if (!slash)
		return false;
	slash[1] = '\0';
	return true;
}

bool beside_find(const char *name, char ret[PATH_MAX])
{
	static const char *const at[] = { "", "../lib/uipoib/" };
	char self[PATH_MAX], path[2 * PATH_MAX];

	if (!beside_folder(self))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		snprintf(path, sizeof(path), "%s%s%s", self, at[i], name);
		if (realpath(path, ret) && !access(ret, R_OK))
			return true;
	}
	return false;
}

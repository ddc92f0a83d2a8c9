/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/file.h"

/* Reads the file of an `include` line. A relative path begins in the topology file's folder. */
static int read_include(void *ctx, const char *file, char **ret_text, size_t *ret_len)
{
	const char *from = *(const char **)ctx, *slash = strrchr(from, '/');
	char path[4096];

	if (*file == '/' || !slash)
		return file_read(file, ret_text, ret_len);
	if ((size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - from), from, file) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	return file_read(path, ret_text, ret_len);
}

int conf_topology_load(struct topo **ret, const char *file, char err[CONF_ERR_MAX])
{
	struct topo_reader reader = { .read = read_include, .ctx = &file };
	struct topo_err why = { "" };
	char *text;
	size_t len;
	int status = file_read(file, &text, &len);

	if (status) {
		snprintf(err, CONF_ERR_MAX, "topology %s: %s", file, strerror(-status));
		return status;
	}
	status = topo_parse(ret, file, text, len, &reader, &why);
	free(text);
	if (status)
		snprintf(err, CONF_ERR_MAX, "%s", *why.text ? why.text : strerror(-status));
	return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UMAD_ATTR_H
#define UMAD_ATTR_H

/* The table of the files in sysfs, and the variable components of their paths. */

#include "umad/umad.h"

#define UMAD_CA_NAME "uipoib"

/* Values of the variable components of a path, filled from left to right as the path is matched. */
struct umad_place {
	const struct umad_view *view;
	unsigned int ca, port, index, dev;
	const void *arg; /* argument of the row that matched */
};

/* Print the content of a file, at most @size octets. Return: number of octets printed, -errno */
typedef int umad_show_fn(const struct umad_place *p, char *buf, size_t size);

struct umad_attr_row {
	/*
	 * path relative to /sys, in which @ca, @port, @gid, @pkey and the @ of umad@ and issm@ vary
	 */
	const char *path;
	umad_show_fn *show;
	const void *arg;
};

extern const struct umad_attr_row umad_attr_rows[];
extern const unsigned int umad_attr_nrows;

#endif

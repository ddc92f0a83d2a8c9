/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UMAD_ATTR_H
#define UMAD_ATTR_H

/*
 * The table of the files in sysfs that a program sees, and the variable components of their paths.
 */

#include "umad/umad.h"

#define UMAD_CA_NAME "uipoib"

/*
 * Values of the variable components of a path (CA, port and so on), filled from left to right while
 * the path is matched
 */
struct umad_place {
	const struct umad_view *view;
	unsigned int ca, port, index, dev;
	const void *arg; /* member .arg of the row that matched */
};

/*
 * Prints the content of a file into @buf, at most @size octets. Return: number of octets printed;
 * -errno
 */
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

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UMAD_ATTR_H
#define UMAD_ATTR_H

/* What the variable parts of a sysfs path name, and the content of files. */

#include "umad/umad.h"

#define UMAD_CA_NAME "uipoib"

/* Filled from left to right as a path is matched. */
struct umad_place {
	const struct umad_view *view;
	unsigned int ca, port, index, dev;
	const void *arg; /* of the row */
};

/* Prints at most @size octets. Returns how many, or -errno */
typedef int umad_show_fn(const struct umad_place *p, char *buf, size_t size);

struct umad_attr_row {
	/* Components between '/'. '@ca', '@port', '@gid', '@pkey' and the N of umad@, issm@ vary. */
	const char *path;
	umad_show_fn *show;
	const void *arg;
};

extern const struct umad_attr_row umad_attr_rows[];
extern const unsigned int umad_attr_nrows;

#endif

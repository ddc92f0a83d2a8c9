/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_IMPORT_H
#define DAEMON_IMPORT_H

/*
 * What `ibnetdiscover` printed of a production fabric, as a topology of ours and a configuration that runs
 * it. No instance and no privilege is needed.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define IMPORT_ERR_MAX 512
#define IMPORT_HOSTS 4 /* unless it is said how many or which */

struct import_opts {
	const char *file; /* "-": standard input */
	const char *topology, *config; /* to write; NULL: not */
	unsigned int hosts; /* HCAs with an interface, spread over the file; 0: IMPORT_HOSTS */
	char **match; /* POSIX extended expressions, of descriptions and names: these HCAs instead */
	size_t nmatch;
	bool force; /* overwrite */
	bool strict; /* write nothing if something is left out */
};

/**
 * import_run() - Read, check, write
 * @ret:	what was found: numbers, and "notes" with an array of lines for each kind of remark;
 *		also with -EPROTO, else written only on success. json_decref() it
 * @err:	one line, on failure
 *
 * Both files are written, or none: under other names first, and what is there is not overwritten. What is
 * written has been read back and came out the same.
 *
 * Return: 0; -EPROTO something is left out and that was not wanted; -EINVAL the file, an expression;
 * -EEXIST an output is there; -ENOENT and other errors of reading; -EIO an output cannot be written; -ENOMEM
 */
int import_run(const struct import_opts *o, json_t **ret, char err[IMPORT_ERR_MAX]);

#endif

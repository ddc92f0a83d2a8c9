/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONF_IMPORT_H
#define CONF_IMPORT_H

/*
 * Convert the output of `ibnetdiscover` on a production fabric into a topology file and a configuration for `uipoib
 * run`. The import needs no instance and no privilege.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define IMPORT_ERR_MAX 512
/* number of HCAs with an interface when the user gives neither --hosts nor --host */
#define IMPORT_HOSTS 4

struct import_opts {
	const char *file; /* "-": standard input */
	/* paths of the files to write; NULL: this file is not written */
	const char *topology, *config;
	/*
	 * Number of HCAs that get an interface, spread evenly over the file. 0 means all HCAs that .match selects,
	 * or IMPORT_HOSTS of them if there is no .match.
	 */
	unsigned int hosts;
	/* POSIX extended expressions: only HCAs whose description or name matches an expression get interfaces */
	char **match;
	size_t nmatch;
	bool force; /* overwrite files that exist */
	bool strict; /* write nothing if something is left out */
	/* called before each step, with its name, because a large fabric takes seconds; may be NULL */
	void (*step)(const char *file, const char *what);
};

/**
 * import_run() - Read and check the input, and write the files
 * @ret:	report on the topology: numbers, and "notes" with an array of lines for each kind of remark. Written
 *		on success and with -EPROTO; the caller frees it by json_decref()
 * @err:	one line, on failure
 *
 * Either both files are written or none. For this reason each file is first written under a temporary name. A file
 * that exists is not overwritten unless .force is set. Before the texts are written, they are parsed again, to prove
 * that they give the same topology and a valid configuration.
 *
 * Return: 0; -EPROTO: something is left out, and .strict is set; -EINVAL: the file or an expression is wrong;
 * -EEXIST: an output exists; -ENOENT and other errors of reading; -EIO: an output cannot be written; -ENOMEM
 */
int import_run(const struct import_opts *o, json_t **ret, char err[IMPORT_ERR_MAX]);

#endif

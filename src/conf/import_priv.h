/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONF_IMPORT_PRIV_H
#define CONF_IMPORT_PRIV_H

/*
 * import.c reads the input and makes the report, import_conf.c chooses the hosts, and
 * import_write.c writes the files.
 */

#include "conf/import.h"
#include "topo/topo.h"

struct import {
	const struct import_opts *o;
	char *err; /* text of the error, IMPORT_ERR_MAX octets */
	const char *name; /* name of the input, for messages */
	struct topo *topo;
	/* true if all names of nodes are valid in a configuration, so that the import keeps them */
	bool keep_names;
	json_t *report;
	json_t *notes; /* member "notes" of .report, borrowed */
	char *topo_text, *conf_text;
	size_t topo_len, conf_len;
	unsigned int hosts, ifaces;
};

/* import_init() - Begin an import. The caller must call import_free() in any case */
void import_init(struct import *im, const struct import_opts *o, char err[IMPORT_ERR_MAX]);
void import_free(struct import *im);

/*
 * import_make() - Make the topology, the report and the texts of both output files from the input
 * @text:	the input, @len octets, and a NUL behind it
 *
 * Files are neither read nor written. Return: as import_run()
 */
int import_make(struct import *im, const char *text, size_t len);

/* import_fail() - Write the error to im->err; returns @status */
int import_fail(struct import *im, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* import_names_ok() - Tell whether the names of all nodes are valid in a configuration */
bool import_names_ok(const struct topo *t);
/* import_conf_make() - Write to .conf_text a configuration with interfaces for the chosen HCAs */
int import_conf_make(struct import *im);
/* import_write() - Write both files, or none */
int import_write(struct import *im);

#endif

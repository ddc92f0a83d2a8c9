/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_IMPORT_PRIV_H
#define DAEMON_IMPORT_PRIV_H

/* import.c reads and reports, import_conf.c chooses hosts, import_write.c writes. */

#include "daemon/import.h"
#include "fabric/topo.h"

struct import {
	const struct import_opts *o;
	char *err; /* IMPORT_ERR_MAX */
	const char *name; /* of the input, for messages */
	struct topo *topo;
	bool keep_names; /* all can stand in a configuration */
	json_t *report, *notes;
	char *topo_text, *conf_text;
	size_t topo_len, conf_len;
	unsigned int hosts, ifaces;
};

/* import_fail() - The error; returns @status */
int import_fail(struct import *im, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* import_names_ok() - Every name can stand in a configuration */
bool import_names_ok(const struct topo *t);
/* import_conf_make() - conf_text: interfaces for the chosen HCAs */
int import_conf_make(struct import *im);
/* import_write() - Both files, or none */
int import_write(struct import *im);

#endif

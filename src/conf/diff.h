/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONF_DIFF_H
#define CONF_DIFF_H

/*
 * DOC: What a new configuration changes in a running instance
 *
 * Interfaces may be added, removed and replaced. To replace an interface means to remove it, and to
 * add it with its new settings. A fabric may get another file of partitions. Everything else has to
 * stay as it was when the instance was started. Settings are compared as texts, so an interface
 * whose section is unchanged is never touched.
 */

#include "conf/conf.h"

enum conf_fate { CONF_KEPT, CONF_ADDED, CONF_REMOVED, CONF_REPLACED, CONF_FATES };

struct conf_diff_row {
	enum conf_fate fate;
	/* sections of the old and of the new configuration, which are borrowed; NULL: there is none */
	const struct conf_iface *was, *is;
	const char *key; /* CONF_REPLACED: the first key that differs, borrowed; otherwise NULL */
};

struct conf_diff {
	/*
	 * first the interfaces of the old configuration in the order of its file, then the new
	 * interfaces
	 */
	struct conf_diff_row *row;
	size_t nrows;
	unsigned int n[CONF_FATES]; /* number of rows of each fate */
};

/**
 * conf_diff() - Compare two configurations, which must outlive @ret
 * @ret:	written only on success; free with conf_diff_free()
 * @err:	on failure one line, "file:line: [section] key: 'value', expected ..."
 *
 * Return: 0; -EINVAL: the new configuration has a change that a running instance cannot make; -ENOMEM
 */
int conf_diff(struct conf_diff *ret, const struct conf *was, const struct conf *is,
	      char err[CONF_ERR_MAX]);

void conf_diff_free(struct conf_diff *d);

#endif

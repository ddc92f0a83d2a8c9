/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONF_PRIV_H
#define DAEMON_CONF_PRIV_H

/* The parser of a configuration (conf.c) and the kinds of sections (conf_fabric.c, conf_udp.c, conf_iface.c). */

#include "daemon/conf.h"
#include "util/list.h"

#define CONF_LINE_MAX 199 /* of inih's buffer, with the line end */

struct conf_section;

struct conf_parser {
	struct conf c;
	const char *file;
	const char *pos, *end;
	unsigned int line;
	unsigned int nsections;
	const struct conf_section *kind; /* NULL: before the first section */
	char section[CONF_LINE_MAX + 1]; /* what is between the brackets */
	uint64_t seen; /* keys of this section that were given: bit per table row */
	char *err;
	int status;
};

struct conf_key {
	const char *name;
	int (*set)(struct conf_parser *p, const char *value);
	bool repeatable, required;
};

/* A kind of section. Functions return 0, or what conf_fail() returned. */
struct conf_section {
	const char *word; /* [word NAME] */
	/* A section begins; @name may be written to. */
	int (*begin)(struct conf_parser *p, char *name);
	/* The whole file is known. */
	int (*check)(struct conf_parser *p);
	const struct conf_key *keys;
	size_t nkeys;
};

extern const struct conf_section conf_section_fabric, conf_section_udp, conf_section_iface;

/* conf_fail() - "file:line: ..." as the error; the first one stands. Returns -EINVAL */
int conf_fail(struct conf_parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int conf_fail_nomem(struct conf_parser *p); /* -ENOMEM */

/* conf_set_path() - A path, relative to the configuration's folder; "-" stays */
int conf_set_path(struct conf_parser *p, char **dst, const char *key, const char *value);

/* conf_grow() - Room for one more, zeroed; NULL: out of memory, and @v is as it was */
void *conf_grow(void *v, size_t n, size_t size);

bool conf_name_ok(const char *s, size_t max);
const struct conf_fabric *conf_find_fabric(const struct conf *c, const char *name);

#endif

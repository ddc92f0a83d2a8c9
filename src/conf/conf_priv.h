/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONF_CONF_PRIV_H
#define CONF_CONF_PRIV_H

/* The parser of a configuration (conf.c) and the kinds of sections (conf_fabric.c, conf_udp.c, conf_iface.c). */

#include "conf/conf.h"
#include "util/list.h"

/* Largest number of octets of a line, including its end, for which inih's buffer has room */
#define CONF_LINE_MAX 199

struct conf_section;

struct conf_parser {
	struct conf c;
	const char *file;
	const char *pos, *end;
	unsigned int line;
	unsigned int section_line; /* line in which the section that is being read begins */
	unsigned int nsections;
	/* kind of the section that is being read; NULL before the first section */
	const struct conf_section *kind;
	/* text between the brackets of the section, for messages */
	char section[CONF_LINE_MAX + 1];
	/* bit i is set when the key in row i of the section's table of keys was given */
	uint64_t seen;
	const struct conf_overrides *over; /* settings of the command line, or NULL */
	/* bit i is set when setting number i of .over was for a section of the file */
	uint64_t used;
	/* text of the command-line setting that is being parsed, for messages; NULL while the file is read */
	const char *setting;
	char *err;
	int status;
};

enum conf_type {
	CONF_OWN, /* the function .set parses and stores the value */
	CONF_NUMBER, /* a number from .min to .max, stored in an unsigned member of .size octets */
	CONF_WORD, /* the member is unsigned and has .size octets; it gets the index of the value in .words */
	/* a path, stored in a char *; a relative path is relative to the configuration's folder */
	CONF_PATH,
};

/*
 * A key of a kind of section. The parser, its messages and the check of the man page
 * (tests/lint/conf_keys.sh) get everything about the key from this row. KEY_MEMBER() fills .off and
 * .size.
 */
struct conf_key {
	const char *name;
	enum conf_type type;
	size_t off, size; /* offset and size of the member in the section's struct */
	size_t given; /* offset of a bool that is set when the key is given; 0: none */
	/* default of a CONF_NUMBER or CONF_WORD, used if the key is not in the file */
	unsigned long def;
	unsigned long min, max;
	bool (*allowed)(unsigned long v); /* a further check of a number; NULL: none */
	const char *const *words; /* NULL-terminated */
	/* description of the valid values in messages; NULL: .min-.max of a CONF_NUMBER */
	const char *expected;
	int (*set)(struct conf_parser *p, const char *value);
	bool repeatable, required;
};

#define KEY_MEMBER(type, member) .off = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define KEY_WORDS(...)                 \
	.words = (const char *const[]) \
	{                              \
		__VA_ARGS__, NULL      \
	}

/* A kind of section. The functions return 0, or the result of conf_fail(). */
struct conf_section {
	const char *word; /* kind, which is the first word of the heading [word NAME] */
	/* Called when a section begins. The function may change @name. */
	int (*begin)(struct conf_parser *p, char *name);
	/* Called when the whole file was read, for checks that need several keys or sections. */
	int (*check)(struct conf_parser *p);
	/*
	 * Return the struct of the section that is being read. The offsets .off of the keys refer
	 * to this struct.
	 */
	void *(*current)(struct conf_parser *p);
	const struct conf_key *keys;
	size_t nkeys;
};

extern const struct conf_section conf_section_fabric, conf_section_udp, conf_section_iface;

/* conf_key_defaults() - Set the members of @object for keys that are not in the file to their defaults */
void conf_key_defaults(const struct conf_section *s, void *object);
/*
 * conf_key_given() - Handle the key @name, which may be unknown, of the section that is being read.
 * Return: 0, or the result of conf_fail()
 */
int conf_key_given(struct conf_parser *p, const char *name, const char *value);
/* conf_key_set() - Store @value for the key of row @k. Return: 0, or the result of conf_fail() */
int conf_key_set(struct conf_parser *p, const struct conf_key *k, const char *value);

/*
 * conf_override() - Apply the settings of the command line that are for the section whose end was
 * reached
 */
int conf_override(struct conf_parser *p);
/*
 * conf_override_check() - After the whole file was read, refuse settings of the command line that
 * were for none of its sections
 */
int conf_override_check(struct conf_parser *p);

/* conf_fail() - Set the error to "file:line: ...", unless there is an error already. Returns -EINVAL */
int conf_fail(struct conf_parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int conf_fail_nomem(struct conf_parser *p); /* returns -ENOMEM */

/* conf_set_path() - Set *@dst to @value, resolved against the folder of the configuration; "-" is not resolved */
int conf_set_path(struct conf_parser *p, char **dst, const char *key, const char *value);

/*
 * conf_grow() - Append a zeroed element to the array @v of @n elements. Return: the array, which
 * may have moved; NULL: out of memory, and @v is unchanged
 */
void *conf_grow(void *v, size_t n, size_t size);

/* conf_parse_u64() - Parse a number of 64 bits, as 1 or 0x1 */
bool conf_parse_u64(uint64_t *ret, const char *v);
/*
 * conf_set_service_id() - Store ServiceID @value; refuse 0. Return: 0, or the result of conf_fail()
 */
int conf_set_service_id(struct conf_parser *p, uint64_t *dst, const char *value);

bool conf_name_ok(const char *s, size_t max);
const struct conf_fabric *conf_find_fabric(const struct conf *c, const char *name);

#endif

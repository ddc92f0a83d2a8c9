/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmdline/complete.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "util/list.h"

struct completion {
	const char *last; /* word to complete */
	const char *before; /* word before the last word; "" if there is none */
	void (*add)(void *ctx, const char *candidate);
	void *ctx;
};

static void offer(const struct completion *c, const char *candidate)
{
	if (!strncmp(candidate, c->last, strlen(c->last)))
		c->add(c->ctx, candidate);
}

/* --- options */

/* Options that all commands have (cli_options()) */
static const struct option common[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "details", no_argument, NULL, 'd' },
	{ "name", required_argument, NULL, 'n' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL },
};

static const struct option *find_option(const struct option *table, const char *word)
{
	for (const struct option *o = table; o && o->name; o++)
		if (word[1] == '-' ? !strcmp(word + 2, o->name) : word[1] == o->val && !word[2])
			return o;
	return NULL;
}

static bool takes_argument(const struct cli_cmd *cmd, const char *word)
{
	const struct option *o;

	if (word[0] != '-' || !word[1])
		return false;
	o = cmd ? find_option(cmd->options, word) : NULL;
	if (!o && !(cmd && cmd->own_options))
		o = find_option(common, word);
	return o && o->has_arg == required_argument;
}

static void offer_options(const struct completion *c, const struct option *table)
{
	char text[64];

	for (const struct option *o = table; o && o->name; o++) {
		snprintf(text, sizeof(text), "--%s", o->name);
		offer(c, text);
	}
}

/* --- names that come from the running instance */

struct rows {
	const struct completion *c;
	const char *key; /* name of the member whose value is the candidate */
};

static void offer_row(void *ctx, json_t *row)
{
	const struct rows *r = ctx;
	char *text = cli_text(row, r->key);

	offer(r->c, text);
	free(text);
}

static void offer_instances(const struct completion *c)
{
	char name[64][PROTO_NAME_MAX];
	int n = proto_instances(name, ARRAY_SIZE(name));

	for (int i = 0; i < n && i < (int)ARRAY_SIZE(name); i++)
		offer(c, name[i]);
}

/* --- words of a usage text */

/* Meaning of a word in capitals of a usage text, such as NODE */
static const struct place {
	const char *word;
	const char *cmd, *key; /* the candidates are the members .key in the answer to .cmd */
	/*
	 * if not NULL: the only candidate, which makes the shell complete the word itself
	 * (COMPLETE_FILES ...)
	 */
	const char *shell;
} places[] = {
	{ "IF", "link show", "@dev" },
	{ "HOST", "host show", "host" },
	{ "NODE/PORT", "fabric port show", "port" },
	{ "NODE", "fabric node show", "node" },
	{ "FABRIC", "fabric show", "fabric" },
	{ "F", "fabric show", "fabric" },
	{ "FILE", .shell = COMPLETE_FILES },
	{ "CMD", .shell = COMPLETE_COMMANDS },
};

static const struct place *place_of(const char *word)
{
	const struct place *found = NULL;
	size_t len = strcspn(word, "@");

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (len == strlen(places[i].word) && !strncmp(word, places[i].word, len))
			found = &places[i];
	return found;
}

static void offer_place(const struct completion *c, const char *word)
{
	const struct place *p = place_of(word);
	struct rows r = { c, p ? p->key : NULL };

	if (p && p->shell)
		c->add(c->ctx, p->shell);
	else if (p)
		cli_call(p->cmd, NULL, offer_row, &r);
}

/* A word of a usage text, as in "NODE/PORT up|down [fabric F]" */
struct usage_word {
	char text[32];
	/* true for a word in small letters, which the user types as it is; false for a placeholder */
	bool literal;
	/* number of the pair of brackets around the word; 0: the word has no brackets, so it is not optional */
	int group;
	bool other; /* true if a '|' is before the word, so that it can be typed in place of the previous word */
};

static bool is_literal(const char *text)
{
	for (; *text; text++)
		if (isupper((unsigned char)*text) || *text == '-')
			return false;
	return true;
}

static int split_usage(const char *usage, struct usage_word *ret, int max)
{
	int n = 0, group = 0;
	bool other = false, inside = false;

	while (*usage && n < max) {
		size_t len = strcspn(usage, " []|");

		if (len && usage[0] != '.') {
			struct usage_word *w = &ret[n++];

			snprintf(w->text, sizeof(w->text), "%.*s", (int)len, usage);
			w->literal = is_literal(w->text);
			w->group = inside ? group : 0;
			w->other = other;
		}
		if (len)
			other = false;
		usage += len;
		if (*usage == '[' || *usage == ']')
			inside = *usage == '[';
		group += *usage == '[';
		other = other || *usage == '|';
		usage += *usage != '\0';
	}
	return n;
}

/* Tell whether w[i] is a key, after which a value follows. */
static bool is_key(const struct usage_word *w, int n, int i)
{
	return w[i].literal && w[i].group && i + 1 < n && w[i].group == w[i + 1].group &&
	       !w[i + 1].other;
}

static void offer_word(const struct completion *c, const struct usage_word *w)
{
	if (w->literal)
		offer(c, w->text);
	else
		offer_place(c, w->text);
}

/* Offers w[i] and its alternatives; returns the index of the first word after them. */
static int offer_one_of(const struct completion *c, const struct usage_word *w, int n, int i)
{
	do
		offer_word(c, &w[i++]);
	while (i < n && w[i].other);
	return i;
}

static int skip(const struct usage_word *w, int n, int i)
{
	for (i++; i < n && w[i].other; i++)
		;
	return i;
}

/*
 * Offers the candidates for word number @at of the words that follow a command. On a command line,
 * the words that are not optional come first, in the order of @usage. Keys with values follow, in
 * any order.
 */
static void offer_words(const struct completion *c, const char *usage, int at)
{
	struct usage_word w[24];
	int n = split_usage(usage, w, ARRAY_SIZE(w)), i = 0;

	for (int k = 0; k < n; k++)
		if (is_key(w, n, k) && !strcmp(w[k].text, c->before)) {
			offer_one_of(c, w, n, k + 1);
			return;
		}
	for (; i < n && !w[i].group; i = skip(w, n, i))
		if (!at--) {
			offer_one_of(c, w, n, i);
			return;
		}
	while (i < n)
		if (is_key(w, n, i)) {
			offer_word(c, &w[i++]);
			i = skip(w, n, i);
		} else {
			i = offer_one_of(c, w, n, i);
		}
}

/* --- the whole line */

/*
 * Return the row of @table with this name or abbreviation; NULL, without a message, if there is
 * none
 */
static const struct cli_cmd *find(const struct cli_cmd *table, const char *word)
{
	const struct cli_cmd *found = NULL;

	for (const struct cli_cmd *c = table; c->name; c++) {
		if (!strcmp(c->name, word))
			return c;
		if (strncmp(c->name, word, strlen(word)))
			continue;
		if (found)
			return NULL;
		found = c;
	}
	return found;
}

/* Position on the command line: the command that the words before the last word name */
struct position {
	const struct cli_cmd *table, *cmd; /* .cmd: NULL before the first name */
	bool lost; /* a word names no command */
	bool beyond; /* the last word is behind "--", so it belongs to the command line of another program */
	int words; /* number of words behind the name of the command */
};

static void step(struct position *p, const char *word)
{
	if (p->cmd && !p->cmd->verbs) {
		p->words++;
		return;
	}
	p->cmd = find(p->table, word);
	p->lost = !p->cmd;
	if (p->cmd && p->cmd->verbs)
		p->table = p->cmd->verbs;
}

static struct position walk(const struct cli_cmd *table, int n, char *const *words)
{
	struct position p = { .table = table };

	for (int i = 0; i < n - 1 && !p.lost; i++) {
		const char *w = words[i];

		if (!strcmp(w, "--"))
			p.beyond = true;
		else if (takes_argument(p.cmd, w))
			i++;
		else if (w[0] != '-')
			step(&p, w);
	}
	return p;
}

static void offer_names(const struct completion *c, const struct cli_cmd *table)
{
	for (; table->name; table++)
		offer(c, table->name);
}

#define IMAGE "/boot/vmlinuz-"

/* Offer the releases of the kernels of this machine, which `uipoib vm --kernel` accepts */
static void offer_kernels(const struct completion *c)
{
	glob_t found;

	if (glob(IMAGE "*", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		offer(c, found.gl_pathv[i] + strlen(IMAGE));
	globfree(&found);
}

static bool option_value(const struct completion *c, const struct position *p)
{
	if (!takes_argument(p->cmd, c->before))
		return false;
	if (!strcmp(c->before, "-n") || !strcmp(c->before, "--name"))
		offer_instances(c);
	else
		c->add(c->ctx, COMPLETE_FILES);
	if (!strcmp(c->before, "--kernel"))
		offer_kernels(c);
	return true;
}

void complete(const struct cli_cmd *table, int n, char *const *words,
	      void (*add)(void *ctx, const char *candidate), void *ctx)
{
	struct completion c = { words[n - 1], n > 1 ? words[n - 2] : "", add, ctx };
	struct position p = walk(table, n, words);

	if (p.lost)
		return;
	if (p.beyond)
		add(ctx, COMPLETE_FILES);
	else if (option_value(&c, &p))
		return;
	else if (c.last[0] == '-') {
		if (!p.cmd || !p.cmd->own_options)
			offer_options(&c, common);
		offer_options(&c, p.cmd ? p.cmd->options : NULL);
	} else if (!p.cmd || p.cmd->verbs)
		offer_names(&c, p.table);
	else
		offer_words(&c, p.cmd->usage, p.words);
}

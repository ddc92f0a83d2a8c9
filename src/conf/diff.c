/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/diff.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/list.h"

/* --- sections and their settings */

/* A section of one of the two configurations */
struct part {
	const struct conf *c;
	unsigned int line; /* line in which the section begins */
	char title[2 * CONF_NAME_MAX + 16]; /* "interface uib0@h1" */
};

static int refuse(char err[CONF_ERR_MAX], const struct part *at, unsigned int line, const char *fmt,
		  ...) __attribute__((format(printf, 4, 5)));

static int refuse(char err[CONF_ERR_MAX], const struct part *at, unsigned int line, const char *fmt,
		  ...)
{
	va_list ap;
	int n = snprintf(err, CONF_ERR_MAX, "%s:%u: [%s] ", at->c->file ? at->c->file : "", line,
			 at->title);

	va_start(ap, fmt);
	if (n > 0 && n < CONF_ERR_MAX)
		vsnprintf(err + n, (size_t)(CONF_ERR_MAX - n), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Returns the setting number @nth, from 0, of a key in a section; NULL: the section has fewer such settings */
static const struct conf_setting *setting(const struct part *p, const char *key, unsigned int nth)
{
	for (size_t i = 0; i < p->c->nsettings; i++) {
		const struct conf_setting *s = &p->c->setting[i];

		if (s->section == p->line && !strcmp(s->key, key) && !nth--)
			return s;
	}
	return NULL;
}

static unsigned int index_among(const struct part *p, const struct conf_setting *s)
{
	unsigned int n = 0;

	for (const struct conf_setting *o = p->c->setting; o < s; o++)
		n += o->section == s->section && !strcmp(o->key, s->key);
	return n;
}

/*
 * Finds the first setting of @a that is missing in @b, or that has another value in @b. Returns
 * this setting, or NULL if there is none. *@ret_other becomes the setting of @b for the same key,
 * or NULL if the key is missing in @b
 * @free_key:	a key that may have another value in @b, but must not be missing there; NULL: no key
 */
static const struct conf_setting *differs(const struct part *a, const struct part *b,
					  const char *free_key,
					  const struct conf_setting **ret_other)
{
	for (size_t i = 0; i < a->c->nsettings; i++) {
		const struct conf_setting *s = &a->c->setting[i], *o;

		if (s->section != a->line)
			continue;
		o = setting(b, s->key, index_among(a, s));
		*ret_other = o;
		if (o && (!strcmp(o->value, s->value) || (free_key && !strcmp(s->key, free_key))))
			continue;
		return s;
	}
	return NULL;
}

/* --- sections that must not change */

/* Tell whether the value of a key is a secret, which no message shows. */
static bool is_secret(const char *key)
{
	static const char *const secrets[] = { "sm-key", "m-key", "ip6-secret" };

	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
		if (!strcmp(key, secrets[i]))
			return true;
	return false;
}

static int refuse_value(const struct part *is, const struct conf_setting *s,
			const struct conf_setting *was, char err[CONF_ERR_MAX])
{
	if (is_secret(s->key))
		return refuse(err, is, s->line,
			      "%s: it differs, expected the value with which the instance was "
			      "started, because a reload cannot change it",
			      s->key);
	if (!was)
		return refuse(err, is, s->line,
			      "%s: '%s', expected no such key, as when the instance was started, "
			      "because a reload cannot change it",
			      s->key, s->value);
	return refuse(err, is, s->line,
		      "%s: '%s', expected '%s', as when the instance was started, because a reload "
		      "cannot change it",
		      s->key, s->value, was->value);
}

static int refuse_missing(const struct part *is, const struct conf_setting *was,
			  char err[CONF_ERR_MAX])
{
	if (is_secret(was->key))
		return refuse(err, is, is->line,
			      "%s: missing, expected as when the instance was started, because a "
			      "reload cannot change it",
			      was->key);
	return refuse(err, is, is->line,
		      "%s: missing, expected '%s', as when the instance was started, because a "
		      "reload cannot change it",
		      was->key, was->value);
}

/* @free_key: as in differs() */
static int same_section(const struct part *was, const struct part *is, const char *free_key,
			char err[CONF_ERR_MAX])
{
	const struct conf_setting *other, *s = differs(is, was, free_key, &other);

	if (s)
		return refuse_value(is, s, other, err);
	s = differs(was, is, free_key, &other);
	return s ? refuse_missing(is, s, err) : 0;
}

static int refuse_added(const struct part *is, char err[CONF_ERR_MAX])
{
	return refuse(err, is, is->line,
		      "expected no such section, as when the instance was started, because a "
		      "reload cannot add it");
}

static int is_missing(const struct part *was, const struct conf *is, char err[CONF_ERR_MAX])
{
	snprintf(err, CONF_ERR_MAX,
		 "%s: [%s] is missing, expected it as when the instance was started, because a "
		 "reload cannot remove it",
		 is->file ? is->file : "", was->title);
	return -EINVAL;
}

static struct part fabric_part(const struct conf *c, const struct conf_fabric *f)
{
	struct part p = { .c = c, .line = f->line };

	snprintf(p.title, sizeof(p.title), "fabric %s", f->name);
	return p;
}

static const struct conf_fabric *fabric_named(const struct conf *c, const char *name)
{
	for (size_t i = 0; i < c->nfabrics; i++)
		if (!strcmp(c->fabric[i].name, name))
			return &c->fabric[i];
	return NULL;
}

static int fabrics(const struct conf *was, const struct conf *is, char err[CONF_ERR_MAX])
{
	int status = 0;

	for (size_t i = 0; !status && i < is->nfabrics; i++) {
		const struct conf_fabric *f = fabric_named(was, is->fabric[i].name);
		struct part new = fabric_part(is, &is->fabric[i]);
		struct part old = f ? fabric_part(was, f) : new;

		status = f ? same_section(&old, &new, "partitions", err) : refuse_added(&new, err);
	}
	for (size_t i = 0; !status && i < was->nfabrics; i++) {
		struct part old = fabric_part(was, &was->fabric[i]);

		if (!fabric_named(is, was->fabric[i].name))
			status = is_missing(&old, is, err);
	}
	return status;
}

static struct part udp_part(const struct conf *c, const struct conf_udp_link *u)
{
	struct part p = { .c = c, .line = u->line };

	snprintf(p.title, sizeof(p.title), "udp-link %s", u->name);
	return p;
}

static const struct conf_udp_link *udp_named(const struct conf *c, const char *name)
{
	for (size_t i = 0; i < c->nudps; i++)
		if (!strcmp(c->udp[i].name, name))
			return &c->udp[i];
	return NULL;
}

static int udp_links(const struct conf *was, const struct conf *is, char err[CONF_ERR_MAX])
{
	int status = 0;

	for (size_t i = 0; !status && i < is->nudps; i++) {
		const struct conf_udp_link *u = udp_named(was, is->udp[i].name);
		struct part new = udp_part(is, &is->udp[i]);
		struct part old = u ? udp_part(was, u) : new;

		status = u ? same_section(&old, &new, NULL, err) : refuse_added(&new, err);
	}
	for (size_t i = 0; !status && i < was->nudps; i++) {
		struct part old = udp_part(was, &was->udp[i]);

		if (!udp_named(is, was->udp[i].name))
			status = is_missing(&old, is, err);
	}
	return status;
}

/* --- interfaces */

static struct part iface_part(const struct conf *c, const struct conf_iface *f)
{
	struct part p = { .c = c, .line = f->line };

	snprintf(p.title, sizeof(p.title), "interface %s%s%s", f->name, *f->host ? "@" : "",
		 f->host);
	return p;
}

static const struct conf_iface *iface_named(const struct conf *c, const struct conf_iface *like)
{
	for (size_t i = 0; i < c->nifaces; i++)
		if (!strcmp(c->iface[i].name, like->name) && !strcmp(c->iface[i].host, like->host))
			return &c->iface[i];
	return NULL;
}

static void compare(struct conf_diff_row *r, const struct conf *was, const struct conf *is)
{
	const struct conf_setting *o, *s;
	struct part old, new;

	assert(r->was && r->is);
	old = iface_part(was, r->was);
	new = iface_part(is, r->is);
	s = differs(&new, &old, NULL, &o);
	if (!s)
		s = differs(&old, &new, NULL, &o);
	r->fate = s ? CONF_REPLACED : CONF_KEPT;
	r->key = s ? s->key : NULL;
}

static bool port_in_use(const struct conf *was, const struct conf_port *p)
{
	for (size_t i = 0; i < was->nifaces; i++) {
		const struct conf_port *o = &was->iface[i].port;

		if (!strcmp(o->fabric, p->fabric) && !strcmp(o->node, p->node) &&
		    o->port == p->port && o->guid == p->guid &&
		    ip_endpoint_equal(&o->listen, &p->listen))
			return true;
	}
	return false;
}

/*
 * Refuses a new interface whose port is verbs:DEVICE/PORT or udp:..., if no interface of the old
 * configuration uses the same port. The main process has given up the privileges to open such a
 * port.
 */
static int check_port(const struct conf_diff_row *r, const struct conf *was, const struct conf *is,
		      char err[CONF_ERR_MAX])
{
	struct part p = iface_part(is, r->is);
	const struct conf_setting *s = setting(&p, "port", 0);

	if ((!r->is->port.udp && !r->is->port.verbs) || port_in_use(was, &r->is->port))
		return 0;
	return refuse(err, &p, s ? s->line : p.line,
		      "port: '%s', expected a port of a fabric, or one that an interface of the "
		      "running instance has, because a reload opens no port of a kernel and no "
		      "socket",
		      s ? s->value : "");
}

/* All interfaces of a host have to be in one namespace. */
static int check_netns(const struct conf_diff_row *r, const struct conf *is, char err[CONF_ERR_MAX])
{
	struct part p = iface_part(is, r->is);

	for (size_t i = 0; i < is->nifaces; i++) {
		const struct conf_iface *o = &is->iface[i];

		if (!strcmp(o->host, r->is->host) && strcmp(conf_netns(o), conf_netns(r->is)) != 0)
			return refuse(err, &p, p.line,
				      "netns: '%s', expected '%s', as line %u has it for the same "
				      "host",
				      conf_netns(r->is), conf_netns(o), o->line);
	}
	return 0;
}

/* Checks a section that is added, removed or replaced. */
static int check_row(const struct conf_diff_row *r, const struct conf *was, const struct conf *is,
		     char err[CONF_ERR_MAX])
{
	const struct conf_iface *f = r->is ? r->is : r->was;
	struct part p;
	int status;

	assert(f);
	p = iface_part(r->is ? is : was, f);
	if (f->profile->ifname || (r->was && r->was->profile->ifname))
		return refuse(
			err, &p, p.line,
			"expected it unchanged, as when the instance was started, because a "
			"reload neither adds, nor changes, nor removes a section of a profile "
			"that has an interface for each P_Key");
	if (!r->is)
		return 0;
	status = check_port(r, was, is, err);
	return status ? status : check_netns(r, is, err);
}

static struct conf_diff_row *add_row(struct conf_diff *d, const struct conf_iface *was,
				     const struct conf_iface *is)
{
	struct conf_diff_row *r = &d->row[d->nrows++];

	*r = (struct conf_diff_row){ .was = was, .is = is };
	r->fate = was ? CONF_REMOVED : CONF_ADDED;
	return r;
}

static int interfaces(struct conf_diff *d, const struct conf *was, const struct conf *is,
		      char err[CONF_ERR_MAX])
{
	int status = 0;

	for (size_t i = 0; i < was->nifaces; i++) {
		const struct conf_iface *f = iface_named(is, &was->iface[i]);
		struct conf_diff_row *r = add_row(d, &was->iface[i], f);

		if (f)
			compare(r, was, is);
	}
	for (size_t i = 0; i < is->nifaces; i++)
		if (!iface_named(was, &is->iface[i]))
			add_row(d, NULL, &is->iface[i]);
	for (size_t i = 0; !status && i < d->nrows; i++) {
		d->n[d->row[i].fate]++;
		if (d->row[i].fate != CONF_KEPT)
			status = check_row(&d->row[i], was, is, err);
	}
	return status;
}

int conf_diff(struct conf_diff *ret, const struct conf *was, const struct conf *is,
	      char err[CONF_ERR_MAX])
{
	struct conf_diff d = { .nrows = 0 };
	int status = fabrics(was, is, err);

	if (!status)
		status = udp_links(was, is, err);
	if (status)
		return status;
	d.row = calloc(was->nifaces + is->nifaces + 1, sizeof(*d.row));
	if (!d.row) {
		snprintf(err, CONF_ERR_MAX, "out of memory");
		return -ENOMEM;
	}
	status = interfaces(&d, was, is, err);
	if (status)
		conf_diff_free(&d);
	else
		*ret = d;
	return status;
}

void conf_diff_free(struct conf_diff *d)
{
	free(d->row);
	*d = (struct conf_diff){ .nrows = 0 };
}

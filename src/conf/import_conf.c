/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/import_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"
#include "util/hash.h"
#include "util/list.h"

/*
 * An HCA's description begins with its host's name: "node17 mlx5_0", "node17 HCA-1". HCAs whose
 * descriptions have the same first word and differ after this word are in one host, and their
 * interfaces are uib0, uib1, ... No host gives two of its HCAs the same description. So HCAs with
 * equal descriptions are in different hosts, which are called node17, node17-2, ...
 */

#define NET4_SECOND 4 /* uib0 is in 10.4.0.0/16, uib1 in 10.5.0.0/16 */
#define HOSTS_MAX 65534
#define IFACES_MAX 200 /* interfaces of one host; the second octet of their addresses counts them */

struct chosen {
	const struct topo_node *ca;
	unsigned int port; /* number of the first port to which a cable is connected */
	char host[CONF_NAME_MAX];
	unsigned int host_index, iface;
};

struct chooser {
	struct import *im;
	regex_t *re;
	size_t nre;
	struct chosen *v;
	size_t n;
	struct htab descs, hosts; /* struct seen, by description and by host name */
};

static bool name_ok(const char *s)
{
	size_t len = strlen(s);

	return len < CONF_NAME_MAX && *s != '.' &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
		       len;
}

bool import_names_ok(const struct topo *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (!name_ok(t->node[i]->name))
			return false;
	return true;
}

/* --- choosing HCAs */

static unsigned int first_port(const struct topo_node *n)
{
	for (unsigned int p = 1; p <= n->nports; p++)
		if (n->port[p].peer != TOPO_NO_PEER)
			return p;
	return 0;
}

static bool matches(const struct chooser *c, const struct topo_node *n)
{
	for (size_t i = 0; i < c->nre; i++)
		if (!regexec(&c->re[i], n->desc, 0, NULL, 0) ||
		    !regexec(&c->re[i], n->name, 0, NULL, 0))
			return true;
	return !c->nre;
}

static int compile(struct chooser *c)
{
	const struct import_opts *o = c->im->o;
	char why[128];

	c->re = calloc(o->nmatch + 1, sizeof(*c->re));
	if (!c->re)
		return import_fail(c->im, -ENOMEM, "out of memory");
	for (; c->nre < o->nmatch; c->nre++) {
		int err = regcomp(&c->re[c->nre], o->match[c->nre], REG_EXTENDED | REG_NOSUB);

		if (!err)
			continue;
		regerror(err, &c->re[c->nre], why, sizeof(why));
		return import_fail(c->im, -EINVAL, "--host '%s': %s", o->match[c->nre], why);
	}
	return 0;
}

/*
 * Choose the HCAs that get an interface, from those that match an expression of the user, or from
 * all HCAs if the user gave no expression. The chosen HCAs are spread evenly over the file, so that
 * they are on many switches. The user gives their number. Without a number, all HCAs that match are
 * chosen, or IMPORT_HOSTS of all HCAs if there is no expression. An HCA without a cable is never
 * chosen.
 */
static int choose(struct chooser *c)
{
	const struct topo *t = c->im->topo;
	const struct import_opts *o = c->im->o;
	size_t found = 0, want;

	c->v = calloc(t->n + 1u, sizeof(*c->v));
	if (!c->v)
		return import_fail(c->im, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < t->n; i++) {
		const struct topo_node *n = t->node[i];
		unsigned int port = n->type == IB_NODE_CA ? first_port(n) : 0;

		if (port && matches(c, n))
			c->v[found++] = (struct chosen){ .ca = n, .port = port };
	}
	if (!found)
		return import_fail(c->im, -EINVAL, "%s: no HCA with a cable%s", c->im->name,
				   c->nre ? " matches --host" : "");
	want = o->hosts ? o->hosts : c->nre ? found : IMPORT_HOSTS;
	if (o->hosts > found)
		return import_fail(c->im, -EINVAL, "--hosts %u: there are %zu HCAs", o->hosts,
				   found);
	c->n = want < found ? want : found;
	for (size_t i = 0; i < c->n; i++)
		c->v[i] = c->v[i * found / c->n];
	return 0;
}

/* --- naming their hosts */

static void host_word(char ret[CONF_NAME_MAX], const char *desc)
{
	size_t len = 0;

	/* Leave room for a suffix such as "-65535". */
	for (; *desc && !strchr(" \t\"'", *desc) && len < CONF_NAME_MAX - 8; desc++) {
		char ch = *desc;
		bool ok = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
			  (ch >= '0' && ch <= '9') || ch == '_' || ch == '-' || ch == '.';

		ret[len] = ok && (len || ch != '.') ? ch : '-';
		len++;
	}
	ret[len] = '\0';
	if (!len)
		snprintf(ret, CONF_NAME_MAX, "host");
}

/* A description or a host name that has already occurred, with the number of times */
struct seen {
	struct hlink by_key;
	char key[TOPO_DESC_MAX + 1];
	/*
	 * first word of the description from which a host's name was made; empty if .key is a
	 * description
	 */
	char word[CONF_NAME_MAX];
	unsigned int count, index;
};

static struct seen *seen_get(struct htab *t, const char *key)
{
	/*
	 * A constant hash key is enough. A secret key would protect against names that are chosen
	 * to collide, but users gain nothing from collisions in their own files.
	 */
	static const struct hash_key hash = { 0x696d706f72742e2eull, 0x686f73742e2e2e2eull };
	uint64_t h = hash_siphash(&hash, key, strlen(key));
	struct seen *s;

	for (struct hlink *e = htab_first(t, h); e; e = htab_next(e)) {
		s = container_of(e, struct seen, by_key);
		if (!strcmp(s->key, key))
			return s;
	}
	s = calloc(1, sizeof(*s));
	if (!s || htab_add(t, &s->by_key, h)) {
		free(s);
		return NULL;
	}
	snprintf(s->key, sizeof(s->key), "%s", key);
	return s;
}

static void seen_free(struct htab *t)
{
	struct hlink *h = htab_each(t, NULL);

	while (h) {
		struct hlink *next = htab_each(t, h);

		free(container_of(h, struct seen, by_key));
		h = next;
	}
	htab_fini(t);
}

/*
 * Return the host of an HCA whose description occurred @twins times before. Host names that were
 * made from other words than @word are skipped.
 */
static struct seen *host_get(struct htab *hosts, const char *word, unsigned int twins)
{
	char name[CONF_NAME_MAX];

	for (;; twins++) {
		struct seen *h;

		if (twins)
			snprintf(name, sizeof(name), "%.55s-%u", word, twins + 1);
		else
			snprintf(name, sizeof(name), "%s", word);
		h = seen_get(hosts, name);
		if (!h || !h->count)
			return h;
		if (!strcmp(h->word, word))
			return h;
	}
}

static int name_one(struct chooser *c, struct chosen *v)
{
	struct seen *desc = seen_get(&c->descs, v->ca->desc), *host;
	char word[CONF_NAME_MAX];

	host_word(word, v->ca->desc);
	host = desc ? host_get(&c->hosts, word, desc->count++) : NULL;
	if (!host)
		return import_fail(c->im, -ENOMEM, "out of memory");
	if (!host->count) {
		memcpy(host->word, word, sizeof(word));
		host->index = ++c->im->hosts;
	}
	memcpy(v->host, host->key, CONF_NAME_MAX);
	v->host_index = host->index;
	v->iface = host->count++;
	if (host->index <= HOSTS_MAX && host->count <= IFACES_MAX)
		return 0;
	return import_fail(c->im, -EINVAL,
			   "more than %u hosts, or %u HCAs in one: choose by --host or --hosts",
			   HOSTS_MAX, IFACES_MAX);
}

/* --- the text */

static void print_iface(const struct import *im, FILE *f, const struct chosen *c)
{
	char node[24];

	snprintf(node, sizeof(node), "H-%016" PRIx64, c->ca->node_guid);
	fprintf(f, "\n# \"%s\"", c->ca->desc);
	if (c->ca->port[c->port].lid)
		fprintf(f, " lid %u", c->ca->port[c->port].lid);
	fprintf(f, "\n[interface uib%u@%s]\nport = fabric:lab/%s/%u\naddress = 10.%u.%u.%u/16\n",
		c->iface, c->host, im->keep_names ? c->ca->name : node, c->port,
		NET4_SECOND + c->iface, c->host_index >> 8, c->host_index & 255);
}

/*
 * Path of the topology for the configuration: only the file name if both files are in one folder, and otherwise an
 * absolute path.
 */
static char *topology_path(const struct import_opts *o)
{
	const char *t = strrchr(o->topology, '/'), *c = strrchr(o->config, '/');
	size_t tlen = t ? (size_t)(t - o->topology) : 0, clen = c ? (size_t)(c - o->config) : 0;
	char cwd[4096], *path = NULL;

	if (!t == !c && tlen == clen && !strncmp(o->topology, o->config, tlen))
		return strdup(t ? t + 1 : o->topology);
	if (*o->topology == '/')
		return strdup(o->topology);
	if (!getcwd(cwd, sizeof(cwd)) || asprintf(&path, "%s/%s", cwd, o->topology) < 0)
		return NULL;
	return path;
}

static int print_conf(struct chooser *c)
{
	struct import *im = c->im;
	const char *slash = strrchr(im->name, '/');
	char *path = topology_path(im->o);
	FILE *f = path ? open_memstream(&im->conf_text, &im->conf_len) : NULL;

	if (f) {
		fprintf(f,
			"# %.80s: %zu of its HCAs have an interface\n[fabric lab]\ntopology = %s\n"
			"sm = embedded\n",
			slash ? slash + 1 : im->name, c->n, path);
		for (size_t i = 0; i < c->n; i++)
			print_iface(im, f, &c->v[i]);
	}
	free(path);
	if (!f || fclose(f))
		return import_fail(im, -ENOMEM, "out of memory");
	im->ifaces = (unsigned int)c->n;
	return 0;
}

int import_conf_make(struct import *im)
{
	struct chooser c = { .im = im };
	int err = compile(&c);

	if (!err)
		err = choose(&c);
	for (size_t i = 0; i < c.n && !err; i++)
		err = name_one(&c, &c.v[i]);
	if (!err)
		err = print_conf(&c);
	for (size_t i = 0; i < c.nre; i++)
		regfree(&c.re[i]);
	free(c.re);
	free(c.v);
	seen_free(&c.descs);
	seen_free(&c.hosts);
	return err;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "demo/conf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf/topology.h"
#include "ipoib/iid.h"

#define NET4 0x0a040000u /* the subnet 10.4.0.0/16 of the hosts */

static int fail(char *err, size_t err_len, int status, const char *what)
{
	snprintf(err, err_len, "%s", what);
	return status;
}

static unsigned int count_cas(const struct topo *t)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < t->n; i++)
		n += t->node[i]->type == IB_NODE_CA;
	return n;
}

static void count_parts(struct demo_conf *d)
{
	unsigned int ends = 0;

	for (uint32_t i = 0; i < d->topo->n; i++) {
		const struct topo_node *n = d->topo->node[i];

		d->switches += n->type == IB_NODE_SWITCH;
		for (unsigned int p = 1; p <= n->nports; p++)
			ends += n->port[p].peer != TOPO_NO_PEER;
	}
	d->links = ends / 2;
}

static int get_topo(struct demo_conf *d, unsigned int hosts, const char *file, char *err,
		    size_t err_len)
{
	unsigned int cas;

	if (hosts > DEMO_HOSTS_MAX || hosts == 1)
		return fail(err, err_len, -EINVAL, "--hosts: expected 2 to 200");
	if (!file) {
		hosts = hosts ? hosts : 4;
		d->topo = topo_gen_demo(hosts, hosts <= 12 ? 3 : hosts / 10 + 1);
		return d->topo ? 0 : fail(err, err_len, -ENOMEM, "out of memory");
	} else {
		char why[CONF_ERR_MAX];
		int status = conf_topology_load(&d->topo, file, why);

		if (status)
			return fail(err, err_len, status, why);
	}
	cas = count_cas(d->topo);
	if (cas < 2 || hosts > cas) {
		snprintf(err, err_len, "topology %s: it has %u CAs, expected at least %u", file,
			 cas, hosts ? hosts : 2);
		return -EINVAL;
	}
	return 0;
}

/* Return: the first connected port of a CA; 0: no port is connected */
static unsigned int first_port(const struct topo_node *n)
{
	for (unsigned int p = 1; p <= n->nports; p++)
		if (n->port[p].peer != TOPO_NO_PEER)
			return p;
	return 0;
}

static void write_iface(struct demo_conf *d, FILE *f, const struct topo_node *n, unsigned int port)
{
	unsigned int i = d->hosts++;
	char ip[INET_ADDRSTRLEN];
	uint8_t iid[8];

	/* The hosts, of which there are at most 200, get the addresses 10.4.0.1 to 10.4.0.200. */
	d->host[i].ip4.s_addr = htonl(NET4 + i + 1);
	ipoib_iid_from_guid(iid, n->port[port].guid);
	ipoib_linklocal(d->host[i].ip6.s6_addr, iid);
	inet_ntop(AF_INET, &d->host[i].ip4, ip, sizeof(ip));
	fprintf(f, "\n[interface uib0@h%u]\nport = fabric:demo/%s/%u\naddress = %s/16\n", i + 1,
		n->name, port, ip);
}

static int write_text(struct demo_conf *d, unsigned int want)
{
	size_t len;
	FILE *f = open_memstream(&d->text, &len);

	if (!f)
		return -ENOMEM;
	fprintf(f, "[fabric demo]\ntopology = demo.topo\nsm = embedded\n");
	for (uint32_t i = 0; i < d->topo->n && d->hosts < want; i++) {
		const struct topo_node *n = d->topo->node[i];
		unsigned int port = n->type == IB_NODE_CA ? first_port(n) : 0;

		if (port)
			write_iface(d, f, n, port);
	}
	return fclose(f) ? -ENOMEM : 0;
}

int demo_conf_make(struct demo_conf *d, unsigned int hosts, const char *topology, char *err,
		   size_t err_len)
{
	char why[CONF_ERR_MAX];
	unsigned int cas;
	int status;

	memset(d, 0, sizeof(*d));
	d->mtu = 2044;
	status = get_topo(d, hosts, topology, err, err_len);
	if (status)
		return status;
	cas = count_cas(d->topo);
	if (cas > DEMO_HOSTS_MAX)
		cas = DEMO_HOSTS_MAX;
	d->host = calloc(cas + 1, sizeof(*d->host));
	status = d->host ? write_text(d, hosts ? hosts : cas) : -ENOMEM;
	if (!status && d->hosts < 2)
		status = fail(err, err_len, -EINVAL,
			      "the topology has fewer than two connected CAs");
	if (!status) {
		status = conf_parse(&d->conf, d->text, strlen(d->text), "demo.conf", why);
		if (status)
			fail(err, err_len, status, why);
	}
	if (status) {
		if (status == -ENOMEM)
			fail(err, err_len, status, "out of memory");
		demo_conf_free(d);
		return status;
	}
	count_parts(d);
	return 0;
}

int demo_conf_capture(struct demo_conf *d, const char *path)
{
	d->conf.fabric[0].capture = strdup(path);
	return d->conf.fabric[0].capture ? 0 : -ENOMEM;
}

int demo_conf_print(const struct demo_conf *d, FILE *f)
{
	size_t len;
	char *topo = topo_print(d->topo, true, &len);

	if (!topo)
		return -ENOMEM;
	fprintf(f,
		"# sh writes the two files; then: uipoib run -c demo.conf\n"
		"cat > demo.topo <<'END'\n%sEND\ncat > demo.conf <<'END'\n%sEND\n",
		topo, d->text);
	free(topo);
	return ferror(f) ? -EIO : 0;
}

void demo_conf_free(struct demo_conf *d)
{
	topo_free(d->topo);
	conf_free(&d->conf);
	free(d->text);
	free(d->host);
	memset(d, 0, sizeof(*d));
}

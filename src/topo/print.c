/* SPDX-License-Identifier: BSD-2-Clause */
#include "topo/topo.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct printer {
	const struct topo *t;
	FILE *out;
	bool keep_names;
};

static void print_name(const struct printer *p, const struct topo_node *n)
{
	if (p->keep_names)
		fprintf(p->out, "\"%s\"", n->name);
	else
		fprintf(p->out, "\"%c-%016" PRIx64 "\"", n->type == IB_NODE_SWITCH ? 'S' : 'H',
			n->node_guid);
}

static uint16_t end_lid(const struct topo_node *n, unsigned int port)
{
	return n->port[n->type == IB_NODE_SWITCH ? 0 : port].lid;
}

static void print_port(const struct printer *p, uint32_t index, unsigned int num)
{
	const struct topo_node *n = p->t->node[index];
	const struct topo_port *port = &n->port[num];
	const struct topo_node *peer;
	char rate[16];

	if (port->peer == TOPO_NO_PEER)
		return;
	peer = p->t->node[port->peer];
	fprintf(p->out, "[%u]", num);
	if (n->type == IB_NODE_CA)
		fprintf(p->out, "(%" PRIx64 ") ", port->guid);
	fputc('\t', p->out);
	print_name(p, peer);
	fprintf(p->out, "[%u]", port->peer_port);
	if (peer->type == IB_NODE_CA)
		fprintf(p->out, "%s(%" PRIx64 ") ", n->type == IB_NODE_CA ? " " : "",
			peer->port[port->peer_port].guid);
	fputs("\t\t# ", p->out);
	if (n->type == IB_NODE_CA)
		fprintf(p->out, "lid %u lmc %u ", port->lid, port->lmc);
	fprintf(p->out, "\"%s\" lid %u %s\n", peer->desc, end_lid(peer, port->peer_port),
		topo_rate_print(rate, sizeof(rate), topo_rate(p->t, index, num)));
}

static void print_node(const struct printer *p, uint32_t index)
{
	const struct topo_node *n = p->t->node[index];
	bool sw = n->type == IB_NODE_SWITCH;

	fprintf(p->out, "\nvendid=0x%x\ndevid=0x%x\nsysimgguid=0x%" PRIx64 "\n", n->vendor_id,
		n->device_id, n->sys_guid);
	if (sw)
		fprintf(p->out, "switchguid=0x%" PRIx64 "(%" PRIx64 ")\nSwitch\t%u ", n->node_guid,
			n->port[0].guid, n->nports);
	else
		fprintf(p->out, "caguid=0x%" PRIx64 "\nCa\t%u ", n->node_guid, n->nports);
	print_name(p, n);
	fprintf(p->out, "\t\t# \"%s\"", n->desc);
	if (sw)
		fprintf(p->out, " %s port 0 lid %u lmc %u", n->enhanced_port0 ? "enhanced" : "base",
			n->port[0].lid, n->port[0].lmc);
	fputc('\n', p->out);
	for (unsigned int i = 1; i <= n->nports; i++)
		print_port(p, index, i);
}

/*
 * Tell whether a file can contain the names of all nodes. Names with '#' got a module's prefix when
 * the file was read, and the grammar does not allow such names in a node's line.
 */
static bool names_are_plain(const struct topo *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (strchr(t->node[i]->name, '#') || strlen(t->node[i]->name) > 64)
			return false;
	return true;
}

char *topo_print(const struct topo *t, bool keep_names, size_t *ret_len)
{
	struct printer p = { .t = t, .keep_names = keep_names && names_are_plain(t) };
	char *text = NULL;
	size_t len;

	p.out = open_memstream(&text, &len);
	if (!p.out)
		return NULL;
	fputs("#\n# Topology file: made by uipoib\n#\n", p.out);
	for (uint32_t i = 0; i < t->n; i++)
		print_node(&p, i);
	if (fclose(p.out)) {
		free(text);
		return NULL;
	}
	if (ret_len)
		*ret_len = len;
	return text;
}

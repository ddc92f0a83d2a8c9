/* SPDX-License-Identifier: BSD-2-Clause */
#include "machine/ports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmdline/cmdline.h"

/* --- options */

/* Checks a "udp:" port. The instance checks NODE/PORT and fabric:NAME/NODE/PORT. */
int ports_add(struct ports *p, const char *text)
{
	char err[CONF_ERR_MAX];

	if (p->given == VM_HCAS_MAX)
		return cli_error(PROTO_EXIT_USAGE, "vm: --port: at most %d", VM_HCAS_MAX);
	if (!strncmp(text, "udp:", 4) && conf_parse_port(&p->to[p->given], text, err))
		return cli_error(PROTO_EXIT_USAGE, "vm: --%s", err);
	for (unsigned int i = 0; i < p->given; i++)
		if (!strcmp(p->text[i], text))
			return cli_error(PROTO_EXIT_USAGE,
					 "vm: --port %s: given twice, expected a port for each HCA",
					 text);
	p->text[p->given++] = text;
	return 0;
}

int ports_guid(struct ports *p, const char *text)
{
	uint64_t guid;
	char *end;

	errno = 0;
	guid = strtoull(text, &end, 16);
	if (errno || end == text || *end || !guid || strchr(text, '-'))
		return cli_error(PROTO_EXIT_USAGE, "vm: --guid '%s': expected 0x and hex digits",
				 text);
	if (p->nguids == VM_HCAS_MAX)
		return cli_error(PROTO_EXIT_USAGE, "vm: --guid: at most %d", VM_HCAS_MAX);
	p->guid[p->nguids++] = guid;
	return 0;
}

bool ports_udp(const struct ports *p)
{
	return p->to[0].udp;
}

unsigned int ports_hcas(const struct ports *p)
{
	return p->wanted ? (unsigned int)p->wanted : p->given ? p->given : 1;
}

int ports_check(const struct ports *p, const char *option)
{
	if (ports_hcas(p) < p->given)
		return cli_error(PROTO_EXIT_USAGE, "vm: --ports %lu: %u are given by --port",
				 p->wanted, p->given);
	if (ports_hcas(p) < p->nguids)
		return cli_error(PROTO_EXIT_USAGE, "vm: --guid: %u for %u HCAs", p->nguids,
				 ports_hcas(p));
	for (unsigned int i = 0; i < ports_hcas(p); i++) {
		if (p->to[i].udp != ports_udp(p))
			return cli_error(
				PROTO_EXIT_USAGE,
				"vm: --port %s: expected an address for each HCA or for none",
				p->text[0]);
		if (p->to[i].udp && option)
			return cli_error(PROTO_EXIT_USAGE,
					 "vm: --port %s: it leads to an address, expected no %s",
					 p->text[i], option);
	}
	return 0;
}

/* --- links */

static void make_line(struct ports *p, unsigned int i)
{
	const struct link *l = &p->link[i];

	snprintf(p->line[i], sizeof(p->line[i]),
		 "uib%u listen=" VM_NET_GUEST ":%u peer=" VM_NET_HOST ":%u %sguid=0x%016" PRIx64, i,
		 VM_NET_PORT + i, VM_NET_PORT + i, l->fresh ? "silence=0 " : "",
		 i < p->nguids ? p->guid[i] : l->guid);
	p->hca[i] = p->line[i];
	p->fd[i] = l->fd;
}

int ports_open(struct ports *p, const char *instance, const char *seed)
{
	int status = 0;

	for (p->n = 0; p->n < ports_hcas(p); p->n++) {
		struct link *l = &p->link[p->n];

		status = p->to[p->n].udp ? link_connect(l, &p->to[p->n])
					 : link_open(l, instance, seed, p->text[p->n]);
		if (status)
			break;
		make_line(p, p->n);
	}
	if (status)
		ports_close(p);
	return status;
}

void ports_close(struct ports *p)
{
	while (p->n)
		link_close(&p->link[--p->n]);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEMO_CONF_H
#define DEMO_CONF_H

/* Topology and configuration of the demo. The configuration also exists as the text of a file. */

#include <netinet/in.h>
#include <stdio.h>

#include "conf/conf.h"
#include "topo/topo.h"

#define DEMO_HOSTS_MAX 200

struct demo_addrs {
	struct in_addr ip4;
	struct in6_addr ip6;
};

struct demo_conf {
	struct topo *topo;
	struct conf conf;
	char *text; /* content of the configuration file */
	unsigned int hosts, switches, links, mtu;
	struct demo_addrs *host;
};

/**
 * demo_conf_make() - Make topology and configuration
 * @hosts:	number of hosts, 2 .. DEMO_HOSTS_MAX; 0: one for each connected CA of @topology, or
 *		4 hosts if @topology is NULL
 * @topology:	topology file; NULL: a ring of 3 switches, or of more switches if there are more than 12
 *		hosts
 *
 * Return: 0; -EINVAL and others with @err
 */
int demo_conf_make(struct demo_conf *d, unsigned int hosts, const char *topology, char *err,
		   size_t err_len);

/* demo_conf_capture() - Set up a capture of the fabric, written to @path. Return: 0 or -ENOMEM */
int demo_conf_capture(struct demo_conf *d, const char *path);

/*
 * demo_conf_print() - Print a shell script that writes demo.topo and demo.conf. Return: 0 or -errno
 */
int demo_conf_print(const struct demo_conf *d, FILE *f);

void demo_conf_free(struct demo_conf *d);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_DEMO_CONF_H
#define DAEMON_DEMO_CONF_H

/* The demo's fabric and interfaces: a topology, and a configuration as a file would say it. */

#include <netinet/in.h>
#include <stdio.h>

#include "daemon/conf.h"
#include "fabric/topo.h"

#define DEMO_HOSTS_MAX 200

struct demo_conf {
	struct topo *topo;
	struct conf conf;
	char *text; /* the configuration file */
	unsigned int hosts, switches, links, mtu;
	struct {
		struct in_addr ip4;
		struct in6_addr ip6;
	} * host;
};

/**
 * demo_conf_make() - Make both
 * @hosts:	2 .. DEMO_HOSTS_MAX; 0: 4, or all CAs of the file
 * @topology:	file, or NULL: 3 switches in a ring for up to 12 hosts, more for more
 *
 * Return: 0; -EINVAL and others with @err
 */
int demo_conf_make(struct demo_conf *d, unsigned int hosts, const char *topology, char *err,
		   size_t err_len);

/* demo_conf_capture() - Have the fabric captured to @path. 0 or -ENOMEM */
int demo_conf_capture(struct demo_conf *d, const char *path);

/* demo_conf_print() - As a shell script that writes demo.topo and demo.conf. 0 or -errno */
int demo_conf_print(const struct demo_conf *d, FILE *f);

void demo_conf_free(struct demo_conf *d);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_CONF_H
#define DAEMON_CONF_H

/*
 * The configuration file: an INI file of named sections ([fabric NAME], [udp-link NAME],
 * [interface NAME] or [interface NAME@HOST]). Parsing is separate from acting on it; a file is
 * taken whole or refused with "file:line: [section] key: ... expected ...".
 */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/endpoint.h"

#define CONF_NAME_MAX 64 /* fabrics, nodes, hosts, with the NUL */
#define CONF_ERR_MAX 512
#define CONF_ADDRS_MAX 16
#define CONF_STATIONS_MAX 64
#define CONF_STATIONS_DEFAULT 32
#define CONF_MKEY_PROTECT_DEFAULT 1 /* who may not Set may not read the key either */
#define CONF_MKEY_LEASE_MIN \
	10 /* the SM hears of a lease that runs within some seconds, and renews it */

enum conf_crc { CONF_CRC_FULL, CONF_CRC_ICRC, CONF_CRC_OFF };

struct conf_mkey {
	uint64_t key; /* 0: none */
	uint8_t protect;
	uint16_t lease; /* seconds; 0: for ever */
};

struct conf_fabric {
	char name[CONF_NAME_MAX];
	char *topology; /* path, relative ones resolved against the file's folder */
	char *partitions; /* path or NULL */
	char *capture; /* path, "-" or NULL */
	bool sm_embedded;
	char sm_node[CONF_NAME_MAX]; /* empty: the default place */
	uint8_t sm_port;
	bool sm_key_given;
	uint64_t sm_key; /* 0: the SA trusts nobody */
	struct conf_mkey mkey;
	bool mkey_detail; /* its protection or lease were given */
	enum conf_crc crc;
	unsigned int mtu; /* MTUCap of all ports, octets; 0: 4096 */
	char ibsim[CONF_NAME_MAX]; /* IBSIM_SOCKNAME of its clients; empty: not served */
	unsigned int line;
};

struct conf_addr {
	uint8_t family; /* 4 or 6 */
	uint8_t prefix_len;
	uint8_t octets[16]; /* network order, 4 or 16 */
};

/* fabric:NAME/NODE/PORT, or udp:ADDR:PORT,guid=0x...[,listen=ADDR:PORT] */
struct conf_port {
	char fabric[CONF_NAME_MAX]; /* UDP: "udp:ADDR:PORT", which no [fabric] can be called */
	char node[CONF_NAME_MAX]; /* UDP: CONF_UDP_NODE */
	uint8_t port;
	bool udp; /* the port of a CA of its own, whose link runs over UDP */
	uint64_t guid; /* UDP: of the CA and its port */
	struct ip_endpoint peer,
		listen; /* UDP; listen.family 0: an address of the same kind, any port */
};

#define CONF_UDP_NODE "Hca1"

struct conf_udp_link {
	char name[CONF_NAME_MAX];
	struct conf_port port; /* of a fabric */
	struct ip_endpoint listen, peer; /* peer.family 0: learnt */
	unsigned int line;
};

struct conf_iface {
	char name[IFNAMSIZ];
	char host[CONF_NAME_MAX]; /* empty: the caller's own host */
	struct conf_port port;
	uint16_t pkey;
	char profile[16];
	char *netns; /* a name, a path, pid:N, or NULL: the host's anonymous one */
	struct conf_addr addr[CONF_ADDRS_MAX];
	unsigned int naddrs;
	bool dhcp_raw;
	unsigned int stations; /* behind the TAP, at most */
	uint32_t qpn; /* 0: by port GUID, P_Key and name */
	unsigned int mtu; /* 0: the link's */
	unsigned int line;
};

struct conf {
	struct conf_fabric *fabric;
	size_t nfabrics;
	struct conf_iface *iface;
	size_t nifaces;
	struct conf_udp_link *udp;
	size_t nudps;
};

/**
 * conf_parse() - Parse a configuration held in memory
 * @ret:	written only on success; free with conf_free()
 * @text:	the file's content, @len octets
 * @file:	its path: for messages, and its folder for relative paths
 * @err:	on failure one line without '\n'
 *
 * Return: 0; -EINVAL (@err says where and why); -ENOMEM
 */
int conf_parse(struct conf *ret, const char *text, size_t len, const char *file,
	       char err[CONF_ERR_MAX]);

/* conf_load() - The same from a file; also the negative errno of opening or reading it */
int conf_load(struct conf *ret, const char *file, char err[CONF_ERR_MAX]);

void conf_free(struct conf *c);

/* Parsers of values, shared with the command line. All return 0 or -EINVAL. */
int conf_parse_port(struct conf_port *ret, const char *s, char err[CONF_ERR_MAX]);
int conf_parse_addr(struct conf_addr *ret, const char *s);
/* conf_parse_endpoint() - ADDR:PORT, [ADDR]:PORT for IPv6; the port is 1-65535 */
int conf_parse_endpoint(struct ip_endpoint *ret, const char *s);
/* conf_print_endpoint() - The same as text; returns @buf. "" if @e is none */
#define CONF_ENDPOINT_MAX 56
char *conf_print_endpoint(const struct ip_endpoint *e, char buf[CONF_ENDPOINT_MAX]);
int conf_parse_uint(unsigned long *ret, const char *s, unsigned long min, unsigned long max);

#endif

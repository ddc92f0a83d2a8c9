/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONF_CONF_H
#define CONF_CONF_H

/*
 * The configuration file: an INI file of named sections ([fabric NAME], [udp-link NAME], [interface NAME] or
 * [interface NAME@HOST]). The parser does not act on the configuration. It accepts the whole file, or refuses it with
 * "file:line: [section] key: ... expected ...".
 */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipoib/profile.h"
#include "util/endpoint.h"

#define CONF_NAME_MAX 64 /* octets of the name of a fabric, node or host, with the NUL */
#define CONF_ERR_MAX 512
#define CONF_ADDRS_MAX 16
#define CONF_PKEYS_MAX 64
#define CONF_DEVICES_MAX 128
#define CONF_DEVICES_DEFAULT 8
#define CONF_STATIONS_MAX 64
#define CONF_NEIGHBOURS_MAX \
	65536 /* more than a subnet has ports; the lists of neighbours and paths that commands print get as long */
#define CONF_STATIONS_DEFAULT 32
/* level 1: without the M_Key, Set is refused and Get does not show the key */
#define CONF_MKEY_PROTECT_DEFAULT 1
/* the number of unicast LIDs, so no subnet can have more nodes */
#define CONF_OUTSIDE_NODES_MAX 49151
/* in seconds; the SM needs some seconds to notice that a lease is about to end and to renew it */
#define CONF_MKEY_LEASE_MIN 10

/* CONF_CRC_OFF has the same effect as CONF_CRC_LAZY. */
enum conf_crc { CONF_CRC_LAZY, CONF_CRC_FULL, CONF_CRC_ICRC, CONF_CRC_OFF };

struct conf_mkey {
	uint64_t key; /* M_Key; 0: none */
	uint8_t protect;
	uint16_t lease; /* M_Key lease period in seconds; 0: no end */
};

struct conf_fabric {
	char name[CONF_NAME_MAX];
	char *topology; /* path of the topology file; the parser has resolved a relative path */
	char *partitions; /* path of the partition file, or NULL */
	/* path of the file for a capture of all packets; "-": standard output; NULL: no capture */
	char *capture;
	bool sm_embedded;
	/* node of the embedded SM; empty: the first switch, or the first CA if there is no switch */
	char sm_node[CONF_NAME_MAX];
	uint8_t sm_port;
	uint8_t sm_priority; /* priority of the embedded SM in the election of a master, 0-15 */
	bool sm_key_given;
	/* SM_Key by which the SA knows trusted requests; 0: the SA trusts no request */
	uint64_t sm_key;
	/* routing engine of the SM, route/route.h; NULL: the default */
	const struct sm_engine *routing;
	/* true: a partial sweep suffices when a cable between switches changes */
	bool partial_sweeps;
	uint8_t lmc; /* LMC that the embedded SM sets at ports of CAs, 0-7 */
	uint32_t outside_nodes; /* largest number of nodes behind one UDP link; 0: the default */
	struct conf_mkey mkey;
	/*
	 * true if m-key-protect or m-key-lease was given; these two keys are refused without m-key
	 */
	bool mkey_detail;
	/* true if the node of the embedded SM answers SIDR requests for multicast groups */
	bool sidr_server;
	uint64_t sidr_service; /* ServiceID of this server */
	enum conf_crc crc;
	unsigned int mtu; /* MTUCap of all ports in octets; 0: 4096 */
	/* name that clients of ibsim put into IBSIM_SOCKNAME; empty: ibsim's protocol is not served */
	char ibsim[CONF_NAME_MAX];
	unsigned int line;
};

struct conf_addr {
	uint8_t family; /* 4 or 6 */
	uint8_t prefix_len;
	uint8_t octets[16]; /* address in network order; 4 or 16 octets are used */
	/* P_Key of the interface that has the address, without regard to bit 15; 0: not given */
	uint16_t pkey;
};

/* fabric:NAME/NODE/PORT, verbs:DEVICE/PORT, or udp:ADDR:PORT,guid=0x...[,listen=ADDR:PORT] */
struct conf_port {
	/*
	 * name of the fabric. It is "udp:ADDR:PORT" for a UDP port and "verbs:" for a port of
	 * hardware; neither can be the name of a section [fabric NAME]
	 */
	char fabric[CONF_NAME_MAX];
	/* name of the node; for a UDP port CONF_UDP_NODE, for a port of hardware the name of the RDMA device */
	char node[CONF_NAME_MAX];
	uint8_t port;
	bool verbs; /* true for a port of a kernel RDMA device, used through libibverbs */
	bool udp; /* true if the interface has its own CA, whose link runs over UDP */
	uint64_t guid; /* UDP: node GUID and port GUID of that CA */
	/* both ends of the UDP link; if listen.family is 0, any free UDP port is used */
	struct ip_endpoint peer, listen;
};

#define CONF_UDP_NODE "Hca1"

struct conf_udp_link {
	char name[CONF_NAME_MAX];
	struct conf_port port; /* port of a switch in a fabric */
	struct ip_endpoint listen, peer; /* peer.family 0: the first sender becomes the peer */
	unsigned int line;
};

/* Tells whether an interface belongs to a multicast router */
enum conf_router {
	CONF_ROUTER_AUTO, /* yes while the host's kernel routes multicast from or to the interface */
	CONF_ROUTER_NO,
	CONF_ROUTER_YES,
};

/* Kind of the network device */
enum conf_netdev {
	CONF_NETDEV_TAP, /* an Ethernet device of /dev/net/tun */
	CONF_NETDEV_IBTAP, /* a device of type 32, with addresses of 20 octets, of /dev/ibtap */
};

/* Source of the interface identifiers of IPv6 addresses */
enum conf_iid {
	CONF_IID_EUI64, /* identifiers made of the port GUID, as the profile defines */
	CONF_IID_STABLE, /* stable opaque identifiers that are computed from a secret, RFC 7217 */
	CONF_IID_LID, /* the port's LID */
};

#define CONF_SECRET_LEN 16
#define CONF_DEBUG_DEFAULT 4

struct conf_iface {
	char name[IFNAMSIZ];
	char host[CONF_NAME_MAX]; /* name of the host; empty: the network namespace of the caller */
	struct conf_port port;
	uint16_t pkey;
	bool pkey_given;
	/*
	 * For a profile that names interfaces by P_Key: the P_Keys that get an interface (.pkey is
	 * not used). If no P_Key is given, all P_Keys of the port get an interface
	 */
	uint16_t pkeys[CONF_PKEYS_MAX];
	unsigned int npkeys;
	/* for a profile that names interfaces by P_Key: the largest number of network devices */
	unsigned int devices;
	bool devices_given;
	const struct ipoib_profile *profile; /* row of the table in ipoib/profile.c */
	/*
	 * Network namespace, by name, path or pid:N. NULL: if .host is set, an anonymous namespace
	 * for that host, otherwise the namespace of the caller
	 */
	char *netns;
	enum conf_netdev netdev;
	struct conf_addr addr[CONF_ADDRS_MAX];
	unsigned int naddrs;
	bool dhcp_raw;
	unsigned int stations; /* largest number of stations (other MAC addresses) behind the TAP */
	unsigned int neighbours; /* largest number of neighbours in the table of the link */
	/*
	 * QPN of the interface; 0: the QPN is computed from port GUID, P_Key and name, so it is the same after a
	 * restart
	 */
	uint32_t qpn;
	/*
	 * whether the interface receives all multicast groups of its link, as a multicast router
	 * does
	 */
	enum conf_router router;
	unsigned int mtu; /* MTU of the interface; 0: MTU of the IPoIB link */
	unsigned int tx_queue_len; /* frames that the kernel may queue for the TAP */
	/* limit of packets in the send queue; the TAP is read while the queue has fewer packets */
	unsigned int sq_depth;
	/* if no packet leaves the full send queue for this time (ms), the transmit watchdog acts */
	unsigned int tx_timeout;
	unsigned int rq_depth; /* packets in the receive ring of the interface's queue pair */
	unsigned int mcast_timeout; /* ms to wait for an answer to each try of a join */
	unsigned int mcast_retries; /* number of tries of a join after the first one */
	unsigned int path_timeout; /* ms to wait for an answer to each try of a path query */
	/* enum log_level up to which the interface logs; CONF_DEBUG_DEFAULT: the level of the instance */
	unsigned int debug;
	enum conf_iid iid;
	/*
	 * true if the configuration has a secret; false: the secret is computed from the machine's
	 * identifier
	 */
	bool secret_given;
	uint8_t secret[CONF_SECRET_LEN]; /* secret of stable interface identifiers */
	/* scope of the link's multicast groups; 0: the scope that the profile gives */
	uint8_t scope;
	uint16_t subnet; /* IP subnet number that the MGIDs contain; 0: none */
	enum ipoib_sl_from sl_from; /* source of the SL of unicast packets */
	uint8_t sl; /* the SL, if it is fixed */
	/*
	 * true if the interface is a SIDR server, which tells other nodes the group of its
	 * partition
	 */
	bool sidr_server;
	uint64_t sidr_service; /* ServiceID of SIDR requests that are sent or answered */
	unsigned int line;
};

/* conf_netns() - Return the value of the key netns of an interface; "" if the key is missing */
static inline const char *conf_netns(const struct conf_iface *f)
{
	return f->netns ? f->netns : "";
}

/* A key of a section and its value, as they are in the file. Settings of the command line are not stored here. */
struct conf_setting {
	unsigned int section; /* line in which the section begins: .line of the section's struct */
	unsigned int line;
	char *key, *value;
};

struct conf {
	/* path of the file, for messages; NULL if the configuration was not read from a file */
	char *file;
	struct conf_fabric *fabric;
	size_t nfabrics;
	struct conf_iface *iface;
	size_t nifaces;
	struct conf_udp_link *udp;
	size_t nudps;
	struct conf_setting *setting; /* in the order of the file */
	size_t nsettings;
};

/**
 * conf_parse() - Parse a configuration held in memory
 * @ret:	written only on success; free with conf_free()
 * @text:	the file's content, @len octets
 * @file:	path of the file, for messages; relative paths in the file begin at its folder
 * @err:	on failure one line without '\n'
 *
 * Return: 0; -EINVAL (@err says where and why); -ENOMEM
 */
int conf_parse(struct conf *ret, const char *text, size_t len, const char *file,
	       char err[CONF_ERR_MAX]);

/* conf_load() - Read a file and parse it. Return: as conf_parse(), or -errno of opening or reading the file */
int conf_load(struct conf *ret, const char *file, char err[CONF_ERR_MAX]);

/* Settings of the command line, SECTION[:NAME].KEY=VALUE, which replace the settings of the file: uipoib(8) */
#define CONF_OVERRIDES_MAX 64
struct conf_overrides {
	const char *text[CONF_OVERRIDES_MAX];
	unsigned int n;
};

/*
 * conf_load_with() - Read a file by conf_load(), with settings that replace those of the file
 *
 * A setting without a NAME is for all sections of its kind. Return: as conf_load(); -EINVAL also
 * for an invalid setting. For such a setting, @err begins with "-o SECTION[:NAME].KEY: " in place
 * of the file and the line
 */
int conf_load_with(struct conf *ret, const char *file, const struct conf_overrides *over,
		   char err[CONF_ERR_MAX]);

/*
 * conf_parse_with() - Parse as conf_parse() does, with settings of the command line; @over may be
 * NULL
 */
int conf_parse_with(struct conf *ret, const char *text, size_t len, const char *file,
		    const struct conf_overrides *over, char err[CONF_ERR_MAX]);

void conf_free(struct conf *c);
/* conf_drop_iface() - Remove the interface number @nth from a configuration; pointers to interfaces are no longer valid */
void conf_drop_iface(struct conf *c, size_t nth);

/*
 * conf_blame() - Prefix a message with the place of the configuration to which it belongs:
 * "file:line: [section] "
 * @status:	if it is 0, or if the configuration was not read from a file, @err is not changed
 * @err:	the message, in @size octets
 *
 * Return: @status
 */
int conf_blame(const struct conf *c, unsigned int line, const char *section, int status, char *err,
	       size_t size);

/* Parsers of values, shared with the command line. All return 0 or -EINVAL. */
int conf_parse_port(struct conf_port *ret, const char *s, char err[CONF_ERR_MAX]);
int conf_parse_addr(struct conf_addr *ret, const char *s);
/* conf_parse_endpoint() - Parse ADDR:PORT, or [ADDR]:PORT for IPv6, with a port of 1-65535 */
int conf_parse_endpoint(struct ip_endpoint *ret, const char *s);
/* conf_print_endpoint() - Write @e as conf_parse_endpoint() reads it, or "" if @e has no family; returns @buf */
#define CONF_ENDPOINT_MAX 56
char *conf_print_endpoint(const struct ip_endpoint *e, char buf[CONF_ENDPOINT_MAX]);
int conf_parse_uint(unsigned long *ret, const char *s, unsigned long min, unsigned long max);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/trace.h"
#include "netdev/rtnl.h"

#define ANSWER_MS 2000 /* time for which a host waits for an answer, as with ping -W2 */
/*
 * time for which the host stays in the group. The instance may miss the host's report, but it also
 * reads the groups of the host every 2 s (inst/iface_groups.c). So the host stays for
 * longer than that
 */
#define JOIN_MS 2500

/* The addresses of a trace, as struct sockaddr and as text */
struct ends {
	const char *ifname; /* interface where the trace begins */
	char address[INET6_ADDRSTRLEN]; /* address of the other end */
	int family; /* AF_INET or AF_INET6 */
	bool group;
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} to;
	socklen_t to_len;
};

/* Fill @e in from the first row of the trace. The instance has printed the address, so the address can be parsed. */
static void ends_of(struct ends *e, const json_t *start, int port)
{
	const char *text =
		json_string_value(json_object_get(json_object_get(start, "to"), "address"));

	memset(e, 0, sizeof(*e));
	e->ifname = json_string_value(json_object_get(json_object_get(start, "from"), "ifname"));
	snprintf(e->address, sizeof(e->address), "%s", text);
	if (inet_pton(AF_INET, text, &e->to.in.sin_addr) == 1) {
		e->family = e->to.in.sin_family = AF_INET;
		e->to.in.sin_port = htons((uint16_t)port);
		e->to_len = sizeof(e->to.in);
		e->group = IN_MULTICAST(ntohl(e->to.in.sin_addr.s_addr));
		return;
	}
	e->family = e->to.in6.sin6_family = AF_INET6;
	inet_pton(AF_INET6, text, &e->to.in6.sin6_addr);
	e->to.in6.sin6_port = htons((uint16_t)port);
	e->to_len = sizeof(e->to.in6);
	e->group = IN6_IS_ADDR_MULTICAST(&e->to.in6.sin6_addr);
	if (e->group || IN6_IS_ADDR_LINKLOCAL(&e->to.in6.sin6_addr))
		e->to.in6.sin6_scope_id = if_nametoindex(e->ifname);
}

static int failed(const char *what)
{
	cli_error(0, "trace: %s: %s", what, strerror(errno));
	return TRACE_NO_PROBE;
}

/* --- ping */

static int run_ping(const json_t *start, int port)
{
	struct ends e;
	char target[INET6_ADDRSTRLEN + IFNAMSIZ + 1];

	(void)port;
	ends_of(&e, start, 0);
	snprintf(target, sizeof(target), "%s%s%s", e.address,
		 e.family == AF_INET6 && e.to.in6.sin6_scope_id ? "%" : "",
		 e.family == AF_INET6 && e.to.in6.sin6_scope_id ? e.ifname : "");
	if (e.group)
		execlp("ping", "ping", "-n", "-c1", "-W2", "-I", e.ifname, target, (char *)NULL);
	else
		execlp("ping", "ping", "-n", "-c1", "-W2", target, (char *)NULL);
	return failed("ping");
}

static void ping_summary(char *text, bool answered)
{
	char *time = strstr(text, "time=");
	char rtt[64] = "";

	if (time)
		snprintf(rtt, sizeof(rtt), ", %.*s", (int)strcspn(time, "\n"), time);
	snprintf(text, TRACE_TEXT_MAX, "%s%s", answered ? "answered" : "no answer",
		 answered ? rtt : "");
}

/* --- TCP and UDP */

/* Returns a socket that sends multicast by the interface where the trace begins, or -1. */
static int open_socket(const struct ends *e, int type)
{
	int s = socket(e->family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ip_mreqn by = { .imr_ifindex = (int)if_nametoindex(e->ifname) };

	if (s >= 0 && e->group && e->family == AF_INET &&
	    setsockopt(s, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof(by))) {
		close(s);
		return -1;
	}
	return s;
}

/*
 * Waits for @events; returns the socket's error afterwards, or ETIMEDOUT if none of the events
 * came.
 */
static int await(int s, short events)
{
	struct pollfd p = { .fd = s, .events = events };
	int err = 0;
	socklen_t len = sizeof(err);

	if (poll(&p, 1, ANSWER_MS) <= 0)
		return ETIMEDOUT;
	return getsockopt(s, SOL_SOCKET, SO_ERROR, &err, &len) ? errno : err;
}

static int say_refused(const char *proto, int port, int err)
{
	if (err == ECONNREFUSED)
		printf("refused: nobody listens at %s port %d there", proto, port);
	else if (err == ETIMEDOUT)
		printf("no answer within %d s", ANSWER_MS / 1000);
	else
		printf("no answer: %s", strerror(err));
	return 1;
}

static int run_tcp(const json_t *start, int port)
{
	struct ends e;
	int s, err = 0;

	ends_of(&e, start, port);
	s = open_socket(&e, SOCK_STREAM);
	if (s < 0)
		return failed("socket");
	if (connect(s, &e.to.sa, e.to_len))
		err = errno == EINPROGRESS ? await(s, POLLOUT) : errno;
	close(s);
	if (err)
		return say_refused("TCP", port, err);
	printf("connected");
	return 0;
}

static int run_udp(const json_t *start, int port)
{
	static const char text[] = "uipoib trace\n";
	struct ends e;
	int s, err;

	ends_of(&e, start, port);
	s = open_socket(&e, SOCK_DGRAM);
	if (s < 0)
		return failed("socket");
	err = connect(s, &e.to.sa, e.to_len) || send(s, text, sizeof(text) - 1, 0) < 0 ? errno : 0;
	if (!err && e.group) {
		printf("sent to the group, whose members need not answer");
		return 0;
	}
	if (!err)
		err = await(s, POLLIN);
	close(s);
	if (err)
		return say_refused("UDP", port, err);
	printf("answered");
	return 0;
}

/* --- the link-layer address and the path */

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static void say_resolved(const struct ends *e, const struct rtnl_neigh *n)
{
	printf("%s is at ", e->address);
	for (unsigned int i = 0; i < n->hw_len; i++)
		printf("%s%02x", i ? ":" : "", n->hw[i]);
	printf(" for the kernel");
}

/* Make the kernel delete the neighbour entry of the address and resolve the address again. */
static int resolve(struct rtnl *nl, int ifindex, const struct ends *e, const struct rtnl_ip *ip)
{
	struct rtnl_neigh n;

	rtnl_neigh_del(nl, ifindex, ip);
	if (rtnl_neigh_use(nl, ifindex, ip))
		return failed("resolving the address");
	for (int left = ANSWER_MS; left > 0; left -= 20) {
		if (!rtnl_neigh_get(nl, ifindex, ip, &n) && rtnl_neigh_resolved(&n)) {
			say_resolved(e, &n);
			return 0;
		}
		pause_ms(20);
	}
	return say_refused(NULL, 0, ETIMEDOUT);
}

static int run_arp(const json_t *start, int port)
{
	struct ends e;
	struct rtnl_ip ip;
	struct rtnl nl;
	int status;

	(void)port;
	ends_of(&e, start, 0);
	ip.family = e.family == AF_INET ? RTNL_V4 : RTNL_V6;
	if (e.family == AF_INET)
		memcpy(ip.addr, &e.to.in.sin_addr, sizeof(e.to.in.sin_addr));
	else
		memcpy(ip.addr, &e.to.in6.sin6_addr, sizeof(e.to.in6.sin6_addr));
	if (rtnl_open(&nl))
		return failed("rtnetlink");
	status = resolve(&nl, (int)if_nametoindex(e.ifname), &e, &ip);
	rtnl_close(&nl);
	return status;
}

static int run_path(const json_t *start, int port)
{
	struct ends e;
	char *dev = cli_text(json_object_get(start, "from"), "@dev");
	char get[] = "get", word[] = "dev";
	char *argv[] = { get, e.address, word, dev, NULL };

	(void)port;
	ends_of(&e, start, 0);
	cli_opts.json = false;
	return cli_path_get(4, argv) ? 1 : 0;
}

/* --- a group */

static int join(const struct ends *e, int s)
{
	struct ip_mreqn v4 = { .imr_ifindex = (int)if_nametoindex(e->ifname) };
	struct ipv6_mreq v6 = { .ipv6mr_interface = if_nametoindex(e->ifname) };

	if (e->family == AF_INET) {
		v4.imr_multiaddr = e->to.in.sin_addr;
		return setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &v4, sizeof(v4));
	}
	v6.ipv6mr_multiaddr = e->to.in6.sin6_addr;
	return setsockopt(s, IPPROTO_IPV6, IPV6_JOIN_GROUP, &v6, sizeof(v6));
}

/*
 * Join the group for JOIN_MS. The host stays a member for longer if another program of the host has
 * joined the group.
 */
static int run_join(const json_t *start, int port)
{
	struct ends e;
	int s;

	(void)port;
	ends_of(&e, start, 0);
	s = socket(e.family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		return failed("socket");
	if (join(&e, s))
		return failed("joining the group");
	pause_ms(JOIN_MS);
	printf("the host was a member for %g s", JOIN_MS / 1000.0);
	return 0;
}

const struct trace_probe *trace_probe_of(const char *name)
{
	static const struct trace_probe all[] = {
		{ "ping", false, "pings", run_ping, .summary = ping_summary },
		{ "tcp", true, "connects to TCP port % at", run_tcp },
		{ "udp", true, "sends a datagram to UDP port % at", run_udp },
		{ "arp", false, "asks for the link-layer address of", run_arp },
		{ "path", false, "asks for the path to", run_path, .outside = true },
		{ "join", false, "joins", run_join },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	return NULL;
}

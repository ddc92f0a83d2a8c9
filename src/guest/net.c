/* SPDX-License-Identifier: BSD-2-Clause */
#include "guest/guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vm/guest.h"

#define IB "ib0"
#define PORT_STATE "/sys/class/infiniband/uib0/ports/1/state"
#define TICK_MS 10

static const char *address[VM_ADDRS_MAX];
static unsigned int naddresses;

/* --- interfaces */

int net_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fatal("socket: %m");
	return fd;
}

int net_set_up(const char *ifname)
{
	struct ifreq r = { 0 };
	int fd = net_socket(), status = 0;

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", ifname);
	if (ioctl(fd, SIOCGIFFLAGS, &r) < 0) {
		status = -errno;
	} else {
		r.ifr_flags |= IFF_UP;
		if (ioctl(fd, SIOCSIFFLAGS, &r) < 0)
			status = -errno;
	}
	close(fd);
	return status;
}

void net_put_attr(struct net_request *m, unsigned short type, const void *data, size_t len)
{
	struct rtattr *a = (struct rtattr *)((uint8_t *)m + m->h.nlmsg_len);

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	memcpy(RTA_DATA(a), data, len);
	m->h.nlmsg_len += RTA_ALIGN(a->rta_len);
}

int net_ask(const struct net_request *m)
{
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
		uint8_t rest[512];
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), status = 0;

	if (fd < 0 || send(fd, m, m->h.nlmsg_len, 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) < (ssize_t)(sizeof(answer.h) + sizeof(int)))
		status = -errno;
	else if (answer.h.nlmsg_type == NLMSG_ERROR)
		status = answer.e.error;
	if (fd >= 0)
		close(fd);
	return status;
}

int net_add_address(const char *ifname, const char *text)
{
	struct net_request m = {
		.h = { .nlmsg_len = NLMSG_LENGTH(sizeof(m.addr)),
		       .nlmsg_type = RTM_NEWADDR,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE },
		.addr = { .ifa_family = strchr(text, ':') ? AF_INET6 : AF_INET,
			  .ifa_index = if_nametoindex(ifname) },
	};
	char ip[INET6_ADDRSTRLEN] = "";
	const char *slash = strchr(text, '/');
	uint8_t octets[16];
	size_t len = m.addr.ifa_family == AF_INET ? 4 : 16;

	if (!slash || (size_t)(slash - text) >= sizeof(ip))
		return -EINVAL;
	memcpy(ip, text, (size_t)(slash - text));
	if (inet_pton(m.addr.ifa_family, ip, octets) != 1)
		return -EINVAL;
	m.addr.ifa_prefixlen = (uint8_t)atoi(slash + 1);
	net_put_attr(&m, IFA_LOCAL, octets, len);
	net_put_attr(&m, IFA_ADDRESS, octets, len);
	if (len == 4 && m.addr.ifa_prefixlen < 31) {
		uint32_t all = htonl(0xffffffffu >> m.addr.ifa_prefixlen);

		for (size_t i = 0; i < len; i++)
			octets[i] |= ((uint8_t *)&all)[i];
		net_put_attr(&m, IFA_BROADCAST, octets, len);
	}
	return net_ask(&m);
}

/* --- ib0 */

void net_address(const char *text)
{
	if (naddresses == VM_ADDRS_MAX)
		fatal("address %s: more than %d", text, VM_ADDRS_MAX);
	address[naddresses++] = text;
}

/*
 * Text about the condition for which ib0 still waits; NULL: ib0 is up. ib_ipoib raises the carrier
 * when it has joined the broadcast group.
 */
static const char *waits_for(void)
{
	static char why[128];
	char text[64];

	if (read_file("/sys/class/net/" IB "/carrier", text, sizeof(text))[0] == '1')
		return NULL;
	read_file(PORT_STATE, text, sizeof(text));
	if (!strstr(text, "ACTIVE"))
		snprintf(why, sizeof(why), "the port of uib0 is %s",
			 *text ? text + strcspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") : "absent");
	else
		snprintf(why, sizeof(why), IB " joins the broadcast group");
	return why;
}

void net_up(unsigned int seconds)
{
	char said[128] = "";
	const char *why;
	int status = 0;

	for (unsigned int ms = 0; (status = net_set_up(IB)) == -ENODEV && ms < 5000; ms += TICK_MS)
		pause_ms(TICK_MS);
	for (unsigned int i = 0; !status && i < naddresses; i++) {
		status = net_add_address(IB, address[i]);
		if (status)
			fatal("address %s: %s", address[i], strerror(-status));
	}
	if (status)
		fatal(IB ": %s", strerror(-status));
	for (unsigned int ms = 0; seconds && (why = waits_for()); ms += TICK_MS) {
		if (strcmp(why, said)) {
			snprintf(said, sizeof(said), "%s", why);
			chan_send(FRAME_STATE, why, strlen(why));
		}
		if (ms >= seconds * 1000)
			fatal(IB " is not up after %u s: %s", seconds, why);
		pause_ms(TICK_MS);
	}
}

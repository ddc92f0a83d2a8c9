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

#define TICK_MS 10

static struct {
	char ifname[IFNAMSIZ];
	const char *text;
} address[VM_ADDRS_MAX];
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

/* --- the interfaces of ib_ipoib: ibN is the interface of the HCA uibN */

void net_address(char *text)
{
	char *comma = strchr(text, ',');

	if (naddresses == VM_ADDRS_MAX || !comma)
		fatal("address %s: %s", text, comma ? "one too many" : "expected N,A/LEN");
	snprintf(address[naddresses].ifname, IFNAMSIZ, "ib%u", (unsigned int)atoi(text));
	address[naddresses++].text = comma + 1;
}

/*
 * Return a text that says what an interface still waits for; NULL: the interface can send. ib_ipoib
 * raises the carrier when it has joined the broadcast group.
 */
static const char *waits_for(unsigned int hca)
{
	static char why[128];
	char text[64], path[64];

	snprintf(path, sizeof(path), "/sys/class/net/ib%u/carrier", hca);
	if (read_file(path, text, sizeof(text))[0] == '1')
		return NULL;
	snprintf(path, sizeof(path), "/sys/class/infiniband/uib%u/ports/1/state", hca);
	read_file(path, text, sizeof(text));
	if (!strstr(text, "ACTIVE"))
		snprintf(why, sizeof(why), "the port of uib%u is %s", hca,
			 *text ? text + strcspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") : "absent");
	else
		snprintf(why, sizeof(why), "ib%u joins the broadcast group", hca);
	return why;
}

static void set_ib_up(const char *ifname)
{
	int status = 0;

	chan_sendf(FRAME_STATE, "the VM waits for %s", ifname);
	for (unsigned int ms = 0; (status = net_set_up(ifname)) == -ENODEV && ms < 5000;
	     ms += TICK_MS)
		pause_ms(TICK_MS);
	if (status == -ENODEV)
		fatal("%s is absent: ib_ipoib made no interface for the HCA, and the kernel's log "
		      "has the reason",
		      ifname);
	if (status)
		fatal("%s: %s", ifname, strerror(-status));
}

static void set_addresses(void)
{
	for (unsigned int i = 0; i < naddresses; i++) {
		int status = net_add_address(address[i].ifname, address[i].text);

		if (status)
			fatal("address %s of %s: %s", address[i].text, address[i].ifname,
			      strerror(-status));
	}
}

/*
 * Waits until an interface can send. @ms: time in ms that the program has already waited for other
 * interfaces. Returns @ms plus the time of this wait. If the sum exceeds @until_ms, the VM ends.
 */
static unsigned int wait_up(unsigned int hca, unsigned int ms, unsigned int until_ms)
{
	char said[128] = "";
	const char *why;

	for (; (why = waits_for(hca)); ms += TICK_MS) {
		if (strcmp(why, said)) {
			snprintf(said, sizeof(said), "%s", why);
			chan_send(FRAME_STATE, why, strlen(why));
		}
		if (ms >= until_ms)
			fatal("ib%u is not up after %u s: %s", hca, until_ms / 1000, why);
		pause_ms(TICK_MS);
	}
	return ms;
}

void net_up(unsigned int hcas, unsigned int seconds)
{
	char ifname[IFNAMSIZ];
	unsigned int ms = 0;

	for (unsigned int i = 0; i < hcas; i++) {
		snprintf(ifname, sizeof(ifname), "ib%u", i);
		set_ib_up(ifname);
	}
	set_addresses();
	for (unsigned int i = 0; seconds && i < hcas; i++)
		ms = wait_up(i, ms, seconds * 1000);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "guest/guest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "vm/guest.h"
#include "vm/net.h"

/*
 * uib.ko has a link over UDP, whose datagrams pass through the VM's Ethernet interface. This
 * interface is in a network namespace of its own, which CMD does not see. So nothing that CMD does
 * to the addresses, routes, firewall or connection tracking of its own namespace can break the
 * link.
 */

#define ETH "eth0"
#define OWN_NS "/proc/self/ns/net"

/*
 * Descriptor of the namespace; -1: not open yet. While it is open, the namespace exists, even after
 * CMD has unmounted VM_CABLE.
 */
static int cable_fd = -1;

static int open_ns(void)
{
	int fd = open(OWN_NS, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fatal(OWN_NS ": %m");
	return fd;
}

static void enter_ns(int fd)
{
	if (setns(fd, CLONE_NEWNET) < 0)
		fatal("setns: %m");
}

/*
 * Moves the interface from the namespace of this process to the namespace @ns. In the new namespace, the interface is
 * down and has no address.
 */
static void move_to(int ns)
{
	struct net_request m = {
		.h = { .nlmsg_len = NLMSG_LENGTH(sizeof(m.link)),
		       .nlmsg_type = RTM_NEWLINK,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.link = { .ifi_family = AF_UNSPEC, .ifi_index = (int)if_nametoindex(ETH) },
	};
	int status;

	net_put_attr(&m, IFLA_NET_NS_FD, &ns, sizeof(ns));
	status = m.link.ifi_index ? net_ask(&m) : -ENODEV;
	if (status)
		fatal(ETH ": moving it to its namespace: %s", strerror(-status));
}

static void set_mtu(void)
{
	struct ifreq r = { .ifr_name = ETH, .ifr_mtu = VM_NET_MTU };
	int fd = net_socket();

	if (ioctl(fd, SIOCSIFMTU, &r) < 0)
		fatal(ETH ": MTU %d: %m", VM_NET_MTU);
	close(fd);
}

/*
 * Add a permanent entry for the address of `uipoib vm` to the neighbour table, because `uipoib vm`
 * does not answer ARP.
 */
static void set_neighbour(void)
{
	struct arpreq r = { .arp_flags = ATF_COM | ATF_PERM, .arp_dev = ETH };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = inet_addr(VM_NET_HOST) };
	int fd = net_socket();

	memcpy(&r.arp_pa, &to, sizeof(to));
	r.arp_ha.sa_family = ARPHRD_ETHER;
	memcpy(r.arp_ha.sa_data, VM_NET_HOST_MAC, 6);
	if (ioctl(fd, SIOCSARP, &r) < 0)
		fatal(ETH ": neighbour: %m");
	close(fd);
}

static void set_up_eth(void)
{
	char text[32];
	int status;

	write_file("/proc/sys/net/ipv6/conf/" ETH "/disable_ipv6", "1");
	set_mtu();
	status = net_set_up(ETH);
	snprintf(text, sizeof(text), "%s/%d", VM_NET_GUEST, VM_NET_PREFIX);
	if (!status)
		status = net_add_address(ETH, text);
	if (status)
		fatal(ETH ": %s", strerror(-status));
	set_neighbour();
}

void cable_init(void)
{
	int own = open_ns(), status = net_set_up("lo");

	if (status)
		fatal("lo: %s", strerror(-status));
	if (unshare(CLONE_NEWNET) < 0)
		fatal("a network namespace: %m");
	cable_fd = open_ns();
	enter_ns(own);
	move_to(cable_fd);
	enter_ns(cable_fd);
	set_up_eth();
	enter_ns(own);
	close(own);
}

void cable_add_hca(const char *line)
{
	size_t name = strcspn(line, " ");
	char text[256];
	int status;

	/*
	 * netns= applies to the socket only. The kernel makes ib0 in the namespace of this process.
	 */
	snprintf(text, sizeof(text), "%.*s netns=%d%s", (int)name, line, cable_fd, line + name);
	status = write_file("/sys/module/uib/parameters/add", text);
	if (status)
		fatal("uib: add '%s': %s", text, strerror(-status));
}

void cable_name(void)
{
	char from[32], dir[] = VM_CABLE;
	int fd;

	*strrchr(dir, '/') = '\0';
	make_dirs(dir);
	snprintf(from, sizeof(from), "/proc/self/fd/%d", cable_fd);
	fd = open(VM_CABLE, O_RDONLY | O_CREAT | O_CLOEXEC, 0444);
	if (fd < 0 || mount(from, VM_CABLE, NULL, MS_BIND, NULL) < 0)
		fatal(VM_CABLE ": %m");
	close(fd);
}

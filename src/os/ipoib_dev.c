/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/ipoib_dev.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/file.h"

#define ARPHRD_INFINIBAND_ 32
#define DATAGRAM_MTU_MAX 4092 /* 4096 less 4 octets of encapsulation */

static bool read_line(char *ret, size_t size, const char *name, const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", name, file);
	return file_read_line(ret, size, path);
}

/*
 * Return the number in a file, decimal or with 0x. Return 0 if the file cannot be read, for example
 * the file carrier of an interface that is down
 */
static unsigned long number(const char *name, const char *file)
{
	char line[32];

	return read_line(line, sizeof(line), name, file) ? strtoul(line, NULL, 0) : 0;
}

/*
 * Tell whether a network interface belongs to an HCA. In sysfs, the interface and the HCA each have
 * a symbolic link "device"; if they belong together, both links lead to the same device, for
 * example the PCI device of the HCA.
 */
static bool same_device(const char *name, const char *hca)
{
	char a[128], b[128], real_a[PATH_MAX], real_b[PATH_MAX];

	snprintf(a, sizeof(a), "/sys/class/net/%s/device", name);
	snprintf(b, sizeof(b), "/sys/class/infiniband/%s/device", hca);
	return realpath(a, real_a) && realpath(b, real_b) && !strcmp(real_a, real_b);
}

static bool is_parent_at(const char *name, const char *hca, unsigned long port)
{
	return number(name, "type") == ARPHRD_INFINIBAND_ && number(name, "dev_port") + 1 == port &&
	       same_device(name, hca);
}

/*
 * Tell whether an interface is at a port of an HCA. A child interface is a virtual device without a
 * link to the HCA, but its file iflink has the interface index of its parent.
 */
static bool is_at(const char *name, const char *hca, unsigned long port)
{
	unsigned long parent = number(name, "iflink");
	char parent_name[IF_NAMESIZE];

	if (is_parent_at(name, hca, port))
		return true;
	return parent != number(name, "ifindex") && number(name, "type") == ARPHRD_INFINIBAND_ &&
	       if_indextoname((unsigned int)parent, parent_name) &&
	       is_parent_at(parent_name, hca, port);
}

static void read_broadcast(uint8_t ret[IPOIB_DEV_HW], const char *name)
{
	char line[3 * IPOIB_DEV_HW + 4];
	const char *p = line;

	memset(ret, 0, IPOIB_DEV_HW);
	if (!read_line(line, sizeof(line), name, "broadcast") ||
	    strlen(line) != 3 * IPOIB_DEV_HW - 1)
		return;
	for (unsigned int i = 0; i < IPOIB_DEV_HW; i++, p += 3)
		ret[i] = (uint8_t)strtoul(p, NULL, 16);
}

/*
 * Return the P_Key of an interface. A child interface that was made by netlink has no file "pkey",
 * so its P_Key is taken from the MGID of its broadcast group (RFC 4391 §4).
 */
static uint16_t pkey_of(const char *name)
{
	uint8_t hw[IPOIB_DEV_HW];
	uint16_t pkey = (uint16_t)number(name, "pkey");

	if (pkey)
		return pkey;
	read_broadcast(hw, name);
	return (uint16_t)(hw[8] << 8 | hw[9]);
}

/*
 * Tell whether an interface is in connected mode. A child interface has no file "mode", but its MTU
 * shows the mode, because in datagram mode the MTU cannot exceed the MTU of an InfiniBand packet.
 */
static bool is_connected(const char *name)
{
	char mode[32];

	if (read_line(mode, sizeof(mode), name, "mode"))
		return !strcmp(mode, "connected");
	return number(name, "mtu") > DATAGRAM_MTU_MAX;
}

static void read_all(struct ipoib_dev *ret, const char *name)
{
	*ret = (struct ipoib_dev){
		.ifindex = (int)number(name, "ifindex"),
		.up = number(name, "flags") & IFF_UP,
		.carrier = number(name, "carrier") != 0,
		.connected = is_connected(name),
		.mtu = (unsigned int)number(name, "mtu"),
		.pkey = pkey_of(name),
	};
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	read_broadcast(ret->broadcast, name);
}

/*
 * Tell whether the name of an interface is a better choice than @best: shorter, or of equal length
 * and first in the alphabet. @best is "" if there is no choice yet.
 */
static bool better(const char *name, const char *best)
{
	if (!*best || strlen(name) != strlen(best))
		return !*best || strlen(name) < strlen(best);
	return strcmp(name, best) < 0;
}

int ipoib_dev_find(const char *port, const char *name, uint16_t pkey, struct ipoib_dev *ret)
{
	char hca[64], best[sizeof(ret->name)] = "";
	const char *slash = strrchr(port, '/');
	unsigned long num = slash ? strtoul(slash + 1, NULL, 10) : 0;
	struct dirent *e;
	DIR *d = opendir("/sys/class/net");

	snprintf(hca, sizeof(hca), "%.*s", (int)(slash ? slash - port : 0), port);
	while (d && (e = readdir(d))) {
		const char *n = e->d_name;

		if (n[0] == '.' || strlen(n) >= sizeof(best) || (name && strcmp(n, name)) ||
		    !is_at(n, hca, num))
			continue;
		if (pkey && !name && (pkey_of(n) & 0x7fff) != (pkey & 0x7fff))
			continue;
		if (better(n, best))
			memcpy(best, n, strlen(n) + 1);
	}
	if (d)
		closedir(d);
	if (!*best)
		return -ENOENT;
	read_all(ret, best);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_IBTAP_H
#define NETDEV_IBTAP_H

/*
 * Devices of type 32 (InfiniBand), which the kernel module ibtap.ko makes (kmod/ibtap.h). Frames are read and written
 * by tap_read() and tap_write(), and offloads and carrier are set by tap_set_offload() and tap_set_carrier(). All
 * functions of netdev/tap.h except tap_open() work for both kinds of struct tap.
 *
 * A frame begins with a header of 44 octets: source and destination address of 20 octets each, EtherType, two octets
 * of zero. Unlike a TAP, a device of this kind does not keep its namespace in existence, and disappears together with
 * the namespace. Reads and writes then return -EBUSY, just as after the device was deleted.
 */

#include "netdev/tap.h"

#define IBTAP_ADDR_LEN 20

/**
 * ibtap_open() - Create a device in the caller's network namespace
 *
 * Works like tap_open(); the new device has neither carrier nor address.
 * Return: 0; -EINVAL: bad name; -EEXIST: another device has the name; -EPERM; -ENOENT: there is no /dev/ibtap, because
 * the module is not loaded
 */
int ibtap_open(const char *ifname, int *ret_fd, const char **ret_what);

/* ibtap_check() - Check that @fd comes from ibtap_open() and that its device still exists. Return: 0; -errno */
int ibtap_check(int fd);

/*
 * ibtap_set_addr() - Set the device's own address. Return: 0; -EADDRNOTAVAIL: the address has the GID of a group;
 * -errno
 */
int ibtap_set_addr(const struct tap *t, const uint8_t addr[IBTAP_ADDR_LEN]);

/**
 * ibtap_set_broadcast() - Set the address of the broadcast group
 *
 * The kernel copies the scope and the P_Key of this group's GID into the hardware addresses to
 * which it maps IP groups.
 * Return: 0; -EADDRNOTAVAIL: the address lacks the GID of a group or the QPN 0xffffff; -errno
 */
int ibtap_set_broadcast(const struct tap *t, const uint8_t addr[IBTAP_ADDR_LEN]);

/*
 * ibtap_set_max_mtu() - Set the largest MTU that the device may have, and lower the device's MTU if
 * it is larger. Return: 0; -EINVAL: @mtu is not 68 to 65520; -errno
 */
int ibtap_set_max_mtu(const struct tap *t, unsigned int mtu);

/*
 * ibtap_set_offload() - Do the work of tap_set_offload() for a device of this kind. If an offload
 * in @offload needs another offload, the function sets the other offload, too
 */
int ibtap_set_offload(struct tap *t, uint32_t offload);
/* ibtap_set_carrier() - Do the work of tap_set_carrier() for a device of this kind */
int ibtap_set_carrier(const struct tap *t, bool on);

#endif

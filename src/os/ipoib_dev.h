/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_IPOIB_DEV_H
#define OS_IPOIB_DEV_H

/* The kernel's own IPoIB interfaces (ib_ipoib), as sysfs shows them in the caller's namespace. */

#include <stdbool.h>
#include <stdint.h>

#define IPOIB_DEV_HW 20

struct ipoib_dev {
	char name[16];
	int ifindex;
	bool up, carrier;
	bool connected; /* connected mode; false: datagram mode */
	unsigned int mtu;
	uint16_t pkey; /* 0: not known */
	/* link-layer address of the broadcast group; zeros: not known */
	uint8_t broadcast[IPOIB_DEV_HW];
};

/**
 * ipoib_dev_find() - Find an interface at a port of an HCA
 * @port:	"mlx5_0/1", as umad_dev_find() returns it
 * @name:	name of the interface; NULL: choose one
 * @pkey:	P_Key of the interface, without regard to bit 15; 0: choose the interface with the
 *	shortest name, because children have longer names
 *
 * Return: 0; -ENOENT: there is none
 */
int ipoib_dev_find(const char *port, const char *name, uint16_t pkey, struct ipoib_dev *ret);

#endif

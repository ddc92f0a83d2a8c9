/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_IFACE_IID_H
#define INST_IFACE_IID_H

/* The source of the IPv6 interface identifiers of an interface: the key ip6-iid. */

#include "conf/conf.h"
#include "inst/inst.h"
#include "ipoib/iid.h"

struct inst_iface;

struct iface_iid {
	enum conf_iid from; /* source of the identifiers */
	/* the secret that the kernel gets if .from is CONF_IID_STABLE */
	uint8_t secret[IPOIB_STABLE_SECRET];
};

/*
 * iface_iid_init() - Store in @i how its identifiers are made (ip6-iid). If they are stable, also
 * compute the secret for them
 *
 * Call this function before the process loses access to /etc. Return: 0; -ENOENT: the secret is not
 * configured and cannot be computed from /etc/machine-id; -errno, with a message in @err
 */
int iface_iid_init(struct inst_iface *i, const struct conf_iface *c, char err[INST_ERR_MAX]);

/*
 * iface_iid_secret() - Get the configured secret, or else the secret computed from the machine's identifier; @ret is
 * unchanged unless ip6-iid is stable
 *
 * Call this function before the process loses access to /etc; iface_iid_init() calls it. Return: as
 * iface_iid_init()
 */
int iface_iid_secret(const struct conf_iface *c, uint8_t ret[IPOIB_STABLE_SECRET],
		     char err[INST_ERR_MAX]);

/*
 * iface_iid_own() - Get the interface identifier that must be sent to the kernel. Return: false for
 * stable identifiers, which the kernel makes itself
 */
bool iface_iid_own(const struct inst_iface *i, uint8_t ret[8]);

#endif

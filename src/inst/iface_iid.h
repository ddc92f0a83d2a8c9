/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef INST_IFACE_IID_H
#define INST_IFACE_IID_H

/* What the IPv6 interface identifiers of an interface are made of: the key ip6-iid. */

#include "conf/conf.h"
#include "inst/inst.h"
#include "ipoib/iid.h"

struct inst_iface;

struct iface_iid {
	enum conf_iid from; /* what the identifiers are made of */
	/* CONF_IID_STABLE: the secret that the kernel gets */
	uint8_t secret[IPOIB_STABLE_SECRET];
};

/*
 * iface_iid_init() - Take what the configuration says, and compute the secret of stable identifiers
 *
 * To be called while /etc is visible. Return: 0; -ENOENT the secret is neither configured nor can it be made of
 * /etc/machine-id; -errno; with @err
 */
int iface_iid_init(struct inst_iface *i, const struct conf_iface *c, char err[INST_ERR_MAX]);

/*
 * iface_iid_secret() - Get the configured secret, or else the one made of the machine's identifier; @ret is
 * unchanged unless ip6-iid is stable
 *
 * To be called while /etc is visible; iface_iid_init() calls it. Return: as iface_iid_init()
 */
int iface_iid_secret(const struct conf_iface *c, uint8_t ret[IPOIB_STABLE_SECRET],
		     char err[INST_ERR_MAX]);

/*
 * iface_iid_own() - Get the interface identifier to give to the kernel. False: none, because the kernel makes
 * stable ones itself
 */
bool iface_iid_own(const struct inst_iface *i, uint8_t ret[8]);

#endif

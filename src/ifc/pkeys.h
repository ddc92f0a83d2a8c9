/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IFC_PKEYS_H
#define IFC_PKEYS_H

/*
 * DOC: The P_Keys of a port
 *
 * This file tells an owner which P_Keys enter the P_Key table of a port and which leave it. With
 * this, the owner can have an interface for each P_Key (intel-ipoib-linux-hld-2002, 2.6). A list
 * can restrict the P_Keys that are reported. Such a list is needed if IPoIB does not use every
 * partition. An SM may create the broadcast group at any join, so a join that succeeds does not
 * show that IPoIB uses the partition.
 *
 * A P_Key that leaves the table is reported at once. New P_Keys are reported at a limited rate, because a table that
 * is written again and again could otherwise keep the owner busy with making interfaces.
 *
 * A full and a limited P_Key of one partition count as one P_Key, because they belong to one link (RFC 4391 section
 * 4.1).
 */

#include "ifc/ifc.h"
#include "util/pace.h"

struct ifc_pkeys_ops {
	/*
	 * Bit 15 of @pkey is set. Both functions may make and destroy interfaces of the port. If
	 * came() returns an error, it is called again after a while if the P_Key is still in the
	 * table. gone() is only called for a P_Key for which came() has returned 0.
	 */
	int (*came)(void *ctx, uint16_t pkey, ns_t now);
	void (*gone)(void *ctx, uint16_t pkey, ns_t now);
};

struct ifc_pkeys {
	struct list link; /* in ifc_port.pkeys */
	const struct ifc_pkeys_ops *ops;
	void *ctx;
	const uint16_t *only; /* list of the P_Keys to report, compared without bit 15; borrowed */
	unsigned int nonly; /* number of P_Keys in .only; 0: all P_Keys are reported */
	struct ifc_port *port;
	unsigned int cap; /* number of entries that the port's P_Key table can have */
	uint16_t *mem; /* memory of the three arrays below; NULL while the table is not followed */
	/* P_Keys that were reported to came() and not yet to gone(), ascending, with bit 15 set */
	uint16_t *have;
	uint16_t *now; /* P_Keys that are now in the table, ascending, with bit 15 set */
	/* P_Keys for which came() returned an error; came() is called again at .retry_at */
	uint16_t *failed;
	unsigned int n, nfailed; /* number of P_Keys in .have and in .failed */
	unsigned int
		failures; /* number of times in a row that .retry_at was set because came() failed */
	ns_t retry_at;
	uint16_t last; /* P_Key of the last call of came() */
	struct pace pace; /* limit of the rate at which came() is called */
	struct timer timer; /* timer for the next comparison, if the table does not change first */
};

/*
 * ifc_pkeys_start() - Begin to follow a port's P_Key table; the caller has set .ops, .ctx, .only and .nonly
 *
 * The callbacks in .ops are first called from ifc_work(), not from this function. Return: 0; -ENOMEM; -errno of
 * the CA
 */
int ifc_pkeys_start(struct ifc_pkeys *k, struct ifc_port *port);
/*
 * ifc_pkeys_stop() - Stop following the table, without calls of gone(). The function has no effect on a zeroed struct
 * or after an earlier call
 */
void ifc_pkeys_stop(struct ifc_pkeys *k);

/* ifc_pkeys_update() - Compare .have with the port's P_Key table, which may have changed */
void ifc_pkeys_update(struct ifc_pkeys *k, struct ca *ca, ns_t now);

#endif

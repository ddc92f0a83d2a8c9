/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIDR_OFFER_H
#define SIDR_OFFER_H

/*
 * DOC: A port that gives out the addresses of a partition's group
 *
 * Where the subnet manager does not answer SIDR_REQs itself (OpenSM), a host can do so. The port joins the broadcast
 * group that the subnet manager has made for the partition, as a full member, so that the port has the SA's values,
 * and the group persists. While the port is a member, it serves the ServiceID, keeps a ServiceRecord registered, and
 * answers with the values of the MCMemberRecord.
 *
 * Only members of the partition get an answer with Status 0. A member is a port whose SIDR_REQ has the P_Key of the
 * partition in the BTH, which the channel adapter has checked. The values contain the group's Q_Key.
 */

#include "cm/cm.h"
#include "sac/sac.h"

/* Time until the next try if the port serves the ServiceID already, or memory ran out; doubled after each failure */
#define SIDR_OFFER_RETRY_MIN NS_SEC(1)
#define SIDR_OFFER_RETRY_MAX NS_SEC(16)

/* The caller zeroes the struct and sets @changed; everything else is private. */
struct sidr_offer {
	/*
	 * Called when sidr_offer_serves() has changed. The call may be inside a callback of the MAD endpoint. NULL:
	 * no function is called
	 */
	void (*changed)(struct sidr_offer *o);
	struct cm *cm; /* NULL: not started */
	struct sac *sac;
	const struct log_sink *log;
	struct cm_service service;
	struct sac_group_ref ref;
	struct sac_service *registered;
	struct ib_mcmember_rec rec; /* the group, while the port serves */
	struct timer retry; /* armed while the port is to serve, but cannot serve yet */
	unsigned int failures; /* tries in a row that failed */
	int said; /* status of the failure that was logged last */
};

/**
 * sidr_offer_start() - Offer the group of a partition
 * @pkey:	P_Key of the partition, with bit 15
 * @mgid:	the group
 *
 * Return: 0; -ENOBUFS, -EINVAL as sac_group_join()
 */
int sidr_offer_start(struct sidr_offer *o, struct cm *cm, struct sac *sac, uint64_t service_id,
		     uint16_t pkey, const ib_gid *mgid, ns_t now);
/* sidr_offer_stop() - Withdraw the ServiceRecord and leave the group. No effect if the offer was not started */
void sidr_offer_stop(struct sidr_offer *o, ns_t now);
bool sidr_offer_serves(const struct sidr_offer *o);

#endif

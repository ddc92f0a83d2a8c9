/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIDR_OFFER_H
#define SIDR_OFFER_H

/*
 * DOC: A port that answers SIDR_REQs with the address values of a partition's broadcast group
 *
 * Some subnet managers, such as OpenSM, do not answer SIDR_REQs. Then a host can answer SIDR_REQs
 * instead. A port of the host joins the broadcast group that the subnet manager has made for the
 * partition. The port joins as a full member, because the group persists as long as it has a full
 * member. The SA's answer to the join contains the values of the group's MCMemberRecord. While the
 * port is a member, it serves the ServiceID, keeps a ServiceRecord registered, and answers
 * SIDR_REQs with these values.
 *
 * Only members of the partition get an answer with Status 0, because the values contain the group's
 * Q_Key. A member is a port whose SIDR_REQ has the partition's P_Key in the BTH; the channel
 * adapter has checked this P_Key.
 */

#include "cm/cm.h"
#include "sac/sac.h"

/*
 * Time until the port tries again to serve the ServiceID, after another interface or program served
 * it on this port, or after memory ran out. The time is doubled after each failure
 */
#define SIDR_OFFER_RETRY_MIN NS_SEC(1)
#define SIDR_OFFER_RETRY_MAX NS_SEC(16)

/* The caller sets the struct to 0 and then sets @changed. All other members are private. */
struct sidr_offer {
	/*
	 * Called when the result of sidr_offer_serves() has changed. The call can come from inside a callback of the
	 * MAD endpoint. NULL: no function is called
	 */
	void (*changed)(struct sidr_offer *o);
	struct cm *cm; /* CM agent of the port; NULL: the offer was not started */
	struct sac *sac;
	const struct log_sink *log;
	struct cm_service service;
	struct sac_group_ref ref;
	struct sac_service *registered;
	/* record of the group; valid while the port serves the ServiceID */
	struct ib_mcmember_rec rec;
	struct timer retry; /* armed while the port should answer SIDR_REQs but cannot do so yet */
	unsigned int failures; /* number of tries in a row that failed */
	int said; /* status of the failure that was logged last */
};

/**
 * sidr_offer_start() - Offer the group of a partition
 * @pkey:	P_Key of the partition, with bit 15
 * @mgid:	the group
 *
 * Return: 0; -ENOBUFS and -EINVAL as from sac_group_join()
 */
int sidr_offer_start(struct sidr_offer *o, struct cm *cm, struct sac *sac, uint64_t service_id,
		     uint16_t pkey, const ib_gid *mgid, ns_t now);
/*
 * sidr_offer_stop() - Withdraw the ServiceRecord and leave the group. The function has no effect if the offer was not
 * started
 */
void sidr_offer_stop(struct sidr_offer *o, ns_t now);
bool sidr_offer_serves(const struct sidr_offer *o);

#endif

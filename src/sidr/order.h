/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIDR_ORDER_H
#define SIDR_ORDER_H

/*
 * DOC: The choice of one of several servers
 *
 * Every member of a partition may register ServiceRecords for the partition. So the server with the
 * right values may be one of hundreds. The servers are arranged on a ring, each at the hash of its
 * GID. When a server fails, the client asks the next server on the ring. In a round each server is
 * asked once. A server that failed is asked again only after all other servers. The client has to
 * store only places on the ring, and no list of servers.
 *
 * The hash has a secret key. Otherwise an attacker could choose GIDs whose places directly follow
 * the current server. If the attacker always registered such servers, the other servers would never
 * be asked.
 *
 * The first round begins with the server of the first ServiceRecord in the SA's answer, because a
 * subnet manager that answers SIDR_REQs itself puts its own record first. A round after a restart
 * of the SA client begins with the server whose values were right.
 */

#include "util/hash.h"
#include "wire/ib.h"

struct sidr_order {
	struct hash_key key;
	bool made; /* sidr_order_init() was called */
	bool begun; /* .turn is valid */
	bool failed; /* the server at .turn failed, so the next server on the ring is asked */
	bool again; /* the next server that is chosen begins a round */
	uint64_t turn; /* place on the ring of the server that was chosen last */
	uint64_t first; /* place of the first server of the round */
	uint64_t answered; /* place of the server that answered last */
	/*
	 * What sidr_order_offer() has found since the last choice. .near and .second are the
	 * distances on the ring to the nearest and the second nearest server, from .turn, or from
	 * the place behind it if .failed. .offers is 0 if no server was offered, 1 if one was, and
	 * above 1 if several were
	 */
	unsigned int offers;
	uint64_t near, second; /* see .offers */
	ib_gid gid; /* GID of the nearest server */
};

/*
 * sidr_order_init() - Initialize @o: no server has been asked yet. The two random numbers become
 * the key of the hash
 */
void sidr_order_init(struct sidr_order *o, uint64_t random0, uint64_t random1);

/*
 * sidr_order_offer() - Offer the server at @gid for the next choice. Called for each server, in the order of the SA's
 * answer, before sidr_order_choose()
 */
void sidr_order_offer(struct sidr_order *o, const ib_gid *gid);
/*
 * sidr_order_choose() - Choose one of the servers that were offered since the last call
 *
 * Return: true if the chosen server is the last server of the round
 */
bool sidr_order_choose(struct sidr_order *o, ib_gid *ret);

/* sidr_order_failed() - Report that the current server failed */
void sidr_order_failed(struct sidr_order *o);
/*
 * sidr_order_answered() - Report that the current server answered. The caller has not tried the
 * values of the answer yet
 */
void sidr_order_answered(struct sidr_order *o);
/*
 * sidr_order_good() - Report that the values of the last answer are right, so that its server is asked first in the
 * next round
 */
void sidr_order_good(struct sidr_order *o);
/* sidr_order_restart() - Begin a round. The server at .turn is asked first, unless it failed */
void sidr_order_restart(struct sidr_order *o);

#endif

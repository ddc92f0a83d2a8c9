/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_LIMITS_H
#define IPOIB_LIMITS_H

/* Every bound and every time of the IPoIB core, in one place. */

#include "util/ns.h"

/* Sizes, per link */
#define IPOIB_MAX_NEIGH 8192 /* neighbours (GID, QPN) */
#define IPOIB_MAX_PATHS 8192 /* ports (GID) that have neighbours */
#define IPOIB_MAX_GROUPS 1024 /* groups joined or sent to */
#define IPOIB_MAX_OWN_QPS 64 /* UD QPs of stations behind the interface */
#define IPOIB_HELD_NEIGH 64 /* packets held for one neighbour */
#define IPOIB_HELD_GROUP 64 /* packets held for one group */
#define IPOIB_HELD_LINK 2048 /* packets held in all */
#define IPOIB_REASON_LEN 256 /* octets of a reason in words */
#define IPOIB_NAME_LEN 32 /* octets of a link's name, NUL included */

/* Times */
#define IPOIB_SWEEP NS_SEC(5) /* how often ageing looks */
#define IPOIB_NEIGH_IDLE NS_SEC(600) /* a neighbour unused so long is dropped */
#define IPOIB_PATH_TTL NS_SEC(300) /* a path in use is verified after */
#define IPOIB_ABSENT_TTL NS_SEC(60) /* "no such group" holds; traps 66/67 end it earlier */
#define IPOIB_ABSENT_TTL_BLIND NS_SEC(5) /* the same without a subscription to the traps */
#define IPOIB_BACKOFF_MIN NS_SEC(1) /* AH or attach refused by the CA; doubled up to */
#define IPOIB_BACKOFF_MAX NS_SEC(16)

/* RFC 4391 §7 */
#define IPOIB_DEFAULT_IP_MTU 2044
#define IPOIB_MIN_IPV6_MTU 1280

#endif

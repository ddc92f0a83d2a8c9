/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef IPOIB_LIMITS_H
#define IPOIB_LIMITS_H

/* All bounds and all intervals of the IPoIB core */

#include "util/ns.h"

/* --- Limits of one link */

/*
 * Number of neighbours (GID, QPN), unless the configuration gives another number, up to IPOIB_NEIGH_LIMIT. A link has at
 * most as many paths, because each port (GID) with neighbours has one path
 */
#define IPOIB_NEIGH_DEFAULT 8192
#define IPOIB_NEIGH_LIMIT (1u << 20)
#define IPOIB_MAX_GROUPS 1024 /* groups that are joined, sent to, or known not to exist */
#define IPOIB_MAX_ATTACHED 3 /* largest number of MLIDs with which a QP is attached to one group */
#define IPOIB_MAX_OWN_QPS 64 /* UD QPs of stations behind the interface */
#define IPOIB_HELD_NEIGH 64 /* packets held for one neighbour */
#define IPOIB_HELD_GROUP 64 /* packets held for one group */
#define IPOIB_HELD_LINK 2048 /* packets held by one link */
/* octets of the packets held by one link; a packet counts with the full size of its buffers */
#define IPOIB_HELD_OCTETS (2u << 20)
#define IPOIB_REASON_LEN 256 /* size of the text that tells why a link is not UP */
#define IPOIB_PATH_LINES \
	8 /* log lines about refused paths in a burst; then 1 per IPOIB_PATH_LINES_EVERY */
#define IPOIB_NAME_LEN 32 /* octets of a link's name, NUL included */

/* Times */
#define IPOIB_SWEEP \
	NS_SEC(5) /* interval between sweeps, which remove idle table entries and retry failures */
/*
 * Entries of a table that one step of a sweep visits. If a table has more entries, the steps of a sweep are spread over
 * IPOIB_SWEEP, so that packets do not wait for a whole sweep
 */
#define IPOIB_SWEEP_STEP 2048
/*
 * Idle neighbours that one step removes; the others wait for the next sweep. The number is limited, because the kernel's entry of each of
 * them is deleted, too. If all neighbours of a table are idle, it takes 16 sweeps to remove them
 */
#define IPOIB_SWEEP_REMOVE 128
#define IPOIB_NEIGH_IDLE NS_SEC(600) /* idle time after which a neighbour is removed */
#define IPOIB_PATH_LINES_EVERY NS_SEC(1)
/* time for which the SA's answer "no such group" is valid, unless trap 66 ends it */
#define IPOIB_ABSENT_TTL NS_SEC(60)
/* used instead of IPOIB_ABSENT_TTL while the SA client has no subscription to trap 66 */
#define IPOIB_ABSENT_TTL_BLIND NS_SEC(5)
#define IPOIB_ROUTER_LIST \
	NS_SEC(300) /* interval at which a router lists all groups, in case a Report was lost */
/* delay before the first retry of a failed join or of a refused address handle */
#define IPOIB_BACKOFF_MIN NS_SEC(1)
/* upper limit of the delay after a failure, which doubles with each failure in a row */
#define IPOIB_BACKOFF_MAX NS_SEC(16)

/* RFC 4391 §7: the default IP MTU of every link; RFC 8200 §5: the smallest MTU with IPv6 */
#define IPOIB_DEFAULT_IP_MTU 2044
#define IPOIB_MIN_IPV6_MTU 1280

#endif

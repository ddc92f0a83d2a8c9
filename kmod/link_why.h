/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef LINK_WHY_H
#define LINK_WHY_H

/*
 * The texts with which uib.ko and the daemon log why a link over UDP went down. Both include this file:
 * src/udp/link_why.h is a symbolic link to kmod/link_why.h.
 */

#define LINK_WHY_SILENT "nothing came from the peer for 3 s"
#define LINK_WHY_DISABLED "this port was disabled"
#define LINK_WHY_RETRAIN "this port trains again"
#define LINK_WHY_REMOVED "this port is removed"

#endif

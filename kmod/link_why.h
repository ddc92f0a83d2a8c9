/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef LINK_WHY_H
#define LINK_WHY_H

/* Words for why a link over UDP went down. uib.ko and the daemon log the same words, src/udp/link_why.h being this file. */

#define LINK_WHY_SILENT "nothing came from the peer for 3 s"
#define LINK_WHY_DISABLED "this port was disabled"
#define LINK_WHY_RETRAIN "this port trains again"
#define LINK_WHY_REMOVED "this port is removed"

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef UIB_INET_H
#define UIB_INET_H

/*
 * The offloads that ib_ipoib uses at an HCA with IB_DEVICE_UD_IP_CSUM and IBK_UD_TSO. @p or @hdr begins with the
 * encapsulation header of RFC 4391, section 6.
 */

#include "wire.h"

/* the longest header of a large send: encapsulation, and the longest headers of IPv4 and TCP */
#define UIB_LSO_HDR_MAX (4 + 60 + 60)
/* the most octets of TCP data in a large send */
#define UIB_LSO_MAX 65536

/*
 * uib_inet_csum_ok() - Tell whether the @len octets at @p are a TCP or UDP segment in one IP packet, and the checksums of
 * the segment and of the IPv4 header are right
 */
bool uib_inet_csum_ok(const u8 *p, u32 len);
/*
 * uib_inet_csum_put() - Write the checksum of the IPv4 header and of the TCP or UDP segment into a packet. Packets that
 * are not IP, and fragments and protocols other than TCP and UDP inside of IP, get no checksum
 */
void uib_inet_csum_put(u8 *p, u32 len);

/* uib_lso_ok() - Tell whether the @len octets at @hdr are exactly the headers of a TCP segment, so that a large send may use them */
bool uib_lso_ok(const u8 *hdr, u32 len);
/*
 * uib_lso_header() - Write the headers of one segment of a large send to @to
 * @hdr:	headers of the large send, which uib_lso_ok() has accepted; @hdr_len octets
 * @index:	number of the segment, from 0
 * @mss:	octets of TCP data in each segment but the last
 * @len:	octets of TCP data in this segment
 * @last:	this is the last segment
 *
 * The lengths, IPv4's Identification, the sequence number and the flags CWR, PSH and FIN become those of the segment. The
 * checksums are left to uib_inet_csum_put().
 */
void uib_lso_header(u8 *to, const u8 *hdr, u32 hdr_len, u32 index, u32 mss, u32 len, bool last);

#endif

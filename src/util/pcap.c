/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/pcap.h"

#include <string.h>

#include "util/be.h"

#define MAGIC_NS 0xa1b23c4d /* times of records are in nanoseconds */
#define ERF_FLAG_VARYING 0x04 /* flag for records of varying length */

size_t pcap_header(uint8_t *buf)
{
	const uint32_t magic = MAGIC_NS, rest[4] = { 0, 0, 65535, PCAP_LINKTYPE_ERF };
	const uint16_t version[2] = { 2, 4 };

	memcpy(buf, &magic, 4);
	memcpy(buf + 4, version, 4);
	memcpy(buf + 8, rest, 16);
	return PCAP_HDR_LEN;
}

size_t pcap_record(uint8_t *buf, size_t len, ns_t t)
{
	const uint32_t h[4] = { (uint32_t)(t / NS_SEC(1)), (uint32_t)(t % NS_SEC(1)), (uint32_t)len,
				(uint32_t)len };

	memcpy(buf, h, sizeof(h));
	return PCAP_REC_LEN;
}

size_t erf_header(uint8_t *buf, size_t len, ns_t t)
{
	uint32_t fraction = (uint32_t)(((t % NS_SEC(1)) << 32) / NS_SEC(1));
	uint32_t seconds = (uint32_t)(t / NS_SEC(1));

	for (unsigned int i = 0; i < 4; i++) {
		buf[i] = (uint8_t)(fraction >> 8 * i);
		buf[4 + i] = (uint8_t)(seconds >> 8 * i);
	}
	buf[8] = ERF_TYPE_INFINIBAND;
	buf[9] = ERF_FLAG_VARYING;
	be16_put(buf + 10, (uint16_t)(ERF_HDR_LEN + len)); /* length of the record */
	be16_put(buf + 12, 0); /* number of packets lost before this packet */
	be16_put(buf + 14, (uint16_t)len); /* length of the packet on the wire */
	return ERF_HDR_LEN;
}

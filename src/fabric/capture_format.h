/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_CAPTURE_FORMAT_H
#define FABRIC_CAPTURE_FORMAT_H

/*
 * Functions that write parts of capture files. util/pcap.h writes the other parts. Each function
 * returns the number of octets written.
 */

#include "fabric/capture.h"

/*
 * Size of the buffer for one record: the largest packet, 32 octets of pcapng block, 16 octets of
 * ERF header, up to 4 octets of padding, and the options of a packet.
 */
#define CAPTURE_RECORD_MAX (IB_PKT_MAX + 64 + CAPTURE_COMMENT_MAX + 24)

/*
 * @t is the time in ns since 1970. Return: 0 if the packet is too short or too long to be recorded
 */
size_t capture_pcap_record(uint8_t *buf, const struct pkt *p, ns_t t);

size_t capture_pcapng_header(uint8_t *buf);
/* @description: NULL for none */
size_t capture_pcapng_interface(uint8_t *buf, const char *name, const char *description);
size_t capture_pcapng_record(uint8_t *buf, const struct pkt *p, ns_t t, unsigned int interface);
/* Return: 0 if the packet is too long to be recorded */
size_t capture_pcapng_packet(uint8_t *buf, const struct capture_packet *p, ns_t t);

#endif

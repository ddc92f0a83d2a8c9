/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_CAPTURE_FORMAT_H
#define FABRIC_CAPTURE_FORMAT_H

/*
 * Functions that write the parts of capture files that util/pcap.h does not have. Each returns the
 * number of octets written.
 */

#include "fabric/fabric.h"

/*
 * Room for a record: the packet, and 32 octets of pcapng block, 16 of ERF header and up to 4 of
 * padding.
 */
#define CAPTURE_RECORD_MAX (IB_PKT_MAX + 64)

/*
 * @t is Unix time in ns. Return: 0 if the packet cannot be recorded, because it is too short or too
 * long
 */
size_t capture_pcap_record(uint8_t *buf, const struct pkt *p, ns_t t);

size_t capture_pcapng_header(uint8_t *buf);
size_t capture_pcapng_interface(uint8_t *buf, const char *name);
size_t capture_pcapng_record(uint8_t *buf, const struct pkt *p, ns_t t, unsigned int interface);

#endif

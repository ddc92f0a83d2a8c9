/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_CAPTURE_FORMAT_H
#define FABRIC_CAPTURE_FORMAT_H

/* The octets of capture files; every function returns how many it wrote. */

#include "fabric/fabric.h"

/* File format's own octets around a packet: pcapng block 32 with its trailer, ERF record 16, padding 4 */
#define CAPTURE_RECORD_MAX (IB_PKT_MAX + 64)

size_t capture_pcap_header(uint8_t *buf);
/* @t: Unix time in ns. 0: the packet has no octets to show */
size_t capture_pcap_record(uint8_t *buf, const struct pkt *p, ns_t t);

size_t capture_pcapng_header(uint8_t *buf);
size_t capture_pcapng_interface(uint8_t *buf, const char *name);
size_t capture_pcapng_record(uint8_t *buf, const struct pkt *p, ns_t t, unsigned int interface);

#endif

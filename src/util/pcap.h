/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_PCAP_H
#define UTIL_PCAP_H

/*
 * pcap files of InfiniBand packets. Link type 197 means that each packet is a record of Endace's extensible record
 * format (ERF), here of type 21 (InfiniBand). The headers of pcap are written in the byte order of the host, as the
 * format allows. The time of an ERF record is little-endian, with 32 bits of fraction and 32 of seconds; its lengths
 * are big-endian.
 */

#include <stddef.h>
#include <stdint.h>

#include "util/ns.h"

#define PCAP_LINKTYPE_ERF 197
#define PCAP_HDR_LEN 24 /* octets of the file header */
#define PCAP_REC_LEN 16 /* length of the header of a pcap record; the ERF record follows */
#define ERF_TYPE_INFINIBAND 21
#define ERF_HDR_LEN 16 /* a packet from LRH to VCRC follows */

/* Write the header of a file. Return: number of octets */
size_t pcap_header(uint8_t *buf);
/* Write the header of a pcap record with @len octets of data. Return: number of octets */
size_t pcap_record(uint8_t *buf, size_t len, ns_t t);
/* Write the header of an ERF record with a packet of @len octets. Return: number of octets */
size_t erf_header(uint8_t *buf, size_t len, ns_t t);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TEXT_PRINT_H
#define TEXT_PRINT_H

/*
 * Functions that print packets, headers, MADs and codes as text, for logs, `uipoib trace` and
 * tests. Functions with a buffer write at most @size octets including a NUL, and return @buf, so
 * that a call can stand in an argument list.
 */

#include "wire/ib_hdr.h"
#include "wire/ipoib_hdr.h"
#include "wire/mad.h"

#define PRINT_GID_LEN 48
#define PRINT_LINE 512

/* Print a GID in the form of RFC 5952, such as "fe80::2:c903:0:1" */
char *print_gid(char *buf, size_t size, const ib_gid *g);
/* Parse a GID, the inverse of print_gid(). Return: 0, -EINVAL */
int print_gid_parse(ib_gid *ret, const char *s);

/*
 * Print an IPoIB link-layer address as `ip link` does, such as "80:00:04:04:fe:80:..."
 */
char *print_lladdr(char *buf, size_t size, const struct ipoib_lladdr *a);

/*
 * Each of these functions prints one header as a line, such as
 * "LRH VL 0 SL 0 DLID 4 SLID 2 PktLen 25"
 */
char *print_lrh(char *buf, size_t size, const struct ib_lrh *h);
char *print_grh(char *buf, size_t size, const struct ib_grh *h);
char *print_bth(char *buf, size_t size, const struct ib_bth *h);
char *print_deth(char *buf, size_t size, const struct ib_deth *h);

/*
 * Print method, attribute and main fields of a MAD, such as "SubnAdmSet MCMemberRecord TID 0x...
 * status 0x0000 ..."
 */
char *print_mad(char *buf, size_t size, const void *mad, size_t len);

/*
 * Print an IPoIB packet that starts with its encapsulation header of 4 octets, such as
 * "IPv4 10.4.0.1 > 10.4.0.4 ICMP echo request"
 */
char *print_ipoib(char *buf, size_t size, const void *p, size_t len);

/* Print a whole packet that starts with its LRH, as several lines that end with '\n' */
char *print_packet(char *buf, size_t size, const void *p, size_t len);

/* Each of these functions returns the name of a code; "?" if the code has no name */
const char *print_port_state(unsigned int state);
const char *print_mad_class(unsigned int mgmt_class);
const char *print_mad_method(unsigned int mgmt_class, unsigned int method);
const char *print_attr(unsigned int mgmt_class, unsigned int attr);
const char *print_sa_status(unsigned int status);
const char *print_sidr_status(unsigned int status);
const char *print_node_type(unsigned int type);
/* Return the name of one bit of PortInfo:CapabilityMask; "?" if the bit has no name */
const char *print_port_cap(uint32_t bit);
/* Return the name of the generic trap with the number @trap; "other" if the trap has no name */
const char *print_trap(unsigned int trap);

/* Each of these functions returns the name of a message type; NULL if the type has no name */
const char *print_icmp(uint8_t type);
const char *print_icmp6(uint8_t type);
const char *print_igmp(uint8_t type);

#endif

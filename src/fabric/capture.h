/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_CAPTURE_H
#define FABRIC_CAPTURE_H

/*
 * DOC: Captures
 *
 * A capture writes packets as pcap or pcapng with link type ERF (197), record type 21 (InfiniBand),
 * which tshark decodes from the LRH on. Packets on links within the process may lack CRCs; the
 * capture computes them for its records. A packet with CRCs is recorded unchanged, even if it is
 * corrupted.
 *
 * A capture in pcapng can also record packets that do not come from a fabric (capture_packet()).
 *
 * A function of the caller writes the octets. If the function returns -ENOBUFS, the packet is counted as missed, and
 * the capture continues. After any other error the capture stops and stores the error, and the fabric continues.
 */

#include "fabric/fabric.h"

struct capture;

enum capture_format {
	CAPTURE_PCAP,
	CAPTURE_PCAPNG, /* pcapng; each recorded port is an interface with the port's name */
};

struct capture_cfg {
	enum capture_format format;
	/*
	 * Write all @len octets and return 0, or write nothing and return an error: -ENOBUFS means
	 * that this record is lost and the capture continues; any other -errno (-ENOSPC, -EPIPE)
	 * ends the capture
	 */
	int (*write)(void *ctx, const void *data, size_t len);
	void *ctx;
	ns_t epoch; /* Unix time in ns at which the fabric's clock was 0 */
	/*
	 * largest size of the file in octets; a record that would exceed this size ends the capture
	 * with -EFBIG; 0: no limit
	 */
	uint64_t max_octets;
};

/*
 * capture_create() - Make a capture that records no port yet, and write the file header. @f may be NULL if only
 * capture_packet() is used. Return: 0; -ENOMEM; the error of @cfg->write
 */
int capture_create(struct capture **ret, struct fabric *f, const struct capture_cfg *cfg);
/* Stop recording at all ports and free the capture; NULL is accepted. */
void capture_destroy(struct capture *c);

/*
 * capture_add_end_ports() - Record each packet of the fabric once, at the port that sends the
 * packet into the fabric: CA ports, port 0 of switches, and those external ends that are attached
 * already. Return: 0, -errno
 */
int capture_add_end_ports(struct capture *c);

/* capture_add_link() - Record both directions of the link of @p. Return: 0; -ENOTCONN; -errno */
int capture_add_link(struct capture *c, struct fabric_port *p);

/*
 * capture_add_source() - Describe one more interface in a pcapng file, for packets that capture_packet() records; the
 * description may be NULL. Return: the number of the interface; -errno
 */
int capture_add_source(struct capture *c, const char *name, const char *description);

/* A packet that no link of a fabric carries. The capture adds pad octets and CRCs to it. */
struct capture_packet {
	unsigned int source; /* number from capture_add_source() */
	bool sent; /* true if the source sent the packet; false if it received the packet */
	const char *comment; /* at most CAPTURE_COMMENT_MAX octets */
	const uint8_t *hdr; /* headers from LRH to DETH */
	unsigned int hdr_len;
	const struct pkt *payload;
};
#define CAPTURE_COMMENT_MAX 128
void capture_packet(struct capture *c, const struct capture_packet *p, ns_t now);

struct capture_stats {
	uint64_t packets, octets;
	/* packets whose record could not be written, or that came after .error was set */
	uint64_t missed;
	int error; /* 0, or the -errno that stopped the capture */
};
const struct capture_stats *capture_stats(const struct capture *c);

#endif

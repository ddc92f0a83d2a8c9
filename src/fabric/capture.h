/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FABRIC_CAPTURE_H
#define FABRIC_CAPTURE_H

/*
 * DOC: Captures
 *
 * Packets as pcap or pcapng with link type ERF (197), record type 21 (InfiniBand): tshark reads the
 * headers from LRH on. A record holds right CRCs and checksums even where the packet on its in-process
 * link has none; a packet with CRCs is recorded as it is, corrupted too.
 *
 * Octets go to a function of the caller. When that fails, the capture stops and keeps the error; the
 * fabric goes on.
 */

#include "fabric/fabric.h"

struct capture;

enum capture_format {
	CAPTURE_PCAP,
	CAPTURE_PCAPNG, /* each tapped port is an interface with its name */
};

struct capture_cfg {
	enum capture_format format;
	/* All @len octets or an error: 0 or -errno (-ENOSPC, -EPIPE) */
	int (*write)(void *ctx, const void *data, size_t len);
	void *ctx;
	ns_t epoch; /* Unix time in ns at which the fabric's clock was 0 */
	uint64_t max_octets; /* stop with -EFBIG before this is exceeded; 0: no limit */
};

/* capture_create() - Writes the file header. 0; -ENOMEM; what @cfg->write returned */
int capture_create(struct capture **ret, struct fabric *f, const struct capture_cfg *cfg);
/* Taps are removed; NULL is accepted. */
void capture_destroy(struct capture *c);

/*
 * capture_add_end_ports() - Each packet once: what leaves CA ports, what switches' port 0 sends
 * of its own, and what comes in by external ends, which are to be attached before. 0 or -errno
 */
int capture_add_end_ports(struct capture *c);

/* capture_add_link() - Both directions of the link of @p. 0; -ENOTCONN; -errno */
int capture_add_link(struct capture *c, struct fabric_port *p);

struct capture_stats {
	uint64_t packets, octets;
	uint64_t missed; /* after an error */
	int error; /* 0, or the negative errno that stopped it */
};
const struct capture_stats *capture_stats(const struct capture *c);

#endif

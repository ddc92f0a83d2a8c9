/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_TAP_H
#define NETDEV_TAP_H

/*
 * DOC: TAP devices
 *
 * A TAP with virtio-net headers, so that TCP and UDP super-frames of up to 64 KiB
 * cross the kernel's boundary in one system call and checksums may stay partial.
 *
 *	struct tap_rx rx;	(one for all TAPs of a thread)
 *	struct tap_frame f[PKT_BATCH];
 *
 *	n = tap_read_batch(&tap, &rx, f, PKT_BATCH);
 *
 * A frame that is read owns nothing but its struct pkt, whose first octet is the
 * Ethernet header. Frames of at most TAP_SMALL octets lie in pkt->hdr, all others
 * are one slice of a buffer that the tap_rx packs full: a 2 KiB frame does not
 * pin a 68 KiB buffer of its own.
 *
 * A TAP belongs to the network namespace in which /dev/net/tun was opened. It keeps
 * that namespace alive: after `ip netns del` writes go on to succeed, into nowhere.
 * No call on the TAP shows that; netdev_ns_check() in netdev/helper.h does.
 * A deleted device is different: reads and writes return -EBADFD.
 */

#include <linux/virtio_net.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "util/pkt.h"

#define TAP_FRAME_MAX (65536 + 22) /* gso_max_size, an Ethernet header and two VLAN tags */
#define TAP_SMALL (PKT_HDR_MAX - 100) /* longest frame that is copied to pkt->hdr */
#define TAP_OUT_PARTS (3 * PKT_BATCH) /* parts of a frame that is written; far below UIO_MAXIOV */

/* What the device may hand us or take unfinished, a mask. */
enum tap_offload {
	TAP_OFFLOAD_CSUM = 1 << 0, /* partial TCP and UDP checksums */
	TAP_OFFLOAD_TSO = 1 << 1, /* TCP super-frames; needs CSUM */
	TAP_OFFLOAD_USO = 1 << 2, /* UDP super-frames of equal datagrams; needs CSUM, Linux 6.2 */
	/* Super-frames with CWR set: the segmenter must clear it in all segments but the
	 * first (RFC 3168 §6.1.2). Without it the kernel cuts those itself. */
	TAP_OFFLOAD_ECN = 1 << 3,
};
#define TAP_OFFLOAD_DEFAULT (TAP_OFFLOAD_CSUM | TAP_OFFLOAD_TSO | TAP_OFFLOAD_USO)

enum tap_gso {
	TAP_GSO_NONE,
	TAP_GSO_TCP4,
	TAP_GSO_TCP6,
	TAP_GSO_UDP4, /* datagrams of gso_size each, the last may be shorter */
	TAP_GSO_UDP6,
};

/**
 * struct tap_vnet - The virtio-net header in host form
 * @gso:	TAP_GSO_NONE for a frame that is one packet
 * @needs_csum:	the L4 checksum holds the pseudo-header sum only
 * @csum_ok:	the L4 checksum was verified (VIRTIO_NET_HDR_F_DATA_VALID)
 * @ecn:	TCP with CWR (VIRTIO_NET_HDR_GSO_ECN)
 * @hdr_len:	written: octets of Ethernet, IP and L4 headers; read: the kernel's hint of them,
 *		which may be 0 or cover payload too
 * @gso_size:	L4 payload octets per segment; never 0 with GSO
 * @csum_start:	offset from the Ethernet header at which summing begins
 * @csum_offset: offset of the checksum from @csum_start
 *
 * All zero is a plain frame.
 */
struct tap_vnet {
	enum tap_gso gso;
	bool needs_csum;
	bool csum_ok;
	bool ecn;
	uint16_t hdr_len;
	uint16_t gso_size;
	uint16_t csum_start;
	uint16_t csum_offset;
};

struct tap_frame {
	struct pkt *pkt;
	struct tap_vnet vnet;
};

struct tap_stats {
	uint64_t rx_frames, rx_octets;
	uint64_t tx_frames, tx_octets;
	uint64_t rx_bad; /* frames whose virtio-net header contradicts them, dropped */
	uint64_t rx_nobuf; /* reads put off because the pool was exhausted */
	uint64_t tx_err; /* writes the kernel refused */
};

struct tap {
	int fd; /* -1: closed */
	uint32_t offload; /* enum tap_offload, as the kernel granted it */
	struct tap_stats stats;
};

/* Where frames are read to; zeroed by tap_rx_init(). One may serve many TAPs. */
struct tap_rx {
	struct pkt_pool *pool;
	struct pkt_buf *cur, *spare; /* the buffer being packed, and where a frame runs over to */
	uint32_t off; /* first free octet of @cur */
	uint32_t expect; /* length of the last frame that went to a buffer */
};

/**
 * tap_open() - Create a TAP in the caller's network namespace
 * @ifname:	its name, 1 to 15 octets; a '%d' is not expanded
 * @ret_fd:	non-blocking, close-on-exec; carrier off, virtio-net header on
 * @ret_what:	on failure what was refused, a literal ("opening /dev/net/tun"); may be NULL
 *
 * Needs CAP_NET_ADMIN in the namespace; all calls below work without it. The device
 * is deleted when its last descriptor is closed.
 * Return: 0; -EINVAL bad name; -EBUSY the name is taken; -EPERM or -EACCES TAPs are not
 * permitted; -ENOENT or -ENODEV there is no /dev/net/tun
 */
int tap_open(const char *ifname, int *ret_fd, const char **ret_what);

/**
 * tap_attach() - Take a descriptor made by tap_open(), perhaps in another process
 * @fd:		taken on success
 * @offload:	mask of enum tap_offload; what the kernel lacks is left out, see t->offload
 *
 * Return: 0; -errno if @fd is no TAP with virtio-net headers
 */
int tap_attach(struct tap *t, int fd, uint32_t offload);

/* tap_close() - Delete the device; may be called again */
void tap_close(struct tap *t);

/* tap_set_offload() - Change the offloads; 0 or -errno */
int tap_set_offload(struct tap *t, uint32_t offload);

/**
 * tap_set_carrier() - Show the link's state to the kernel
 *
 * The interface drops what is sent until the kernel has followed: that is told by an
 * RTNL_LINK_NEW with IFF_RUNNING. An interface that is set up with its carrier on follows at once.
 * Return: 0 or -errno
 */
int tap_set_carrier(const struct tap *t, bool on);

/* tap_set_mac() - Set the interface's address; needs no capability. 0 or -errno */
int tap_set_mac(const struct tap *t, const uint8_t mac[6]);

/* tap_check() - 0 and the present name; -EBADFD if the device was deleted */
int tap_check(const struct tap *t, char ret_name[IFNAMSIZ]);

void tap_rx_init(struct tap_rx *rx, struct pkt_pool *pool);

/* tap_rx_fini() - Give its buffers back to the pool */
void tap_rx_fini(struct tap_rx *rx);

/**
 * tap_read() - Read one frame
 * @ret:	the caller frees ret->pkt
 *
 * A bad frame is counted and skipped. When the pool is exhausted nothing is read.
 * Return: 0; -EAGAIN none there; -ENOBUFS pool exhausted; -EBADFD device deleted; -errno
 */
int tap_read(struct tap *t, struct tap_rx *rx, struct tap_frame *ret);

/**
 * tap_read_batch() - Read up to @max frames
 *
 * Return: how many, fewer than @max only if the queue ran empty or an error came;
 * an error before the first frame as from tap_read(), with 0 in place of -EAGAIN
 */
int tap_read_batch(struct tap *t, struct tap_rx *rx, struct tap_frame *ret, unsigned int max);

/**
 * tap_vnet_to_pkt() - Note in a packet's descriptor what came beside a frame
 * @p:		its first octet is the Ethernet header's
 *
 * Sets gso, gso_size, csum_start (from the IP header on), csum_offset, PKT_CSUM_PARTIAL and
 * PKT_CSUM_OK, and changes no octet.
 * Return: 0; -EBADMSG the checksum does not lie behind an Ethernet header without VLAN tags
 */
int tap_vnet_to_pkt(struct pkt *p, const struct tap_vnet *v);

/**
 * tap_vnet_from_pkt() - The inverse, for a frame whose first part is @p
 * @p:		Ethernet, IP and L4 headers in hdr[]
 */
void tap_vnet_from_pkt(struct tap_vnet *ret, const struct pkt *p);

/**
 * struct tap_out - A frame under construction, of parts that are borrowed
 *
 * Parts must stay unchanged until tap_out_write(). Adjacent parts are merged.
 */
struct tap_out {
	struct virtio_net_hdr hdr;
	uint32_t len; /* octets added, without the virtio-net header */
	unsigned int n; /* parts in use, the header is iov[0] */
	struct iovec iov[1 + TAP_OUT_PARTS];
};

/* tap_out_init() - Begin a frame; @vnet NULL is a plain one */
void tap_out_init(struct tap_out *o, const struct tap_vnet *vnet);

/* tap_out_add() - Append @len octets; 0, -ENOSPC too many parts, -EMSGSIZE over TAP_FRAME_MAX */
int tap_out_add(struct tap_out *o, const void *data, uint32_t len);

/* tap_out_add_pkt() - Append a packet from octet @skip on; as tap_out_add() */
int tap_out_add_pkt(struct tap_out *o, const struct pkt *p, uint32_t skip);

/**
 * tap_out_write() - Hand the frame to the kernel by one writev()
 *
 * Return: 0; -EIO the interface is down; -EAGAIN, -ENOBUFS, -ENOMEM no room now;
 * -EINVAL the kernel found the frame or its header wrong; -EBADFD device deleted
 */
int tap_out_write(struct tap *t, struct tap_out *o);

/* tap_write() - The same for a frame in @n parts, n at most TAP_OUT_PARTS (else -ENOSPC) */
int tap_write(struct tap *t, const struct tap_vnet *vnet, const struct iovec *iov, unsigned int n);

/* tap_write_pkt() - The same for one packet, which stays the caller's */
int tap_write_pkt(struct tap *t, const struct tap_vnet *vnet, const struct pkt *p);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETDEV_TAP_H
#define NETDEV_TAP_H

/*
 * DOC: TAP devices
 *
 * Each frame of a TAP has a virtio-net header. So a TCP or UDP super-frame of up to 64 KiB passes
 * between the kernel and this process by one system call, and its checksum may stay partial.
 *
 *	struct tap_rx rx;	(one for all TAPs of a thread)
 *	struct tap_frame f;
 *
 *	err = tap_read(&tap, &rx, &f);
 *
 * tap_read() returns each frame in a struct pkt of its own, whose first octet is the first octet of
 * the link header. A frame of at most TAP_SMALL octets is in pkt->hdr. A longer frame is one slice
 * of a buffer. tap_read() puts many frames into one buffer, so that a frame of 2 KiB does not keep
 * a buffer of 68 KiB in use.
 *
 * A TAP is made in the network namespace in which /dev/net/tun was opened. The TAP's descriptor
 * keeps this namespace in existence, even after rtnl_link_move() has moved the TAP to another
 * namespace. After `ip netns del` of the namespace in which a TAP is, writes to the TAP still
 * succeed, but the frames are lost. No call on the TAP reports this; only netns_check() does. After
 * the device itself was deleted, reads and writes return -EBADFD (-EBUSY for TAP_INFINIBAND, see
 * tap_deleted()).
 */

#include <errno.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "util/frame.h"

#define TAP_FRAME_MAX (65536 + 44) /* largest frame: gso_max_size and the longest link header */
/*
 * Longest frame that is copied to pkt->hdr, where it leaves room for the headers LRH to DETH (68 octets) and for the
 * encapsulation
 */
#define TAP_SMALL (PKT_HDR_MAX - 80)

/* Kinds of network devices, which differ in link header and virtio-net header */
enum tap_kind {
	/* device of /dev/net/tun, whose frames begin with 14 octets, then VLAN tags */
	TAP_ETHERNET,
	TAP_INFINIBAND, /* device of /dev/ibtap (kmod/ibtap.h), whose frames begin with 44 octets */
};

/*
 * Mask of offloads: checksums and segmentation that the kernel may leave to the reader of the TAP,
 * and that the writer of the TAP may leave to the kernel.
 */
enum tap_offload {
	TAP_OFFLOAD_CSUM = 1 << 0, /* partial TCP and UDP checksums */
	TAP_OFFLOAD_TSO = 1 << 1, /* TCP super-frames; needs CSUM */
	TAP_OFFLOAD_USO = 1 << 2, /* UDP super-frames of equal datagrams; needs CSUM, Linux 6.2 */
	/*
	 * Super-frames with CWR set: the segmenter must clear CWR in all segments but the first
	 * (RFC 3168 §6.1.2). Without this flag the kernel cuts such super-frames itself.
	 */
	TAP_OFFLOAD_ECN = 1 << 3,
};
#define TAP_OFFLOAD_DEFAULT (TAP_OFFLOAD_CSUM | TAP_OFFLOAD_TSO | TAP_OFFLOAD_USO)

enum tap_gso {
	TAP_GSO_NONE,
	TAP_GSO_TCP4,
	TAP_GSO_TCP6,
	TAP_GSO_UDP4, /* datagrams of gso_size octets each; the last datagram may be shorter */
	TAP_GSO_UDP6,
};

/**
 * struct tap_vnet - The decoded virtio-net header of a frame
 * @gso:	TAP_GSO_NONE for a frame that is one packet
 * @needs_csum:	the L4 checksum field holds only the sum of the pseudo-header
 * @csum_ok:	the L4 checksum was verified (VIRTIO_NET_HDR_F_DATA_VALID)
 * @ecn:	the TCP header has CWR set (VIRTIO_NET_HDR_GSO_ECN)
 * @hdr_len:	octets of link, IP and L4 headers together. In a frame that was read, this is only a
 *		hint of the kernel: it may be 0, or include octets of the payload
 * @gso_size:	L4 payload octets of a segment; 0 only if @gso is TAP_GSO_NONE
 * @csum_start:	offset from the link header at which summing begins
 * @csum_offset: offset of the checksum from @csum_start
 *
 * In a frame that is one complete packet all members are zero.
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
	uint64_t rx_bad; /* frames dropped because the virtio-net header contradicts the frame */
	uint64_t rx_nobuf; /* reads that were put off because the pool had no free buffer */
	uint64_t tx_err; /* writes that the kernel refused */
};

struct tap {
	int fd; /* descriptor of the device; -1: closed */
	enum tap_kind kind;
	uint32_t offload; /* mask of enum tap_offload that the kernel granted */
	struct tap_stats stats;
};

/* Buffers into which frames are read, set up by tap_rx_init(). One struct may serve many TAPs. */
struct tap_rx {
	struct pkt_pool *pool;
	/*
	 * .cur: buffer that is being filled; .spare: buffer for the rest of a frame that is longer
	 * than the room in .cur
	 */
	struct pkt_buf *cur, *spare;
	/* where the next frame begins in .cur, directly after its virtio-net header */
	uint32_t off;
	uint32_t expect; /* length of the last frame that was stored in a buffer */
};

/**
 * tap_open() - Create a TAP in the caller's network namespace
 * @ifname:	name of 1 to 15 octets without '%'
 * @ret_fd:	the descriptor, non-blocking and close-on-exec. The TAP has no carrier yet, and each
 *		frame has a virtio-net header
 * @ret_what:	on failure a string literal that names the step that was refused, for example "opening /dev/net/tun";
 *	may be NULL
 *
 * Needs CAP_NET_ADMIN in the namespace; all functions below work without this capability. The device is deleted when
 * its last descriptor is closed.
 * Return: 0; -EINVAL: bad name; -EBUSY: another device has the name; -EPERM or -EACCES: TAPs are not permitted; -ENOENT
 * or -ENODEV: there is no /dev/net/tun
 */
int tap_open(const char *ifname, int *ret_fd, const char **ret_what);

/**
 * tap_attach() - Use a descriptor of tap_open(), or of ibtap_open() if @kind is TAP_INFINIBAND
 * @fd:		taken on success; it may have been made by another process
 * @offload:	mask of enum tap_offload; t->offload becomes the offloads that the kernel has granted
 *
 * Return: 0; -errno if @fd is no device of this kind with virtio-net headers
 */
int tap_attach(struct tap *t, enum tap_kind kind, int fd, uint32_t offload);

/*
 * tap_close() - Close the descriptor. If it is the last descriptor, the kernel deletes the device. The function
 * may be called again
 */
void tap_close(struct tap *t);

/* tap_set_offload() - Change the offloads. Return: 0 or -errno */
int tap_set_offload(struct tap *t, uint32_t offload);

/**
 * tap_set_carrier() - Set the carrier, which shows the kernel the state of the link
 *
 * If the carrier is switched on while the interface is up, the interface drops frames until the kernel has handled the
 * change. The kernel reports this by an RTNL_LINK_NEW with IFF_RUNNING. If the carrier is on before the interface gets
 * IFF_UP, frames pass at once.
 * Return: 0 or -errno
 */
int tap_set_carrier(const struct tap *t, bool on);

/*
 * tap_deleted() - Tell whether the error @err of tap_read() or tap_write() means that the device
 * was deleted
 */
static inline bool tap_deleted(const struct tap *t, int err)
{
	return err == (t->kind == TAP_INFINIBAND ? -EBUSY : -EBADFD);
}

void tap_rx_init(struct tap_rx *rx, struct pkt_pool *pool);

/* tap_rx_fini() - Return the buffers to the pool */
void tap_rx_fini(struct tap_rx *rx);

/**
 * tap_read() - Read one frame
 * @ret:	the caller frees ret->pkt
 *
 * The function counts and skips frames whose virtio-net header is wrong. It reads nothing while the
 * pool is exhausted.
 * Return: 0; -EAGAIN: no frame waits; -ENOBUFS: the pool is exhausted; an error for which
 * tap_deleted() is true: the device was deleted; another -errno
 */
int tap_read(struct tap *t, struct tap_rx *rx, struct tap_frame *ret);

/**
 * tap_vnet_to_pkt() - Store the data of a frame's virtio-net header in the packet's descriptor
 * @p:		packet that begins with the link header of a device of kind @kind
 *
 * Sets the packet's struct frame_info except the station, and leaves the octets of the frame as they are.
 * Return: 0; -EBADMSG, only for a frame with a partial checksum: the frame has a VLAN tag, or there
 * is no octet between its link header and the part that the checksum covers
 */
int tap_vnet_to_pkt(struct pkt *p, const struct tap_vnet *v, enum tap_kind kind);

/**
 * tap_vnet_from_pkt() - Make the virtio-net header of a frame whose first part is @p
 * @p:		packet with link, IP and L4 headers in hdr[]
 */
void tap_vnet_from_pkt(struct tap_vnet *ret, const struct pkt *p, enum tap_kind kind);

/**
 * tap_write() - Write a frame by one writev()
 * @vnet:	NULL for a frame that is one complete packet
 * @iov:	the parts of the frame are iov[1] to iov[@n]; iov[0] is overwritten with the virtio-net header
 *
 * Return: 0; -EIO: the interface is down; -EAGAIN, -ENOBUFS, -ENOMEM: there is no room now;
 * -EINVAL: the kernel found the frame or its header wrong; an error for which tap_deleted() is
 * true: the device was deleted
 */
int tap_write(struct tap *t, const struct tap_vnet *vnet, struct iovec *iov, unsigned int n);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR (GPL-2.0 WITH Linux-syscall-note) */
#ifndef IBTAP_H
#define IBTAP_H

/*
 * /dev/ibtap gives programs network devices of type ARPHRD_INFINIBAND (32), as /dev/net/tun gives them Ethernet devices.
 *
 * A program opens /dev/ibtap, and attaches the descriptor to a network device by IBTAP_ATTACH. The program then owns
 * the device. Each read() takes one frame that the kernel sends on the device, and each write() is one frame that the
 * device receives. A frame consists of
 *
 *	struct virtio_net_hdr_v1	12 octets, integers in host byte order; num_buffers is 0 on read, ignored on write
 *	struct ibtap_header		44 octets: the pseudo header of 40 octets, and IPoIB's encapsulation (RFC 4391 §6)
 *	payload				an IPv4 or IPv6 packet, or ARP
 *
 * csum_start and hdr_len of struct virtio_net_hdr_v1 count from the first octet of struct ibtap_header.
 *
 * Errors of read() and write()
 *	EBADFD		the descriptor was never attached
 *	EBUSY		the device of the descriptor was removed; the descriptor cannot be attached again
 *	EAGAIN		read() of a non-blocking descriptor: no frame is waiting
 *	EMSGSIZE	read(): the buffer was too small; the frame is lost. write(): more than 65535 octets of payload
 *	EINVAL		write(): the frame is too short, or its virtio-net header is wrong or contradicts the frame
 *	EIO		write(): the device is down
 *
 * Events of poll()
 *	EPOLLIN			a frame is waiting
 *	EPOLLPRI		the device's groups have changed since the last IBTAP_GET_GROUPS
 *	EPOLLOUT		always, while the descriptor is attached to a device
 *	EPOLLERR|EPOLLHUP	the device was removed, or the descriptor was never attached
 */

#include <linux/ioctl.h>
#include <linux/types.h>

#define IBTAP_ALEN \
	20 /* octets of a hardware address: flags, QPN of 24 bits, GID (RFC 4391 §9.1.1) */
#define IBTAP_NAMSIZ 16
#define IBTAP_MAX_QUEUES 16
#define IBTAP_MIN_MTU 68
#define IBTAP_MAX_MTU 65520

/*
 * The source comes first, so that the destination and the encapsulation are the last 24 octets of the header. The
 * header of ib_ipoib consists of these 24 octets.
 */
struct ibtap_header {
	__u8 source[IBTAP_ALEN];
	__u8 dest[IBTAP_ALEN];
	__be16 proto; /* Ethertype of the payload */
	__be16 reserved; /* 0 in frames read; ignored in frames written */
};

/* Flags of IBTAP_ATTACH */
#define IBTAP_MULTI_QUEUE 0x1 /* several descriptors, each with its own queue of the device */
#define IBTAP_EXCLUSIVE 0x2 /* fail with EEXIST if the device exists */

/*
 * IBTAP_ATTACH attaches the descriptor to a device of the network namespace in which the descriptor
 * was opened. If this namespace has no device with the given name, IBTAP_ATTACH makes the device.
 * An existing device must have been made with the same value of IBTAP_MULTI_QUEUE, and must be
 *  - a device with IBTAP_MULTI_QUEUE that has a free queue, or
 *  - a persistent device to which no descriptor is attached.
 *
 * A caller with CAP_NET_ADMIN in the namespace can make devices and attach to each device. Other
 * callers can attach only to an existing device for which IBTAP_SET_OWNER or IBTAP_SET_GROUP has
 * allowed it.
 */
struct ibtap_attach {
	/*
	 * name of the device, or a pattern with %d; "" means ibtap%d. The ioctl replaces it with
	 * the device's name
	 */
	char name[IBTAP_NAMSIZ];
	__u32 flags;
	__u32 ifindex; /* the kernel writes the index of the device here */
};

struct ibtap_addr {
	__u8 addr[IBTAP_ALEN];
};

/*
 * Bits of IBTAP_SET_OFFLOADS: the offloads that the owner of the device accepts in the frames that it reads. Every
 * bit except IBTAP_OFFLOAD_CSUM itself requires IBTAP_OFFLOAD_CSUM.
 */
#define IBTAP_OFFLOAD_CSUM 0x01 /* checksums may be partial */
#define IBTAP_OFFLOAD_TSO4 0x02
#define IBTAP_OFFLOAD_TSO6 0x04
#define IBTAP_OFFLOAD_TSO_ECN 0x08
#define IBTAP_OFFLOAD_USO 0x10 /* UDP over IPv4 and IPv6: VIRTIO_NET_HDR_GSO_UDP_L4 (5) */

/* Bits of ibtap_groups.flags */
#define IBTAP_ALLMULTI 0x1
#define IBTAP_PROMISC 0x2

/* The hardware addresses of the groups of which the device is a member, not sorted. */
struct ibtap_groups {
	__u32 flags; /* the kernel writes IBTAP_ALLMULTI and IBTAP_PROMISC here */
	/* length of the array; the kernel writes the number of groups here, which may be larger */
	__u32 count;
	__u64 addrs; /* address of an array of @count struct ibtap_addr */
};

struct ibtap_info {
	char name[IBTAP_NAMSIZ];
	__u32 ifindex;
	__u32 queues; /* number of attached descriptors */
	__u32 flags; /* IBTAP_MULTI_QUEUE */
	__u32 persist;
	__u32 owner, group; /* 0xffffffff: not set */
	__u32 offloads;
	__u32 carrier;
	__u32 mtu, max_mtu;
	__u8 addr[IBTAP_ALEN], broadcast[IBTAP_ALEN];
};

#define IBTAP_ATTACH _IOWR(0xb7, 0x01, struct ibtap_attach)
/* The device's own address, which must be that of a unicast GID. */
#define IBTAP_SET_ADDR _IOW(0xb7, 0x02, struct ibtap_addr)
/*
 * The address of the broadcast group, which must have QPN 0xffffff. The kernel copies scope and P_Key from it into
 * the addresses of all IP groups, including groups that exist already.
 */
#define IBTAP_SET_BROADCAST _IOW(0xb7, 0x03, struct ibtap_addr)
/*
 * 1: the device has a carrier; 0: it has none. A new device has no carrier, and a device loses its
 * carrier when its last descriptor is closed.
 */
#define IBTAP_SET_CARRIER _IOW(0xb7, 0x04, __u32)
/*
 * A limit from IBTAP_MIN_MTU to IBTAP_MAX_MTU. The administrator may set MTUs up to this limit. A present MTU above the
 * limit is lowered to the limit.
 */
#define IBTAP_SET_MAX_MTU _IOW(0xb7, 0x05, __u32)
/* A bit mask of IBTAP_OFFLOAD_*. Frames that are already queued do not change. */
#define IBTAP_SET_OFFLOADS _IOW(0xb7, 0x06, __u32)
/*
 * When the last descriptor of the device is closed, the device remains (1, a persistent device) or
 * is removed (0).
 */
#define IBTAP_SET_PERSIST _IOW(0xb7, 0x07, __u32)
/* User and group that may attach without CAP_NET_ADMIN. If both are set, both must match. 0xffffffff: not set */
#define IBTAP_SET_OWNER _IOW(0xb7, 0x08, __u32)
#define IBTAP_SET_GROUP _IOW(0xb7, 0x09, __u32)
#define IBTAP_GET_GROUPS _IOWR(0xb7, 0x0a, struct ibtap_groups)
#define IBTAP_GET_INFO _IOR(0xb7, 0x0b, struct ibtap_info)

#endif

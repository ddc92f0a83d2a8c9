/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_NET_H
#define VM_NET_H

/*
 * DOC: The wire of a VM
 *
 * The guest's uib.ko sends UDP over an Ethernet interface, whose other end is `uipoib vm`. `uipoib
 * vm` unpacks the datagrams from the guest's frames and passes them to the instance over a socket.
 * It also packs the instance's datagrams into frames for the guest. The host's network is not
 * involved, and the guest has no other network. In the guest this interface is in a network
 * namespace of its own. The MTU is larger than any packet, so nothing is fragmented. The addresses
 * are from TEST-NET-1 (RFC 5737), and only the guest and this process see them.
 */

#include <stddef.h>
#include <stdint.h>

#define VM_NET_HOST "192.0.2.1"
#define VM_NET_GUEST "192.0.2.2"
#define VM_NET_PREFIX 30
#define VM_NET_PORT 5001 /* UDP port at both ends of HCA 0's link; the link of HCA 1 has 5002 */
#define VM_HCAS_MAX 8
#define VM_NET_HOST_MAC "\x02\x75\x69\x70\x00\x01"
#define VM_NET_GUEST_MAC "\x02\x75\x69\x70\x00\x02"
#define VM_NET_GUEST_MAC_TEXT "02:75:69:70:00:02"
#define VM_NET_MTU 9000

#define VM_NET_HDR_LEN 42 /* length of the Ethernet, IPv4 and UDP headers */
#define VM_NET_FRAME_MAX (14 + VM_NET_MTU)
#define VM_NET_DATA_MAX (VM_NET_FRAME_MAX - VM_NET_HDR_LEN)

/* vm_net_wrap() - Write the headers of a frame that carries a datagram of @len octets to HCA number @hca of the guest */
void vm_net_wrap(uint8_t hdr[VM_NET_HDR_LEN], unsigned int hca, size_t len);

/*
 * vm_net_unwrap() - Find the datagram in a frame from the guest, and the number of the HCA that sent it; NULL: the frame is
 * something else, such as ARP
 */
const uint8_t *vm_net_unwrap(const uint8_t *frame, size_t len, unsigned int *ret_hca,
			     size_t *ret_len);

#endif

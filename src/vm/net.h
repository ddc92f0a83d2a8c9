/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_NET_H
#define VM_NET_H

/*
 * DOC: The wire of a VM
 *
 * The guest's uib.ko speaks UDP over an Ethernet interface; its other end is `uipoib vm`, which
 * takes the datagrams out of their frames and sends them over a socket to the instance, and back. No
 * network of the host is involved, and the guest has no other. The MTU is larger than any packet:
 * nothing is fragmented. The addresses are of TEST-NET-1 (RFC 5737), seen by nobody else.
 */

#include <stddef.h>
#include <stdint.h>

#define VM_NET_HOST "192.0.2.1"
#define VM_NET_GUEST "192.0.2.2"
#define VM_NET_PREFIX 30
#define VM_NET_PORT 5001 /* of both */
#define VM_NET_HOST_MAC "\x02\x75\x69\x70\x00\x01"
#define VM_NET_GUEST_MAC "\x02\x75\x69\x70\x00\x02"
#define VM_NET_GUEST_MAC_TEXT "02:75:69:70:00:02"
#define VM_NET_MTU 9000

#define VM_NET_HDR_LEN 42 /* Ethernet, IPv4, UDP */
#define VM_NET_FRAME_MAX (14 + VM_NET_MTU)
#define VM_NET_DATA_MAX (VM_NET_FRAME_MAX - VM_NET_HDR_LEN)

/* vm_net_wrap() - Headers of a frame to the guest, before a datagram of @len octets */
void vm_net_wrap(uint8_t hdr[VM_NET_HDR_LEN], size_t len);

/* vm_net_unwrap() - The datagram in a frame of the guest's; NULL: it is something else (ARP, ...) */
const uint8_t *vm_net_unwrap(const uint8_t *frame, size_t len, size_t *ret_len);

#endif

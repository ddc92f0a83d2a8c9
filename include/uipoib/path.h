/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UIPOIB_PATH_H
#define UIPOIB_PATH_H

/*
 * libuipoib-path: the path that IPoIB uses to an IP address.
 *
 * This library offers the path query of "IP over InfiniBand Linux driver, high level design" (Intel, 2002), section
 * 3.3, for the interfaces of a running uipoib(8). The document describes the query as a kernel function and as an
 * ioctl of a socket. A TAP cannot serve this ioctl, so this library offers the query as functions that ask the
 * instance through its control socket. A program begins with ipoib_path_open(3).
 */

#include <stdint.h>
#include <sys/socket.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A question and its answer: 72 octets, in the layout of the document. The caller sets sin_family (AF_INET or AF_INET6) and
 * addr. All other members come from the PathRecord of the SA, in network byte order; sin_family is in host order.
 */
struct ipoib_path_info {
	sa_family_t sin_family; /* address family */
	union {
		uint8_t v4_addr[4]; /* IPv4 destination address */
		uint8_t v6_addr[16]; /* IPv6 destination address */
	} addr;
	uint8_t dest_gid[16]; /* GID of the destination port */
	uint8_t source_gid[16]; /* GID of the source port */
	uint16_t dest_lid;
	uint16_t source_lid;
	/*
	 * flow label (spelled as in the document) in the low 20 bits; two octets of padding precede
	 * this member
	 */
	uint32_t flow_lable;
	uint16_t pkey;
	uint16_t service_level;
	uint16_t mtu; /* the record's octet: 2 bits selector, 6 bits code */
	uint16_t static_rate; /* rate, with selector and code as in mtu */
	uint16_t packet_lifetime; /* packet life time, with selector and code as in mtu */
	uint8_t hop_limit;
	uint8_t tclass;
};

/* Connection of a program with an instance */
struct ipoib_path;

/*
 * Errors
 *
 * ipoib_path_query() returns an error as a positive number. ipoib_get_path() returns an error as a negative
 * number, and the callback receives an error as a negative number. The other functions store an error in errno.
 * The document defines only 0, EAGAIN and ENXIO.
 *
 *	EAGAIN		the question has been asked, and the answer is not known yet; ipoib_get_path(): the callback will be called
 *
 * The address has no path:
 *	ENXIO		no node answers for the address
 *	EHOSTUNREACH	a node has the address, but the SA has no path to this node
 *	EADDRNOTAVAIL	the address is unspecified, loopback, multicast or 255.255.255.255, so it does not belong to one node
 *
 * The interface or the fabric fails:
 *	ENODEV		the instance has no interface with the given name, or has several; or the interface was removed
 *	ETIMEDOUT	the SA did not answer in time, or answered each request with the status "busy"
 *	ENETDOWN	no SA can be reached, or the network device is down
 *
 * The instance cannot be asked:
 *	ENOENT		no instance with the given name runs
 *	EPIPE		the instance ended before it answered
 *	EBUSY		the instance cannot accept another client, or another question
 *	EACCES		the instance belongs to another user
 *	ENOBUFS		16 questions of this struct ipoib_path already wait for answers
 *	EPROTO		the answer of the instance is malformed
 *	EIO		the instance failed for another reason
 *	EINVAL		@path or @info is NULL, or @flags has an unknown flag; ipoib_path_open(): the name is missing or invalid
 *	EAFNOSUPPORT	the family is neither AF_INET nor AF_INET6
 *	ENOMEM, EMFILE, ENFILE	memory, or the file descriptors, ran out
 */

/*
 * Type of the function that ipoib_path_dispatch() calls once for each question. @status: 0 if @info is filled in; otherwise a
 * negative error
 */
typedef void (*ipoib_path_callback)(int status, struct ipoib_path_info *info, void *context);

struct ipoib_path *ipoib_path_open(const char *instance, const char *dev);
void ipoib_path_close(struct ipoib_path *path);

#define IPOIB_PATH_NONBLOCK 1 /* flag of ipoib_path_query() */
int ipoib_path_query(struct ipoib_path *path, struct ipoib_path_info *info, int flags);

int ipoib_get_path(struct ipoib_path *path, struct ipoib_path_info *info,
		   ipoib_path_callback callback, void *context);
int ipoib_path_fd(struct ipoib_path *path);
int ipoib_path_dispatch(struct ipoib_path *path);

#ifdef __cplusplus
}
#endif

#endif

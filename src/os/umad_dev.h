/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_UMAD_DEV_H
#define OS_UMAD_DEV_H

/*
 * A client of the kernel's ib_umad, which uses /dev/infiniband/umadN only by read(), write() and ioctl()
 * (rdma/ib_user_mad.h). In a program that `uipoib exec` starts, libuipoib-umad.so serves these calls.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UMAD_DEV_NAME 64

struct umad_dev {
	int fd;
	/* time-out of each request, and number of times that the kernel repeats it */
	unsigned int timeout_ms, retries;
	char name[UMAD_DEV_NAME]; /* device and port, such as "mlx5_0/1" */
};

/*
 * umad_dev_find() - Find the device of a port: "mlx5_0/1", "mlx5_0" for its first port, or "umad0". Return: 0; -ENOENT: no such port
 */
int umad_dev_find(const char *port, unsigned int *ret_n, char ret_name[UMAD_DEV_NAME]);

/*
 * umad_dev_open() - Open a device, non-blocking. Return: 0; -ENOENT: no such port; -errno of open(), such as -EACCES
 *
 * No class is registered yet.
 */
int umad_dev_open(struct umad_dev *d, const char *port);
void umad_dev_close(struct umad_dev *d);

/*
 * umad_dev_register() - Register to send requests of a class and to receive the answers to them. Requests of other
 * nodes are not received
 * @rmpp:	true: the kernel assembles one MAD from the segments of an answer
 *
 * Return: id for umad_dev_send(), 0 or more; -errno
 */
int umad_dev_register(struct umad_dev *d, uint8_t qpn, uint8_t mgmt_class, uint8_t version,
		      bool rmpp);

/* umad_dev_send() - Send a request to a LID. Return: 0; -errno of write() */
int umad_dev_send(struct umad_dev *d, int agent, uint8_t qpn, uint16_t dlid, const void *mad,
		  size_t len);

#define UMAD_DEV_HDR 64 /* octets before the MAD in a buffer of umad_dev_recv() */

/**
 * umad_dev_recv() - Receive one MAD, if one has arrived
 * @buf:	room for @size octets, UMAD_DEV_HDR more than the longest MAD that is expected
 * @ret_mad:	the MAD in @buf
 * @ret_lost:	true if a request had no answer; *@ret_mad then has the first 24 octets of the request
 *
 * Return: octets of the MAD; -EAGAIN: nothing arrived; -ENOSPC: the MAD does not fit and stays in the queue; -EIO:
 * the device is gone
 */
long umad_dev_recv(struct umad_dev *d, void *buf, size_t size, const uint8_t **ret_mad,
		   bool *ret_lost);

#endif

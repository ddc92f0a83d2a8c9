/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_UMAD_MSG_H
#define TOOLS_UMAD_MSG_H

/* Messages of umad/proto.h on sockets, and the descriptors that are sent with them. No function blocks. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "umad/umad.h"

/* umad_msg_send() - Send a message. Return: 0; -EAGAIN, -EPIPE, or another -errno of sendmsg() */
int umad_msg_send(int sock, const void *msg, size_t len);
/*
 * umad_msg_send_mad() - Send a MAD with its data inline, or in a memfd if it is long
 * @big:	-1 at first. After -EAGAIN it holds the memfd, which is used when the same MAD is sent again;
 *	umad_msg_forget() closes it.
 *
 * Return: as umad_msg_send(); -errno of memfd_create()
 */
int umad_msg_send_mad(int sock, const struct umad_mad *m, const void *data, int *big);
void umad_msg_forget(int *big);

struct umad_received {
	size_t len;
	/* first descriptor that came with the message; -1: none. The caller closes it */
	int fd;
};
/*
 * umad_msg_recv() - Receive a message. Return: 0; -EAGAIN: no message waits; -EPIPE: the connection
 * has ended; -EPROTO: the message is longer than @size
 */
int umad_msg_recv(int sock, uint8_t *buf, size_t size, struct umad_received *ret);

bool umad_is_socket(int fd);
/*
 * umad_memfd_len() - Return: the length of a memfd, if it is from UMAD_HEAD_LEN to UMAD_DATA_MAX
 * octets; 0 for any other file
 */
size_t umad_memfd_len(int fd);
/* umad_memfd_read() - Read the first @len octets of a memfd; false if it has become shorter */
bool umad_memfd_read(int fd, uint8_t *buf, size_t len);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_UMAD_MSG_H
#define DAEMON_UMAD_MSG_H

/* Messages of umad/proto.h on sockets, and the descriptors that travel with them. Nothing here blocks. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "umad/umad.h"

/* umad_msg_send() - 0; -EAGAIN, -EPIPE, -errno of sendmsg() */
int umad_msg_send(int sock, const void *msg, size_t len);
/*
 * umad_msg_send_mad() - With its data inline, or in a memfd
 * @big:	-1 at first. After -EAGAIN its memfd: for the next try with the same one, or umad_msg_forget()
 *
 * Return: as umad_msg_send(); -errno of memfd_create()
 */
int umad_msg_send_mad(int sock, const struct umad_mad *m, const void *data, int *big);
void umad_msg_forget(int *big);

struct umad_received {
	size_t len;
	int fd; /* the first descriptor that came along, the caller's to close; -1: none */
};
/* umad_msg_recv() - 0; -EAGAIN nothing there; -EPIPE the end; -EPROTO longer than @size */
int umad_msg_recv(int sock, uint8_t *buf, size_t size, struct umad_received *ret);

bool umad_is_socket(int fd);
/* umad_memfd_len() - Length of a memfd from UMAD_HEAD_LEN to UMAD_DATA_MAX; 0: it is none of those */
size_t umad_memfd_len(int fd);
/* umad_memfd_read() - Its first @len octets; false: they are no longer there */
bool umad_memfd_read(int fd, uint8_t *buf, size_t len);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_FILE_H
#define DAEMON_FILE_H

#include <stddef.h>

#define FILE_MAX_OCTETS (64u * 1024 * 1024)

/*
 * file_read() - A whole file in memory, with a NUL behind it; free() it
 * Return: 0; -EFBIG above FILE_MAX_OCTETS; -ENOMEM; -errno of open or read
 */
int file_read(const char *path, char **ret, size_t *ret_len);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_FD_H
#define OS_FD_H

/* Functions for descriptors of any kind, which several folders use. */

#include <stddef.h>

/*
 * fd_write_all() - Write @len octets to a blocking descriptor, continuing after signals and short
 * writes. Return: 0 or -errno of write()
 */
int fd_write_all(int fd, const void *data, size_t len);

/*
 * fd_close_from() - Close all descriptors from @first on
 *
 * This also works without close_range(), which Linux has since 5.9 and which some sandboxes refuse.
 */
void fd_close_from(int first);

#endif

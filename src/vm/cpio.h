/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_CPIO_H
#define VM_CPIO_H

/*
 * An initramfs: a cpio archive in the "newc" format (Documentation/driver-api/early-userspace/
 * buffer-format.rst). Errors stay with the stream: ask ferror() at the end.
 */

#include <stddef.h>
#include <stdio.h>

/* cpio_dir() - A folder, mode 0755; its parent comes before it. @path has no leading '/' */
void cpio_dir(FILE *f, const char *path);
/* cpio_file() - A regular file with permissions @perm */
void cpio_file(FILE *f, const char *path, unsigned int perm, const void *data, size_t len);
/* cpio_end() - The trailer */
void cpio_end(FILE *f);

#endif

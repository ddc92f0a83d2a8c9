/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_CPIO_H
#define VM_CPIO_H

/*
 * An initramfs: a cpio archive in the "newc" format (Documentation/driver-api/early-userspace/
 * buffer-format.rst). The functions return no errors, so the caller calls ferror() for the stream
 * at the end.
 */

#include <stddef.h>
#include <stdio.h>

/*
 * cpio_dir() - Add a folder with mode 0755. The parent of the folder must have been added before.
 * @path has no leading '/'
 */
void cpio_dir(FILE *f, const char *path);
/* cpio_file() - Add a regular file with permissions @perm */
void cpio_file(FILE *f, const char *path, unsigned int perm, const void *data, size_t len);
/* cpio_end() - Add the trailer that ends the archive */
void cpio_end(FILE *f);

#endif

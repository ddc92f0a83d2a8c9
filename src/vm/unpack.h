/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_UNPACK_H
#define VM_UNPACK_H

/*
 * A bzImage unpacks itself when it boots, which takes seconds on an emulated processor. These functions unpack the
 * kernel in the image before the boot, and QEMU boots the unpacked kernel by its PVH entry.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unpack_format { UNPACK_GZIP, UNPACK_XZ, UNPACK_ZSTD, UNPACK_LZ4 };

/**
 * unpack_find() - Find the packed kernel in an image
 * @image:	the whole image
 *
 * Source: Documentation/arch/x86/boot.rst, payload_offset and payload_length.
 * Return: 0; -ENOEXEC: the image is no bzImage of protocol 2.08 or later, or its packing is unknown
 */
int unpack_find(const uint8_t *image, size_t len, size_t *ret_at, size_t *ret_len,
		enum unpack_format *ret_format);

/*
 * unpack_has_pvh() - Tell whether @elf is an ELF file that QEMU can boot because it has the note
 * PHYS32_ENTRY
 */
bool unpack_has_pvh(const uint8_t *elf, size_t len);

/**
 * unpack_kernel() - Unpack the kernel in the file @image, with the program for its format (xz,
 * zstd, ...)
 *
 * Return: a memfd, which the caller closes; -errno: the image has to be booted as it is
 */
int unpack_kernel(const char *image);

#endif

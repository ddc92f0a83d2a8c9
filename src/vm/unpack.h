/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_UNPACK_H
#define VM_UNPACK_H

/*
 * A bzImage unpacks itself when it boots, which takes an emulated processor seconds. Here the kernel inside
 * is unpacked first and booted by its PVH entry.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unpack_format { UNPACK_GZIP, UNPACK_XZ, UNPACK_ZSTD, UNPACK_LZ4 };

/**
 * unpack_find() - The packed kernel in an image
 * @image:	all of it
 *
 * Source: Documentation/arch/x86/boot.rst, payload_offset and payload_length.
 * Return: 0; -ENOEXEC no bzImage of protocol 2.08, or packed otherwise
 */
int unpack_find(const uint8_t *image, size_t len, size_t *ret_at, size_t *ret_len,
		enum unpack_format *ret_format);

/* unpack_has_pvh() - An ELF file that has the note PHYS32_ENTRY: QEMU can boot it */
bool unpack_has_pvh(const uint8_t *elf, size_t len);

/**
 * unpack_kernel() - Unpack the kernel in the file @image by the format's program (xz, zstd, ...)
 *
 * Return: a memfd, close() it; -errno: boot the image as it is
 */
int unpack_kernel(const char *image);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_KERNEL_H
#define VM_KERNEL_H

/* The choice of the kernel that a VM boots, and of its modules. An error message names the package of a missing file. */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VM_ERR_MAX (2 * PATH_MAX + 512)
#define KERNEL_RELEASE_MAX 65

struct vm_kernel {
	char image[PATH_MAX]; /* path of a bzImage */
	char release[KERNEL_RELEASE_MAX]; /* "6.1.0-56-amd64" */
	char modules[KERNEL_RELEASE_MAX + 16]; /* /lib/modules/RELEASE */
	char uib[2 * PATH_MAX]; /* path of a uib.ko that was built for this release */
};

/**
 * kernel_release() - Read the release from an image
 * @head:	the first 32 KB of the image, or all of a shorter image
 *
 * Source: Documentation/arch/x86/boot.rst, kernel_version.
 * Return: 0; -ENOEXEC: the file is no bzImage
 */
int kernel_release(char ret[KERNEL_RELEASE_MAX], const uint8_t *head, size_t len);

/**
 * kernel_find() - Choose a kernel and the uib.ko for it
 * @want:	path of an image, or a release; NULL: the newest kernel below /boot that has a uib.ko, or else the
 *	newest kernel
 * @uib:	path of uib.ko; NULL: search for it
 * @home:	folder of the running program: uib.ko is @home/kmod/RELEASE/uib.ko, else
 *		@home/../lib/uipoib/RELEASE/uib.ko, else in the kernel's own modules
 * @err:	on failure the missing file, and the package that has it
 *
 * Return: 0; -ENOENT: a file is missing; -EINVAL: @want is wrong
 */
int kernel_find(struct vm_kernel *ret, const char *want, const char *uib, const char *home,
		char err[VM_ERR_MAX]);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_KERNEL_H
#define VM_KERNEL_H

/* Which kernel a VM boots, and where its modules are. What is missing is named with its package. */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VM_ERR_MAX (2 * PATH_MAX + 512)
#define KERNEL_RELEASE_MAX 65

struct vm_kernel {
	char image[PATH_MAX]; /* a bzImage */
	char release[KERNEL_RELEASE_MAX]; /* "6.1.0-56-amd64" */
	char modules[KERNEL_RELEASE_MAX + 16]; /* /lib/modules/RELEASE */
	char uib[2 * PATH_MAX]; /* uib.ko for it */
};

/**
 * kernel_release() - Which release an image is
 * @head:	its beginning, some KB
 *
 * Source: Documentation/arch/x86/boot.rst, kernel_version.
 * Return: 0; -ENOEXEC no bzImage
 */
int kernel_release(char ret[KERNEL_RELEASE_MAX], const uint8_t *head, size_t len);

/**
 * kernel_find() - Choose a kernel and the uib.ko for it
 * @want:	an image, or a release; NULL: the newest below /boot that has a uib.ko, else the newest
 * @uib:	uib.ko; NULL: search
 * @home:	folder of the running program: uib.ko is @home/kmod/RELEASE/uib.ko, else
 *		@home/../lib/uipoib/RELEASE/uib.ko, else in the kernel's own modules
 * @err:	what is missing, and what has it
 *
 * Return: 0; -ENOENT something is missing; -EINVAL @want is wrong
 */
int kernel_find(struct vm_kernel *ret, const char *want, const char *uib, const char *home,
		char err[VM_ERR_MAX]);

#endif

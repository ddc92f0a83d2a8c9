/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_LOG_H
#define VM_LOG_H

/*
 * The output of the guest's kernel and of QEMU. The last part of the output is kept, and is shown
 * when the VM fails
 */

#include <stdbool.h>
#include <stddef.h>

#define VM_LOG_KEPT 16384

struct vm_log {
	bool verbose; /* true: print everything on standard error as it comes */
	char text[VM_LOG_KEPT]; /* ring buffer of the last octets */
	size_t len; /* number of octets that were added since vm_log_init() */
};

void vm_log_init(struct vm_log *l, bool verbose);
void vm_log_add(struct vm_log *l, const void *data, size_t len);
/* vm_log_show() - Print the part that is kept, if .verbose has not printed it already */
void vm_log_show(const struct vm_log *l);
/* vm_log_has() - Tell whether the part that is kept has @text in it */
bool vm_log_has(const struct vm_log *l, const char *text);
/* vm_log_printable() - Tell whether a terminal shows @c, which comes from the guest, as a character */
bool vm_log_printable(char c);

#endif

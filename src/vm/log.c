/* SPDX-License-Identifier: BSD-2-Clause */
#include "vm/log.h"

#include <stdio.h>
#include <string.h>

void vm_log_init(struct vm_log *l, bool verbose)
{
	l->verbose = verbose;
	l->len = 0;
}

bool vm_log_printable(char c)
{
	return c >= ' ' && c < 0x7f;
}

/* Prints an octet of the guest's log. Escapes keep the guest from controlling the terminal. */
static void print_char(char c)
{
	if (vm_log_printable(c) || c == '\n' || c == '\t')
		putc(c, stderr);
	else if (c != '\r')
		fprintf(stderr, "\\x%02x", (unsigned char)c);
}

void vm_log_add(struct vm_log *l, const void *data, size_t len)
{
	const char *p = data;

	for (size_t i = 0; i < len; i++) {
		if (l->verbose)
			print_char(p[i]);
		l->text[l->len++ % VM_LOG_KEPT] = p[i];
	}
}

/* Copies the octets that are kept, oldest first, and returns their number. */
static size_t kept(const struct vm_log *l, char ret[VM_LOG_KEPT])
{
	size_t n = l->len < VM_LOG_KEPT ? l->len : VM_LOG_KEPT;

	for (size_t i = 0; i < n; i++)
		ret[i] = l->text[(l->len - n + i) % VM_LOG_KEPT];
	return n;
}

void vm_log_show(const struct vm_log *l)
{
	char text[VM_LOG_KEPT];
	size_t n = kept(l, text);

	if (l->verbose || !n)
		return;
	fputs("--- the end of the VM's log:\n", stderr);
	for (size_t i = 0; i < n; i++)
		print_char(text[i]);
	fputs("---\n", stderr);
}

bool vm_log_has(const struct vm_log *l, const char *text)
{
	char log[VM_LOG_KEPT];

	return memmem(log, kept(l, log), text, strlen(text));
}

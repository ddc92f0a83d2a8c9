/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_DL_H
#define OS_DL_H

/*
 * Libraries that few commands need. A library is loaded when a command that needs it runs, so that
 * all other processes of the program start without the library and its dependencies. This matters
 * because some of these processes have privileges.
 */

#include <stddef.h>

struct dl_symbol {
	const char *name; /* name of a function of the library */
	size_t at; /* offset of the pointer to the function in the caller's table */
};

/*
 * DL_TABLE() - Define @table, a struct with a pointer to each function of a library, and an array
 * whose name is that of @table with _symbols appended. dl_load() fills in the pointers by this
 * array
 * @functions:	macro that applies its argument, a macro, to the name of each function
 */
#define DL_TABLE(table, functions)    \
	static struct dl_table {      \
		functions(DL_POINTER) \
	} table;                      \
	static const struct dl_symbol table##_symbols[] = { functions(DL_SYMBOL) }
#define DL_POINTER(f) __typeof__(f) *f;
#define DL_SYMBOL(f) { #f, offsetof(struct dl_table, f) },

/*
 * dl_load() - Load a library, and write the addresses of its functions into @table. Return: 0; -ENOENT: the library or
 * one of its functions is missing
 */
int dl_load(void *table, const char *soname, const struct dl_symbol *symbols, size_t n);

#endif

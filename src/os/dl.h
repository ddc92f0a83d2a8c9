/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_DL_H
#define OS_DL_H

/*
 * Libraries that few commands need. They are loaded when such a command runs, so that all other processes of the program, some of which
 * have privileges, start without them and without the libraries that they bring.
 */

#include <stddef.h>

struct dl_symbol {
	const char *name; /* of a function of the library */
	size_t at; /* offset of the pointer to it in the caller's table */
};

/* dl_load() - Load a library, and write the addresses of its functions into @table. Return: 0; -ENOENT: it or a function is missing */
int dl_load(void *table, const char *soname, const struct dl_symbol *symbols, size_t n);

#endif

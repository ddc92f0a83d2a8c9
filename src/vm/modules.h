/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_MODULES_H
#define VM_MODULES_H

/*
 * Which files a kernel's modules are in and in which order they load: modules.dep(5), modules.builtin(5)
 * and, for a module that is not installed, its own .modinfo.
 */

#include <stdbool.h>
#include <stddef.h>

#define MODULES_MAX 64

struct modules {
	const char *dir; /* "/lib/modules/6.1.0-56-amd64"; borrowed */
	char *dep, *builtin; /* the files' text */
	char *path[MODULES_MAX]; /* absolute, in the order of loading */
	unsigned int n;
};

/* modules_open() - Read the lists of @dir. 0; -ENOENT and other negative errnos of modules.dep */
int modules_open(struct modules *m, const char *dir);
/* modules_parse() - The same of texts; @builtin may be NULL. 0 or -ENOMEM */
int modules_parse(struct modules *m, const char *dir, const char *dep, const char *builtin);
/* modules_close() - A zeroed one is accepted */
void modules_close(struct modules *m);

/**
 * modules_add() - Add a module behind those that it needs
 * @name:	'-' and '_' are the same
 *
 * What is there already or built into the kernel is not added.
 * Return: 0; -ENOENT the kernel has no such module; -E2BIG; -ENOMEM
 */
int modules_add(struct modules *m, const char *name);
/* modules_find() - Its file as modules.dep has it, malloc()ed, absolute; NULL: none */
char *modules_find(const struct modules *m, const char *name);

/**
 * modules_add_file() - Add a module that modules.dep does not know, behind those that it says it needs
 * @ret_missing:	on -ENOENT the name of the module that the kernel does not have
 *
 * Return: 0; -ENOENT; -ENOEXEC not a module for x86-64; -errno of reading it
 */
int modules_add_file(struct modules *m, const char *path, char ret_missing[64]);

/**
 * modules_info() - Value of a tag in the .modinfo of a module
 * @elf:	the file, @len octets
 * @tag:	"depends", "vermagic"
 *
 * Return: points into @elf, NUL-terminated there; NULL: no such tag, or no module
 */
const char *modules_info(const void *elf, size_t len, const char *tag);

/* modules_read() - A whole file, malloc()ed, with a NUL behind it. NULL with errno */
char *modules_read(const char *path, size_t *ret_len);

#endif

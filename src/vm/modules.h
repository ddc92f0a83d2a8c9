/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VM_MODULES_H
#define VM_MODULES_H

/*
 * The files of a kernel's modules, in the order in which they have to be loaded. The sources are modules.dep(5)
 * and modules.builtin(5) and, for a module that is not installed, the section .modinfo of its file.
 */

#include <stdbool.h>
#include <stddef.h>

#define MODULES_MAX 64

struct modules {
	const char *dir; /* "/lib/modules/6.1.0-56-amd64"; borrowed */
	char *dep, *builtin; /* contents of modules.dep and modules.builtin */
	char *path[MODULES_MAX]; /* absolute, in the order of loading */
	unsigned int n;
};

/*
 * modules_open() - Read the lists in the folder @dir. Return: 0; -ENOENT or another error of
 * reading modules.dep
 */
int modules_open(struct modules *m, const char *dir);
/*
 * modules_parse() - Take the lists from texts instead of files; @builtin may be NULL. Return: 0 or
 * -ENOMEM
 */
int modules_parse(struct modules *m, const char *dir, const char *dep, const char *builtin);
/* modules_close() - Free the lists; an all-zero struct is accepted */
void modules_close(struct modules *m);

/**
 * modules_add() - Add a module after the modules that it needs
 * @name:	name of the module, in which '-' and '_' mean the same
 *
 * A module that is in the list already, or built into the kernel, is not added.
 * Return: 0; -ENOENT: the kernel has no such module; -E2BIG: too many modules; -ENOMEM
 */
int modules_add(struct modules *m, const char *name);
/*
 * modules_find() - Return the absolute path of the file that modules.dep lists for a module; NULL if modules.dep
 * does not list the module. The caller frees the path by free()
 */
char *modules_find(const struct modules *m, const char *name);

/**
 * modules_add_file() - Add the module file @path, which is not in modules.dep, after the modules that its .modinfo
 * names
 * @ret_missing:	on -ENOENT the name of the module that the kernel does not have
 *
 * Return: 0; -ENOENT; -ENOEXEC: the file is no module for x86-64; another error of reading it
 */
int modules_add_file(struct modules *m, const char *path, char ret_missing[64]);

/**
 * modules_info() - Read the value of a tag in the .modinfo of a module
 * @elf:	the contents of the file, @len octets
 * @tag:	"depends", "vermagic"
 *
 * Return: a pointer into @elf, to a text that ends with NUL; NULL if there is no such tag or @elf is no module
 */
const char *modules_info(const void *elf, size_t len, const char *tag);

/*
 * modules_read() - Read a whole file, and append a NUL; the caller frees the result by free(). Return: NULL, with
 * errno set, if the file cannot be read
 */
char *modules_read(const char *path, size_t *ret_len);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_BESIDE_H
#define OS_BESIDE_H

/* These functions find files that are installed with the program. */

#include <limits.h>
#include <stdbool.h>

/*
 * beside_folder() - Write the folder of the running program's file to @ret, with a '/' at its end.
 * Return: false if the folder is not known
 */
bool beside_folder(char ret[PATH_MAX]);

/*
 * beside_find() - Find the file @name, which is in the program's folder after a build and in
 * ../lib/uipoib after `make install`. Return: false if the file is readable in neither folder
 */
bool beside_find(const char *name, char ret[PATH_MAX]);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_BESIDE_H
#define CLI_BESIDE_H

/* Finds files that are installed with the program. */

#include <limits.h>
#include <stdbool.h>

/* beside_folder() - The folder of the running program, with a '/' at its end */
bool beside_folder(char ret[PATH_MAX]);

/*
 * beside_find() - Find the file @name, which is in the program's folder after a build and in
 * ../lib/uipoib after `make install`. False: neither file can be read
 */
bool beside_find(const char *name, char ret[PATH_MAX]);

#endif

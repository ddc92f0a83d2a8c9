/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_BESIDE_H
#define CLI_BESIDE_H

/* Files that belong to the program. */

#include <limits.h>
#include <stdbool.h>

/* beside_folder() - The folder of the running program, with a '/' at its end */
bool beside_folder(char ret[PATH_MAX]);

/*
 * beside_find() - A file beside the program, as the build has it, or in ../lib/uipoib, where
 * `make install` puts it. False: neither can be read
 */
bool beside_find(const char *name, char ret[PATH_MAX]);

#endif

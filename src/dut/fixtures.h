/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DUT_FIXTURES_H
#define DUT_FIXTURES_H

/*
 * Directories of `uipoib conform`, in particular the directory of --fixtures. The functions return
 * 0, or print a message and return an exit status.
 */

#include "fixture/fixture.h"

/* conform_dir() - Make the directory @dir of option @option if it does not exist, and check that it is writable */
int conform_dir(const char *option, const char *dir);
/*
 * conform_fixtures_dir() - Do the same as conform_dir() for the option --fixtures, and check that
 * the directory is empty
 */
int conform_fixtures_dir(const char *dir);
int conform_fixtures_write(struct fixtures *f, const char *dir, const char *profile);

#endif

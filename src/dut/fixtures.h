/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DUT_FIXTURES_H
#define DUT_FIXTURES_H

/* Directories of `uipoib conform`, above all that of --fixtures. Functions return 0, or an exit status after a message. */

#include "fixture/fixture.h"

/* conform_dir() - Make the directory that @option names if it is not there, and see that it can be written to */
int conform_dir(const char *option, const char *dir);
/* conform_fixtures_dir() - The same, and see that it is empty */
int conform_fixtures_dir(const char *dir);
int conform_fixtures_write(struct fixtures *f, const char *dir, const char *profile);

#endif

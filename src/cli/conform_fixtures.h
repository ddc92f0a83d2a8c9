/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_CONFORM_FIXTURES_H
#define CLI_CONFORM_FIXTURES_H

/* The directory of `uipoib conform --fixtures`. Both functions return 0, or an exit status after a message. */

#include "fixture/fixture.h"

/* conform_fixtures_dir() - Make the directory, or see that it is empty and can be written to */
int conform_fixtures_dir(const char *dir);
int conform_fixtures_write(struct fixtures *f, const char *dir, const char *profile);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

/* cmocka, and the headers that must be included before it */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif

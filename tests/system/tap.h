/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SYSTEM_TAP_H
#define TESTS_SYSTEM_TAP_H

/*
 * The Test Anything Protocol for programs that test uipoib from outside. Test functions use
 * EXPECT(). main() calls RUN() for each test function, and then tap_end().
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int tap_bad, tap_failed;

#define EXPECT(cond)                                                                     \
	do {                                                                             \
		int errno_ = errno;                                                      \
		if (!(cond)) {                                                           \
			printf("#   %s:%d: %s (errno: %s)\n", __FILE__, __LINE__, #cond, \
			       strerror(errno_));                                        \
			tap_bad = 1;                                                     \
		}                                                                        \
	} while (0)

/* Fails unless @expr fails with @err. */
#define EXPECT_ERR(expr, err)                           \
	do {                                            \
		errno = 0;                              \
		EXPECT((expr) == -1 && errno == (err)); \
	} while (0)

#define RUN(name, what)                                             \
	do {                                                        \
		tap_bad = 0;                                        \
		name();                                             \
		tap_failed |= tap_bad;                              \
		printf("%sok - %s\n", tap_bad ? "not " : "", what); \
		fflush(stdout);                                     \
	} while (0)

static inline int tap_end(void)
{
	return tap_failed;
}

#endif

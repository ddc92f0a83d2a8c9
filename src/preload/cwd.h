/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PRELOAD_CWD_H
#define PRELOAD_CWD_H

#include <stdbool.h>

/*
 * A working directory of ours. The kernel's own is then PARK, from where programs that are
 * started here find their way back: a shell exports PWD.
 */

/* Is the working directory one of ours? */
bool cwd_is_ours(void);

/**
 * cwd_get() - The working directory, if it is one of ours
 * @ret:	PATH_MAX octets, written only on success
 * Return: false if it is not ours
 */
bool cwd_get(char *ret);

/* At the start: is PWD a directory of ours, and are we where chdir() to one leaves a process? */
void cwd_adopt(void);

#endif

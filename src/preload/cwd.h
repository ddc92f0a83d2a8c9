/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PRELOAD_CWD_H
#define PRELOAD_CWD_H

#include <stdbool.h>

/*
 * Working directories that are "ours": directories that exist only because this library shows them to the program.
 * While a process is in one of them, its working directory in the kernel is PARK (or "/"). A program that it starts
 * finds our directory in PWD, which shells export.
 */

/* Tell whether the working directory is one that only this library provides. */
bool cwd_is_ours(void);

/**
 * cwd_get() - Copy the working directory, if it is one of ours
 * @ret:	PATH_MAX octets, written only on success
 * Return: false if it is not ours
 */
bool cwd_get(char *ret);

/*
 * Called when the program starts. Enters the directory that PWD names, if that is one of ours and
 * the kernel's working directory is the one that a process has after chdir() to a directory of ours.
 */
void cwd_adopt(void);

#endif

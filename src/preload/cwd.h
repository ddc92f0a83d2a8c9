/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PRELOAD_CWD_H
#define PRELOAD_CWD_H

#include <stdbool.h>

/*
 * The library lets a program enter a directory that only the library provides, and that the kernel
 * does not have. While a process is in such a directory, its working directory in the kernel is
 * "/sys/class", or "/" if "/sys/class" cannot be entered. If the process is a shell, it exports the
 * name of the library's directory in the environment variable PWD. Programs that the shell starts
 * read the name from PWD.
 */

/* Tell whether the working directory is one that only this library provides. */
bool cwd_is_ours(void);

/**
 * cwd_get() - Get the path of the working directory, if only this library provides this directory
 * @ret:	PATH_MAX octets, written only on success
 * Return: true if @ret has the path; false if the kernel provides the working directory
 */
bool cwd_get(char *ret);

/*
 * Called when the program starts. A parent process may have entered a directory that only this
 * library provides, and then started this program. If so, PWD names this directory, and the kernel's
 * working directory is "/sys/class" or "/". The function enters the directory of PWD again.
 */
void cwd_adopt(void);

#endif

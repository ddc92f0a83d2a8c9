/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MACHINE_ROOT_H
#define MACHINE_ROOT_H

/* The root file system of a VM: this machine's own, or a folder that --root names */

/*
 * root_set() - Check the value of --root. @ret: its absolute path, allocated. Return: 0, or the
 * exit status after a message
 */
int root_set(char **ret, const char *dir);

/*
 * root_check_systemd() - Check that systemd is installed in the root file system @root; NULL: the
 * root file system of this machine. Return: 0, or the exit status after a message
 */
int root_check_systemd(const char *root);

/**
 * root_cwd() - Find the folder in which CMD starts
 * @share:	absolute paths, NULL-terminated
 *
 * The folder is the caller's folder in three cases: @root is NULL, which means this machine's root;
 * the caller's folder is in a share; or @root has a folder of the same path. In any other case it
 * is /. Return: the path, allocated; NULL if the caller's folder cannot be read
 */
char *root_cwd(const char *root, const char *const *share);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MACHINE_USER_H
#define MACHINE_USER_H

/* The user as whom CMD runs in a VM, if CMD does not run as root */

#include <limits.h>
#include <sys/types.h>

#include "vm/guest.h"

struct user {
	char ids[VM_GROUPS_MAX * 12]; /* as guest_cfg.user */
	char name[LOGIN_NAME_MAX]; /* "" if the files contain no name of the user */
	char home[PATH_MAX];
};

/**
 * user_find() - Look a user up
 * @text:	a name, or UID, or UID:GID. A name must be in etc/passwd; a UID need not be there.
 *	If @text has no GID, the GID comes from etc/passwd. For a UID that is not in etc/passwd,
 *	the GID is then equal to the UID
 * @root:	the guest's root file system, whose etc/passwd and etc/group are read; NULL: this machine's
 *
 * Return: 0, or the exit status after a message
 */
int user_find(struct user *ret, const char *text, const char *root);

/*
 * user_environ() - Make the environment of CMD: @env with HOME, USER and LOGNAME of the user. If the
 * user has no name, the environment has neither USER nor LOGNAME. Return: an array, allocated by
 * one malloc(); NULL: out of memory. The strings HOME, USER and LOGNAME are in the same allocation,
 * and the other strings are borrowed from @env
 */
char **user_environ(const struct user *u, char *const *env);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "machine/user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmdline/cmdline.h"
#include "conf/conf.h"

#define ID_MAX 4294967294ul /* largest ID; the next number, (uid_t)-1, means "no user" */

static FILE *open_file(const char *root, const char *name)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/etc/%s", root ? root : "", name);
	return fopen(path, "re");
}

/* --- etc/passwd and etc/group, which are files of the guest, so the name services of this machine are not asked */

static bool is_user(const struct passwd *p, const char *name, bool by_uid, unsigned long uid)
{
	return by_uid ? p->pw_uid == uid : !strcmp(p->pw_name, name);
}

/*
 * Reads name, home and primary group of the user from the file. Return: false if the user is not in
 * the file
 */
static bool read_passwd(struct user *u, FILE *f, const char *name, bool by_uid, unsigned long *uid,
			unsigned long *gid)
{
	struct passwd *p;

	while (f && (p = fgetpwent(f))) {
		if (!is_user(p, name, by_uid, *uid))
			continue;
		*uid = p->pw_uid;
		*gid = p->pw_gid;
		snprintf(u->name, sizeof(u->name), "%s", p->pw_name);
		snprintf(u->home, sizeof(u->home), "%s", p->pw_dir);
		return true;
	}
	return false;
}

static bool has_member(const struct group *g, const char *name)
{
	for (char **m = g->gr_mem; *m; m++)
		if (!strcmp(*m, name))
			return true;
	return false;
}

static void add_id(struct user *u, unsigned long id)
{
	size_t len = strlen(u->ids);

	snprintf(u->ids + len, sizeof(u->ids) - len, "%s%lu", len ? "," : "", id);
}

static void add_groups(struct user *u, FILE *f, unsigned long gid)
{
	struct group *g;

	for (unsigned int n = 1; f && n < VM_GROUPS_MAX && (g = fgetgrent(f));) {
		if (g->gr_gid == gid || !*u->name || !has_member(g, u->name))
			continue;
		add_id(u, g->gr_gid);
		n++;
	}
}

static void close_file(FILE *f)
{
	if (f)
		fclose(f);
}

/* --- the argument of --user */

static bool parse_ids(const char *text, unsigned long *uid, unsigned long *gid, bool *ret_gid)
{
	const char *colon = strchr(text, ':');
	char *first = strndupa(text, colon ? (size_t)(colon - text) : strlen(text));

	*ret_gid = colon;
	return !conf_parse_uint(uid, first, 0, ID_MAX) &&
	       (!colon || !conf_parse_uint(gid, colon + 1, 0, ID_MAX));
}

int user_find(struct user *ret, const char *text, const char *root)
{
	unsigned long uid = 0, gid = 0, given;
	bool has_gid = false, by_uid = parse_ids(text, &uid, &gid, &has_gid), known;
	FILE *passwd = open_file(root, "passwd"), *group = open_file(root, "group");

	*ret = (struct user){ .home = "/" };
	given = gid;
	known = read_passwd(ret, passwd, text, by_uid, &uid, &gid);
	if (has_gid)
		gid = given;
	else if (!known)
		gid = uid;
	add_id(ret, uid);
	add_id(ret, gid);
	add_groups(ret, group, gid);
	close_file(passwd);
	close_file(group);
	if (known || by_uid)
		return 0;
	return cli_error(PROTO_EXIT_USAGE,
			 "vm: --user '%s': expected a name of %s/etc/passwd, or UID or UID:GID",
			 text, root ? root : "");
}

/* --- the environment */

static bool is_replaced(const char *entry)
{
	return !strncmp(entry, "HOME=", 5) || !strncmp(entry, "USER=", 5) ||
	       !strncmp(entry, "LOGNAME=", 8);
}

char **user_environ(const struct user *u, char *const *env)
{
	size_t n = 0, text = 3 * (sizeof("LOGNAME=") + PATH_MAX);
	char **v, *home, *user, *logname;

	while (env[n])
		n++;
	v = malloc((n + 4) * sizeof(*v) + text);
	if (!v)
		return NULL;
	home = (char *)(v + n + 4);
	user = home + 1 + snprintf(home, sizeof("HOME=") + PATH_MAX, "HOME=%s", u->home);
	logname = user + 1 + snprintf(user, sizeof("USER=") + LOGIN_NAME_MAX, "USER=%s", u->name);
	snprintf(logname, sizeof("LOGNAME=") + LOGIN_NAME_MAX, "LOGNAME=%s", u->name);
	n = 0;
	v[n++] = home;
	if (*u->name) {
		v[n++] = user;
		v[n++] = logname;
	}
	for (; *env; env++)
		if (!is_replaced(*env))
			v[n++] = *env;
	v[n] = NULL;
	return v;
}

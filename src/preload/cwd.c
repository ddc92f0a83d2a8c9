/* SPDX-License-Identifier: BSD-2-Clause */
#include "preload/cwd.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/fdtab.h"
#include "preload/node.h"
#include "preload/path.h"
#include "preload/real.h"

/* kernel's working directory while the program is in a directory that only this library provides */
#define PARK "/sys/class"

/*
 * A directory that the program has entered. These structs are never freed, so that readers need no
 * lock.
 */
struct place {
	struct place *next;
	char path[FDTAB_PATH_MAX];
};

static struct place *_Atomic places;
static struct place *_Atomic current;

static struct place *place_get(const char *path)
{
	struct place *head = atomic_load(&places), *p;

	for (p = head; p; p = p->next)
		if (strcmp(p->path, path) == 0)
			return p;
	p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	memcpy(p->path, path, strlen(path) + 1);
	do
		p->next = head;
	while (!atomic_compare_exchange_weak(&places, &head, p));
	return p;
}

bool cwd_is_ours(void)
{
	return atomic_load_explicit(&current, memory_order_acquire) != NULL;
}

bool cwd_get(char *ret)
{
	const struct place *p = atomic_load_explicit(&current, memory_order_acquire);

	if (p)
		memcpy(ret, p->path, strlen(p->path) + 1);
	return p != NULL;
}

/* Make @path, a directory that only this library provides, the working directory of the process. */
static int enter(const char *path)
{
	struct place *p;

	if (strlen(path) >= FDTAB_PATH_MAX)
		return -ENAMETOOLONG;
	p = place_get(path);
	if (!p)
		return -ENOMEM;
	if (real.chdir(PARK) != 0 && real.chdir("/") != 0)
		return -errno;
	atomic_store_explicit(&current, p, memory_order_release);
	return 0;
}

void cwd_adopt(void)
{
	const char *pwd = getenv("PWD");
	struct path p;
	struct node n;
	char at[sizeof(PARK)];

	if (!pwd || pwd[0] != '/' || syscall(SYS_getcwd, at, sizeof(at)) <= 0)
		return;
	if (strcmp(at, real.faccessat(AT_FDCWD, PARK, X_OK, 0) == 0 ? PARK : "/") != 0)
		return;
	if (path_find(&p, AT_FDCWD, pwd) && node_look(&n, &p) == 0 && S_ISDIR(n.mode))
		enter(p.abs);
}

EXPORT int chdir(const char *path)
{
	struct path p;
	struct node n;
	int err;

	if (!path_find(&p, AT_FDCWD, path)) {
		err = real.chdir(p.rest);
		if (err == 0)
			atomic_store_explicit(&current, NULL, memory_order_release);
		return err;
	}
	err = node_look(&n, &p);
	if (err == 0 && !S_ISDIR(n.mode))
		err = -ENOTDIR;
	if (err == 0)
		err = enter(p.abs);
	if (err == 0)
		return 0;
	errno = -err;
	return -1;
}

EXPORT int fchdir(int fd)
{
	char path[FDTAB_PATH_MAX];
	int err;

	if (!preload_on() || fdtab_kind(fd) != FD_DIR) {
		err = real.fchdir(fd);
		if (err == 0)
			atomic_store_explicit(&current, NULL, memory_order_release);
		return err;
	}
	err = fdtab_path(path, fd);
	if (err == 0)
		err = enter(path);
	if (err == 0)
		return 0;
	errno = -err;
	return -1;
}

EXPORT char *getcwd(char *buf, size_t size)
{
	const struct place *p = preload_on() ? atomic_load(&current) : NULL;
	size_t need = p ? strlen(p->path) + 1 : 0;

	if (!p)
		return real.getcwd(buf, size);
	if (size == 0 && buf) {
		errno = EINVAL;
		return NULL;
	}
	if (size != 0 && size < need) {
		errno = ERANGE;
		return NULL;
	}
	if (!buf && !(buf = malloc(size ? size : need)))
		return NULL;
	return memcpy(buf, p->path, need);
}

EXPORT char *__getcwd_chk(char *buf, size_t len, size_t size)
{
	if (len > size)
		abort();
	return getcwd(buf, len);
}

EXPORT char *get_current_dir_name(void)
{
	return getcwd(NULL, 0);
}

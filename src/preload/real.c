/* SPDX-License-Identifier: BSD-2-Clause */
#include "preload/real.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/cwd.h"
#include "preload/fdtab.h"
#include "preload/umad.h"

/*
 * On 64-bit machines one definition serves both functions of a pair such as open() and open64(), or
 * stat() and stat64().
 */
static_assert(sizeof(off_t) == 8 && sizeof(long) == 8, "64-bit only");
static_assert(sizeof(struct stat) == sizeof(struct stat64), "64-bit only");
static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "64-bit only");

/*
 * Functions that make raw system calls. struct real points to them until dlsym() has found the
 * functions of the C library. The reason is that dlsym() can allocate memory, and the program's
 * allocator can then open a configuration file. For this it calls open() of this library while
 * dlsym() is still running.
 */
static int boot_openat(int dirfd, const char *path, int flags, ...)
{
	return (int)syscall(SYS_openat, dirfd, path, flags, 0600);
}

static ssize_t boot_readlinkat(int dirfd, const char *path, char *buf, size_t len)
{
	return syscall(SYS_readlinkat, dirfd, path, buf, len);
}

static ssize_t boot_read(int fd, void *buf, size_t count)
{
	return syscall(SYS_read, fd, buf, count);
}

static ssize_t boot_write(int fd, const void *buf, size_t count)
{
	return syscall(SYS_write, fd, buf, count);
}

struct real real = {
	.openat = boot_openat,
	.readlinkat = boot_readlinkat,
	.read = boot_read,
	.write = boot_write,
};

struct config config;

static atomic_bool ready;
static bool resolving, on;

/*
 * Copy the value of an environment variable, or "" if the variable is not set. Return: false if the
 * value does not fit
 */
static bool copy_env(char *ret, size_t size, const char *name)
{
	const char *value = getenv(name);
	size_t len = value ? strlen(value) : 0;

	if (len >= size)
		return false;
	memcpy(ret, value ? value : "", len + 1);
	return true;
}

static void read_environment(void)
{
	struct timespec now;

	config.addr.sun_family = AF_UNIX;
	on = copy_env(config.addr.sun_path, sizeof(config.addr.sun_path), UMAD_ENV_SOCKET) &&
	     config.addr.sun_path[0] != '\0' &&
	     copy_env(config.host, sizeof(config.host), UMAD_ENV_HOST) &&
	     copy_env(config.node, sizeof(config.node), UMAD_ENV_NODE);
	clock_gettime(CLOCK_REALTIME, &now);
	config.started = now.tv_sec;
}

static void resolve(void)
{
	void *p;

#define X(type, name, params)        \
	p = dlsym(RTLD_NEXT, #name); \
	if (p != NULL)               \
		memcpy(&real.name, &p, sizeof(p));
	REAL_FUNCTIONS(X)
#undef X
}

bool preload_on(void)
{
	if (atomic_load_explicit(&ready, memory_order_acquire))
		return on;
	if (resolving) /* dlsym() in resolve() has called a function of this library */
		return false;
	resolving = true;
	resolve();
	read_environment();
	atomic_store_explicit(&ready, true, memory_order_release);
	resolving = false;
	return on;
}

__attribute__((constructor)) static void preload_start(void)
{
	if (!preload_on())
		return;
	umad_start();
	fdtab_adopt();
	cwd_adopt();
}

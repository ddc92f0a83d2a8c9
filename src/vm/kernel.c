/* SPDX-License-Identifier: BSD-2-Clause */
#include "vm/kernel.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vm/modules.h"

#define BOOT_IMAGES "/boot/vmlinuz-*"
#define HEAD_LEN 32768 /* the version is in the real-mode part, which has at most 64 sectors */

int kernel_release(char ret[KERNEL_RELEASE_MAX], const uint8_t *head, size_t len)
{
	size_t at, n;

	if (len < 0x210 || memcmp(head + 0x202, "HdrS", 4))
		return -ENOEXEC;
	at = 0x200 + ((size_t)head[0x20e] | (size_t)head[0x20f] << 8);
	for (n = 0; at + n < len && n < KERNEL_RELEASE_MAX && head[at + n] > ' '; n++)
		;
	if (!n || n >= KERNEL_RELEASE_MAX || at + n == len)
		return -ENOEXEC;
	memcpy(ret, head + at, n);
	ret[n] = '\0';
	return 0;
}

static int read_release(struct vm_kernel *k)
{
	FILE *f = fopen(k->image, "re");
	uint8_t head[HEAD_LEN];
	size_t n;

	if (!f)
		return -errno;
	n = fread(head, 1, sizeof(head), f);
	fclose(f);
	return kernel_release(k->release, head, n);
}

/* --- uib.ko */

static bool take(struct vm_kernel *k, const char *path)
{
	if (access(path, R_OK))
		return false;
	snprintf(k->uib, sizeof(k->uib), "%s", path);
	return true;
}

static bool take_installed(struct vm_kernel *k)
{
	struct modules m;
	char *path;
	bool found;

	if (modules_open(&m, k->modules))
		return false;
	path = modules_find(&m, "uib");
	found = path && take(k, path);
	free(path);
	modules_close(&m);
	return found;
}

static bool find_uib(struct vm_kernel *k, const char *home)
{
	static const char *const at[] = { "kmod", "../lib/uipoib" };
	char path[2 * PATH_MAX];

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s/%s/uib.ko", home, at[i], k->release);
		if (take(k, path))
			return true;
	}
	return take_installed(k);
}

/*
 * Check that the module file k->uib was built for the kernel that boots, because a module fits one
 * release only.
 */
static int check_uib(const struct vm_kernel *k, char err[VM_ERR_MAX])
{
	size_t len, n = strlen(k->release);
	char *elf = modules_read(k->uib, &len);
	const char *magic;
	int status = 0;

	if (!elf) {
		snprintf(err, VM_ERR_MAX, "%s: %s", k->uib, strerror(errno));
		return -ENOENT;
	}
	magic = modules_info(elf, len, "vermagic");
	if (!magic || strncmp(magic, k->release, n) || magic[n] != ' ') {
		snprintf(err, VM_ERR_MAX, "%s: it is for kernel %.*s, not for %s", k->uib,
			 magic ? (int)strcspn(magic, " ") : 4, magic ? magic : "none", k->release);
		status = -ENOENT;
	}
	free(elf);
	return status;
}

static int no_uib(const struct vm_kernel *k, char err[VM_ERR_MAX])
{
	char build[sizeof(k->modules) + 16];

	snprintf(build, sizeof(build), "%s/build", k->modules);
	if (access(build, X_OK))
		snprintf(err, VM_ERR_MAX,
			 "no uib.ko for kernel %s, nor its headers: install the package "
			 "linux-headers-%s, then `make kmod` in the source of uipoib builds it",
			 k->release, k->release);
	else
		snprintf(err, VM_ERR_MAX,
			 "no uib.ko for kernel %s: `make kmod` in the source of uipoib builds it",
			 k->release);
	return -ENOENT;
}

/* --- the kernel */

/*
 * Finds all files of the kernel except uib.ko. Return: 0; -ENOENT or -EINVAL with the reason in
 * @err
 */
static int look_at(struct vm_kernel *k, const char *image, char err[VM_ERR_MAX])
{
	char dep[sizeof(k->modules) + 16];
	int status;

	*k = (struct vm_kernel){ 0 };
	snprintf(k->image, sizeof(k->image), "%s", image);
	status = read_release(k);
	if (status) {
		snprintf(err, VM_ERR_MAX, "kernel %s: %s", image,
			 status == -ENOEXEC ? "not a Linux kernel for x86" : strerror(-status));
		return status == -ENOENT ? -ENOENT : -EINVAL;
	}
	snprintf(k->modules, sizeof(k->modules), "/lib/modules/%s", k->release);
	snprintf(dep, sizeof(dep), "%s/modules.dep", k->modules);
	if (!access(dep, R_OK))
		return 0;
	snprintf(err, VM_ERR_MAX, "%s is missing: the package linux-image-%s has it", dep,
		 k->release);
	return -ENOENT;
}

static int newest_first(const void *a, const void *b)
{
	return strverscmp(*(char *const *)b, *(char *const *)a);
}

static int find_newest(struct vm_kernel *ret, const char *home, char err[VM_ERR_MAX])
{
	struct vm_kernel k;
	int status = -ENOENT;
	char why[VM_ERR_MAX];
	glob_t g;

	snprintf(err, VM_ERR_MAX,
		 "no kernel " BOOT_IMAGES ": the package linux-image-amd64 has one");
	if (glob(BOOT_IMAGES, GLOB_NOSORT, NULL, &g))
		return -ENOENT;
	qsort(g.gl_pathv, g.gl_pathc, sizeof(*g.gl_pathv), newest_first);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		bool usable = !look_at(&k, g.gl_pathv[i], i ? why : err);

		/* Prefer the newest kernel that has a uib.ko. If no kernel has one, choose the newest kernel. */
		if (usable && (status || find_uib(&k, home))) {
			*ret = k;
			status = 0;
			if (find_uib(ret, home))
				break;
		}
	}
	globfree(&g);
	return status;
}

int kernel_find(struct vm_kernel *ret, const char *want, const char *uib, const char *home,
		char err[VM_ERR_MAX])
{
	char image[PATH_MAX];
	int status;

	if (want) {
		snprintf(image, sizeof(image), "%s%s", strchr(want, '/') ? "" : "/boot/vmlinuz-",
			 want);
		status = look_at(ret, image, err);
	} else {
		status = find_newest(ret, home, err);
	}
	if (status)
		return status;
	if (uib)
		snprintf(ret->uib, sizeof(ret->uib), "%s", uib);
	else if (!*ret->uib && !find_uib(ret, home))
		return no_uib(ret, err);
	return check_uib(ret, err);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Reads the files that libuipoib-umad.so shows below /sys/class/infiniband and /dev, by every function of the C library
 * that programs use for files. tests/interop/umad_server.py serves them.
 */

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "system/tap.h"

#define IB "/sys/class/infiniband"
#define CA IB "/uipoib0"
#define GUID "0002:c903:0000:0001\n"

static const char *volatile nowhere;

/* Tell whether the file that the descriptor refers to has the content @want. Closes the descriptor. */
static int content_is(int fd, const char *want)
{
	char buf[100];
	ssize_t n = read(fd, buf, sizeof(buf));

	close(fd);
	return n == (ssize_t)strlen(want) && memcmp(buf, want, (size_t)n) == 0;
}

/* Return all names of the directory in their order, joined. */
static const char *names(DIR *d)
{
	static char ret[2000];
	struct dirent *e;

	ret[0] = '\0';
	if (!d)
		return "(none)";
	while ((e = readdir(d))) {
		strcat(ret, e->d_name);
		strcat(ret, " ");
	}
	return ret;
}

static void t_open(void)
{
	int fd = open(CA "/node_guid", O_RDONLY), dir = open(CA, O_RDONLY | O_DIRECTORY);

	EXPECT(fcntl(fd, F_GETFD) == 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
	EXPECT_ERR(write(fd, "x", 1), EBADF);
	EXPECT(content_is(fd, GUID));
	EXPECT(content_is(open64(CA "/node_guid", O_RDONLY), GUID));
	EXPECT(content_is(openat(AT_FDCWD, CA "//ports/./1/../1/lid", O_RDONLY), "0x7\n"));
	EXPECT(content_is(openat(dir, "ports/1/state", O_RDONLY), "4: ACTIVE\n"));
	EXPECT(content_is(openat64(dir, "../uipoib1/ports/1/lid", O_RDONLY), "0x8\n"));
	EXPECT(content_is(open(CA "/empty", O_RDONLY), ""));
	fd = openat(dir, "../../../../dev/null", O_RDONLY);
	EXPECT(fd >= 0 && content_is(fd, ""));
	fd = open(CA "/node_guid", O_RDONLY | O_CLOEXEC);
	EXPECT(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	close(fd);
	close(dir);
}

static void t_open_errors(void)
{
	int dir = open(CA, O_RDONLY);
	char c;

	EXPECT_ERR(open(CA "/node_guid", O_WRONLY), EACCES);
	EXPECT_ERR(open(CA "/node_guid", O_RDWR | O_TRUNC), EACCES);
	EXPECT_ERR(open(CA "/node_guid/", O_RDONLY), ENOTDIR);
	EXPECT_ERR(open(CA "/node_guid", O_RDONLY | O_DIRECTORY), ENOTDIR);
	EXPECT_ERR(open(CA "/node_guid", O_RDONLY | O_CREAT | O_EXCL, 0600), EEXIST);
	EXPECT_ERR(open(CA "/nothing", O_RDONLY), ENOENT);
	EXPECT_ERR(creat(CA "/nothing", 0600), EACCES);
	EXPECT_ERR(open(CA, O_RDWR), EISDIR);
	EXPECT_ERR(open(CA "/secret", O_RDONLY), EACCES);
	EXPECT_ERR(open("/sys/class/infiniband_verbs/uverbs0", O_RDONLY), ENOENT);
	EXPECT_ERR(open("", O_RDONLY), ENOENT);
	EXPECT_ERR(openat(dir, "", O_RDONLY), ENOENT);
	EXPECT_ERR(read(dir, &c, 1), EISDIR);
	EXPECT_ERR(openat(dir, "nothing", O_RDONLY), ENOENT);
	close(dir);
	EXPECT_ERR(openat(dir, "node_guid", O_RDONLY), EBADF);
}

/* Each open() shows the present values. */
static void t_fresh(void)
{
	char a[20] = "", b[20] = "";
	int fd = open(CA "/counter", O_RDONLY);

	EXPECT(read(fd, a, sizeof(a)) > 0);
	close(fd);
	fd = open(CA "/counter", O_RDONLY);
	EXPECT(read(fd, b, sizeof(b)) > 0);
	EXPECT(atoi(b) == atoi(a) + 1);
	EXPECT(pread(fd, a, sizeof(a), 0) > 0 && atoi(a) == atoi(b));
	EXPECT(lseek(fd, 0, SEEK_SET) == 0);
	close(fd);
}

static void t_streams(void)
{
	char line[100];
	FILE *f = fopen(CA "/node_guid", "re");

	EXPECT(f && fcntl(fileno(f), F_GETFD) == FD_CLOEXEC);
	EXPECT(f && fgets(line, sizeof(line), f) && strcmp(line, GUID) == 0);
	f = f ? freopen(CA "/ports/1/lid", "r", f) : NULL;
	EXPECT(f && fgets(line, sizeof(line), f) && strcmp(line, "0x7\n") == 0);
	f = f ? freopen("/dev/null", "r", f) : NULL;
	EXPECT(f && !fgets(line, sizeof(line), f) && fclose(f) == 0);
	f = fopen64(CA "/ports/1/lid", "r");
	EXPECT(f && fgets(line, sizeof(line), f) && strcmp(line, "0x7\n") == 0 && fclose(f) == 0);
	errno = 0;
	EXPECT(!fopen(CA "/node_guid", "w") && errno == EACCES);
	EXPECT(!fopen(CA "/node_guid", "r+") && errno == EACCES);
	EXPECT(!fopen(CA "/nothing", "r") && errno == ENOENT);
	EXPECT(!fopen("/dev/infiniband/umad0", "r+") && errno == EINVAL);
}

/* Programs that were built with a glibc older than 2.33 call these functions. */
int __xstat(int ver, const char *path, struct stat *st) __attribute__((weak));
int __fxstatat(int ver, int dirfd, const char *path, struct stat *st, int flags)
	__attribute__((weak));

static void t_stat(void)
{
	struct stat a, b;
	struct stat64 c;
	struct statx x;
	int fd = open(CA "/node_guid", O_RDONLY), dir = open(CA, O_RDONLY);

	EXPECT(stat(CA "/node_guid", &a) == 0 && a.st_mode == (S_IFREG | 0444) && a.st_size == 20);
	EXPECT(fstat(fd, &b) == 0 && memcmp(&a, &b, sizeof(a)) == 0);
	EXPECT(fstatat(dir, "node_guid", &b, 0) == 0 && memcmp(&a, &b, sizeof(a)) == 0);
	EXPECT(lstat64(CA "/node_guid", &c) == 0 && memcmp(&a, &c, sizeof(a)) == 0);
	EXPECT(__xstat && __xstat(1, CA "/node_guid", &b) == 0 && memcmp(&a, &b, sizeof(a)) == 0);
	EXPECT(__fxstatat && __fxstatat(1, dir, "node_guid", &b, 0) == 0 && b.st_ino == a.st_ino);
	EXPECT(statx(AT_FDCWD, CA "/node_guid", 0, STATX_ALL, &x) == 0 && x.stx_ino == a.st_ino &&
	       x.stx_mode == a.st_mode);
	EXPECT(stat(CA, &a) == 0 && S_ISDIR(a.st_mode));
	EXPECT(fstat64(dir, &c) == 0 && memcmp(&a, &c, sizeof(a)) == 0);
	EXPECT(fstatat(dir, "", &b, AT_EMPTY_PATH) == 0 && memcmp(&a, &b, sizeof(a)) == 0);
	EXPECT(stat(CA "/ports", &b) == 0 && b.st_ino != a.st_ino && b.st_dev == a.st_dev);
	EXPECT_ERR(stat(CA "/nothing", &a), ENOENT);
	EXPECT_ERR(statx(dir, "nothing", 0, STATX_ALL, &x), ENOENT);
	EXPECT_ERR(stat("/sys/class/infiniband_verbs", &a), ENOENT);
	EXPECT(stat("/dev/infiniband", &a) == 0 && S_ISDIR(a.st_mode));
	EXPECT_ERR(stat("/dev/infiniband/umad7", &a), ENOENT);
	EXPECT(stat("/etc/passwd", &a) == 0 && S_ISREG(a.st_mode));
	close(fd);
	close(dir);
}

static void t_access(void)
{
	char buf[PATH_MAX], *p;

	EXPECT(access(CA, R_OK | X_OK) == 0 && access(CA "/node_guid", R_OK) == 0);
	EXPECT_ERR(access(CA "/node_guid", W_OK), EACCES);
	EXPECT_ERR(eaccess(CA "/node_guid", X_OK), EACCES);
	EXPECT_ERR(faccessat(AT_FDCWD, CA "/nothing", F_OK, AT_EACCESS), ENOENT);
	EXPECT_ERR(access(nowhere, F_OK), EFAULT);
	EXPECT_ERR(readlink(CA, buf, sizeof(buf)), EINVAL);
	EXPECT_ERR(readlink(CA "/nothing", buf, sizeof(buf)), ENOENT);
	EXPECT(realpath(CA "/ports/../node_guid", buf) && strcmp(buf, CA "/node_guid") == 0);
	p = realpath(CA "/./", NULL);
	EXPECT(p && strcmp(p, CA) == 0);
	free(p);
	EXPECT(!realpath(CA "/nothing", NULL) && errno == ENOENT);
	EXPECT_ERR(getxattr(CA, "security.selinux", buf, sizeof(buf)), EOPNOTSUPP);
}

static void t_directories(void)
{
	DIR *d = opendir(IB);
	struct dirent *e, *r, entry;
	long at;

	EXPECT(strcmp(names(d), ". .. uipoib0 uipoib1 ") == 0);
	rewinddir(d);
	EXPECT((e = readdir(d)) && strcmp(e->d_name, ".") == 0);
	at = telldir(d);
	EXPECT(strcmp(names(d), ".. uipoib0 uipoib1 ") == 0);
	seekdir(d, at);
	EXPECT(readdir(d) && (e = readdir(d)) && strcmp(e->d_name, "uipoib0") == 0);
	EXPECT(faccessat(dirfd(d), "uipoib0/ports/1", X_OK, 0) == 0);
	EXPECT(dirfd(d) == dirfd(d) && closedir(d) == 0);
	EXPECT(strcmp(names(d = opendir("/dev/infiniband")), ". .. issm0 umad0 ") == 0);
	closedir(d);
	d = fdopendir(open(CA "/ports/1/pkeys", O_RDONLY));
	EXPECT(strcmp(names(d), ". .. 0 1 ") == 0);
	rewinddir(d);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	EXPECT(readdir_r(d, &entry, &r) == 0 && r == &entry && strcmp(entry.d_name, ".") == 0);
#pragma GCC diagnostic pop
	closedir(d);
	EXPECT(!opendir(CA "/node_guid") && errno == ENOTDIR);
	EXPECT(!opendir(CA "/nothing") && errno == ENOENT);
	d = opendir("/etc"); /* other directories work as always */
	EXPECT(d && readdir(d) && dirfd(d) > 2 && closedir(d) == 0);
}

static int is_number(const struct dirent *e)
{
	return e->d_name[0] >= '0' && e->d_name[0] <= '9';
}

static void t_scans(void)
{
	struct dirent **list;
	glob_t g;
	int n = scandir(CA "/ports/1/pkeys", &list, is_number, alphasort);

	EXPECT(n == 2 && strcmp(list[0]->d_name, "0") == 0 && strcmp(list[1]->d_name, "1") == 0);
	while (n > 0)
		free(list[--n]);
	free(list);
	EXPECT((n = scandir("/", &list, NULL, NULL)) > 2);
	while (n > 0)
		free(list[--n]);
	free(list);
	EXPECT_ERR(scandir(CA "/nothing", &list, NULL, NULL), ENOENT);
	EXPECT(glob(IB "/*/ports/*/lid", 0, NULL, &g) == 0 && g.gl_pathc == 2 &&
	       strcmp(g.gl_pathv[1], IB "/uipoib1/ports/1/lid") == 0);
	globfree(&g);
	EXPECT(glob("/dev/infiniband/umad[0-9]", 0, NULL, &g) == 0 && g.gl_pathc == 1);
	globfree(&g);
	EXPECT(glob("/etc/passw?", 0, NULL, &g) == 0 && g.gl_pathc == 1);
	globfree(&g);
	EXPECT(glob(IB "/none*", 0, NULL, &g) == GLOB_NOMATCH);
}

static void t_cwd(void)
{
	char buf[PATH_MAX], *was = getcwd(NULL, 0), *p;
	int home = open(".", O_RDONLY), dir = open(CA "/ports/1", O_RDONLY);
	DIR *d;

	EXPECT(chdir(CA) == 0 && getcwd(buf, sizeof(buf)) && strcmp(buf, CA) == 0);
	EXPECT(content_is(open("node_guid", O_RDONLY), GUID));
	EXPECT(content_is(open("../uipoib1/ports/1/lid", O_RDONLY), "0x8\n"));
	EXPECT(strcmp(names(d = opendir(".")), ". .. empty node_guid node_type ports ") == 0);
	closedir(d);
	EXPECT(access("../../../../etc/passwd", R_OK) == 0);
	EXPECT(chdir("ports") == 0 && chdir("..") == 0 && chdir(".//ports/1/pkeys") == 0);
	EXPECT(content_is(open("0", O_RDONLY), "0xffff\n"));
	EXPECT(fchdir(dir) == 0 && content_is(open("lid", O_RDONLY), "0x7\n"));
	EXPECT_ERR(chdir("nothing"), ENOENT);
	EXPECT_ERR(chdir("lid"), ENOTDIR);
	EXPECT(!getcwd(buf, 5) && errno == ERANGE);
	p = getcwd(NULL, 0);
	EXPECT(p && strcmp(p, CA "/ports/1") == 0);
	free(p);
	EXPECT(chdir("../../../../net") == 0 && getcwd(buf, sizeof(buf)) &&
	       strcmp(buf, "/sys/class/net") == 0);
	EXPECT(chdir("..") == 0 &&
	       content_is(open("infiniband/uipoib0/node_guid", O_RDONLY), GUID));
	EXPECT(fchdir(home) == 0 && getcwd(buf, sizeof(buf)) && strcmp(buf, was) == 0);
	close(home);
	close(dir);
	free(was);
}

static void t_evil(void)
{
	static const char *const paths[] = { "evil_len",  "evil_short",	 "evil_err",
					     "evil_type", "evil_silent", NULL };
	char path[PATH_MAX];
	struct stat st;
	DIR *d;
	int fd;

	for (int i = 0; paths[i]; i++) {
		snprintf(path, sizeof(path), "%s/%s", CA, paths[i]);
		EXPECT_ERR(open(path, O_RDONLY), ENOENT);
		EXPECT_ERR(stat(path, &st), ENOENT);
		EXPECT(!opendir(path) && errno == ENOENT);
	}
	EXPECT(strcmp(names(d = opendir(CA "/evil_dir")), ". .. ok last-without-zero ") == 0);
	closedir(d);
	fd = open(CA "/evil_big", O_RDONLY);
	EXPECT(lseek(fd, 0, SEEK_END) == 65536);
	close(fd);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	memcpy(path, CA "/", sizeof(CA));
	EXPECT_ERR(open(path, O_RDONLY), ENAMETOOLONG);
	path[240] = '\0';
	EXPECT_ERR(open(path, O_RDONLY), ENOENT);
	EXPECT_ERR(chdir(path), ENOENT);
}

/* Descriptors of files and directories still work after exec(). */
static void t_inherited(const char *self)
{
	int dir = open(CA, O_RDONLY), status;
	char number[12];

	snprintf(number, sizeof(number), "%d", dir);
	if (fork() == 0) {
		execl(self, self, number, NULL);
		_exit(1);
	}
	EXPECT(wait(&status) > 0 && status == 0);
	close(dir);
}

static int inherited(int dir)
{
	struct stat st;

	return fstat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
			       content_is(openat(dir, "ports/1/lid", O_RDONLY), "0x7\n") &&
			       fchdir(dir) == 0 && content_is(open("node_guid", O_RDONLY), GUID)
		       ? 0
		       : 1;
}

static char *self;

static void t_exec(void)
{
	t_inherited(self);
}

/*
 * Lowest free descriptor number at the start. At the end it must be the same, because no descriptor
 * may be left open.
 */
static int first_free;

static void t_leaks(void)
{
	int fd = dup(0);

	EXPECT(fd == first_free);
	close(fd);
}

int main(int argc, char **argv)
{
	self = argv[0];
	if (argc == 2)
		return inherited(atoi(argv[1]));
	first_free = dup(0);
	close(first_free);
	RUN(t_open, "attributes are read by every open");
	RUN(t_open_errors, "what sysfs refuses is refused");
	RUN(t_fresh, "an attribute is as it is when it is opened");
	RUN(t_streams, "streams");
	RUN(t_stat, "all of the stat family agree");
	RUN(t_access, "access, readlink, realpath, xattr");
	RUN(t_directories, "directories are read, rewound, sought");
	RUN(t_scans, "scandir and glob");
	RUN(t_cwd, "a working directory of ours, into and out of it");
	RUN(t_evil, "a hostile server's answers are errors");
	RUN(t_exec, "directories keep their meaning over exec");
	RUN(t_leaks, "no descriptor is left open");
	return tap_end();
}

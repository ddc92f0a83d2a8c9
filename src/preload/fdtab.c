/* SPDX-License-Identifier: BSD-2-Clause */
#include "preload/fdtab.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "preload/real.h"
#include "preload/umad.h"

#define PAGE_BITS 10
#define PAGE_FDS (1u << PAGE_BITS)
#define PAGES 1024u /* PAGES * PAGE_FDS is 1048576 descriptors, the default of fs.nr_open */

#define NAME_FILE "uipoib-file:"
#define NAME_DIR "uipoib-dir:"
#define LINK_FILE "/memfd:" NAME_FILE
#define LINK_DIR "/memfd:" NAME_DIR
#define LINK_TAIL " (deleted)"

/*
 * An entry of the table of descriptors. Bits 56 to 63: kind; bits 40 to 55: N of umadN; bits 0 to
 * 39: inode. An entry of a descriptor that is not of this library is 0.
 */
typedef _Atomic uint64_t entry_t;
#define INO_MASK ((UINT64_C(1) << 40) - 1)

static entry_t *_Atomic pages[PAGES];

/*
 * st_dev of the descriptors of each kind, because inode numbers are unique only within a file
 * system; 0 until the first descriptor of the kind is added
 */
static _Atomic uint64_t fs_of[FD_KINDS];

static entry_t *entry_of(int fd)
{
	entry_t *page;

	if (fd < 0 || (unsigned int)fd >= PAGES * PAGE_FDS)
		return NULL;
	page = atomic_load_explicit(&pages[(unsigned int)fd >> PAGE_BITS], memory_order_acquire);
	return page ? &page[(unsigned int)fd & (PAGE_FDS - 1)] : NULL;
}

static entry_t *entry_make(int fd)
{
	const size_t size = PAGE_FDS * sizeof(entry_t);
	entry_t *none = NULL, *page;

	if (fd < 0 || (unsigned int)fd >= PAGES * PAGE_FDS || entry_of(fd))
		return entry_of(fd);
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	if (!atomic_compare_exchange_strong(&pages[(unsigned int)fd >> PAGE_BITS], &none, page))
		munmap(page, size);
	return entry_of(fd);
}

static bool is_entered(const struct stat *st, uint64_t v)
{
	return (st->st_ino & INO_MASK) == (v & INO_MASK) &&
	       st->st_dev == atomic_load_explicit(&fs_of[v >> 56], memory_order_acquire);
}

/*
 * Return the entry of @fd if @fd still refers to the file for which the entry was made; otherwise 0
 */
static uint64_t entry_get(int fd)
{
	entry_t *e = entry_of(fd);
	int saved = errno;
	struct stat st;
	uint64_t v;

	if (!e)
		return 0;
	v = atomic_load_explicit(e, memory_order_acquire);
	if (v == 0)
		return 0;
	if (real.fstat(fd, &st) == 0 && is_entered(&st, v))
		return v;
	atomic_compare_exchange_strong(e, &v, 0);
	errno = saved;
	return 0;
}

enum fd_kind fdtab_kind(int fd)
{
	return (enum fd_kind)(entry_get(fd) >> 56);
}

unsigned int fdtab_dev(int fd)
{
	return (unsigned int)(entry_get(fd) >> 40) & 0xffff;
}

void fdtab_add(int fd, enum fd_kind kind, unsigned int dev)
{
	entry_t *e = entry_make(fd);
	struct stat st;

	if (!e || real.fstat(fd, &st) != 0)
		return;
	atomic_store_explicit(&fs_of[kind], st.st_dev, memory_order_release);
	atomic_store_explicit(
		e, (uint64_t)kind << 56 | (uint64_t)(dev & 0xffff) << 40 | (st.st_ino & INO_MASK),
		memory_order_release);
}

int fdtab_copy(int from, int to)
{
	uint64_t v = to >= 0 ? entry_get(from) : 0;
	entry_t *e = v ? entry_make(to) : NULL;

	if (e)
		atomic_store_explicit(e, v, memory_order_release);
	return to;
}

int fdtab_memfd(enum fd_kind kind, const char *path, unsigned int flags)
{
	const char *prefix = kind == FD_DIR ? NAME_DIR : NAME_FILE;
	char name[sizeof(NAME_FILE) + FDTAB_PATH_MAX];
	size_t len = strlen(path);
	int fd;

	if (len >= FDTAB_PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(stpcpy(name, prefix), path, len + 1);
	fd = memfd_create(name, flags);
	return fd < 0 ? -errno : fd;
}

const char *fdtab_proc(char *ret, int fd)
{
	static const char dir[] = "/proc/self/fd/";
	char digits[12];
	size_t n = 0, at = sizeof(dir) - 1;
	unsigned int v = (unsigned int)fd;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	memcpy(ret, dir, at);
	while (n)
		ret[at++] = digits[--n];
	ret[at] = '\0';
	return ret;
}

/* Read the kernel's name of a descriptor: "socket:[N]", "/memfd:NAME (deleted)" or a path. */
static int link_of(char *ret, size_t size, int fd)
{
	char proc[32];
	ssize_t n = real.readlinkat(AT_FDCWD, fdtab_proc(proc, fd), ret, size - 1);

	if (n < 0)
		return -errno;
	ret[n] = '\0';
	return 0;
}

static enum fd_kind memfd_kind(const char *link)
{
	if (strncmp(link, LINK_FILE, sizeof(LINK_FILE) - 1) == 0)
		return FD_FILE;
	if (strncmp(link, LINK_DIR, sizeof(LINK_DIR) - 1) == 0)
		return FD_DIR;
	return FD_OTHER;
}

int fdtab_path(char *ret, int fd)
{
	char link[sizeof(LINK_FILE) + FDTAB_PATH_MAX + sizeof(LINK_TAIL)];
	int err = link_of(link, sizeof(link), fd);
	const char *path;
	size_t len;

	if (err)
		return err;
	if (memfd_kind(link) == FD_OTHER)
		return -EBADF;
	path = link + (memfd_kind(link) == FD_DIR ? sizeof(LINK_DIR) : sizeof(LINK_FILE)) - 1;
	len = strlen(path);
	if (len < sizeof(LINK_TAIL) || len - (sizeof(LINK_TAIL) - 1) >= FDTAB_PATH_MAX)
		return -EBADF;
	len -= sizeof(LINK_TAIL) - 1;
	memcpy(ret, path, len);
	ret[len] = '\0';
	return 0;
}

/*
 * Return the kind of a socket that was inherited through exec(). The socket belongs to this library
 * if it is connected to the path in UIPOIB_UMAD.
 */
static enum fd_kind socket_kind(int fd)
{
	struct sockaddr_un peer = { 0 };
	socklen_t len = sizeof(peer), optlen = sizeof(int);
	int type;

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &optlen) != 0 || type != SOCK_SEQPACKET ||
	    getpeername(fd, (struct sockaddr *)&peer, &len) != 0 || peer.sun_family != AF_UNIX ||
	    strncmp(peer.sun_path, config.addr.sun_path, sizeof(peer.sun_path)) != 0)
		return FD_OTHER;
	return umad_is_issm(fd) ? FD_ISSM : FD_UMAD;
}

static void adopt(int fd)
{
	char link[sizeof(LINK_FILE) + FDTAB_PATH_MAX + sizeof(LINK_TAIL)];
	enum fd_kind kind;

	if (link_of(link, sizeof(link), fd) != 0)
		return;
	kind = strncmp(link, "socket:", 7) == 0 ? socket_kind(fd) : memfd_kind(link);
	if (kind != FD_OTHER)
		fdtab_add(fd, kind, 0);
}

void fdtab_adopt(void)
{
	DIR *dir = real.opendir("/proc/self/fd");
	struct dirent *de;

	if (!dir)
		return;
	while ((de = real.readdir(dir)))
		if (de->d_name[0] != '.')
			adopt((int)strtol(de->d_name, NULL, 10));
	real.closedir(dir);
}

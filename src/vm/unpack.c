/* SPDX-License-Identifier: BSD-2-Clause */
#include "vm/unpack.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vm/modules.h"

#define PHYS32_ENTRY 18 /* type of the ELF note, from xen/include/public/elfnote.h */
#define SIZE_LEN 4 /* the kernel's build appends the unpacked size, except with gzip */

/* --- the image */

static uint32_t le32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static const struct {
	uint8_t magic[4], n;
	const char *program, *options;
} formats[] = {
	[UNPACK_GZIP] = { { 0x1f, 0x8b }, 2, "gzip", "-dc" },
	[UNPACK_XZ] = { { 0xfd, '7', 'z', 'X' }, 4, "xz", "-dc" },
	[UNPACK_ZSTD] = { { 0x28, 0xb5, 0x2f, 0xfd }, 4, "zstd", "-qdc" },
	[UNPACK_LZ4] = { { 0x02, 0x21, 0x4c, 0x18 }, 4, "lz4", "-qdc" },
};

int unpack_find(const uint8_t *image, size_t len, size_t *ret_at, size_t *ret_len,
		enum unpack_format *ret_format)
{
	size_t at, n;

	if (len < 0x250 || memcmp(image + 0x202, "HdrS", 4) ||
	    (image[0x206] | image[0x207] << 8) < 0x208)
		return -ENOEXEC;
	at = ((size_t)(image[0x1f1] ? image[0x1f1] : 4) + 1) * 512 + le32(image + 0x248);
	n = le32(image + 0x24c);
	if (n < 2 * SIZE_LEN || at > len || n > len - at)
		return -ENOEXEC;
	for (unsigned int i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (memcmp(image + at, formats[i].magic, formats[i].n))
			continue;
		*ret_at = at;
		*ret_len = i == UNPACK_GZIP ? n : n - SIZE_LEN;
		*ret_format = i;
		return 0;
	}
	return -ENOEXEC;
}

/*
 * Tells whether the notes contain the PVH entry. An ELF note is: size of the name, size of the
 * description, type, name, description. Name and description are padded to a multiple of 4.
 */
static bool notes_have_pvh(const uint8_t *p, size_t len)
{
	while (len >= 12) {
		uint64_t name = (le32(p) + 3ull) & ~3ull, desc = (le32(p + 4) + 3ull) & ~3ull;

		if (le32(p) == 4 && le32(p + 8) == PHYS32_ENTRY && len >= 16 &&
		    !memcmp(p + 12, "Xen", 4))
			return true;
		if (name + desc > len - 12)
			return false;
		p += 12 + name + desc;
		len -= (size_t)(12 + name + desc);
	}
	return false;
}

bool unpack_has_pvh(const uint8_t *elf, size_t len)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (len < sizeof(eh))
		return false;
	memcpy(&eh, elf, sizeof(eh));
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_phentsize != sizeof(ph) || eh.e_phoff > len ||
	    (size_t)eh.e_phnum * sizeof(ph) > len - eh.e_phoff)
		return false;
	for (unsigned int i = 0; i < eh.e_phnum; i++) {
		memcpy(&ph, elf + eh.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_NOTE && ph.p_offset <= len &&
		    ph.p_filesz <= len - ph.p_offset &&
		    notes_have_pvh(elf + ph.p_offset, (size_t)ph.p_filesz))
			return true;
	}
	return false;
}

/* --- the programs that unpack */

static int memory_file(const void *data, size_t len)
{
	int fd = memfd_create("kernel", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (size_t at = 0; at < len;) {
		ssize_t n = write(fd, (const char *)data + at, len - at);

		if (n < 0 && errno != EINTR) {
			close(fd);
			return -ENOSPC;
		}
		at += n > 0 ? (size_t)n : 0;
	}
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void exec_tool(enum unpack_format format, int in, int out, pid_t parent)
	__attribute__((noreturn));

static void exec_tool(enum unpack_format format, int in, int out, pid_t parent)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execlp(formats[format].program, formats[format].program, formats[format].options, NULL);
	_exit(127);
}

static int run_tool(enum unpack_format format, int in, int out)
{
	pid_t parent = getpid(), pid = fork();
	int status = 0;

	if (!pid)
		exec_tool(format, in, out, parent);
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status ? -ENOEXEC : 0;
}

static int check(int fd)
{
	struct stat st;
	void *elf;
	bool pvh;

	if (fstat(fd, &st) < 0 || st.st_size <= 0)
		return -ENOEXEC;
	elf = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (elf == MAP_FAILED)
		return -errno;
	pvh = unpack_has_pvh(elf, (size_t)st.st_size);
	munmap(elf, (size_t)st.st_size);
	return pvh ? 0 : -ENOEXEC;
}

int unpack_kernel(const char *image)
{
	enum unpack_format format;
	size_t len, at, n;
	char *data = modules_read(image, &len);
	int in = -1, out = -1, status;

	if (!data)
		return -errno;
	status = unpack_find((const uint8_t *)data, len, &at, &n, &format);
	if (!status) {
		in = memory_file(data + at, n);
		out = memfd_create("vmlinux", MFD_CLOEXEC);
		status = in < 0 ? in : out < 0 ? -errno : run_tool(format, in, out);
	}
	if (!status)
		status = check(out);
	if (in >= 0)
		close(in);
	if (status && out >= 0)
		close(out);
	free(data);
	return status ? status : out;
}

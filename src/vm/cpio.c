/* SPDX-License-Identifier: BSD-2-Clause */
#include "vm/cpio.h"

#include <string.h>
#include <sys/stat.h>

/*
 * Write zeros until @len is a multiple of 4. The format requires this padding after the header with the name, and
 * after the data.
 */
static void pad(FILE *f, size_t len)
{
	static const char zeros[4];

	fwrite(zeros, 1, -len & 3, f);
}

static void entry(FILE *f, const char *path, unsigned int mode, const void *data, size_t len)
{
	size_t name = strlen(path) + 1;

	/* magic, ino, mode, uid, gid, nlink, mtime, size, device and rdevice, size of the name, checksum */
	int head = fprintf(f, "070701%08X%08X%08X%08X%08X%08X%08zX%08X%08X%08X%08X%08zX%08X", 0,
			   mode, 0, 0, 1, 0, len, 0, 0, 0, 0, name, 0);

	fwrite(path, 1, name, f);
	pad(f, (size_t)head + name);
	if (len)
		fwrite(data, 1, len, f);
	pad(f, len);
}

void cpio_dir(FILE *f, const char *path)
{
	entry(f, path, S_IFDIR | 0755, NULL, 0);
}

void cpio_file(FILE *f, const char *path, unsigned int perm, const void *data, size_t len)
{
	entry(f, path, S_IFREG | perm, data, len);
}

void cpio_end(FILE *f)
{
	entry(f, "TRAILER!!!", 0, NULL, 0);
}

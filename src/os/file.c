/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.h"

static int read_all(int fd, char **ret, size_t *ret_len)
{
	char *text = NULL;
	size_t len = 0, cap = 0;

	for (;;) {
		ssize_t n;

		if (cap - len < 2) {
			char *bigger;

			cap = cap ? cap * 2 : 16384;
			bigger = cap > FILE_MAX_OCTETS ? NULL : realloc(text, cap);
			if (!bigger) {
				free(text);
				return cap > FILE_MAX_OCTETS ? -EFBIG : -ENOMEM;
			}
			text = bigger;
		}
		n = read(fd, text + len, cap - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int err = -errno;

			free(text);
			return err;
		}
		if (!n)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	*ret = text;
	*ret_len = len;
	return 0;
}

int file_read(const char *path, char **ret, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = read_all(fd, ret, ret_len);
	close(fd);
	return err;
}

#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

bool file_read_line(char *ret, size_t size, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return false;
	len = read(fd, ret, size - 1);
	close(fd);
	if (len <= 0)
		return false;
	ret[len] = 0;
	ret[strcspn(ret, "\n")] = 0;
	return true;
}

int file_seal(const char *text, size_t len)
{
	int fd = memfd_create("uipoib", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	err = fd_write_all(fd, text, len);
	if (!err && !fcntl(fd, F_ADD_SEALS, SEALS))
		return fd;
	err = err ? err : -errno;
	close(fd);
	return err;
}

int file_read_sealed(int fd, char **ret, size_t *ret_len)
{
	/* Only memory files have seals. F_GET_SEALS fails for every other kind of descriptor. */
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	size_t len = 0;
	char *text;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st))
		return -EINVAL;
	if (st.st_size > FILE_MAX_OCTETS)
		return -EFBIG;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	while (len < (size_t)st.st_size) {
		ssize_t n = pread(fd, text + len, (size_t)st.st_size - len, (off_t)len);

		if (n <= 0 && !(n < 0 && errno == EINTR)) {
			free(text);
			return n < 0 ? -errno : -EIO;
		}
		len += n > 0 ? (size_t)n : 0;
	}
	text[len] = '\0';
	*ret = text;
	*ret_len = len;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

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

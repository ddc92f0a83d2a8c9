/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/fd.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

int fd_write_all(int fd, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

void fd_close_from(int first)
{
	long max;

	if (!close_range((unsigned int)first, ~0u, 0))
		return;
	max = sysconf(_SC_OPEN_MAX);
	for (int fd = first; fd < max; fd++)
		close(fd);
}

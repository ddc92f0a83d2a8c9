/* SPDX-License-Identifier: BSD-2-Clause */
#include "os/journal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LENGTH_OCTETS 8

void journal_add(struct journal_entry *e, const char *name, const char *value)
{
	size_t room = sizeof(e->buf) - e->len, need = strlen(name) + 1 + LENGTH_OCTETS + 1, n;
	unsigned char *p = e->buf + e->len;

	if (!value || need > room)
		return;
	n = strlen(value);
	if (n > room - need)
		n = room - need;
	p = (unsigned char *)stpcpy((char *)p, name);
	*p++ = '\n';
	for (unsigned int k = 0; k < LENGTH_OCTETS; k++)
		*p++ = (unsigned char)((unsigned long long)n >> 8 * k);
	memcpy(p, value, n);
	p[n] = '\n';
	e->len += need + n;
}

bool journal_is_stream(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char is[48];
	struct stat st;

	if (!stream || fstat(fd, &st))
		return false;
	snprintf(is, sizeof(is), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	return !strcmp(stream, is);
}

int journal_open(int fd)
{
	static const struct sockaddr_un to = { .sun_family = AF_UNIX,
					       .sun_path = "/run/systemd/journal/socket" };
	int sock;

	if (!journal_is_stream(fd))
		return -1;
	sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock >= 0 && connect(sock, (const struct sockaddr *)&to, sizeof(to))) {
		close(sock);
		sock = -1;
	}
	return sock;
}

int journal_send(int sock, const struct journal_entry *e)
{
	ssize_t n;

	do
		n = send(sock, e->buf, e->len, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

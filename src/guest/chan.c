/* SPDX-License-Identifier: BSD-2-Clause */
#include "guest/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "vm/guest.h"

#define PATIENCE_MS 10000 /* longest wait for the device file after the driver was loaded */

static int chan = -1;

void chan_open(void)
{
	for (int ms = 0; chan < 0 && ms < PATIENCE_MS; ms += 5) {
		chan = open(VM_CHANNEL, O_RDWR | O_CLOEXEC);
		if (chan < 0)
			pause_ms(5);
	}
	if (chan < 0)
		fatal(VM_CHANNEL ": %m");
	/*
	 * During the boot the kernel panics if a processor hangs, so that `uipoib vm` boots the VM
	 * again (vm/qemu.c). Now the boot is over. From now on, a processor that seems to hang may be
	 * one that a busy host does not run in time, which is no reason to panic.
	 */
	write_file("/proc/sys/kernel/softlockup_panic", "0");
	chan_send(FRAME_HELLO, NULL, 0);
}

int chan_fd(void)
{
	return chan;
}

void chan_send(enum frame_type type, const void *data, size_t len)
{
	uint8_t buf[FRAME_HDR_LEN + FRAME_DATA_MAX];
	size_t n = frame_encode(buf, type, data, len), at = 0;

	while (chan >= 0 && at < n) {
		ssize_t done = write(chan, buf + at, n - at);

		if (done < 0 && errno != EINTR && errno != EAGAIN)
			return; /* the host has closed the channel, which chan_recv() will report */
		if (done > 0)
			at += (size_t)done;
	}
}

void chan_sendf(enum frame_type type, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	chan_send(type, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

void chan_wait_end(void)
{
	uint8_t unread[FRAME_DATA_MAX];
	ssize_t n = 1;

	while (chan >= 0 && (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN))))
		n = read(chan, unread, sizeof(unread));
}

bool chan_recv(struct frame_rx *rx)
{
	size_t room;
	uint8_t *buf = frame_rx_room(rx, &room);
	ssize_t n = read(chan, buf, room);

	if (n > 0)
		frame_rx_added(rx, (size_t)n);
	return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_JOURNAL_H
#define OS_JOURNAL_H

/*
 * DOC: The native protocol of systemd's journal
 *
 * An entry is one datagram to /run/systemd/journal/socket. The datagram has the fields of the entry, one after the
 * other, and each field is written as
 *
 *	NAME '\n' length of the value, 64 bits, little-endian; value '\n'
 *
 * The protocol has a shorter form, NAME=VALUE and '\n', in which a line end in the value would begin another field. This
 * file never writes the shorter form, so a text from an untrusted source cannot forge a field.
 *
 * systemd itself keeps the journal's socket open, so a connection to this socket survives a restart
 * of journald.
 */

#include <stdbool.h>
#include <stddef.h>

/* The fields of a line of the log, about 1 KiB of text, fit in this number of octets. */
#define JOURNAL_ENTRY_MAX 4096

struct journal_entry {
	size_t len;
	unsigned char buf[JOURNAL_ENTRY_MAX];
};

/*
 * journal_add() - Append a field. A value that does not fit is cut off. If @value is NULL, or @name
 * does not fit, no field is added
 */
void journal_add(struct journal_entry *e, const char *name, const char *value);

/*
 * journal_is_stream() - Tell whether the descriptor @fd is the stream to the journal that systemd gave to this service.
 * $JOURNAL_STREAM has the device and inode of this stream
 */
bool journal_is_stream(int fd);

/*
 * journal_open() - Connect to the journal if @fd is a stream to it
 *
 * Return: a non-blocking socket; -1: @fd is another file, or the journal does not listen
 */
int journal_open(int fd);

/* journal_send() - Send the entry. Return: 0, or -errno if the journal has no room or has gone */
int journal_send(int sock, const struct journal_entry *e);

#endif

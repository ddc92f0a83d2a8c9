/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OS_FILE_H
#define OS_FILE_H

/*
 * Reading whole files into memory, and passing their content to a process that must not wait for a
 * disk or a pipe.
 */

#include <stdbool.h>
#include <stddef.h>

#define FILE_MAX_OCTETS (64u * 1024 * 1024)

/*
 * file_read() - Read a whole file into memory, with a NUL after it; the caller frees it by free()
 * Return: 0; -EFBIG above FILE_MAX_OCTETS; -ENOMEM; -errno of open or read
 */
int file_read(const char *path, char **ret, size_t *ret_len);

/*
 * file_read_line() - Read the first line of a small file, for example a file of sysfs, without its newline. Return:
 * false: the file has no line, or it cannot be read
 */
bool file_read_line(char *ret, size_t size, const char *path);

/*
 * file_seal() - Copy @text to a memory file whose content and size can no longer change
 * Return: a descriptor, close-on-exec; -errno
 */
int file_seal(const char *text, size_t len);

/*
 * file_read_sealed() - Read a memory file that another process sealed by file_seal(); the caller frees the text by
 * free()
 *
 * Reading such a file never waits, even if an untrusted process sent the descriptor. @fd is borrowed.
 * Return: as file_read(); -EINVAL: @fd is no such memory file
 */
int file_read_sealed(int fd, char **ret, size_t *ret_len);

#endif

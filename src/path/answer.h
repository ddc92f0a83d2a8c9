/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PATH_ANSWER_H
#define PATH_ANSWER_H

/* What an instance sends for a question, and struct ipoib_path_info. */

#include <stdbool.h>
#include <stddef.h>

#include <uipoib/path.h>

/*
 * path_info_fill() - Fill in all members but the address from a PathRecord, which @hex has as 128 hexadecimal digits
 *
 * Return: 0; -EPROTO, and @ret is unchanged
 */
int path_info_fill(struct ipoib_path_info *ret, const char *hex);

/* path_info_valid() - True if the caller's part is a question */
bool path_info_valid(const struct ipoib_path_info *info);

/* path_info_same() - True if both ask for the same address */
bool path_info_same(const struct ipoib_path_info *a, const struct ipoib_path_info *b);

/**
 * path_answer() - Read what has come
 * @text:	octets received so far, which are changed
 *
 * Return: 1 more has to come; 0, and @info is filled in; -ENXIO no node has the address, or no path leads to it; -EINVAL the instance
 * knows no such interface; -EPROTO
 */
int path_answer(char *text, size_t len, struct ipoib_path_info *info);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PATH_ANSWER_H
#define PATH_ANSWER_H

/*
 * Functions that parse the answer of an instance to a question for a path, and fill in struct
 * ipoib_path_info.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include <uipoib/path.h>

#define PATH_ERROR_MAX 1024

/* A whole answer. The caller sets the struct to zeros before its first use, and calls path_reply_fini() at the end. */
struct path_reply {
	json_t *row; /* row of the answer that has the path; NULL: the answer has no row */
	int status; /* exit status for a command line, PROTO_EXIT_* */
	int err; /* 0, or -errno for the reason why there is no path */
	char error[PATH_ERROR_MAX]; /* the reason in words; "" if the instance gave no words */
};

void path_reply_fini(struct path_reply *r);

/**
 * path_reply_read() - Parse the text received so far
 * @text:	octets received so far
 * @ret:	zeros, or as path_reply_fini() or the last call of this function left it
 *
 * Return: 1: the answer is not complete; 0: @ret is a whole answer; -EPROTO: the text is not an
 * answer of an instance
 */
int path_reply_read(struct path_reply *ret, const char *text, size_t len);

/* path_reply_info() - Fill in all members of @info but the address. Return: 0; or -errno, with @info unchanged */
int path_reply_info(const struct path_reply *r, struct ipoib_path_info *info);

/*
 * path_info_fill() - Fill in all members of @ret but the address. @hex is the PathRecord to use, as
 * 128 hexadecimal digits
 *
 * Return: 0; -EPROTO, and @ret is unchanged
 */
int path_info_fill(struct ipoib_path_info *ret, const char *hex);

/*
 * path_info_valid() - Tell whether the address family and the other members that the caller has set
 * make a valid question
 */
bool path_info_valid(const struct ipoib_path_info *info);

/* path_info_same() - Tell whether @a and @b ask for the path to the same address */
bool path_info_same(const struct ipoib_path_info *a, const struct ipoib_path_info *b);

/*
 * path_answer() - Parse the text received so far, like path_reply_read(), and fill in @info
 *
 * Return: 1: the answer is not complete; 0: @info is filled in; the negative errno that the
 * instance has answered (include/uipoib/path.h); -EPROTO
 */
int path_answer(const char *text, size_t len, struct ipoib_path_info *info);

#endif

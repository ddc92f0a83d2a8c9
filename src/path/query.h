/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PATH_QUERY_H
#define PATH_QUERY_H

/*
 * The request that ipoib_path_query() sends to the instance. `uipoib path get`, which is linked
 * with the library's objects, sends this request, too. The command can also ask for the path to a
 * GID. The command shows data for which the 72 octets of struct ipoib_path_info have no room: the
 * interface and its host, whether the path is reversible, and the error as text. So path_query()
 * returns the answer as the instance sent it. ipoib_path_query() fills in the structure from this
 * answer.
 */

#include "path/answer.h"

/**
 * path_query() - Send a question, and wait for the answer
 * @args:	arguments of `path get`: "address" as text, and "ip" if the address is no GID. The
 *		function adds the interface of @p, and releases @args. NULL: the caller ran out of
 *		memory
 *
 * Return: 0: @ret is a whole answer, perhaps with an error; -errno: there is no answer. In both cases the caller has
 * to call path_reply_fini()
 */
int path_query(const struct ipoib_path *p, json_t *args, struct path_reply *ret);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_HOST_H
#define WEB_HOST_H

#include <stdbool.h>

/**
 * web_host_ok() - Tell whether a request with this Host header may be answered
 * @host:	value of the header, with or without ":PORT"; NULL: the request has none
 * @names:	names that are allowed besides addresses and "localhost", NULL-terminated
 *
 * A page of another site can make the name of that site resolve to 127.0.0.1, and then read this server's answers
 * with the user's browser (DNS rebinding). In such a request the Host header has the name of the other site. A Host
 * header with an address cannot come from such a page.
 */
bool web_host_ok(const char *host, const char *const *names);

#endif

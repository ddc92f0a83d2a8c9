/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_HOST_H
#define WEB_HOST_H

#include <stdbool.h>

/**
 * web_host_ok() - Tell whether a request with this Host header may be answered
 * @host:	value of the header, with or without ":PORT"; NULL: the request has none
 * @names:	names that are allowed besides addresses and "localhost", NULL-terminated
 *
 * DNS rebinding: another site makes its own name resolve to 127.0.0.1. Then a page of that site, in
 * the user's browser, could read this server's answers. In requests of such a page the Host header
 * has the name of the other site. So a request whose Host header has an address does not come from
 * such a page.
 */
bool web_host_ok(const char *host, const char *const *names);

#endif

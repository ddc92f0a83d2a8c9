/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_PAGE_H
#define WEB_PAGE_H

/* The files of the web page (src/web/page), which are compiled into the program. */

#include <stddef.h>

struct web_page {
	const char *path, *type; /* Content-Type */
	const char *data; /* .len octets */
	size_t len;
};

/* web_page_find() - Return: the file for the HTTP path @path; NULL: there is none */
const struct web_page *web_page_find(const char *path);

#endif

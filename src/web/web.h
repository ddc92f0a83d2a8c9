/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WEB_WEB_H
#define WEB_WEB_H

/*
 * DOC: uipoib web
 *
 * A process of its own that shows an instance over HTTP. Before it answers any request, it connects to the read-only
 * socket of the instance and drops its privileges as the daemon does (os/privs.h). So it can open no file, and can
 * change nothing in the instance. It ends when the instance ends.
 */

#include <stddef.h>

#define WEB_ERR_MAX 256

struct web_cfg {
	const char *instance;
	const char *const *
		/* names that the Host header of a request may have, NULL-terminated (web/host.h) */
		hosts;
	int sock; /* a listening TCP socket, non-blocking; web_run() takes it over */
	const char *at; /* address of .sock, which is printed as soon as requests are answered */
};

/* web_run() - Serve until a signal comes (SIGINT, SIGTERM) or the instance ends. Return: PROTO_EXIT_*; if it is not 0, @err is set */
int web_run(const struct web_cfg *cfg, char err[WEB_ERR_MAX]);

#endif

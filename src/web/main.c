/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/main.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmdline/cmdline.h"
#include "conf/conf.h"
#include "os/sockaddr.h"
#include "web/web.h"

/*
 * `uipoib web`: this file handles the options and the listening socket; the server itself is in
 * web/web.c.
 */

#define HOSTS_MAX 16
#define BACKLOG 64
#define LISTEN_DEFAULT "127.0.0.1:8480"

struct web_opts {
	struct ip_endpoint listen;
	const char *host[HOSTS_MAX + 1];
	unsigned int nhosts;
};

const struct option web_options[] = {
	{ "listen", required_argument, NULL, 'l' },
	{ "host", required_argument, NULL, 'H' },
	{ NULL },
};

static int help(void)
{
	puts("uipoib web [-n NAME] [--listen ADDR:PORT] [--host NAME] ...\n"
	     "        show an instance over HTTP, read-only, until Ctrl-C: a page for a browser, "
	     "and /metrics\n"
	     "        for Prometheus\n"
	     "\n"
	     "  --listen ADDR:PORT     address to listen on (" LISTEN_DEFAULT ")\n"
	     "  --host NAME            answer requests to this name, too, besides localhost and "
	     "addresses;\n"
	     "                         may be given up to 16 times");
	return PROTO_EXIT_OK;
}

static int add_host(struct web_opts *o, const char *name)
{
	if (!*name || o->nhosts == HOSTS_MAX)
		return cli_error(PROTO_EXIT_USAGE, "web: --host: expected a name, up to %d times",
				 HOSTS_MAX);
	o->host[o->nhosts++] = name;
	return 0;
}

static int set_listen(struct web_opts *o, const char *at)
{
	if (conf_parse_endpoint(&o->listen, at))
		return cli_error(PROTO_EXIT_USAGE,
				 "web: --listen '%s': expected ADDR:PORT, as " LISTEN_DEFAULT, at);
	return 0;
}

static int parse(struct web_opts *o, char **argv)
{
	int status = 0;

	for (int i = 1; argv[i] && !status; i++) {
		const char *word = argv[i], *listen = cli_value("--listen", argv, &i);
		const char *host = listen ? NULL : cli_value("--host", argv, &i);

		if (!listen && !host)
			return cli_error(PROTO_EXIT_USAGE,
					 "web: '%s': %s, expected [--listen ADDR:PORT] "
					 "[--host NAME]",
					 word,
					 !strcmp(word, "--listen") || !strcmp(word, "--host")
						 ? "no value"
						 : "unexpected");
		status = listen ? set_listen(o, listen) : add_host(o, host);
	}
	return status;
}

/* Returns a listening socket, or -errno. */
static int listen_at(const struct ip_endpoint *e)
{
	union sockaddr_ip a;
	socklen_t len = sockaddr_of(&a, e);
	int on = 1, err, s = socket(a.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (s < 0)
		return -errno;
	if (!setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
	    (e->family == 4 || !setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on))) &&
	    !bind(s, &a.sa, len) && !listen(s, BACKLOG))
		return s;
	err = -errno;
	close(s);
	return err;
}

int web_main(int argc, char **argv)
{
	char name[PROTO_NAME_MAX], at[CONF_ENDPOINT_MAX], err[WEB_ERR_MAX] = "";
	struct web_opts o = { 0 };
	int status, sock;

	if (cli_opts.help)
		return help();
	(void)argc;
	conf_parse_endpoint(&o.listen, LISTEN_DEFAULT);
	status = parse(&o, argv);
	if (!status)
		status = cli_instance(name);
	if (status)
		return status;
	conf_print_endpoint(&o.listen, at);
	sock = listen_at(&o.listen);
	if (sock < 0)
		return cli_error(PROTO_EXIT_ENV, "web: --listen %s: %s", at, strerror(-sock));
	if (!ip_endpoint_is_loopback(&o.listen))
		cli_error(0, "warning: web: whoever can reach %s sees the state of the instance",
			  at);
	status = web_run(
		&(struct web_cfg){ .instance = name, .hosts = o.host, .sock = sock, .at = at },
		err);
	return status ? cli_error(status, "web: %s", err) : PROTO_EXIT_OK;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const struct cli_cmd objects[] = {
	{ "demo", cli_demo, "[--hosts N] [--keep] ...", "a fabric at work, in 40 lines",
	  .own_options = true },
	{ "run", cli_run, "-c FILE [-- CMD]", "run what a file describes", .own_options = true },
	{ "vm", cli_vm, "[-c FILE] -- CMD", "run a command in a VM with Linux's own ib0",
	  .own_options = true },
	{ "wait", cli_wait, "[--timeout S]", "until all interfaces are up" },
	{ "exec", cli_exec, "HOST [CMD]", "run a command in a host", .own_options = true },
	{ "stop", cli_stop, "", "end an instance" },
	{ "instance", cli_instance_cmd, "show", "instances that run" },
	{ "host", cli_host, "show", "hosts and their namespaces" },
	{ "link", cli_link, "show", "interfaces" },
	{ "neigh", cli_neigh, "show", "peers on a link" },
	{ "path", cli_path, "show | get ADDRESS", "paths, as the SA says them" },
	{ "maddr", cli_maddr, "show", "multicast groups of interfaces" },
	{ "stats", cli_stats, "show", "counters of every layer" },
	{ "fabric", cli_fabric, "show | ...", "switches, links, SM: uipoib fabric -h" },
	{ "capture", cli_capture, "start | stop | show", "packets to a file, for tshark" },
	{ "trace", cli_trace, "A B", "one ping, as the fabric saw it" },
	{ "monitor", cli_monitor, "", "what happens, as it happens" },
	{ "conform", cli_conform, "--dut udp:ADDR:PORT", "judge another IPoIB, clause by clause",
	  .own_options = true },
	{ NULL },
};

static int usage(int status)
{
	FILE *f = status ? stderr : stdout;

	fputs("IP over InfiniBand in user space\n"
	      "\n"
	      "usage: uipoib [-j] [-d] [-n NAME] OBJECT [VERB] [KEY VALUE ...]\n"
	      "\n"
	      "  -j, --json        output as JSON\n"
	      "  -d, --details     everything there is\n"
	      "  -n, --name NAME   which instance (default: $UIPOIB_NAME, else the only one)\n"
	      "  -h, --help        help, also for an object: uipoib OBJECT -h\n"
	      "  -V, --version\n"
	      "\n",
	      f);
	for (const struct cli_cmd *c = objects; c->name; c++)
		fprintf(f, "  %-10s%-26s%s\n", c->name, c->usage, c->help);
	return status;
}

/* Opens /dev/null for standard descriptors that are closed. Otherwise a socket could get number 0, 1 or 2. */
static int open_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	return fd < 0 ? -1 : close(fd);
}

static int run(int argc, char **argv)
{
	const struct cli_cmd *c;
	int status;

	if (argc == 2 && (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version"))) {
		puts("uipoib " UIPOIB_VERSION);
		return PROTO_EXIT_OK;
	}
	status = cli_options(&argc, argv, true);
	if (status)
		return status;
	if (argc < 2)
		return usage(cli_opts.help ? PROTO_EXIT_OK : PROTO_EXIT_USAGE);
	if (!strcmp(argv[1], "help"))
		return usage(PROTO_EXIT_OK);
	c = cli_find(objects, "object", argv[1]);
	if (!c)
		return PROTO_EXIT_USAGE;
	argc--;
	argv++;
	status = c->own_options ? 0 : cli_options(&argc, argv, false);
	return status ? status : c->run(argc, argv);
}

int main(int argc, char **argv)
{
	if (open_standard() < 0)
		return PROTO_EXIT_ENV;
	return cli_flush(run(argc, argv));
}

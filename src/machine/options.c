/* SPDX-License-Identifier: BSD-2-Clause */
#include "machine/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmdline/cmdline.h"
#include "conf/conf.h"
#include "machine/lab.h"
#include "machine/machine.h"
#include "machine/root.h"

#define MEM_MIN 192
#define MEM_DEFAULT 512
#define CPUS_DEFAULT 2
#define UNIT_MAX 200 /* longest unit name for --systemd, in octets; systemd accepts 255 */

int options_usage(int status)
{
	fputs("uipoib vm [-c FILE | -n NAME] [OPTION ...] [--] [CMD [ARG ...]]\n"
	      "        boot Linux in QEMU at a free switch port, wait until its own ib0 is up, run "
	      "CMD (default:\n"
	      "        $SHELL) there as root, in this folder and with this environment; end with "
	      "its "
	      "exit status.\n"
	      "        It sees this machine's files; what it writes is gone afterwards, but for "
	      "--share\n"
	      "  without -c and -n    a fabric of its own: host " LAB_HOST " is " LAB_HOST_ADDR
	      ", ib0 " LAB_VM_ADDR "\n"
	      "  -c, --config FILE    bring up what FILE describes, for as long as CMD runs\n"
	      "  -n, --name NAME      an instance that is running (also $UIPOIB_NAME); with -c: "
	      "its "
	      "name\n"
	      "  --port NODE/PORT     which port (the first free one of a switch); repeatable: "
	      "ib0, ib1 "
	      "...; or\n"
	      "                       fabric:NAME/NODE/PORT; or udp:ADDR:PORT,guid=0x...\n"
	      "                       of a [udp-link]: the VM outlives its instance\n"
	      "  --ports N            number of HCAs, each at a port of its own (1)\n"
	      "  --address [ibN=]A/LEN  of ib0 or ibN, IPv4 or IPv6; repeatable\n"
	      "  --guid GUID          of its HCA (by the port); repeatable\n"
	      "  --share DIR          it may write there; repeatable\n"
	      "  --root DIR           its root file system is DIR, as another distribution's\n"
	      "  --user USER          run CMD as this user (or UID[:GID]) and not as root\n"
	      "  --no-wait            run CMD even while ib0 is not up: CMD may be the subnet "
	      "manager\n"
	      "  --systemd[=UNIT]     boot systemd to UNIT (basic.target) before CMD\n"
	      "  --timeout S          end it after S seconds, exit status 4\n"
	      "  --cpus N             (2)\n"
	      "  --memory M           MB (512)\n"
	      "  --kernel VMLINUZ     an image, or a release (the newest of /boot that has a "
	      "uib.ko)\n"
	      "  --module UIB.KO      (`make kmod` builds it for the kernels whose headers are "
	      "here)\n"
	      "  --accel kvm|tcg      (KVM if it works)\n"
	      "  -d, --details        the kernel's log on standard error\n",
	      status ? stderr : stdout);
	return status;
}

/* --- the command line */

static int parse_number(unsigned long *ret, const char *option, const char *text, unsigned long min,
			unsigned long max)
{
	if (conf_parse_uint(ret, text, min, max))
		return cli_error(PROTO_EXIT_USAGE, "vm: --%s '%s': expected %lu to %lu", option,
				 text, min, max);
	return 0;
}

/* Parse a size of memory, such as "512", "512M" or "1G" */
static int parse_mem(struct vm_opts *o, char *text)
{
	size_t n = strlen(text);
	bool giga = n > 1 && (text[n - 1] == 'G' || text[n - 1] == 'g');
	char *digits = strdupa(text);

	if (giga || (n > 1 && (text[n - 1] == 'M' || text[n - 1] == 'm')))
		digits[n - 1] = '\0';
	if (conf_parse_uint(&o->mem_mb, digits, 1, 1048576) ||
	    (o->mem_mb *= giga ? 1024 : 1) < MEM_MIN || o->mem_mb > 1048576)
		return cli_error(PROTO_EXIT_USAGE,
				 "vm: --memory '%s': expected megabytes, at least %d, as 512 or 1G",
				 text, MEM_MIN);
	return 0;
}

static int add_share(struct vm_opts *o, const char *dir)
{
	char *path = realpath(dir, NULL);
	struct stat st;

	if (!path || stat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
		free(path);
		return cli_error(PROTO_EXIT_USAGE, "vm: --share '%s': expected a folder", dir);
	}
	if (o->nshares == VM_SHARES_MAX) {
		free(path);
		return cli_error(PROTO_EXIT_USAGE, "vm: --share: at most %d", VM_SHARES_MAX);
	}
	o->share_path[o->nshares] = path;
	o->share[o->nshares++] = path;
	return 0;
}

/* Parse an address: "A/LEN" is for ib0, and "ibN=A/LEN" is for ibN. */
int options_add_address(struct vm_opts *o, const char *text)
{
	const char *eq = strchr(text, '='), *addr = eq ? eq + 1 : text;
	unsigned long n = 0;
	struct conf_addr a;
	char *digits = eq ? strndupa(text, (size_t)(eq - text)) : NULL;

	if (!strchr(addr, '/') || conf_parse_addr(&a, addr) ||
	    (digits &&
	     (strncmp(digits, "ib", 2) || conf_parse_uint(&n, digits + 2, 0, VM_HCAS_MAX - 1))))
		return cli_error(PROTO_EXIT_USAGE,
				 "vm: --address '%s': expected 10.4.0.100/16, fd04::100/64 "
				 "or ib1=10.5.0.100/16",
				 text);
	if (o->naddresses == VM_ADDRS_MAX)
		return cli_error(PROTO_EXIT_USAGE, "vm: --address: at most %d", VM_ADDRS_MAX);
	snprintf(o->address_text[o->naddresses], sizeof(o->address_text[0]), "%lu,%s", n, addr);
	o->address[o->naddresses] = o->address_text[o->naddresses];
	o->naddresses++;
	if (n > o->max_ib)
		o->max_ib = (unsigned int)n;
	return 0;
}

static int parse_accel(struct vm_opts *o, const char *text)
{
	o->kvm = !strcmp(text, "kvm");
	if (!o->kvm && strcmp(text, "tcg"))
		return cli_error(PROTO_EXIT_USAGE, "vm: --accel '%s': expected kvm or tcg", text);
	return 0;
}

/*
 * Check that the unit's name has only the characters of systemd.unit(5), so that it is one word of
 * the kernel's command line.
 */
static int parse_systemd(struct vm_opts *o, const char *unit)
{
	size_t len = strspn(unit, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				  "0123456789:-_.\\@");

	if (!len || unit[len] || len > UNIT_MAX || !strchr(unit, '.'))
		return cli_error(PROTO_EXIT_USAGE,
				 "vm: --systemd '%s': expected a unit, as multi-user.target", unit);
	o->systemd = unit;
	return 0;
}

enum {
	KERNEL = 256,
	CPUS,
	MEM,
	SHARE,
	PORT,
	PORTS,
	GUID,
	ADDRESS,
	MODULE,
	ACCEL,
	NO_WAIT,
	SYSTEMD,
	ROOT,
	USER
};

static int option(struct vm_opts *o, int c)
{
	switch (c) {
	case 'c':
		o->file = optarg;
		return 0;
	case 'n':
		o->name = optarg;
		return 0;
	case 't':
		return cli_seconds(&o->timeout_ms, optarg)
			       ? cli_error(PROTO_EXIT_USAGE, "vm: --timeout '%s': expected seconds",
					   optarg)
			       : 0;
	case 'd':
		cli_opts.details = true;
		return 0;
	case 'h':
		cli_opts.help = true;
		return 0;
	case KERNEL:
		o->kernel = optarg;
		return 0;
	case MODULE:
		o->module = optarg;
		return 0;
	case PORT:
		return ports_add(&o->ports, optarg);
	case PORTS:
		return parse_number(&o->ports.wanted, "ports", optarg, 1, VM_HCAS_MAX);
	case CPUS:
		return parse_number(&o->cpus, "cpus", optarg, 1, 64);
	case MEM:
		return parse_mem(o, optarg);
	case GUID:
		return ports_guid(&o->ports, optarg);
	case SHARE:
		return add_share(o, optarg);
	case ADDRESS:
		return options_add_address(o, optarg);
	case ROOT:
		return root_set(&o->root, optarg);
	case USER:
		o->user_text = optarg;
		return 0;
	case ACCEL:
		return parse_accel(o, optarg);
	case NO_WAIT:
		o->no_wait = true;
		return 0;
	case SYSTEMD:
		return parse_systemd(o, optarg ? optarg : "basic.target");
	default:
		return options_usage(PROTO_EXIT_USAGE);
	}
}

const struct option machine_vm_options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "name", required_argument, NULL, 'n' },
	{ "timeout", required_argument, NULL, 't' },
	{ "details", no_argument, NULL, 'd' },
	{ "help", no_argument, NULL, 'h' },
	{ "kernel", required_argument, NULL, KERNEL },
	{ "module", required_argument, NULL, MODULE },
	{ "cpus", required_argument, NULL, CPUS },
	{ "memory", required_argument, NULL, MEM },
	{ "share", required_argument, NULL, SHARE },
	{ "port", required_argument, NULL, PORT },
	{ "ports", required_argument, NULL, PORTS },
	{ "guid", required_argument, NULL, GUID },
	{ "address", required_argument, NULL, ADDRESS },
	{ "accel", required_argument, NULL, ACCEL },
	{ "root", required_argument, NULL, ROOT },
	{ "user", required_argument, NULL, USER },
	{ "no-wait", no_argument, NULL, NO_WAIT },
	{ "systemd", optional_argument, NULL, SYSTEMD },
	{ NULL },
};

/* Checks options that depend on each other. */
static int check(const struct vm_opts *o)
{
	int status = ports_check(&o->ports, o->file ? "-c" : o->name ? "-n" : NULL);

	if (!status && o->max_ib >= ports_hcas(&o->ports))
		status = cli_error(PROTO_EXIT_USAGE, "vm: --address of ib%u: the VM has %u HCA%s",
				   o->max_ib, ports_hcas(&o->ports),
				   ports_hcas(&o->ports) > 1 ? "s" : "");
	return status;
}

int options_parse(struct vm_opts *o, int argc, char **argv)
{
	static char sh[] = "/bin/sh", *shell[] = { NULL, NULL };
	int c, status = 0;

	*o = (struct vm_opts){
		.cpus = CPUS_DEFAULT, .mem_mb = MEM_DEFAULT, .timeout_ms = -1, .kvm = -1
	};
	optind = 1;
	while (!status && (c = getopt_long(argc, argv, "+c:n:dh", machine_vm_options, NULL)) != -1)
		status = option(o, c);
	o->cmd = argv + optind;
	if (!o->cmd[0]) {
		shell[0] = getenv("SHELL");
		if (!shell[0] || !*shell[0])
			shell[0] = sh;
		o->cmd = shell;
	}
	return status || cli_opts.help ? status : check(o);
}

void options_free(struct vm_opts *o)
{
	for (unsigned int i = 0; i < o->nshares; i++)
		free(o->share_path[i]);
	free(o->root);
}

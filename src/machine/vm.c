/* SPDX-License-Identifier: BSD-2-Clause */
#include "machine/machine.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmdline/cmdline.h"
#include "conf/conf.h"
#include "machine/lab.h"
#include "machine/ports.h"
#include "machine/root.h"
#include "os/beside.h"
#include "run/run.h"
#include "vm/limits.h"
#include "vm/modules.h"
#include "vm/net.h"
#include "vm/term.h"
#include "vm/vm.h"

/*
 * DOC: `vm`
 *
 * If the user names an instance, the VM is attached to this instance. Otherwise an instance is
 * started as by `run -- CMD`, from the given file or from a default, and the VM runs in place of
 * CMD.
 */

#define INIT "uipoib-vm-init"
#define MEM_MIN 192
#define MEM_DEFAULT 512
#define CPUS_DEFAULT 2
#define UNIT_MAX 200 /* octets of --systemd's unit; systemd takes 255 */

struct vm_opts {
	const char *file, *name, *kernel, *module;
	const char *systemd; /* unit to which systemd boots; NULL: CMD runs without systemd */
	char *root; /* the guest's root file system; NULL: that of this machine */
	struct ports ports;
	const char *seed; /* the name from which GUIDs are computed; NULL: that of the instance */
	char name_buf[PROTO_NAME_MAX];
	char *share_path[VM_SHARES_MAX];
	const char *share[VM_SHARES_MAX + 1], *address[VM_ADDRS_MAX + 1];
	char address_text[VM_ADDRS_MAX][64];
	unsigned int nshares, naddresses;
	unsigned int max_ib; /* largest N of an address of ibN */
	unsigned long cpus, mem_mb;
	long long timeout_ms;
	int kvm; /* 1: use KVM; 0: do not; -1: use it if it works */
	bool no_wait;
	char **cmd;
	struct vm_kernel found;
};

static int usage(int status)
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
	      "  --no-wait            run CMD even while ib0 is not up: CMD may be the subnet "
	      "manager\n"
	      "  --systemd[=UNIT]     boot systemd to UNIT (basic.target) before CMD\n"
	      "  --timeout S          end it after S seconds, exit status 4\n"
	      "  --cpus N             (2)\n"
	      "  --mem M              MB (512)\n"
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

/* "512", "512M", "1G" */
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
				 "vm: --mem '%s': expected megabytes, at least %d, as 512 or 1G",
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

/* "A/LEN" is for ib0, "ibN=A/LEN" for ibN. */
static int add_address(struct vm_opts *o, const char *text)
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

/* A name of a unit has only these characters (systemd.unit(5)), so it is one word of the kernel's command line. */
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
	ROOT
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
		return add_address(o, optarg);
	case ROOT:
		return root_set(&o->root, optarg);
	case ACCEL:
		return parse_accel(o, optarg);
	case NO_WAIT:
		o->no_wait = true;
		return 0;
	case SYSTEMD:
		return parse_systemd(o, optarg ? optarg : "basic.target");
	default:
		return usage(PROTO_EXIT_USAGE);
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
	{ "mem", required_argument, NULL, MEM },
	{ "share", required_argument, NULL, SHARE },
	{ "port", required_argument, NULL, PORT },
	{ "ports", required_argument, NULL, PORTS },
	{ "guid", required_argument, NULL, GUID },
	{ "address", required_argument, NULL, ADDRESS },
	{ "accel", required_argument, NULL, ACCEL },
	{ "root", required_argument, NULL, ROOT },
	{ "no-wait", no_argument, NULL, NO_WAIT },
	{ "systemd", optional_argument, NULL, SYSTEMD },
	{ NULL },
};

static int parse(struct vm_opts *o, int argc, char **argv)
{
	static char sh[] = "/bin/sh", *shell[] = { NULL, NULL };
	int c, status = 0;

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
	return status;
}

/* --- requirements */

static bool in_path(const char *program)
{
	const char *env = getenv("PATH");
	char *path = strdup(env ? env : "/usr/bin:/bin"), *save = NULL;
	bool found = false;

	if (!path)
		return false;
	for (char *p = strtok_r(path, ":", &save); p && !found; p = strtok_r(NULL, ":", &save)) {
		char file[PATH_MAX];

		snprintf(file, sizeof(file), "%s/%s", p, program);
		found = !access(file, X_OK);
	}
	free(path);
	return found;
}

static int look(struct vm_opts *o)
{
	char home[PATH_MAX], err[VM_ERR_MAX];
	int status;

	if (!beside_folder(home))
		return cli_error(PROTO_EXIT_ENV, "vm: /proc/self/exe: %s", strerror(errno));
	if (!in_path(QEMU_PROGRAM))
		return cli_error(PROTO_EXIT_ENV, "vm: " QEMU_PROGRAM
						 " is missing: the package qemu-system-x86 has it");
	status = o->systemd ? root_check_systemd(o->root) : 0;
	if (status)
		return status;
	status = kernel_find(&o->found, o->kernel, o->module, home, err);
	if (status)
		return cli_error(status == -EINVAL ? PROTO_EXIT_USAGE : PROTO_EXIT_ENV, "vm: %s",
				 err);
	return 0;
}

/* --- attaching to an instance that runs */

static int catch_signals(sigset_t *ret_old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, ret_old);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int run_vm(struct vm_opts *o, const char *init, size_t init_len)
{
	const struct vm_limits limits = { .timeout_ms = o->timeout_ms };
	char err[VM_ERR_MAX], *cwd = root_cwd(o->root, o->share);
	sigset_t mask;
	struct vm_cfg c = {
		.guest = { .kernel = &o->found,
			   .init = init,
			   .init_len = init_len,
			   .hostname = o->ports.link[0].host,
			   .hca = o->ports.hca,
			   .root = o->root,
			   .share = o->share,
			   .address = o->address,
			   .cwd = cwd ? cwd : "/",
			   .env = environ,
			   .cmd = o->cmd,
			   .tty = term_is_tty(),
			   .systemd = o->systemd,
			   .up_timeout = o->no_wait ? 0 : vm_limits_up_s(&limits) },
		.kvm = o->kvm >= 0 ? o->kvm : qemu_kvm_works(),
		.cpus = (unsigned int)o->cpus,
		.mem_mb = (unsigned int)o->mem_mb,
		.verbose = cli_opts.details,
		.timeout_ms = o->timeout_ms,
		.lost_fd = o->ports.link[0].client.fd,
		.sig_fd = catch_signals(&mask),
		.sig_mask = &mask,
	};
	int status;

	memcpy(c.udp_fd, o->ports.fd, sizeof(c.udp_fd));
	status = vm_run(&c, err);
	if (*err)
		cli_error(0, "vm: %s", err);
	close(c.sig_fd);
	free(cwd);
	return status;
}

static int attach(struct vm_opts *o)
{
	char path[PATH_MAX];
	size_t len;
	char *init;
	int status;

	if (!beside_find(INIT, path))
		return cli_error(PROTO_EXIT_ENV,
				 "vm: " INIT " is missing beside the program and in ../lib/uipoib: "
				 "`make` builds it");
	init = modules_read(path, &len);
	if (!init)
		return cli_error(PROTO_EXIT_ENV, "vm: %s: %s", path, strerror(errno));
	status = ports_open(&o->ports, o->name, o->seed ? o->seed : o->name);
	if (!status) {
		status = run_vm(o, init, len);
		ports_close(&o->ports);
	}
	free(init);
	return status;
}

/* --- starting an instance for the VM */

static int attach_fn(void *arg)
{
	return attach(arg);
}

static int with_instance(struct vm_opts *o, const struct conf *conf, const struct topo *topo)
{
	struct run_job job = {
		.name = o->name,
		.conf = conf,
		.topo = topo,
		.timeout_ms = RUN_TIMEOUT_MS,
		.fn = attach_fn,
		.arg = o,
	};

	return run_job(&job);
}

static int from_file(struct vm_opts *o)
{
	char err[CONF_ERR_MAX];
	struct conf conf;
	int status = run_name(&o->name, o->file, o->name_buf);

	if (status)
		return status;
	if (conf_load(&conf, o->file, err))
		return cli_error(PROTO_EXIT_USAGE, "%s", err);
	status = with_instance(o, &conf, NULL);
	conf_free(&conf);
	return status;
}

static int own_lab(struct vm_opts *o)
{
	struct topo *topo;
	struct conf conf;
	int status = lab_make(&conf, &topo);

	if (status)
		return cli_error(PROTO_EXIT_FAILED, "vm: %s", strerror(-status));
	snprintf(o->name_buf, sizeof(o->name_buf), "vm-%d", (int)getpid());
	o->name = o->name_buf;
	o->seed = "vm"; /* not the name of the instance, which is different in each run */
	if (!o->naddresses)
		add_address(o, LAB_VM_ADDR LAB_PREFIX);
	status = with_instance(o, &conf, topo);
	conf_free(&conf);
	lab_free_topo(topo);
	return status;
}

static const char *instance_name(const struct vm_opts *o)
{
	const char *env = getenv("UIPOIB_NAME");

	if (o->name)
		return o->name;
	if (cli_opts.instance)
		return cli_opts.instance;
	return env && *env ? env : NULL;
}

int machine_vm(int argc, char **argv)
{
	struct vm_opts o = {
		.cpus = CPUS_DEFAULT, .mem_mb = MEM_DEFAULT, .timeout_ms = -1, .kvm = -1
	};
	int status = cli_opts.help ? 0 : parse(&o, argc, argv);

	if (cli_opts.help)
		return usage(PROTO_EXIT_OK);
	if (!status)
		status = ports_check(&o.ports, o.file ? "-c" : o.name ? "-n" : NULL);
	if (!status && o.max_ib >= ports_hcas(&o.ports))
		status = cli_error(PROTO_EXIT_USAGE, "vm: --address of ib%u: the VM has %u HCA%s",
				   o.max_ib, ports_hcas(&o.ports),
				   ports_hcas(&o.ports) > 1 ? "s" : "");
	if (!status)
		status = look(&o);
	if (!status && ports_udp(&o.ports)) {
		status = attach(&o);
	} else if (!status && o.file) {
		status = from_file(&o);
	} else if (!status) {
		o.name = instance_name(&o);
		status = o.name ? attach(&o) : own_lab(&o);
	}
	for (unsigned int i = 0; i < o.nshares; i++)
		free(o.share_path[i]);
	free(o.root);
	return status;
}

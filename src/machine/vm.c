/* SPDX-License-Identifier: BSD-2-Clause */
#include "machine/machine.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmdline/cmdline.h"
#include "conf/conf.h"
#include "machine/lab.h"
#include "machine/options.h"
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
 * started as by `run -- CMD`, and the VM runs in place of CMD. The instance has the configuration
 * in the file that the user gives, or else that of lab.h.
 */

#define INIT "uipoib-vm-init"

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

/*
 * Check that the processor of this machine is an x86-64, because the VM runs this machine's
 * programs under a kernel for x86-64.
 */
static int check_machine(void)
{
	struct utsname u;

	if (uname(&u) || !strcmp(u.machine, "x86_64"))
		return 0;
	return cli_error(PROTO_EXIT_ENV,
			 "vm: this machine is %s: virtual machines run on x86-64 only", u.machine);
}

static int look(struct vm_opts *o)
{
	char home[PATH_MAX], err[VM_ERR_MAX];
	int status = check_machine();

	if (status)
		return status;

	if (!beside_folder(home))
		return cli_error(PROTO_EXIT_ENV, "vm: /proc/self/exe: %s", strerror(errno));
	if (!in_path(QEMU_PROGRAM))
		return cli_error(PROTO_EXIT_ENV, "vm: " QEMU_PROGRAM
						 " is missing: the package qemu-system-x86 has it");
	status = o->systemd ? root_check_systemd(o->root) : 0;
	if (!status && o->user_text)
		status = user_find(&o->user, o->user_text, o->root);
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
	char **env = o->user_text ? user_environ(&o->user, environ) : NULL;
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
			   .env = env ? env : environ,
			   .user = o->user_text ? o->user.ids : NULL,
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
	free(env);
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
		options_add_address(o, LAB_VM_ADDR LAB_PREFIX);
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
	struct vm_opts o = { 0 };
	int status = cli_opts.help ? 0 : options_parse(&o, argc, argv);

	if (cli_opts.help) {
		options_free(&o);
		return options_usage(PROTO_EXIT_OK);
	}
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
	options_free(&o);
	return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/main.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "ctl/ctl.h"
#include "daemon/log.h"
#include "inst/inst.h"
#include "inst/port.h"
#include "os/privs.h"
#include "proto/proto.h"
#include "tools/tools.h"

/* The instance and the servers that run on its loop, in the order in which they are created */
struct daemon {
	struct inst *in;
	struct loop_fd signals;
	struct ctl *ctl;
	struct tools *tools;
};

static void on_signal(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct daemon *d = container_of(fd, struct daemon, signals);
	struct signalfd_siginfo si;

	(void)events;
	(void)now;
	if (read(fd->fd, &si, sizeof(si)) == sizeof(si))
		loop_stop(&d->in->loop);
}

/*
 * Make the loop handle SIGTERM, the signal by which the supervisor ends the daemon.
 */
static int watch_signals(struct daemon *d)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : loop_watch(&d->in->loop, &d->signals, fd, EPOLLIN, on_signal);
}

static int exit_status_of(const struct inst *in, int err)
{
	if (in->env_lacks)
		return PROTO_EXIT_ENV;
	switch (err) {
	case -EPERM:
	case -EACCES:
	case -EROFS:
	case -ENOSPC: /* a full disk, or the limit user.max_net_namespaces */
	case -EMFILE:
	case -ENFILE:
		return PROTO_EXIT_ENV;
	case -ENOMEM:
	case -EIO:
		return PROTO_EXIT_FAILED;
	default:
		return PROTO_EXIT_USAGE;
	}
}

/* Append the name of the resource limit that the error code refers to, because strerror() does not name it. */
static void name_limit(int status, char err[INST_ERR_MAX])
{
	char why[INST_ERR_MAX];
	struct rlimit lim;

	snprintf(why, sizeof(why), "%s", err);
	if (status == -EMFILE && !getrlimit(RLIMIT_NOFILE, &lim))
		snprintf(err, INST_ERR_MAX, "%.400s (RLIMIT_NOFILE is %llu, see ulimit -n)", why,
			 (unsigned long long)lim.rlim_cur);
	else if (status == -ENFILE)
		snprintf(err, INST_ERR_MAX, "%.400s (the system's limit, see fs.file-max)", why);
}

/*
 * Runs in the helper, which can still remove the sockets after the daemon has dropped its
 * privileges.
 */
static void remove_sockets(const void *name)
{
	proto_unlink(name);
}

/*
 * Write the folder of the sockets into the environment variable UIPOIB_RUNTIME_DIR, before the
 * helper starts. Without this variable, a helper that is root in a user namespace would use root's
 * folder in place of its user's.
 */
static int fix_runtime_dir(void)
{
	char dir[108];
	int status = proto_dir(dir, sizeof(dir), 0);

	/*
	 * If another user owns the folder, continue. The later attempt to make the socket fails,
	 * and reports the error.
	 */
	if (status == -EPERM)
		return 0;
	return status ? status : setenv("UIPOIB_RUNTIME_DIR", dir, 1) ? -errno : 0;
}

void daemon_clean(const char *name)
{
	char path[108];

	if (!proto_alive(name) && !proto_netns_path(path, sizeof(path), name))
		netdev_helper_clean(path);
}

static int build(struct daemon *d, const struct serve_cfg *cfg, const struct log_sink *log,
		 char err[INST_ERR_MAX])
{
	char record[108];
	struct netdev_helper_end end = { remove_sockets, cfg->name, NULL };
	struct inst_cfg ic = { .log = *log, .at_end = &end };
	int status = fix_runtime_dir();

	snprintf(ic.name, sizeof(ic.name), "%s", cfg->name);
	daemon_clean(cfg->name); /* remove the files that a killed instance has left */
	if (!proto_netns_path(record, sizeof(record), cfg->name))
		end.record = record;
	if (!status)
		status = inst_create(&d->in, &ic, err);
	if (status) /* The configuration was accepted, so a failure here has another cause. */
		return status == -ENOMEM ? PROTO_EXIT_FAILED : PROTO_EXIT_ENV;
	status = watch_signals(d);
	if (status) {
		snprintf(err, INST_ERR_MAX, "signalfd: %s", strerror(-status));
		return PROTO_EXIT_FAILED;
	}
	status = ctl_open(&d->ctl, d->in, cmd_tables, err);
	if (status) /* the name is in use, or the socket cannot be made */
		return status == -EADDRINUSE ? PROTO_EXIT_USAGE : PROTO_EXIT_ENV;
	ctl_set_supervisor(d->ctl, cfg->supervisor);
	status = inst_load(d->in, cfg->conf, cfg->topo, err);
	if (!status)
		status = tools_open(&d->tools, d->in, cfg->conf, err);
	if (!status)
		ctl_set_tools(d->ctl, d->tools);
	name_limit(status, err);
	return status ? exit_status_of(d->in, status) : 0;
}

/* This function fails if the system allows neither a change of user nor a user namespace. */
static int drop_privileges(struct inst *in, char err[INST_ERR_MAX])
{
	uint32_t flags = port_any_verbs(in) ? PRIVS_NET_RAW | PRIVS_VERBS : 0;
	int status = netdev_helper_seal(in->helper);

	if (!status)
		status = privs_isolate(flags | (PRIVS_SANITIZED ? PRIVS_KEEP_ROOT_DIR : 0),
				       in->rdma_folder);
	if (!status && !PRIVS_SANITIZED)
		status = privs_seccomp(flags);
	if (status == -EOPNOTSUPP)
		status = 0;
	if (status)
		snprintf(err, INST_ERR_MAX, "dropping privileges: %s", strerror(-status));
	return status ? PROTO_EXIT_ENV : 0;
}

static void report(int fd, int status, const char *err)
{
	char msg[SERVE_ERR_MAX + 1];
	size_t n = strlen(err);

	msg[0] = (char)status;
	memcpy(msg + 1, err, n);
	if (write(fd, msg, n + 1) < 0)
		return; /* the supervisor has ended, so nobody reads this report */
	close(fd);
}

static void destroy(struct daemon *d)
{
	int signals = d->signals.fd;

	if (!d->in)
		return;
	ctl_close(d->ctl);
	inst_leave(d->in);
	tools_close(d->tools);
	loop_unwatch(&d->in->loop, &d->signals);
	if (signals >= 0)
		close(signals);
	inst_destroy(d->in);
}

int daemon_main(const struct serve_cfg *cfg, int ready_fd)
{
	struct log_sink log = log_open(cfg);
	char err[INST_ERR_MAX] = "";
	struct daemon d = { .signals.fd = -1 };
	int status;

	status = build(&d, cfg, &log, err);
	if (!status)
		status = drop_privileges(d.in, err);
	report(ready_fd, status, err);
	if (!status) {
		log_follow(&d.in->loop);
		if (loop_run(&d.in->loop) || d.in->broken)
			status = PROTO_EXIT_FAILED;
		log_unfollow();
	}
	destroy(&d);
	log_finish();
	return status;
}

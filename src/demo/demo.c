/* SPDX-License-Identifier: BSD-2-Clause */
#include "demo/demo.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demo/child.h"
#include "demo/priv.h"
#include "os/clock.h"
#include "util/escape.h"

/*
 * DOC: Interrupting the demo
 *
 * The handler of a signal kills the children and asks the daemon to end. So each wait of the demo
 * fails at once, and the demo ends without further messages. A second signal kills the daemon. If
 * the daemon ends by itself, the children are killed too.
 */

#define UP_PATIENCE_MS 60000

static volatile sig_atomic_t
	interrupted; /* number of the signal that interrupted the demo; 0: no signal came */
static volatile sig_atomic_t lost; /* the daemon has ended although the demo did not stop it */
static volatile pid_t daemon_pid;

static void on_interrupt(int sig)
{
	int err = errno;

	if (daemon_pid > 0)
		kill(daemon_pid, interrupted ? SIGKILL : SIGTERM);
	interrupted = sig;
	demo_child_kill_all();
	errno = err;
}

static void on_child(int sig)
{
	siginfo_t si = { .si_pid = 0 };
	int err = errno;

	(void)sig;
	if (daemon_pid > 0 && !waitid(P_PID, (id_t)daemon_pid, &si, WEXITED | WNOHANG | WNOWAIT) &&
	    si.si_pid) {
		lost = 1;
		demo_child_kill_all();
	}
	errno = err;
}

bool demo_interrupted(void)
{
	return interrupted || lost;
}

static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_handler = on_interrupt };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaddset(&sa.sa_mask, signals[i]);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &sa, NULL);
	sa = (struct sigaction){ .sa_handler = on_child, .sa_flags = SA_NOCLDSTOP | SA_RESTART };
	sigaction(SIGCHLD, &sa, NULL);
}

/* --- lines and questions */

void demo_say(struct demo *d, bool ok, const char *what, const char *fmt, ...)
{
	va_list ap;
	char *s;

	if (demo_interrupted())
		return;
	if (!ok)
		d->failed++;
	printf("%s  %-22s ", ok ? " ok " : "FAIL", what);
	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) >= 0) {
		text_print_escaped(stdout, s);
		free(s);
	}
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

const char *demo_str(json_t *row, const char *name)
{
	const char *s = json_string_value(json_object_get(row, name));

	return s ? s : "?";
}

double demo_num(json_t *row, const char *name)
{
	return json_number_value(json_object_get(row, name));
}

static void keep_row(void *ctx, json_t *row)
{
	json_array_append(ctx, row);
}

void demo_complain(const char *what, const char *why)
{
	if (interrupted)
		return;
	fputs("uipoib: demo: ", stderr);
	text_print_escaped(stderr, what);
	fputs(*what ? ": " : "", stderr);
	text_print_escaped(stderr, why);
	fputc('\n', stderr);
}

json_t *demo_ask(struct demo *d, const char *cmd, json_t *args, char *err, size_t err_len)
{
	char why[512];
	json_t *rows = json_array();
	int status = proto_call(&d->c, cmd, args, keep_row, rows, why, sizeof(why), NULL);

	json_decref(args);
	if (err)
		snprintf(err, err_len, "%s", status ? why : "");
	else if (status)
		demo_complain(cmd, why);
	if (status)
		json_array_clear(rows);
	return rows;
}

static int fail(int status, const char *what, const char *why)
{
	demo_complain(what, why);
	return status;
}

/* --- the show */

static void acts(struct demo *d)
{
	void (*const act[])(struct demo *) = { demo_act_sweep,	 demo_act_links, demo_act_pings,
					       demo_act_df,	 demo_act_mcast, demo_act_inject,
					       demo_act_capture, demo_act_flow,	 demo_act_trace };

	for (size_t i = 0; i < sizeof(act) / sizeof(*act) && !demo_interrupted(); i++)
		act[i](d);
	if (demo_interrupted())
		return;
	printf("%s in %.1f s\n", d->failed ? "FAILED" : "all checks passed",
	       (double)(clock_now() - d->start) / 1e9);
	fflush(stdout);
}

/* Prints commands to try next, with the instance's name if other instances run. */
static void epilogue(struct demo *d)
{
	char names[2][PROTO_NAME_MAX], prog[256];
	bool alone = proto_instances(names, 2) < 2;

	snprintf(prog, sizeof(prog), "%s%s%s", d->o->prog, alone ? "" : " -n ",
		 alone ? "" : d->o->name);
	if (d->o->capture)
		printf("      tshark -r %s -V | less\n", d->o->capture);
	if (d->o->keep)
		printf("'%s' runs until Ctrl-C; in another terminal:\n"
		       "      %s exec h1 ping 10.4.0.%u\n"
		       "      %s trace h1 h%u\n"
		       "      %s link show -d\n",
		       d->o->name, prog, d->net.n, prog, d->net.n, prog);
	else
		printf("next: %s demo --keep            it stays, for %s exec h1 bash\n"
		       "      %s demo --capture x.pcap  then tshark -r x.pcap -V\n"
		       "      %s demo --print-config    the same as files, for %s run -c FILE\n",
		       d->o->prog, d->o->prog, d->o->prog, d->o->prog, d->o->prog);
	fflush(stdout);
}

/* Waits until a signal or `uipoib stop` has ended the daemon. */
static void keep(struct demo *d)
{
	siginfo_t si;

	d->shown = true;
	while (waitid(P_PID, (id_t)d->serve.pid, &si, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
}

/* --- start and end */

static int get_host(struct demo *d, unsigned int i)
{
	struct demo_host *h = &d->net.host[i];
	char err[256];
	json_t *args;
	int status;

	snprintf(h->name, sizeof(h->name), "h%u", i + 1);
	snprintf(h->ifname, sizeof(h->ifname), DEMO_IFNAME);
	h->ip4 = d->dc.host[i].ip4;
	h->ip6 = d->dc.host[i].ip6;
	args = json_pack("{s:s}", "host", h->name);
	status = proto_call(&d->c, "exec", args, NULL, NULL, err, sizeof(err), NULL);
	json_decref(args);
	h->net_fd = d->c.fds[0];
	h->user_fd = d->c.fds[1];
	d->c.fds[0] = d->c.fds[1] = -1;
	return status ? fail(status, h->name, err) : 0;
}

static int get_hosts(struct demo *d)
{
	int status = 0;

	d->net.host = calloc(d->dc.hosts, sizeof(*d->net.host));
	if (!d->net.host)
		return fail(PROTO_EXIT_FAILED, "", "out of memory");
	for (; !status && d->net.n < d->dc.hosts; d->net.n++)
		status = get_host(d, d->net.n);
	return status;
}

static int wait_up(struct demo *d)
{
	json_t *args = json_pack("{s:i}", "timeout_ms", UP_PATIENCE_MS);
	char err[512];
	int status = proto_call(&d->c, "wait", args, NULL, NULL, err, sizeof(err), NULL);

	json_decref(args);
	return status ? fail(status, "", err) : 0;
}

static int start(struct demo *d)
{
	struct serve_cfg sc = {
		.run = d->o->daemon,
		.name = d->o->name,
		.conf = &d->dc.conf,
		.topo = d->dc.topo,
		.verbosity = LOG_LVL_ERR,
		.log_fd = STDERR_FILENO,
	};
	char err[1024];
	int status = serve_start(&d->serve, &sc);

	if (status)
		return fail(PROTO_EXIT_FAILED, "starting", strerror(-status));
	daemon_pid = d->serve.pid;
	if (interrupted) /* the signal may have come before daemon_pid was set */
		kill(daemon_pid, SIGTERM);
	status = serve_ready(&d->serve, err, sizeof(err));
	if (status)
		return fail(status, "", err);
	status = proto_connect(&d->c, d->o->name);
	return status ? fail(PROTO_EXIT_FAILED, "control socket", strerror(-status)) : 0;
}

static int run(struct demo *d)
{
	int status = start(d);

	if (status)
		return status;
	demo_act_topology(d);
	status = wait_up(d);
	if (!status)
		status = get_hosts(d);
	if (status)
		return status;
	acts(d);
	if (!demo_interrupted()) {
		epilogue(d);
		if (d->o->keep)
			keep(d);
	}
	if (lost && !d->shown)
		return PROTO_EXIT_OK; /* finish() reports the daemon's end, and returns FAILED */
	return d->failed ? PROTO_EXIT_FAILED : PROTO_EXIT_OK;
}

/* Configures a capture to the file of --capture, or to a memfd that demo_act_capture() checks. */
static int make_capture(struct demo *d)
{
	char path[64];

	if (d->o->capture)
		return demo_conf_capture(&d->dc, d->o->capture);
	d->cap_fd = memfd_create("uipoib-demo-capture", MFD_CLOEXEC);
	if (d->cap_fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", d->cap_fd);
	return demo_conf_capture(&d->dc, path);
}

static void close_hosts(struct demo *d)
{
	for (unsigned int i = 0; i < d->net.n; i++) {
		if (d->net.host[i].net_fd >= 0)
			close(d->net.host[i].net_fd);
		if (d->net.host[i].user_fd >= 0)
			close(d->net.host[i].user_fd);
	}
	free(d->net.host);
}

/* Stops the daemon, returns the exit status. After --keep a clean end of the daemon is no error. */
static int finish(struct demo *d, int status)
{
	bool alone = lost && !d->shown; /* the daemon ended by itself before all acts were shown */
	char text[64];
	int ended;

	proto_close(&d->c);
	ended = serve_stop(&d->serve);
	daemon_pid = 0;
	if ((ended || alone) && !status && !interrupted) {
		snprintf(text, sizeof(text), "the instance has ended, with status %d", ended);
		status = fail(PROTO_EXIT_FAILED, "", text);
	}
	close_hosts(d);
	if (d->cap_fd >= 0)
		close(d->cap_fd);
	demo_conf_free(&d->dc);
	return interrupted && !d->shown ? 128 + interrupted : status;
}

int demo_main(const struct demo_opts *o)
{
	struct demo d = {
		.o = o, .cap_fd = -1, .start = clock_now(), .c = { .fd = -1, .fds = { -1, -1 } }
	};
	char err[1024] = "";
	int status = demo_conf_make(&d.dc, o->hosts, o->topology, err, sizeof(err));

	if (status)
		return fail(PROTO_EXIT_USAGE, "", err);
	if (o->print_config) {
		status = demo_conf_print(&d.dc, stdout);
		demo_conf_free(&d.dc);
		return status ? PROTO_EXIT_FAILED : PROTO_EXIT_OK;
	}
	catch_signals();
	status = make_capture(&d);
	status = status ? fail(PROTO_EXIT_FAILED, "capture", strerror(-status)) : run(&d);
	return finish(&d, status);
}

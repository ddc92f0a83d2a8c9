/* SPDX-License-Identifier: BSD-2-Clause */
#include "vm/vm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/progress.h"
#include "vm/limits.h"
#include "vm/log.h"
#include "vm/process.h"
#include "vm/relay.h"
#include "vm/term.h"
#include "vm/tsc.h"
#include "vm/unpack.h"

#define EXIT_VM_FAILED 1
#define EXIT_VM_ENV 3
#define EXIT_VM_TIMEOUT 4

#define BOOTS_MAX 3
#define TICK_MS 200 /* time between two updates of the progress of the boot */
/* message of the panic that the kernel parameter softlockup_panic=1 causes */
#define PANIC_OF_LOCKUP "softlockup: hung tasks"

struct vm {
	const struct vm_cfg *cfg;
	char *err;
	pid_t pid; /* process of QEMU; 0: it has ended */
	int log_fd, chan_fd, eth_fd;
	bool hello, ready, over;
	bool shown; /* the terminal shows the progress of the boot */
	int status; /* exit status, valid when .over is set */
	ns_t started;
	struct vm_tsc tsc; /* as it was before the initramfs was made, which takes some time */
	unsigned int asked; /* number of signals received that ask to end */
	char state[256]; /* the step for which the guest waits, as text */
	struct frame_rx rx;
	struct relay relay;
	unsigned int nhcas;
	struct term term;
	struct vm_log log; /* output of the guest's kernel and of QEMU */
};

static long long run_ms(const struct vm *v)
{
	return (long long)((clock_now() - v->started) / NS_MSEC(1));
}

static void end(struct vm *v, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void end(struct vm *v, int status, const char *fmt, ...)
{
	va_list ap;

	if (v->over)
		return;
	va_start(ap, fmt);
	vsnprintf(v->err, VM_ERR_MAX, fmt, ap);
	va_end(ap);
	v->over = true;
	v->status = status;
}

/* --- the log */

static void log_readable(struct vm *v)
{
	char buf[4096];
	ssize_t n = read(v->log_fd, buf, sizeof(buf));

	if (n > 0)
		vm_log_add(&v->log, buf, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(v->log_fd);
		v->log_fd = -1;
	}
}

/* --- the channel */

static void send_frame(struct vm *v, const uint8_t *buf, size_t len)
{
	/* Only signals and one piece of input are under way at a time, a few KB, so the socket always has room. */
	if (len && send(v->chan_fd, buf, len, MSG_NOSIGNAL) < 0)
		end(v, EXIT_VM_FAILED, "the VM does not listen: %s", strerror(errno));
}

static void send_size(struct vm *v)
{
	uint8_t buf[FRAME_HDR_LEN + 4];

	send_frame(v, buf, term_size(&v->term, buf));
}

static void take_text(struct vm *v, const struct frame *f)
{
	size_t n = f->len < sizeof(v->state) - 1 ? f->len : sizeof(v->state) - 1;

	for (size_t i = 0; i < n; i++)
		v->state[i] = vm_log_printable((char)f->data[i]) ? (char)f->data[i] : '?';
	v->state[n] = '\0';
	if (v->cfg->verbose)
		fprintf(stderr, "vm: %lld ms: %s\n", run_ms(v), v->state);
}

/* Return, for an error message, the step that has not ended yet */
static const char *step(const struct vm *v)
{
	return v->ready	   ? "CMD has not ended"
	       : *v->state ? v->state
	       : v->hello  ? "the VM loads its modules and its root"
			   : "the VM boots";
}

static void show(const struct vm *v)
{
	if (v->shown)
		progress_say("vm, %lld s: %s", run_ms(v) / 1000, step(v));
}

static void show_end(struct vm *v)
{
	if (v->shown)
		progress_end();
	v->shown = false;
}

static void take(struct vm *v, const struct frame *f)
{
	switch (f->type) {
	case FRAME_HELLO:
		v->hello = true;
		break;
	case FRAME_STATE:
		take_text(v, f);
		break;
	case FRAME_READY:
		v->ready = true;
		show_end(v);
		snprintf(v->state, sizeof(v->state), "CMD");
		if (v->cfg->verbose)
			fprintf(stderr, "vm: %lld ms: CMD starts\n", run_ms(v));
		term_start(&v->term, v->cfg->guest.tty);
		send_size(v);
		break;
	case FRAME_STDOUT:
	case FRAME_STDERR:
		term_write(&v->term, f->type == FRAME_STDOUT ? STDOUT_FILENO : STDERR_FILENO,
			   f->data, f->len);
		break;
	case FRAME_STDIN_ACK:
		v->term.open = true;
		break;
	case FRAME_KLOG:
		vm_log_add(&v->log, f->data, f->len);
		break;
	case FRAME_ERROR:
		take_text(v, f);
		end(v, EXIT_VM_FAILED, "the VM: %s", v->state);
		break;
	case FRAME_EXIT:
		end(v, f->len ? f->data[0] : EXIT_VM_FAILED, "%s", "");
		break;
	default:
		break;
	}
}

/* Handles the frames that were read, but stops when CMD's output has to wait for its reader. */
static void take_frames(struct vm *v)
{
	struct frame f;
	int status = 0;

	while (!v->over && !term_busy(&v->term) && (status = frame_rx_next(&v->rx, &f)) > 0)
		take(v, &f);
	if (status < 0)
		end(v, EXIT_VM_FAILED, "the VM sent something that is no frame");
}

static void output_writable(struct vm *v)
{
	uint8_t buf[FRAME_HDR_LEN + 1];
	uint8_t which = v->term.out_fd == STDOUT_FILENO ? FRAME_STDOUT : FRAME_STDERR;

	/* If CMD has ended already, the guest does not read this frame, and the error of send() does not matter. */
	if (term_writable(&v->term) == -EPIPE)
		send(v->chan_fd, buf, frame_encode(buf, FRAME_UNREAD, &which, 1), MSG_NOSIGNAL);
	take_frames(v);
}

static void chan_readable(struct vm *v)
{
	size_t room;
	uint8_t *buf = frame_rx_room(&v->rx, &room);
	ssize_t n = recv(v->chan_fd, buf, room, MSG_DONTWAIT);

	if (n > 0) {
		frame_rx_added(&v->rx, (size_t)n);
		take_frames(v);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		end(v, EXIT_VM_FAILED, "the VM ended before CMD did");
	}
}

/* --- QEMU */

/* Returns the rate of this machine's TSC, or 0 if it is not the machine's clock. */
static unsigned int tsc_khz(const struct vm *v)
{
	struct vm_tsc now = vm_tsc_read();

	return vm_tsc_is_clock(NULL) ? vm_tsc_khz(&v->tsc, &now) : 0;
}

static int start(struct vm *v, int initrd, int kernel, bool kvm)
{
	struct qemu_cfg qc = {
		.kernel = v->cfg->guest.kernel->image,
		.kernel_fd = kernel,
		.kvm = kvm,
		.tsc_khz = tsc_khz(v),
		.cpus = v->cfg->cpus,
		.mem_mb = v->cfg->mem_mb,
		.verbose = v->cfg->verbose,
		.systemd = v->cfg->guest.systemd,
		.root = v->cfg->guest.root,
		.modules = v->cfg->guest.kernel->modules,
		.initrd_fd = initrd,
		.share = v->cfg->guest.share,
	};
	struct qemu_process p;
	int status = qemu_start(&p, &qc, v->cfg->sig_mask);

	v->pid = p.pid;
	v->log_fd = p.log_fd;
	v->chan_fd = p.chan_fd;
	v->eth_fd = p.eth_fd;
	return status;
}

static void stop(struct vm *v)
{
	const int fds[] = { v->chan_fd, v->eth_fd };

	term_stop(&v->term);
	if (v->pid > 0) {
		kill(v->pid, SIGKILL);
		while (waitpid(v->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	v->pid = 0;
	while (v->log_fd >= 0) /* the loop ends, because QEMU has closed its end of the socket */
		log_readable(v);
	for (size_t i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* --- events */

static void on_signal(struct vm *v, const struct signalfd_siginfo *si)
{
	uint8_t buf[FRAME_HDR_LEN + 1], sig = (uint8_t)si->ssi_signo;

	switch (si->ssi_signo) {
	case SIGCHLD: /* the sockets report the end of QEMU, after its last output */
		break;
	case SIGWINCH:
		send_size(v);
		break;
	default:
		if (v->asked++ || !v->ready)
			end(v, 128 + (int)si->ssi_signo, "%s", "");
		else
			send_frame(v, buf, frame_encode(buf, FRAME_SIGNAL, &sig, 1));
	}
}

static void signal_readable(struct vm *v)
{
	struct signalfd_siginfo si;

	while (!v->over && read(v->cfg->sig_fd, &si, sizeof(si)) == sizeof(si))
		on_signal(v, &si);
}

static void input_readable(struct vm *v)
{
	uint8_t buf[FRAME_HDR_LEN + FRAME_DATA_MAX];

	send_frame(v, buf, term_read(&v->term, buf));
}

static struct vm_limits limits(const struct vm *v, bool kvm)
{
	return (struct vm_limits){ .timeout_ms = v->cfg->timeout_ms,
				   .kvm = kvm,
				   .systemd = v->cfg->guest.systemd };
}

/* Return the time at which the present step must have ended; NS_NEVER: there is no limit */
static ns_t deadline(const struct vm *v, bool kvm)
{
	const struct vm_limits l = limits(v, kvm);
	long long ms = vm_limits_ms(&l, v->hello, v->ready);

	return ms < 0 ? NS_NEVER : v->started + NS_MSEC(ms);
}

static void look_at_time(struct vm *v, bool kvm)
{
	if (clock_now() >= deadline(v, kvm))
		end(v, EXIT_VM_TIMEOUT, "after %lld s: %s", run_ms(v) / 1000, step(v));
}

enum { LOG, CHAN, ETH, LOST, SIGNALS, INPUT, OUTPUT, UDP, NPOLLS = UDP + VM_HCAS_MAX };

static void poll_once(struct vm *v, bool kvm)
{
	ns_t until = deadline(v, kvm);
	bool blocked = relay_blocked(&v->relay);
	struct pollfd p[NPOLLS] = {
		[LOG] = { .fd = v->log_fd, .events = POLLIN },
		[CHAN] = { .fd = term_busy(&v->term) ? -1 : v->chan_fd, .events = POLLIN },
		[ETH] = { .fd = v->eth_fd, .events = blocked ? POLLIN | POLLOUT : POLLIN },
		[LOST] = { .fd = v->cfg->lost_fd, .events = POLLIN },
		[SIGNALS] = { .fd = v->cfg->sig_fd, .events = POLLIN },
	};
	int gone = 0;

	for (unsigned int i = 0; i < v->nhcas; i++)
		p[UDP + i] =
			(struct pollfd){ .fd = blocked ? -1 : v->cfg->udp_fd[i], .events = POLLIN };
	term_polls(&v->term, &p[INPUT]);
	if (v->shown)
		until = ns_min(until, clock_now() + NS_MSEC(TICK_MS));
	if (poll(p, UDP + v->nhcas, clock_poll_ms(until)) < 0)
		return;
	if (p[ETH].revents & ~POLLOUT)
		gone = relay_from_guest(&v->relay);
	if (p[ETH].revents & POLLOUT)
		relay_flush(&v->relay);
	for (unsigned int i = 0; i < v->nhcas; i++)
		if (p[UDP + i].revents)
			relay_to_guest(&v->relay, i);
	if (p[OUTPUT].revents)
		output_writable(v);
	if (p[CHAN].revents)
		chan_readable(v);
	if (p[LOG].revents)
		log_readable(v);
	if (p[INPUT].revents && !v->over)
		input_readable(v);
	if (p[SIGNALS].revents)
		signal_readable(v);
	if (p[LOST].revents)
		end(v, EXIT_VM_FAILED, "the instance ended");
	if (gone) { /* QEMU has ended, which chan_readable() will report */
		close(v->eth_fd);
		v->eth_fd = v->relay.eth = -1;
	}
}

static void run_once(struct vm *v, int initrd, bool kvm)
{
	int kernel = kvm ? -1 : unpack_kernel(v->cfg->guest.kernel->image), status;

	v->over = v->hello = v->ready = false;
	v->log_fd = v->chan_fd = v->eth_fd = -1;
	vm_log_init(&v->log, v->cfg->verbose);
	v->rx = (struct frame_rx){ 0 };
	status = start(v, initrd, kernel, kvm);
	if (kernel >= 0)
		close(kernel);
	if (status)
		end(v, EXIT_VM_FAILED, "starting QEMU: %s", strerror(-status));
	relay_init(&v->relay, v->eth_fd, v->cfg->udp_fd, v->nhcas);
	v->shown = !v->cfg->verbose && progress_shown();
	while (!v->over) {
		show(v);
		poll_once(v, kvm);
		look_at_time(v, kvm);
	}
	show_end(v);
	while (term_busy(&v->term) && v->status < 128)
		term_writable(&v->term);
	stop(v);
}

/*
 * Tell whether to boot again, without KVM. The VM boots again only if the first process of the
 * guest did not run and no signal asked to end. There is one further condition. After a boot with
 * KVM: --timeout leaves time for another boot. After a boot without KVM: this boot ended in a
 * soft-lockup panic.
 */
static bool worth_another_boot(const struct vm *v, bool kvm)
{
	const struct vm_limits l = limits(v, kvm);

	if (v->hello || v->asked)
		return false;
	return kvm ? vm_limits_allow_no_kvm(&l) : vm_log_has(&v->log, PANIC_OF_LOCKUP);
}

static void run(struct vm *v, int initrd)
{
	bool kvm = v->cfg->kvm;

	run_once(v, initrd, kvm);
	for (int boots = 1; boots < BOOTS_MAX && worth_another_boot(v, kvm); boots++) {
		if (v->cfg->verbose)
			fprintf(stderr, "vm: %s: again without KVM\n",
				kvm ? "KVM does not boot it" : "a processor hung in the boot");
		kvm = false;
		run_once(v, initrd, kvm);
	}
}

/* --- the whole life of a VM */

static int make_initrd(const struct guest_cfg *c, char err[VM_ERR_MAX])
{
	int fd = memfd_create("initramfs", MFD_CLOEXEC), status;
	FILE *f = fd < 0 ? NULL : fdopen(dup(fd), "w");

	if (!f) {
		snprintf(err, VM_ERR_MAX, "initramfs: %s", strerror(errno));
		return -errno;
	}
	status = guest_initramfs(f, c, err);
	fclose(f);
	if (status) {
		close(fd);
		return status;
	}
	return fd;
}

int vm_run(const struct vm_cfg *c, char err[VM_ERR_MAX])
{
	struct vm *v = calloc(1, sizeof(*v));
	int initrd = -1, status;

	*err = '\0';
	if (!v) {
		snprintf(err, VM_ERR_MAX, "out of memory");
		return EXIT_VM_FAILED;
	}
	v->tsc = vm_tsc_read();
	initrd = make_initrd(&c->guest, err);
	if (initrd < 0) {
		free(v);
		return EXIT_VM_ENV;
	}
	v->cfg = c;
	while (c->guest.hca[v->nhcas])
		v->nhcas++;
	v->err = err;
	v->started = clock_now();
	run(v, initrd);
	if (*err)
		vm_log_show(&v->log);
	status = v->status;
	close(initrd);
	free(v);
	return status;
}

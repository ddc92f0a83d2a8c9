/* SPDX-License-Identifier: BSD-2-Clause */
#include "vm/qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "vm/net.h"

/* A guest that breaks out of QEMU can neither start programs nor gain privileges. */
#define SANDBOX "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"

/*
 * Kernel and C library copy by "rep movsb" on a processor whose CPUID says that this is fast. QEMU
 * emulates this instruction octet by octet, so a guest that uses it needs several times as much
 * time for TCP. A fifth level of page tables costs one more read for each page that is not in the
 * TLB. No guest has so much memory that it needs this level.
 */
#define EMULATED_CPU "max,erms=off,fsrm=off,la57=off"

/*
 * Driver and device announce new buffers in a virtio queue only when the other side has asked for
 * announcements. With event_idx, each side asks for one announcement at a time. If this
 * announcement gets lost, the queue stops for ever. Without event_idx, a flag says whether
 * announcements are wanted. While the flag is set, each new buffer is announced, so the next buffer
 * makes up for a lost announcement. QEMU loses announcements in two cases:
 *
 *  - Before version 8.1 (commit c914d46d), QEMU leaves out the memory barriers of a guest whose
 *    processors it emulates in one thread.
 *  - virtqueue_pop() asks for an announcement and then looks at the queue again, without a barrier
 *    in between. QEMU relies on this look when the socket of the cable was full, has room again,
 *    and QEMU continues with the queue.
 */
#define VIRTIO_QUEUES "event_idx=off"

/* --- words of the command line */

static void add(struct qemu_args *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds a word to the command line. If memory runs out, the word is NULL, which qemu_args_make() reports. */
static void add(struct qemu_args *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (a->n < QEMU_ARGS_MAX && vasprintf(&a->v[a->n], fmt, ap) < 0)
		a->v[a->n] = NULL;
	a->n++;
	va_end(ap);
}

static void add_words(struct qemu_args *a, const char *const *word)
{
	for (; *word; word++)
		add(a, "%s", *word);
}

/* Returns @path with each comma written twice, as QEMU's options demand. */
static char *escaped(const char *path)
{
	char *text = malloc(2 * strlen(path) + 1), *to = text;

	for (const char *p = path; text && *p; p++) {
		if (*p == ',')
			*to++ = ',';
		*to++ = *p;
	}
	if (text)
		*to = '\0';
	return text;
}

/* --- devices */

static void add_9p(struct qemu_args *a, const char *tag, const char *path, bool readonly)
{
	char *text = escaped(path);

	add(a, "-fsdev");
	add(a, "local,id=%s,path=%s,security_model=none,multidevs=remap%s", tag, text ? text : "",
	    readonly ? ",readonly=on" : "");
	add(a, "-device");
	add(a, "virtio-9p-pci,fsdev=%s,mount_tag=%s," VIRTIO_QUEUES, tag, tag);
	if (!text)
		a->n = QEMU_ARGS_MAX + 1;
	free(text);
}

static void add_files(struct qemu_args *a, const struct qemu_cfg *c)
{
	char tag[16];

	add_9p(a, VM_ROOT_TAG, c->root ? c->root : "/", true);
	if (c->root)
		add_9p(a, VM_MODULES_TAG, c->modules, true);
	for (unsigned int i = 0; c->share[i]; i++) {
		snprintf(tag, sizeof(tag), "share%u", i);
		add_9p(a, tag, c->share[i], false);
	}
}

static void add_machine(struct qemu_args *a, const struct qemu_cfg *c)
{
	static const char *const fixed[] = { QEMU_PROGRAM, "-nodefaults", "-no-user-config",
					     "-no-reboot", "-display",	  "none",
					     "-monitor",   "none",	  "-sandbox",
					     SANDBOX,	   NULL };

	add_words(a, fixed);
	add(a, "-machine");
	add(a, "q35,sata=off,usb=off,smbus=off,vmport=off");
	/*
	 * One thread of the host emulates all processors. With one thread for each emulated
	 * processor, a processor sometimes hung, once at a jump that the kernel had just patched.
	 * Probably QEMU 7.2 kept a translation of the code before the patch. On a host with two
	 * cores, one thread is not slower than several.
	 */
	add(a, "-accel");
	add(a, c->kvm ? "kvm" : "tcg,thread=single");
	add(a, "-cpu");
	add(a, "%s", c->kvm ? "host" : EMULATED_CPU);
	add(a, "-smp");
	add(a, "%u", c->cpus);
	add(a, "-m");
	add(a, "%u", c->mem_mb);
}

/*
 * The words on the kernel's command line for systemd. The root is a copy of the host's, so the file systems in the
 * host's /etc/fstab are neither mounted nor checked, and no tmpfs hides the host's /tmp. Timers would start the
 * host's daily work, so they are off. The boot does not count as a first boot, in which systemd would enable units
 * that are not enabled on the host.
 */
#define SYSTEMD_WORDS                                                                              \
	" systemd.unit=%s fstab=no luks=no systemd.gpt_auto=no systemd.condition-first-boot=no "   \
	"systemd.show_status=auto systemd.mask=tmp.mount systemd.mask=systemd-remount-fs.service " \
	"systemd.mask=timers.target"

/*
 * Returns the words for the clock from which the guest takes its time.
 *
 * The TSC of an emulated processor is this machine's TSC. If the guest measured its rate during the boot on a busy
 * machine, the guest's time would run several times too fast, and its link would lose the peer again and again. So the
 * guest is told the rate, and its own measurement may correct it by 1 % at most. If the rate is unknown, the guest takes
 * its time from the HPET, whose time is QEMU's own, and each reading of which leaves the emulation.
 */
static const char *clock_words(char *buf, size_t size, const struct qemu_cfg *c)
{
	if (c->kvm)
		return "tsc=reliable";
	if (!c->tsc_khz)
		return "tsc=unstable";
	snprintf(buf, size, "tsc_early_khz=%u tsc=reliable", c->tsc_khz);
	return buf;
}

static void add_kernel(struct qemu_args *a, const struct qemu_cfg *c)
{
	char systemd[512] = "", clock[64];

	if (c->systemd)
		snprintf(systemd, sizeof(systemd), SYSTEMD_WORDS, c->systemd);
	add(a, "-kernel");
	if (c->kernel_fd >= 0)
		add(a, "/proc/self/fd/%d", c->kernel_fd);
	else
		add(a, "%s", c->kernel);
	add(a, "-initrd");
	add(a, "/proc/self/fd/%d", c->initrd_fd);
	add(a, "-append");
	/*
	 * panic=-1, oops=panic: After a panic or an oops the kernel reboots, and -no-reboot makes
	 * QEMU end instead. So no program waits for the guest.
	 *
	 * softlockup_panic=1: An emulated processor sometimes hangs in the boot. The kernel notices
	 * this (a soft lockup) and panics, so that vm_run() boots the VM again. When the guest's
	 * init runs, it clears this setting.
	 *
	 * tsc_early_khz, tsc: See clock_words().
	 *
	 * no_timer_check: The kernel's check of its timer panics if a busy machine does not run
	 * QEMU in time.
	 *
	 * cryptomgr.notests=1: The kernel's tests of its ciphers take time, and the guest does not
	 * need them.
	 *
	 * norandmaps: If an emulated guest randomized the addresses of programs, QEMU would
	 * translate a program and its libraries anew at each start.
	 */
	add(a,
	    "console=ttyS0 panic=-1 oops=panic softlockup_panic=1 net.ifnames=0 "
	    "random.trust_cpu=on "
	    "%s%s no_timer_check cryptomgr.notests=1 mitigations=off rdinit=/init %s%s",
	    c->kvm ? "" : "norandmaps ", clock_words(clock, sizeof(clock), c),
	    c->verbose ? "ignore_loglevel" : "quiet", systemd);
}

static void add_wires(struct qemu_args *a, const struct qemu_cfg *c)
{
	add(a, "-chardev");
	add(a, "socket,id=log,fd=%d", c->serial_fd);
	add(a, "-serial");
	add(a, "chardev:log");
	add(a, "-chardev");
	add(a, "socket,id=channel,fd=%d", c->channel_fd);
	add(a, "-device");
	add(a, "virtio-serial-pci," VIRTIO_QUEUES);
	add(a, "-device");
	add(a, "virtserialport,chardev=channel,name=uipoib");
	add(a, "-netdev");
	add(a, "socket,id=wire,fd=%d", c->eth_fd);
	add(a, "-device");
	add(a, "virtio-net-pci,netdev=wire,mac=%s,host_mtu=%d,romfile=," VIRTIO_QUEUES,
	    VM_NET_GUEST_MAC_TEXT, VM_NET_MTU);
}

int qemu_args_make(struct qemu_args *a, const struct qemu_cfg *c)
{
	*a = (struct qemu_args){ 0 };
	add_machine(a, c);
	add_kernel(a, c);
	add_wires(a, c);
	add_files(a, c);
	if (a->n > QEMU_ARGS_MAX)
		return -E2BIG;
	for (unsigned int i = 0; i < a->n; i++)
		if (!a->v[i])
			return -ENOMEM;
	return 0;
}

void qemu_args_free(struct qemu_args *a)
{
	for (unsigned int i = 0; i < QEMU_ARGS_MAX; i++)
		free(a->v[i]);
	*a = (struct qemu_args){ 0 };
}

/* --- KVM */

static bool has_extensions(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[16384];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, "flags", 5) &&
			(strstr(line, " vmx ") || strstr(line, " svm "));
	if (f)
		fclose(f);
	return found;
}

bool qemu_kvm_works(void)
{
	int fd = has_extensions() ? open("/dev/kvm", O_RDWR | O_CLOEXEC) : -1, vm = -1;

	if (fd >= 0 && ioctl(fd, KVM_GET_API_VERSION, 0) == KVM_API_VERSION)
		vm = ioctl(fd, KVM_CREATE_VM, 0);
	if (vm >= 0)
		close(vm);
	if (fd >= 0)
		close(fd);
	return vm >= 0;
}

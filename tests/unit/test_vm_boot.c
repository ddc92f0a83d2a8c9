/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vm/kernel.h"
#include "vm/modules.h"
#include "vm/qemu.h"
#include "vm/tsc.h"
#include "vm/unpack.h"

/* --- modules.dep, in the format of modules.dep(5) */

static const char dep[] = "kernel/fs/9p/9p.ko: kernel/net/9p/9pnet.ko kernel/fs/netfs/netfs.ko\n"
			  "kernel/net/9p/9pnet.ko:\n"
			  "kernel/net/9p/9pnet_virtio.ko.xz: kernel/net/9p/9pnet.ko "
			  "kernel/drivers/virtio/virtio.ko kernel/drivers/virtio/virtio_ring.ko\n"
			  "kernel/fs/netfs/netfs.ko:\n"
			  "/opt/uib.ko: kernel/fs/netfs/netfs.ko\n"
			  "kernel/drivers/virtio/virtio.ko: kernel/drivers/virtio/virtio_ring.ko\n"
			  "kernel/drivers/virtio/virtio_ring.ko:";
static const char builtin[] = "kernel/drivers/virtio/virtio-pci.ko\nkernel/fs/ext4/ext4.ko\n";

static struct modules open_lists(void)
{
	struct modules m;

	assert_int_equal(modules_parse(&m, "/m", dep, builtin), 0);
	return m;
}

static void check_paths(const struct modules *m, const char *const *want)
{
	unsigned int n = 0;

	for (; want[n]; n++) {
		assert_true(n < m->n);
		assert_string_equal(m->path[n], want[n]);
	}
	assert_int_equal(m->n, n);
}

static void test_modules_come_behind_what_they_need(void **state)
{
	static const char *const want[] = { "/m/kernel/fs/netfs/netfs.ko",
					    "/m/kernel/net/9p/9pnet.ko",
					    "/m/kernel/fs/9p/9p.ko",
					    "/m/kernel/drivers/virtio/virtio_ring.ko",
					    "/m/kernel/drivers/virtio/virtio.ko",
					    "/m/kernel/net/9p/9pnet_virtio.ko.xz",
					    NULL };
	struct modules m = open_lists();

	(void)state;
	assert_int_equal(modules_add(&m, "9p"), 0);
	/* In names of modules, "-" and "_" mean the same. */
	assert_int_equal(modules_add(&m, "9pnet-virtio"), 0);
	assert_int_equal(modules_add(&m, "9p"), 0); /* the module is already in the list */
	check_paths(&m, want);
	modules_close(&m);
}

static void test_modules_built_in_and_missing(void **state)
{
	struct modules m = open_lists();
	char *path;

	(void)state;
	assert_int_equal(modules_add(&m, "virtio_pci"), 0);
	assert_int_equal(m.n, 0);
	assert_int_equal(modules_add(&m, "virtio_net"), -ENOENT);
	assert_int_equal(modules_add(&m, "9pne"), -ENOENT); /* only the beginning of a name */
	assert_int_equal(modules_add(&m, "irtio"), -ENOENT); /* only the end of a name */
	assert_null(modules_find(&m, "ext4"));
	path = modules_find(&m, "uib");
	assert_string_equal(path, "/opt/uib.ko");
	free(path);
	modules_close(&m);
}

static void test_modules_empty_lists(void **state)
{
	struct modules m;

	(void)state;
	assert_int_equal(modules_parse(&m, "/m", "", NULL), 0);
	assert_int_equal(modules_add(&m, "9p"), -ENOENT);
	modules_close(&m);
	assert_int_equal(modules_parse(&m, "/m", "\n\nno colon\n", "\n"), 0);
	assert_int_equal(modules_add(&m, "no colon"), -ENOENT);
	modules_close(&m);
}

/* --- .modinfo */

static const char names[] = "\0.shstrtab\0.modinfo";
static const char info[] = "license=Dual BSD/GPL\0depends=9pnet,netfs\0vermagic=6.1.0-1 SMP ";

struct module_file {
	Elf64_Ehdr eh;
	char names[sizeof(names)];
	char info[sizeof(info)];
	Elf64_Shdr sh[3];
};

static struct module_file make_module(void)
{
	struct module_file f = {
		.eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
			.e_shoff = offsetof(struct module_file, sh),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 3,
			.e_shstrndx = 1 },
		.sh = { [1] = { .sh_name = 1,
				.sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct module_file, names),
				.sh_size = sizeof(names) },
			[2] = { .sh_name = 11,
				.sh_type = SHT_PROGBITS,
				.sh_offset = offsetof(struct module_file, info),
				.sh_size = sizeof(info) } },
	};

	memcpy(f.names, names, sizeof(names));
	memcpy(f.info, info, sizeof(info));
	return f;
}

static void test_modinfo(void **state)
{
	struct module_file f = make_module();

	(void)state;
	assert_string_equal(modules_info(&f, sizeof(f), "depends"), "9pnet,netfs");
	assert_string_equal(modules_info(&f, sizeof(f), "vermagic"), "6.1.0-1 SMP ");
	assert_null(modules_info(&f, sizeof(f), "depend"));
	assert_null(modules_info(&f, sizeof(f), "alias"));
}

static void test_modinfo_of_what_is_no_module(void **state)
{
	struct module_file f = make_module(), *copy;

	(void)state;
	/*
	 * Cut the file at every length. The copy is on the heap, so that the sanitizer notices
	 * reads beyond its end.
	 */
	for (size_t n = 0; n < sizeof(f); n++) {
		copy = malloc(n ? n : 1);
		memcpy(copy, &f, n);
		assert_null(modules_info(copy, n, "depends"));
		free(copy);
	}
	f.sh[2].sh_size = sizeof(f); /* section length beyond the end of the file */
	assert_null(modules_info(&f, sizeof(f), "depends"));
	f = make_module();
	/* The last string has no NUL. The other strings must be found. */
	f.sh[2].sh_size = sizeof(info) - 1;
	assert_string_equal(modules_info(&f, sizeof(f), "depends"), "9pnet,netfs");
	assert_null(modules_info(&f, sizeof(f), "vermagic"));
	f = make_module();
	f.sh[1].sh_type = SHT_NOBITS;
	f.sh[1].sh_offset = UINT64_MAX - 8;
	assert_null(modules_info(&f, sizeof(f), "depends"));
	f = make_module();
	f.eh.e_shoff = UINT64_MAX - 8;
	assert_null(modules_info(&f, sizeof(f), "depends"));
	f = make_module();
	f.eh.e_shstrndx = 3;
	assert_null(modules_info(&f, sizeof(f), "depends"));
}

/* --- images */

#define IMAGE_LEN 4096

static void make_image(uint8_t img[IMAGE_LEN])
{
	memset(img, 0, IMAGE_LEN);
	img[0x1f1] = 1; /* one sector of setup code; the kernel itself begins at 1024 */
	memcpy(img + 0x202, "HdrS\x0f\x02", 6); /* protocol 2.15 */
	img[0x20f] = 1; /* the version string is at 0x300 */
	memcpy(img + 0x300, "6.1.0-56-amd64 (debian-kernel@lists.debian.org) #1 SMP", 54);
	img[0x249] = 1; /* the payload begins at 1024 + 256 */
	img[0x24d] = 2; /* the payload has 512 octets */
	memcpy(img + 1280,
	       "\xfd"
	       "7zXZ",
	       6);
}

static void test_release_of_an_image(void **state)
{
	char release[KERNEL_RELEASE_MAX];
	uint8_t img[IMAGE_LEN];

	(void)state;
	make_image(img);
	assert_int_equal(kernel_release(release, img, sizeof(img)), 0);
	assert_string_equal(release, "6.1.0-56-amd64");
	for (size_t n = 0; n <= 0x300 + 14; n++)
		assert_int_equal(kernel_release(release, img, n), -ENOEXEC);
	memset(img + 0x300, 'x', 200); /* a version without an end */
	assert_int_equal(kernel_release(release, img, sizeof(img)), -ENOEXEC);
	img[0x202] = 'h';
	assert_int_equal(kernel_release(release, img, sizeof(img)), -ENOEXEC);
}

static void test_packed_kernel_of_an_image(void **state)
{
	enum unpack_format format;
	uint8_t img[IMAGE_LEN];
	size_t at, len;

	(void)state;
	make_image(img);
	assert_int_equal(unpack_find(img, sizeof(img), &at, &len, &format), 0);
	assert_int_equal(at, 1280);
	assert_int_equal(len, 508); /* without the last 4 octets, which contain a size */
	assert_int_equal(format, UNPACK_XZ);
	memcpy(img + 1280, "\x1f\x8b\x08\0", 4);
	assert_int_equal(unpack_find(img, sizeof(img), &at, &len, &format), 0);
	assert_int_equal(len, 512);
	assert_int_equal(format, UNPACK_GZIP);
	for (size_t n = 0; n < 1280 + 512; n++)
		assert_int_equal(unpack_find(img, n, &at, &len, &format), -ENOEXEC);
	memcpy(img + 1280, "none", 4);
	assert_int_equal(unpack_find(img, sizeof(img), &at, &len, &format), -ENOEXEC);
	make_image(img);
	img[0x206] = 7; /* protocol 2.07 */
	img[0x207] = 2;
	assert_int_equal(unpack_find(img, sizeof(img), &at, &len, &format), -ENOEXEC);
	make_image(img);
	memset(img + 0x248, 0xff, 8);
	assert_int_equal(unpack_find(img, sizeof(img), &at, &len, &format), -ENOEXEC);
}

struct elf_file {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[2];
	uint8_t notes[48];
};

static void test_pvh_entry(void **state)
{
	struct elf_file f = {
		.eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64 },
			.e_phoff = offsetof(struct elf_file, ph),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2 },
		.ph = { { .p_type = PT_LOAD },
			{ .p_type = PT_NOTE,
			  .p_offset = offsetof(struct elf_file, notes),
			  .p_filesz = 48 } },
		/* an ELF note "GNU" of 6 octets, then a note "Xen" of type 18 and 8 octets */
		.notes = "\x04\0\0\0\x06\0\0\0\x03\0\0\0GNU\0\1\2\3\4\5\6\0\0"
			 "\x04\0\0\0\x08\0\0\0\x12\0\0\0Xen\0\1\0\0\1\0\0\0",
	};

	(void)state;
	assert_true(unpack_has_pvh((uint8_t *)&f, sizeof(f)));
	for (size_t n = 0; n < sizeof(f); n++) {
		uint8_t *copy = malloc(n ? n : 1);

		memcpy(copy, &f, n);
		assert_false(unpack_has_pvh(copy, n));
		free(copy);
	}
	f.notes[32] = 17;
	assert_false(unpack_has_pvh((uint8_t *)&f, sizeof(f)));
	f.notes[32] = 18;
	memset(f.notes, 0xff, 8); /* sizes that lead beyond the notes */
	assert_false(unpack_has_pvh((uint8_t *)&f, sizeof(f)));
}

/* --- QEMU */

static bool has(const struct qemu_args *a, const char *option, const char *value)
{
	for (unsigned int i = 0; i + 1 < a->n; i++)
		if (!strcmp(a->v[i], option) && !strcmp(a->v[i + 1], value))
			return true;
	return false;
}

static bool kernel_has(const struct qemu_args *a, const char *words)
{
	for (unsigned int i = 0; i + 1 < a->n; i++)
		if (!strcmp(a->v[i], "-append"))
			return strstr(a->v[i + 1], words);
	return false;
}

static void test_rate_of_the_tsc(void **state)
{
	const struct vm_tsc from = { .ns = NS_SEC(5), .ticks = 1ull << 63 };
	struct vm_tsc to = { .ns = NS_SEC(5) + NS_MSEC(20), .ticks = from.ticks + 46000010 };

	(void)state;
	assert_int_equal(vm_tsc_khz(&from, &to), 2300001); /* 2300000.5 kHz */
	to.ticks = from.ticks + 1999980; /* 99999 kHz */
	assert_int_equal(vm_tsc_khz(&from, &to), 0);
	to.ticks = from.ticks - 46000000; /* a TSC that was set back */
	assert_int_equal(vm_tsc_khz(&from, &to), 0);
	to = (struct vm_tsc){ .ns = from.ns + NS_MSEC(1) - 1, .ticks = from.ticks + 2300000 };
	assert_int_equal(vm_tsc_khz(&from, &to), 0);
}

static bool clock_is_tsc(const char *name)
{
	char path[] = "/tmp/clocksource.XXXXXX";
	int fd = mkstemp(path);
	bool is;

	assert_int_equal(write(fd, name, strlen(name)), strlen(name));
	is = vm_tsc_is_clock(path);
	close(fd);
	unlink(path);
	return is;
}

static void test_tsc_counts_only_if_it_is_the_clock_of_the_machine(void **state)
{
	(void)state;
	assert_true(clock_is_tsc("tsc\n"));
	assert_false(clock_is_tsc("tsc-early\n"));
	assert_false(clock_is_tsc("hpet\n"));
	assert_false(clock_is_tsc(""));
	assert_false(vm_tsc_is_clock("/nonexistent"));
}

static void test_command_line(void **state)
{
	static const char *const share[] = { "/tmp/a,b", "/srv", NULL };
	struct qemu_cfg c = { .kernel = "/boot/vmlinuz-x",
			      .kernel_fd = -1,
			      .cpus = 3,
			      .mem_mb = 700,
			      .initrd_fd = 11,
			      .serial_fd = 12,
			      .channel_fd = 13,
			      .eth_fd = 14,
			      .share = share };
	struct qemu_args a;

	(void)state;
	assert_int_equal(qemu_args_make(&a, &c), 0);
	assert_string_equal(a.v[0], "qemu-system-x86_64");
	assert_null(a.v[a.n]);
	assert_true(has(&a, "-kernel", "/boot/vmlinuz-x"));
	assert_true(has(&a, "-initrd", "/proc/self/fd/11"));
	assert_true(has(&a, "-cpu", "max,erms=off,fsrm=off,la57=off"));
	assert_true(has(&a, "-smp", "3"));
	assert_true(kernel_has(&a, " tsc=unstable "));
	assert_true(has(&a, "-m", "700"));
	assert_true(has(&a, "-chardev", "socket,id=log,fd=12"));
	assert_true(has(&a, "-chardev", "socket,id=channel,fd=13"));
	assert_true(has(&a, "-netdev", "socket,id=wire,fd=14"));
	assert_true(has(&a, "-fsdev",
			"local,id=root,path=/,security_model=none,multidevs=remap,readonly=on"));
	assert_true(has(&a, "-fsdev",
			"local,id=share0,path=/tmp/a,,b,security_model=none,multidevs=remap"));
	assert_true(
		has(&a, "-fsdev", "local,id=share1,path=/srv,security_model=none,multidevs=remap"));
	qemu_args_free(&a);
	c.kernel_fd = 10;
	c.kvm = true;
	assert_int_equal(qemu_args_make(&a, &c), 0);
	assert_true(has(&a, "-kernel", "/proc/self/fd/10"));
	assert_true(has(&a, "-cpu", "host"));
	assert_true(kernel_has(&a, " tsc=reliable "));
	assert_false(kernel_has(&a, "tsc_early_khz"));
	qemu_args_free(&a);
	c.kvm = false;
	c.tsc_khz = 2299999;
	assert_int_equal(qemu_args_make(&a, &c), 0);
	assert_true(kernel_has(&a, " tsc_early_khz=2299999 tsc=reliable "));
	qemu_args_free(&a);
}

static void test_command_line_with_a_root_of_its_own(void **state)
{
	static const char *const share[] = { NULL };
	struct qemu_cfg c = { .kernel = "k",
			      .kernel_fd = -1,
			      .share = share,
			      .root = "/srv/debian",
			      .modules = "/lib/modules/6.1" };
	struct qemu_args a;

	(void)state;
	assert_int_equal(qemu_args_make(&a, &c), 0);
	assert_true(has(
		&a, "-fsdev",
		"local,id=root,path=/srv/debian,security_model=none,multidevs=remap,readonly=on"));
	assert_true(has(&a, "-fsdev",
			"local,id=modules,path=/lib/modules/"
			"6.1,security_model=none,multidevs=remap,readonly=on"));
	qemu_args_free(&a);
}

static void test_command_line_has_room_for_all_shares(void **state)
{
	const char *share[VM_SHARES_MAX + 1] = { NULL };
	struct qemu_cfg c = {
		.kernel = "k", .kernel_fd = -1, .share = share, .root = "/r", .modules = "/m"
	};
	struct qemu_args a;

	(void)state;
	for (unsigned int i = 0; i < VM_SHARES_MAX; i++)
		share[i] = "/srv";
	assert_int_equal(qemu_args_make(&a, &c), 0);
	qemu_args_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modules_come_behind_what_they_need),
		cmocka_unit_test(test_modules_built_in_and_missing),
		cmocka_unit_test(test_modules_empty_lists),
		cmocka_unit_test(test_modinfo),
		cmocka_unit_test(test_modinfo_of_what_is_no_module),
		cmocka_unit_test(test_release_of_an_image),
		cmocka_unit_test(test_packed_kernel_of_an_image),
		cmocka_unit_test(test_pvh_entry),
		cmocka_unit_test(test_rate_of_the_tsc),
		cmocka_unit_test(test_tsc_counts_only_if_it_is_the_clock_of_the_machine),
		cmocka_unit_test(test_command_line),
		cmocka_unit_test(test_command_line_with_a_root_of_its_own),
		cmocka_unit_test(test_command_line_has_room_for_all_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

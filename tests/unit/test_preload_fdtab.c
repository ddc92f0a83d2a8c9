/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the table of file descriptors that the preload library treats as its own. In this program,
 * fstat() returns the device and inode that a test has set.
 */
#include "check.h"

#include <errno.h>

#include "preload/fdtab.h"
#include "preload/real.h"

static struct stat files[16];

static int fake_fstat(int fd, struct stat *st)
{
	if (fd < 0 || fd >= 16 || !files[fd].st_ino) {
		errno = EBADF;
		return -1;
	}
	*st = files[fd];
	return 0;
}

static void file_is(int fd, dev_t dev, ino_t ino)
{
	files[fd] = (struct stat){ .st_dev = dev, .st_ino = ino };
}

#define SOCKFS 8
#define SHMFS 1
#define DISK 0x801

static int setup(void **state)
{
	real.fstat = fake_fstat;
	memset(files, 0, sizeof(files));
	return 0;
}

static void test_a_descriptor_that_was_entered_is_ours(void **state)
{
	file_is(3, SOCKFS, 77);
	fdtab_add(3, FD_UMAD, 5);
	file_is(4, SHMFS, 77);
	fdtab_add(4, FD_FILE, 0);
	assert_int_equal(fdtab_kind(3), FD_UMAD);
	assert_int_equal(fdtab_dev(3), 5);
	assert_int_equal(fdtab_kind(4), FD_FILE);
	assert_int_equal(fdtab_kind(5), FD_OTHER);
	file_is(6, SOCKFS, 77);
	assert_int_equal(fdtab_copy(3, 6), 6);
	assert_int_equal(fdtab_kind(6), FD_UMAD);
}

/*
 * The descriptor was closed, and its number now belongs to another file, which has the same inode
 * number but is on another file system. The new file must not be taken for the old one.
 */
static void test_the_same_inode_of_another_file_system_is_not_ours(void **state)
{
	file_is(3, SOCKFS, 77);
	fdtab_add(3, FD_UMAD, 5);
	file_is(3, DISK, 77);
	errno = 0;
	assert_int_equal(fdtab_kind(3), FD_OTHER);
	assert_int_equal(errno, 0);
	/*
	 * An entry that was found to be stale must not be used again, even if the inode matches
	 * later.
	 */
	file_is(3, SOCKFS, 77);
	assert_int_equal(fdtab_kind(3), FD_OTHER);
}

static void test_another_inode_is_not_ours(void **state)
{
	file_is(3, SOCKFS, 77);
	fdtab_add(3, FD_ISSM, 0);
	file_is(3, SOCKFS, 78);
	assert_int_equal(fdtab_kind(3), FD_OTHER);
	files[3].st_ino = 0; /* the descriptor was closed */
	assert_int_equal(fdtab_kind(3), FD_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_descriptor_that_was_entered_is_ours, setup),
		cmocka_unit_test_setup(test_the_same_inode_of_another_file_system_is_not_ours,
				       setup),
		cmocka_unit_test_setup(test_another_inode_is_not_ours, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

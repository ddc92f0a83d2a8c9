/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <limits.h>

#include "vm/limits.h"

static void test_a_boot_has_a_limit_and_a_command_has_none(void **state)
{
	struct vm_limits l = { .timeout_ms = -1 };

	assert_int_equal(vm_limits_ms(&l, false, false), VM_BOOT_MS);
	assert_int_equal(vm_limits_ms(&l, true, false), VM_BOOT_MS);
	assert_int_equal(vm_limits_ms(&l, true, true), -1);
	l.systemd = true;
	assert_int_equal(vm_limits_ms(&l, true, false), VM_SYSTEMD_MS);
	assert_int_equal(vm_limits_ms(&l, true, true), -1);
	assert_int_equal(vm_limits_up_s(&l), VM_UP_S);
}

static void test_a_timeout_replaces_the_limit_of_the_boot(void **state)
{
	struct vm_limits l = { .timeout_ms = 600000 };

	assert_int_equal(vm_limits_ms(&l, false, false), 600000);
	assert_int_equal(vm_limits_ms(&l, true, true), 600000);
	assert_int_equal(vm_limits_up_s(&l), 600);
	l.systemd = true;
	assert_int_equal(vm_limits_ms(&l, true, false), 600000);
	l.timeout_ms = 5000;
	assert_int_equal(vm_limits_ms(&l, false, false), 5000);
	assert_int_equal(vm_limits_ms(&l, true, true), 5000);
	assert_int_equal(vm_limits_up_s(&l), VM_UP_S);
	l.timeout_ms = LLONG_MAX;
	assert_int_equal(vm_limits_up_s(&l), UINT_MAX);
}

static void test_kvm_shows_soon_whether_it_works(void **state)
{
	struct vm_limits l = { .timeout_ms = -1, .kvm = true };

	assert_int_equal(vm_limits_ms(&l, false, false), VM_KVM_MS);
	assert_int_equal(vm_limits_ms(&l, true, false), VM_BOOT_MS);
	l.timeout_ms = 600000;
	assert_int_equal(vm_limits_ms(&l, false, false), VM_KVM_MS);
	assert_true(vm_limits_allow_no_kvm(&l));
	l.timeout_ms = 5000;
	assert_int_equal(vm_limits_ms(&l, false, false), 5000);
	assert_false(vm_limits_allow_no_kvm(&l));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_boot_has_a_limit_and_a_command_has_none),
		cmocka_unit_test(test_a_timeout_replaces_the_limit_of_the_boot),
		cmocka_unit_test(test_kvm_shows_soon_whether_it_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

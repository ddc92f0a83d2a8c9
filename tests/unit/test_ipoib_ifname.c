/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipoib/profile.h"

#include <string.h>

#include "check.h"

static void test_H11_interfaces_are_named_by_ca_port_and_pkey_in_hexadecimal(void **state)
{
	static const struct {
		const char *name;
		unsigned int ca, port;
		uint16_t pkey;
	} v[] = {
		/* the example in the HLD of 2002: CA 0, port 1, partition 20 */
		{ "ib0_1_14", 0, 1, 0x0014 },
		/* the P_Key of a full member names the same link, so the name is the same */
		{ "ib0_1_14", 0, 1, 0x8014 },
		{ "ib0_1_7fff", 0, 1, 0xffff },
		{ "ib0_2_1", 0, 2, 0x8001 },
		{ "ib3f_fe_7ffe", 63, 254, 0xfffe }, /* the largest numbers */
		/*
		 * P_Key 0 gives the prefix that the names for all P_Keys of the port have in common
		 */
		{ "ib3f_fe_", 63, 254, 0 },
	};
	const struct ipoib_profile *p = ipoib_profile_find("hld2002");
	char name[IPOIB_IFNAME_LEN];

	(void)state;
	assert_non_null(p);
	for (unsigned int k = 0; k < sizeof(v) / sizeof(v[0]); k++) {
		p->ifname(name, v[k].ca, v[k].port, v[k].pkey);
		assert_string_equal(name, v[k].name);
	}
}

static void test_H11_names_of_interfaces_are_told_from_others(void **state)
{
	static const char *const yes[] = { "ib0_1_14", "ib0_1_7fff", "ib3f_fe_1", "ib1_ff_a" };
	static const char *const no[] = { "",	       "ib",	    "ib0",	  "ib0_1",
					  "ib0_1_",    "ib0_1_0",   "ib0_1_8000", "ib0_1_ffff",
					  "ib0_1_014", "ib00_1_14", "ib0_1_1A",	  "ib0_1_14x",
					  "ib0_0_14",  "ib0_100_1", "ib__14",	  "ib0_1_14_1",
					  "xib0_1_14", "uib0",	    "ib0_1_10014" };
	const struct ipoib_profile *p = ipoib_profile_find("hld2002");

	(void)state;
	for (unsigned int k = 0; k < sizeof(yes) / sizeof(yes[0]); k++)
		assert_true(p->is_ifname(yes[k]));
	for (unsigned int k = 0; k < sizeof(no) / sizeof(no[0]); k++)
		assert_false(p->is_ifname(no[k]));
	for (uint16_t pkey = 1; pkey < 0x8000; pkey++) {
		char name[IPOIB_IFNAME_LEN];

		p->ifname(name, pkey % 64, 1 + pkey % 254, pkey);
		assert_true(p->is_ifname(name));
	}
}

static void test_other_profiles_leave_the_name_to_the_configuration(void **state)
{
	const struct ipoib_profile *p;

	(void)state;
	for (unsigned int i = 0; (p = ipoib_profile_at(i)); i++)
		assert_true((p->ifname != NULL) == !strcmp(p->name, "hld2002") &&
			    (p->ifname != NULL) == (p->is_ifname != NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_H11_interfaces_are_named_by_ca_port_and_pkey_in_hexadecimal),
		cmocka_unit_test(test_H11_names_of_interfaces_are_told_from_others),
		cmocka_unit_test(test_other_profiles_leave_the_name_to_the_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

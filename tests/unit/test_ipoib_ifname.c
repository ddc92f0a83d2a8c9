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
		{ "ib0_1_14", 0, 1, 0x0014 }, /* the document's own example: CA 0, port 1, partition 20 */
		{ "ib0_1_14", 0, 1, 0x8014 }, /* a full member is on the same link */
		{ "ib0_1_7fff", 0, 1, 0xffff },	     { "ib0_2_1", 0, 2, 0x8001 },
		{ "ib3f_fe_7ffe", 63, 254, 0xfffe }, /* the largest numbers */
		{ "ib3f_fe_", 63, 254, 0 }, /* what they have in common */
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

static void test_other_profiles_leave_the_name_to_the_configuration(void **state)
{
	const struct ipoib_profile *p;

	(void)state;
	for (unsigned int i = 0; (p = ipoib_profile_at(i)); i++)
		assert_int_equal(p->ifname != NULL, !strcmp(p->name, "hld2002"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_H11_interfaces_are_named_by_ca_port_and_pkey_in_hexadecimal),
		cmocka_unit_test(test_other_profiles_leave_the_name_to_the_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

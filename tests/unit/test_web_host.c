/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/host.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "util/list.h"

static const char *const names[] = { "fabric.example", "lab", NULL };
static const char *const no_names[] = { NULL };

static void test_addresses_and_named_hosts_are_answered(void **state)
{
	static const char *const good[] = {
		"127.0.0.1",	  "127.0.0.1:8480",  "10.4.0.1:1", "[::1]",
		"[::1]:8480",	  "[fd04::1]:65535", "localhost",  "LocalHost:8480",
		"fabric.example", "LAB:8480",
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(good); k++)
		if (!web_host_ok(good[k], names))
			fail_msg("'%s' is refused", good[k]);
}

/*
 * An attacker can make the name of his web page resolve to the address of the server (DNS
 * rebinding). The browser then sends this name as Host, which must be refused.
 */
static void test_other_names_are_refused(void **state)
{
	static const char *const bad[] = {
		"evil.example",
		"evil.example:8480",
		"127.0.0.1.evil.example",
		"localhost.evil.example",
		"fabric.example.",
		"fabric.example.evil",
		"xfabric.example",
		"",
		":8480",
		"127.0.0.1:",
		"127.0.0.1:8480x",
		"127.0.0.1:123456",
		"127.0.0.1:-1",
		"[::1",
		"[::1]x",
		"[]",
		"[127.0.0.1]",
		"::1",
		"[evil.example]",
		"127.1",
		"0x7f000001",
		"lab:8480:1",
		"lab, evil.example",
		" lab",
	};
	char longest[300];

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(bad); k++)
		if (web_host_ok(bad[k], names))
			fail_msg("'%s' is accepted", bad[k]);
	assert_false(web_host_ok(NULL, names));
	assert_false(web_host_ok("lab", no_names));
	for (size_t n = 250; n < sizeof(longest); n++) {
		memset(longest, 'a', n);
		longest[n] = '\0';
		assert_false(web_host_ok(longest, names));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_and_named_hosts_are_answered),
		cmocka_unit_test(test_other_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/diff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "util/list.h"

/*
 * Tests conf_diff() with a table of pairs of configuration files. conf_diff() returns what must
 * change in an instance that runs with the first file of a pair, so that it conforms to the second
 * file.
 */

#define LAB "[fabric lab]\ntopology = lab.topo\npartitions = a.conf\n"
#define ONE                                                                                \
	"[interface uib0@h1]\nport = fabric:lab/Hca1/1\naddress = 10.0.0.1/24\naddress = " \
	"fd00::1/64\n"
#define TWO "[interface uib0@h2]\nport = fabric:lab/Hca2/1\n"
#define OWN "[interface uib0]\nport = fabric:lab/Hca3/1\n"
#define LINK "[udp-link far]\nport = fabric:lab/Switch1/9\nlisten = 127.0.0.1:4791\n"
#define FAR "[interface uib0@h5]\nport = udp:127.0.0.1:4791,guid=0x1\n"
#define BY_PKEY "[interface x@h6]\nport = fabric:lab/Hca6/1\nprofile = hld2002\n"

static void parse(struct conf *c, const char *text)
{
	char err[CONF_ERR_MAX] = "";

	if (conf_parse(c, text, strlen(text), "/etc/lab.conf", err))
		fail_msg("%s", err);
}

/*
 * Write the rows of @d to @out in their order, each with a sign: + added, - removed, ~ replaced
 * (with the changed keys), = kept. Example: "+uib0@h1 -uib0@h2 ~uib0@h3:mtu =uib0@h4 ".
 */
static void print(char *out, size_t size, const struct conf_diff *d)
{
	static const char sign[CONF_FATES] = { '=', '+', '-', '~' };
	size_t len = 0;

	*out = 0;
	for (size_t i = 0; i < d->nrows; i++) {
		const struct conf_diff_row *r = &d->row[i];
		const struct conf_iface *f = r->is ? r->is : r->was;

		len += (size_t)snprintf(out + len, size - len, "%c%s@%s%s%s ", sign[r->fate],
					f->name, f->host, r->key ? ":" : "", r->key ? r->key : "");
	}
}

/*
 * Compare the configurations @was and @is. @want: the expected rows, or a part of the expected
 * error message
 */
static void compares(const char *was, const char *is, int status, const char *want)
{
	char err[CONF_ERR_MAX] = "", got[512] = "";
	struct conf a, b;
	struct conf_diff d;

	parse(&a, was);
	parse(&b, is);
	assert_int_equal(conf_diff(&d, &a, &b, err), status);
	if (!status) {
		print(got, sizeof(got), &d);
		assert_string_equal(got, want);
		assert_int_equal(d.n[CONF_KEPT] + d.n[CONF_ADDED] + d.n[CONF_REMOVED] +
					 d.n[CONF_REPLACED],
				 d.nrows);
		conf_diff_free(&d);
	} else if (!strstr(err, want)) {
		fail_msg("'%s' does not say '%s'", err, want);
	}
	conf_free(&a);
	conf_free(&b);
}

static void test_diff_of_interfaces(void **state)
{
	static const struct {
		const char *was, *is, *want;
	} t[] = {
		{ LAB ONE TWO, LAB ONE TWO, "=uib0@h1 =uib0@h2 " },
		{ LAB ONE TWO, LAB TWO "\n; a comment\n" ONE, "=uib0@h1 =uib0@h2 " },
		{ LAB ONE, LAB ONE TWO, "=uib0@h1 +uib0@h2 " },
		{ LAB ONE TWO, LAB TWO, "-uib0@h1 =uib0@h2 " },
		{ LAB ONE, LAB TWO, "-uib0@h1 +uib0@h2 " },
		{ LAB, LAB ONE OWN, "+uib0@h1 +uib0@ " },
		{ LAB ONE OWN, LAB, "-uib0@h1 -uib0@ " },
		{ LAB TWO, LAB TWO "mtu = 1500\n", "~uib0@h2:mtu " },
		{ LAB TWO "mtu = 1500\n", LAB TWO, "~uib0@h2:mtu " },
		{ LAB TWO "mtu = 1500\n", LAB TWO "mtu = 1600\n", "~uib0@h2:mtu " },
		/*
		 * The order of keys has no meaning. The order of addresses has a meaning: the first
		 * address is the preferred one.
		 */
		{ LAB TWO "mtu = 1500\nsl = 1\n", LAB TWO "sl = 1\nmtu = 1500\n", "=uib0@h2 " },
		{ LAB TWO "address = 1.0.0.1/8\naddress = 2.0.0.1/8\n",
		  LAB TWO "address = 2.0.0.1/8\naddress = 1.0.0.1/8\n", "~uib0@h2:address " },
		{ LAB TWO "address = 1.0.0.1/8\naddress = 2.0.0.1/8\n",
		  LAB TWO "address = 1.0.0.1/8\n", "~uib0@h2:address " },
		{ LAB TWO, LAB TWO "netns = blue\n", "~uib0@h2:netns " },
		{ LAB FAR, LAB FAR "mtu = 1500\n", "~uib0@h5:mtu " },
		{ LAB FAR BY_PKEY, LAB BY_PKEY FAR, "=uib0@h5 =x@h6 " },
		{ LAB ONE, "[fabric lab]\ntopology = lab.topo\npartitions = b.conf\n" ONE,
		  "=uib0@h1 " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		compares(t[i].was, t[i].is, 0, t[i].want);
}

static void test_diff_refuses_everything_else(void **state)
{
	static const struct {
		const char *was, *is, *want;
	} t[] = {
		{ LAB ONE, LAB "crc = full\n" ONE,
		  "/etc/lab.conf:4: [fabric lab] crc: 'full', expected no such key" },
		{ LAB "crc = full\n" ONE, LAB ONE,
		  "/etc/lab.conf:1: [fabric lab] crc: missing, expected 'full'" },
		{ LAB "crc = full\n", LAB "crc = icrc\n",
		  "/etc/lab.conf:4: [fabric lab] crc: 'icrc', expected 'full'" },
		{ LAB, "[fabric lab]\ntopology = lab.topo\n", "[fabric lab] partitions: missing" },
		{ "[fabric lab]\ntopology = lab.topo\n", LAB,
		  "partitions: 'a.conf', expected no such key" },
		{ LAB, LAB "[fabric two]\ntopology = x\n",
		  ":4: [fabric two] expected no such section" },
		{ LAB "[fabric two]\ntopology = x\n", LAB,
		  "/etc/lab.conf: [fabric two] is missing" },
		{ LAB, LAB LINK, "[udp-link far] expected no such section" },
		{ LAB LINK, LAB, "[udp-link far] is missing" },
		{ LAB LINK, LAB LINK "peer = 127.0.0.1:1\n", "[udp-link far] peer: '127.0.0.1:1'" },
		{ LAB, LAB FAR,
		  ":5: [interface uib0@h5] port: 'udp:127.0.0.1:4791,guid=0x1', expected a port of "
		  "a fabric" },
		{ LAB, LAB "[interface uib0]\nport = verbs:mlx5_0/1\n", "port: 'verbs:mlx5_0/1'" },
		{ LAB, LAB BY_PKEY, "[interface x@h6] expected it unchanged" },
		{ LAB BY_PKEY, LAB, "[interface x@h6] expected it unchanged" },
		{ LAB BY_PKEY, LAB BY_PKEY "devices = 2\n",
		  "[interface x@h6] expected it unchanged" },
		{ LAB ONE, LAB ONE "[interface uib1@h1]\nport = fabric:lab/Hca1/1\nnetns = blue\n",
		  "[interface uib1@h1] netns: 'blue', expected ''" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		compares(t[i].was, t[i].is, -EINVAL, t[i].want);
}

static void test_diff_shows_no_secret(void **state)
{
	char err[CONF_ERR_MAX] = "";
	struct conf a, b;
	struct conf_diff d;

	parse(&a, LAB "m-key = 0x1234567\n");
	parse(&b, LAB "m-key = 0x7654321\n");
	assert_int_equal(conf_diff(&d, &a, &b, err), -EINVAL);
	assert_non_null(strstr(err, "[fabric lab] m-key: it differs"));
	assert_null(strstr(err, "1234567"));
	assert_null(strstr(err, "7654321"));
	conf_free(&a);
	conf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_diff_of_interfaces),
		cmocka_unit_test(test_diff_refuses_everything_else),
		cmocka_unit_test(test_diff_shows_no_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/conf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static int parse(struct conf *c, const char *text, char err[CONF_ERR_MAX])
{
	memset(c, 0, sizeof(*c));
	err[0] = '\0';
	return conf_parse(c, text, strlen(text), "/etc/lab/lab.conf", err);
}

/* The file is refused, with the place and every given word in the message. */
static void refuses(const char *text, const char *place, const char *what, const char *expected)
{
	struct conf c;
	char err[CONF_ERR_MAX];

	assert_int_equal(parse(&c, text, err), -EINVAL);
	if (strncmp(err, place, strlen(place)) || !strstr(err, what) || !strstr(err, expected))
		fail_msg("'%s' does not say %s, %s and %s", err, place, what, expected);
	assert_int_equal(c.nfabrics + c.nifaces, 0);
}

#define LAB "[fabric lab]\ntopology = lab.topo\n"
#define IFACE LAB "[interface uib0@h1]\nport = fabric:lab/Hca1/1\n"

static void test_conf_whole_contract(void **state)
{
	static const char text[] = "; a comment\n"
				   "[fabric lab]\n"
				   "topology = lab.topo           ; ibnetdiscover format\n"
				   "sm = external\n"
				   "sm-port = Switch1/0\n"
				   "partitions = /etc/partitions.conf\n"
				   "crc = icrc\n"
				   "mtu = 2048\n"
				   "capture = -\n"
				   "\n"
				   "[interface uib0@h1]\n"
				   "port = fabric:lab/Rack 1/Hca1/2\n"
				   "pkey = 0x8001\n"
				   "profile = rfc4391\n"
				   "netns = h1\n"
				   "address = 10.4.0.1/24\n"
				   "address = fd00:4::1/64\n"
				   "dhcp = raw\n"
				   "mtu = 1500";
	struct conf c;
	char err[CONF_ERR_MAX];

	assert_int_equal(parse(&c, text, err), 0);
	assert_int_equal(c.nfabrics, 1);
	assert_string_equal(c.fabric[0].name, "lab");
	assert_string_equal(c.fabric[0].topology, "/etc/lab/lab.topo");
	assert_string_equal(c.fabric[0].partitions, "/etc/partitions.conf");
	assert_string_equal(c.fabric[0].capture, "-");
	assert_false(c.fabric[0].sm_embedded);
	assert_string_equal(c.fabric[0].sm_node, "Switch1");
	assert_int_equal(c.fabric[0].sm_port, 0);
	assert_int_equal(c.fabric[0].crc, CONF_CRC_ICRC);
	assert_int_equal(c.fabric[0].mtu, 2048);
	assert_int_equal(c.nifaces, 1);
	assert_string_equal(c.iface[0].name, "uib0");
	assert_string_equal(c.iface[0].host, "h1");
	assert_string_equal(c.iface[0].port.fabric, "lab");
	assert_string_equal(c.iface[0].port.node, "Rack 1/Hca1");
	assert_int_equal(c.iface[0].port.port, 2);
	assert_int_equal(c.iface[0].pkey, 0x8001);
	assert_string_equal(c.iface[0].netns, "h1");
	assert_int_equal(c.iface[0].naddrs, 2);
	assert_int_equal(c.iface[0].addr[0].family, 4);
	assert_int_equal(c.iface[0].addr[0].prefix_len, 24);
	assert_memory_equal(c.iface[0].addr[0].octets, "\x0a\x04\x00\x01", 4);
	assert_int_equal(c.iface[0].addr[1].family, 6);
	assert_true(c.iface[0].dhcp_raw);
	assert_int_equal(c.iface[0].mtu, 1500);
	conf_free(&c);
}

static void test_conf_defaults(void **state)
{
	struct conf c;
	char err[CONF_ERR_MAX];

	assert_int_equal(parse(&c, IFACE, err), 0);
	assert_true(c.fabric[0].sm_embedded);
	assert_int_equal(c.fabric[0].crc, CONF_CRC_FULL);
	assert_null(c.fabric[0].capture);
	assert_int_equal(c.iface[0].pkey, 0xffff);
	assert_string_equal(c.iface[0].profile, "rfc4391");
	assert_null(c.iface[0].netns);
	assert_int_equal(c.iface[0].mtu, 0);
	conf_free(&c);
	assert_int_equal(parse(&c, "", err), 0);
	conf_free(&c);
}

static void test_conf_refuses_what_inih_would_misread(void **state)
{
	char text[1200] = LAB "sm = ";

	refuses(LAB "[fabric lab]\ntopology = x\n", "/etc/lab/lab.conf:3:", "given twice",
		"line 1");
	refuses(LAB "  sm = embedded\n", "/etc/lab/lab.conf:3:", "indented", "first column");
	memset(text + strlen(text), 'e', 400);
	refuses(text, "/etc/lab/lab.conf:3:", "octets", "at most");
}

static void test_conf_refuses_bad_structure(void **state)
{
	refuses("topology = x\n", "/etc/lab/lab.conf:1:", "topology", "before the first [section]");
	refuses("[fabric lab\n", "/etc/lab/lab.conf:1:", "'['", "']'");
	refuses("[fabric]\n", "/etc/lab/lab.conf:1:", "[fabric]", "[fabric NAME]");
	refuses("[udp-link vm1]\n", "/etc/lab/lab.conf:1:", "udp-link", "[interface NAME]");
	refuses("[fabric a/b]\n", "/etc/lab/lab.conf:1:", "a/b", "without");
	refuses("[fabric lab]\n", "/etc/lab/lab.conf:1:", "topology", "missing");
	refuses(LAB "topology = y\n", "/etc/lab/lab.conf:3:", "topology", "twice");
	refuses(LAB "colour = y\n", "/etc/lab/lab.conf:3:", "colour", "sm-port");
	refuses(LAB "topology\n", "/etc/lab/lab.conf:3:", "topology", "key = value");
	refuses(LAB "[interface uib0]\n", "/etc/lab/lab.conf:3:", "port", "missing");
	refuses(LAB "[interface a234567890123456]\n", "/etc/lab/lab.conf:3:", "a234", "at most 15");
	refuses(IFACE "[interface uib0@h1]\n", "/etc/lab/lab.conf:5:", "given twice", "line 3");
	refuses("[fabric x]\ntopology = t\n[interface u]\nport = fabric:lab/H/1\n",
		"/etc/lab/lab.conf:3:", "no [fabric lab]", "port");
}

static void test_conf_refuses_bad_values(void **state)
{
	refuses("[fabric lab]\ntopology =\n", "/etc/lab/lab.conf:2:", "topology", "path");
	refuses(LAB "sm = opensm\n", "/etc/lab/lab.conf:3:", "opensm", "external");
	refuses(LAB "sm-port = Switch1\n", "/etc/lab/lab.conf:3:", "Switch1", "NODE/PORT");
	refuses(LAB "sm-port = S/255\n", "/etc/lab/lab.conf:3:", "S/255", "NODE/PORT");
	refuses(LAB "crc = none\n", "/etc/lab/lab.conf:3:", "none", "full, icrc or off");
	refuses(LAB "mtu = 1500\n", "/etc/lab/lab.conf:3:", "1500", "2048 or 4096");
	refuses(IFACE "pkey = 0x8000\n", "/etc/lab/lab.conf:5:", "0x8000", "0x8001-0xffff");
	refuses(IFACE "pkey = 0\n", "/etc/lab/lab.conf:5:", "'0'", "0x0001");
	refuses(IFACE "pkey = 0x10000\n", "/etc/lab/lab.conf:5:", "0x10000", "0x0001");
	refuses(IFACE "pkey = -1\n", "/etc/lab/lab.conf:5:", "-1", "0x0001");
	refuses(IFACE "profile = cm\n", "/etc/lab/lab.conf:5:", "cm", "rfc4391");
	refuses(IFACE "netns = pid:x\n", "/etc/lab/lab.conf:5:", "pid:x", "pid:N");
	refuses(IFACE "netns = a/b\n", "/etc/lab/lab.conf:5:", "a/b", "absolute path");
	refuses(IFACE "address = 10.4.0.1\n", "/etc/lab/lab.conf:5:", "10.4.0.1", "PREFIX");
	refuses(IFACE "address = 10.4.0.1/33\n", "/etc/lab/lab.conf:5:", "/33", "PREFIX");
	refuses(IFACE "address = fd00::g/64\n", "/etc/lab/lab.conf:5:", "fd00::g", "PREFIX");
	refuses(IFACE "dhcp = on\n", "/etc/lab/lab.conf:5:", "'on'", "rewrite or raw");
	refuses(IFACE "mtu = 67\n", "/etc/lab/lab.conf:5:", "67", "68-4092");
	refuses(IFACE "mtu = 1500x\n", "/etc/lab/lab.conf:5:", "1500x", "68-4092");
	refuses(LAB "[interface u]\nport = lab/Hca1/1\n", "/etc/lab/lab.conf:4:", "lab/Hca1/1",
		"fabric:NAME/NODE/PORT");
	refuses(LAB "[interface u]\nport = fabric:lab/1\n", "/etc/lab/lab.conf:4:", "fabric:lab/1",
		"fabric:NAME/NODE/PORT");
	refuses(LAB "[interface u]\nport = verbs:mlx5_0/1\n",
		"/etc/lab/lab.conf:4:", "verbs:mlx5_0/1", "software fabrics only");
}

static void test_conf_nul_octet_refused(void **state)
{
	static const char text[] = "[fabric lab]\ntopology = a\0b\n";
	struct conf c;
	char err[CONF_ERR_MAX];

	assert_int_equal(conf_parse(&c, text, sizeof(text) - 1, "f", err), -EINVAL);
	assert_non_null(strstr(err, "f:2: a NUL octet"));
}

static void test_conf_load_names_the_file(void **state)
{
	struct conf c;
	char err[CONF_ERR_MAX];

	assert_int_equal(conf_load(&c, "/nonexistent/uipoib.conf", err), -ENOENT);
	assert_string_equal(err, "/nonexistent/uipoib.conf: No such file or directory");
	assert_int_equal(conf_load(&c, "/", err), -EISDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conf_whole_contract),
		cmocka_unit_test(test_conf_defaults),
		cmocka_unit_test(test_conf_refuses_what_inih_would_misread),
		cmocka_unit_test(test_conf_refuses_bad_structure),
		cmocka_unit_test(test_conf_refuses_bad_values),
		cmocka_unit_test(test_conf_nul_octet_refused),
		cmocka_unit_test(test_conf_load_names_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

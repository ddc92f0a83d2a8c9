/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "wire/cm_sidr.h"
#include "conf/conf_priv.h"
#include "ipoib/profile.h"

static int parse(struct conf *c, const char *text, char err[CONF_ERR_MAX])
{
	memset(c, 0, sizeof(*c));
	err[0] = '\0';
	return conf_parse(c, text, strlen(text), "/etc/lab/lab.conf", err);
}

/*
 * Check that the file @text is refused, and that the error message begins with @place and contains
 * @what and @expected.
 */
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
#define HLD IFACE "profile = hld2002\n"

static void test_conf_whole_contract(void **state)
{
	static const char text[] = "; a comment\n"
				   "[fabric lab]\n"
				   "topology = lab.topo           ; ibnetdiscover format\n"
				   "sm = external\n"
				   "sm-port = Switch1/0\n"
				   "sm-key = 0xfedcba9876543210\n"
				   "partitions = /etc/partitions.conf\n"
				   "crc = icrc\n"
				   "mtu = 2048\n"
				   "capture = -\n"
				   "ibsim = sim\n"
				   "\n"
				   "[interface uib0@h1]\n"
				   "port = fabric:lab/Rack 1/Hca1/2\n"
				   "pkey = 0x8001\n"
				   "profile = rfc4391\n"
				   "scope = 14\n"
				   "sl = 15\n"
				   "netns = h1\n"
				   "address = 10.4.0.1/24\n"
				   "address = fd00:4::1/64\n"
				   "netdev = ibtap\n"
				   "dhcp = raw\n"
				   "stations = 7\n"
				   "neighbours = 65536\n"
				   "router = yes\n"
				   "qpn = 0xabcdef\n"
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
	assert_string_equal(c.fabric[0].ibsim, "sim");
	assert_true(c.fabric[0].sm_key_given && c.fabric[0].sm_key == 0xfedcba9876543210);
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
	assert_int_equal(c.iface[0].netdev, CONF_NETDEV_IBTAP);
	assert_true(c.iface[0].dhcp_raw);
	assert_int_equal(c.iface[0].stations, 7);
	assert_int_equal(c.iface[0].neighbours, 65536);
	assert_int_equal(c.iface[0].qpn, 0xabcdef);
	assert_int_equal(c.iface[0].sl_from, IPOIB_SL_FIXED);
	assert_int_equal(c.iface[0].scope, 14);
	assert_int_equal(c.iface[0].sl, 15);
	assert_int_equal(c.iface[0].mtu, 1500);
	conf_free(&c);
}

static void test_conf_defaults(void **state)
{
	struct conf c;
	char err[CONF_ERR_MAX];

	assert_int_equal(parse(&c, IFACE, err), 0);
	assert_true(c.fabric[0].sm_embedded);
	assert_true(c.fabric[0].partial_sweeps);
	assert_int_equal(c.fabric[0].crc, CONF_CRC_LAZY);
	assert_null(c.fabric[0].capture);
	assert_string_equal(c.fabric[0].ibsim, "");
	assert_int_equal(c.iface[0].pkey, 0xffff);
	assert_string_equal(c.iface[0].profile->name, "rfc4391");
	assert_null(c.iface[0].netns);
	assert_int_equal(c.iface[0].sl_from, IPOIB_SL_DEFAULT);
	assert_int_equal(c.iface[0].mtu, 0);
	assert_int_equal(c.iface[0].netdev, CONF_NETDEV_TAP);
	assert_false(c.iface[0].dhcp_raw);
	assert_int_equal(c.iface[0].router, CONF_ROUTER_AUTO);
	assert_int_equal(c.iface[0].stations, CONF_STATIONS_DEFAULT);
	assert_int_equal(c.iface[0].neighbours, 8192);
	assert_int_equal(c.iface[0].qpn, 0);
	conf_free(&c);
	assert_int_equal(parse(&c, "", err), 0);
	conf_free(&c);
	assert_int_equal(parse(&c, LAB, err), 0);
	assert_true(c.fabric[0].mkey.key == 0);
	assert_int_equal(c.fabric[0].mkey.protect, 1);
	assert_int_equal(c.fabric[0].mkey.lease, 0);
	conf_free(&c);
	assert_int_equal(parse(&c, LAB "m-key = none\nsm = external\n", err), 0);
	assert_true(c.fabric[0].mkey.key == 0);
	conf_free(&c);
	assert_int_equal(parse(&c,
			       LAB "m-key = 0xfedcba9876543210\nm-key-protect = 2\n"
				   "m-key-lease = 60\n",
			       err),
			 0);
	assert_true(c.fabric[0].mkey.key == 0xfedcba9876543210);
	assert_int_equal(c.fabric[0].mkey.protect, 2);
	assert_int_equal(c.fabric[0].mkey.lease, 60);
	conf_free(&c);
	assert_int_equal(parse(&c, LAB "ibsim = no\n", err), 0);
	assert_string_equal(c.fabric[0].ibsim, "");
	conf_free(&c);
}

static void test_conf_sidr(void **state)
{
	struct conf c;
	char err[CONF_ERR_MAX];

	assert_int_equal(parse(&c, IFACE, err), 0);
	assert_false(c.fabric[0].sidr_server || c.iface[0].sidr_server);
	assert_true(c.fabric[0].sidr_service == SIDR_SERVICE_ID_DEFAULT);
	assert_true(c.iface[0].sidr_service == SIDR_SERVICE_ID_DEFAULT);
	conf_free(&c);
	assert_int_equal(parse(&c,
			       LAB "sidr-server = yes\nsidr-service = 0x0200000000000007\n"
				   "[interface uib0]\nport = fabric:lab/Hca1/1\n"
				   "sidr-service = 9\n",
			       err),
			 0);
	assert_true(c.fabric[0].sidr_server);
	assert_true(c.fabric[0].sidr_service == 0x0200000000000007);
	assert_true(c.iface[0].sidr_service == 9);
	conf_free(&c);
	assert_int_equal(parse(&c, IFACE "sidr-server = yes\n", err), 0);
	assert_true(c.iface[0].sidr_server);
	conf_free(&c);
}

static void test_conf_sl_by_its_words(void **state)
{
	struct conf c;
	char err[CONF_ERR_MAX];

	assert_int_equal(parse(&c, IFACE "sl = group\n", err), 0);
	assert_int_equal(c.iface[0].sl_from, IPOIB_SL_GROUP);
	conf_free(&c);
	assert_int_equal(parse(&c, IFACE "sl = path\n", err), 0);
	assert_int_equal(c.iface[0].sl_from, IPOIB_SL_PATH);
	conf_free(&c);
}

static void test_H34_conf_parameters(void **state)
{
	struct conf c;
	char err[CONF_ERR_MAX];

	assert_int_equal(parse(&c, IFACE, err), 0);
	assert_int_equal(c.iface[0].tx_queue_len, 1000);
	assert_int_equal(c.iface[0].sq_depth, 1024);
	assert_int_equal(c.iface[0].tx_timeout, 1000);
	assert_int_equal(c.iface[0].rq_depth, 4096);
	assert_int_equal(c.iface[0].mcast_timeout, 250);
	assert_int_equal(c.iface[0].mcast_retries, 5);
	assert_int_equal(c.iface[0].path_timeout, 250);
	assert_int_equal(c.iface[0].debug, CONF_DEBUG_DEFAULT);
	conf_free(&c);
	assert_int_equal(parse(&c,
			       IFACE "tx-queue-len = 1\n"
				     "sq-depth = 1\n"
				     "tx-timeout = 600000\n"
				     "rq-depth = 65536\n"
				     "mcast-timeout = 60000\n"
				     "mcast-retry-cnt = 0\n"
				     "path-timeout = 10\n"
				     "debug = 0\n",
			       err),
			 0);
	assert_int_equal(c.iface[0].tx_queue_len, 1);
	assert_int_equal(c.iface[0].sq_depth, 1);
	assert_int_equal(c.iface[0].tx_timeout, 600000);
	assert_int_equal(c.iface[0].rq_depth, 65536);
	assert_int_equal(c.iface[0].mcast_timeout, 60000);
	assert_int_equal(c.iface[0].mcast_retries, 0);
	assert_int_equal(c.iface[0].path_timeout, 10);
	assert_int_equal(c.iface[0].debug, 0);
	conf_free(&c);
	refuses(IFACE "tx-queue-len = 0\n", "/etc/lab/lab.conf:5:", "tx-queue-len: '0'",
		"1-1000000");
	refuses(IFACE "sq-depth = 1025\n", "/etc/lab/lab.conf:5:", "sq-depth: '1025'", "1-1024");
	refuses(IFACE "tx-timeout = 9\n", "/etc/lab/lab.conf:5:", "tx-timeout: '9'", "10-600000");
	refuses(IFACE "rq-depth = 65537\n", "/etc/lab/lab.conf:5:", "rq-depth: '65537'", "2-65536");
	refuses(IFACE "mcast-timeout = 9\n", "/etc/lab/lab.conf:5:", "mcast-timeout: '9'",
		"10-60000");
	refuses(IFACE "mcast-retry-cnt = -1\n", "/etc/lab/lab.conf:5:", "mcast-retry-cnt: '-1'",
		"0-100");
	refuses(IFACE "path-timeout = 1s\n", "/etc/lab/lab.conf:5:", "path-timeout: '1s'",
		"10-60000");
	refuses(IFACE "debug = 4\n", "/etc/lab/lab.conf:5:", "debug: '4'", "0-3");
}

static int parse_over(struct conf *c, const char *text, const struct conf_overrides *o,
		      char err[CONF_ERR_MAX])
{
	memset(c, 0, sizeof(*c));
	err[0] = '\0';
	return conf_parse_with(c, text, strlen(text), "/etc/lab/lab.conf", o, err);
}

static void over_refuses(const char *setting, const char *what, const char *expected)
{
	struct conf_overrides o = { .text = { setting }, .n = 1 };
	struct conf c;
	char err[CONF_ERR_MAX];

	assert_int_equal(parse_over(&c, IFACE "mtu = 1500\n", &o, err), -EINVAL);
	if (strncmp(err, "-o ", 3) || !strstr(err, what) || !strstr(err, expected))
		fail_msg("'%s' does not say -o, %s and %s", err, what, expected);
	assert_int_equal(c.nfabrics + c.nifaces, 0);
}

static void test_H29_the_command_line_wins_over_the_file(void **state)
{
	static const char two[] =
		IFACE "rq-depth = 64\nnetns = h1\n"
		      "[interface uib0.5@h2]\nport = fabric:lab/Hca2/1\nrq-depth = 32\n";
	struct conf_overrides o = {
		.text = { "interface.rq-depth=128", "interface:uib0.5@h2.rq-depth=256",
			  "interface:uib0@h1.netns=other", "fabric.topology=/x/y.topo",
			  "interface:uib0.5@h2.debug=3" },
		.n = 5,
	};
	struct conf c;
	char err[CONF_ERR_MAX];

	assert_int_equal(parse_over(&c, two, &o, err), 0);
	assert_int_equal(c.iface[0].rq_depth, 128);
	assert_int_equal(c.iface[0].debug, CONF_DEBUG_DEFAULT);
	assert_string_equal(c.iface[0].netns, "other");
	assert_int_equal(c.iface[1].rq_depth, 256);
	assert_int_equal(c.iface[1].debug, 3);
	assert_string_equal(c.fabric[0].topology, "/x/y.topo");
	conf_free(&c);
	/* The file lacks the required key "topology", but the command line gives this key. */
	o = (struct conf_overrides){ .text = { "fabric.topology=a.topo" }, .n = 1 };
	assert_int_equal(parse_over(&c, "[fabric lab]\n", &o, err), 0);
	assert_string_equal(c.fabric[0].topology, "/etc/lab/a.topo");
	conf_free(&c);
}

/*
 * No error message about a secret may repeat the secret, because more users can read the log than
 * the configuration file.
 */
static void test_a_message_does_not_repeat_a_secret(void **state)
{
#define SECRET "00112233445566778899aabbccddeeff"
	static const char *const setting[] = {
		"interface.ip6-secret=" SECRET "0",
		"interface.ip6-secret=" SECRET, /* a valid secret, but without ip6-iid */
		"interface:uib9.ip6-secret=" SECRET,
		"interfac.ip6-secret=" SECRET,
		"interface.ip6_secret=" SECRET,
		"interface.ip6-secret:" SECRET,
		"ip6-secret " SECRET,
		"interface:uib0@h1.ip6-secret=" SECRET " ",
	};
	struct conf_overrides o = { .n = 1 };
	char err[CONF_ERR_MAX];
	struct conf c;

	for (unsigned int i = 0; i < ARRAY_SIZE(setting); i++) {
		o.text[0] = setting[i];
		assert_int_equal(parse_over(&c, IFACE, &o, err), -EINVAL);
		if (strstr(err, "00112233") || !strstr(err, "secret"))
			fail_msg("'%s'", err);
	}
	assert_int_equal(parse_over(&c, IFACE "ip6-secret " SECRET "\n", NULL, err), -EINVAL);
	assert_string_equal(err, "/etc/lab/lab.conf:5: 'ip6-secret', expected key = value");
}

static void test_H29_settings_that_make_no_sense(void **state)
{
	over_refuses("interface.rq-depth=1", "rq-depth: '1'", "expected 2-65536");
	over_refuses("interface.rq_depth=64", "rq_depth: unknown key", "expected one of");
	over_refuses("interface:uib9@h1.mtu=1500", "uib9@h1", "a section of /etc/lab/lab.conf");
	over_refuses("iface.mtu=1500", "iface.mtu", "a section of");
	over_refuses("interface.mtu", "expected", "SECTION[:NAME].KEY=VALUE");
	over_refuses("mtu=1500", "expected", "SECTION[:NAME].KEY=VALUE");
	over_refuses("interface:.mtu=1500", "expected", "SECTION[:NAME].KEY=VALUE");
	over_refuses("interface.=1500", "expected", "SECTION[:NAME].KEY=VALUE");
	over_refuses("interface.address=10.0.0.1/8", "address: may be given several times",
		     "expected in the file");
	over_refuses("interface.mtu=1400\n", "mtu: '1400", "expected 68-4096");
}

static void test_S1_conf_interface_identifiers(void **state)
{
	static const uint8_t secret[16] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
					    0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff };
	struct conf c;
	char err[CONF_ERR_MAX];

	assert_int_equal(parse(&c, IFACE, err), 0);
	assert_int_equal(c.iface[0].iid, CONF_IID_EUI64);
	conf_free(&c);
	assert_int_equal(parse(&c, IFACE "ip6-iid = lid\n", err), 0);
	assert_int_equal(c.iface[0].iid, CONF_IID_LID);
	conf_free(&c);
	assert_int_equal(parse(&c, IFACE "ip6-iid = stable\n", err), 0);
	assert_int_equal(c.iface[0].iid, CONF_IID_STABLE);
	assert_false(c.iface[0].secret_given);
	conf_free(&c);
	assert_int_equal(parse(&c,
			       IFACE "ip6-secret = 00112233445566778899aabbCCDDEEFF\n"
				     "ip6-iid = stable\n",
			       err),
			 0);
	assert_true(c.iface[0].secret_given);
	assert_memory_equal(c.iface[0].secret, secret, 16);
	conf_free(&c);
	refuses(IFACE "ip6-iid = eui48\n", "/etc/lab/lab.conf:5:", "ip6-iid: 'eui48'",
		"eui64, stable or lid");
	refuses(IFACE "ip6-secret = 0011\n", "/etc/lab/lab.conf:5:", "ip6-secret: 4 octets",
		"32 hexadecimal digits");
	refuses(IFACE "ip6-secret = 00112233445566778899aabbccddeefg\n",
		"/etc/lab/lab.conf:5:", "ip6-secret: ", "32 hexadecimal digits");
	refuses(IFACE "ip6-secret = 00000000000000000000000000000000\n",
		"/etc/lab/lab.conf:5:", "all zero", "a secret");
	refuses(IFACE "ip6-secret = 00112233445566778899aabbccddeeff\n",
		"/etc/lab/lab.conf:3:", "ip6-secret: given", "ip6-iid = stable");
}

static void test_M6_conf_links_of_a_port_may_differ_by_their_subnet_number(void **state)
{
	struct conf c;
	char err[CONF_ERR_MAX];

	assert_int_equal(parse(&c,
			       IFACE
			       "profile = v4mc01\nsubnet-number = 65535\n"
			       "[interface uib1@h1]\nport = fabric:lab/Hca1/1\n"
			       "profile = v4mc01\npkey = 0x8002\nsubnet-number = 7\nscope = 14\n",
			       err),
			 0);
	assert_int_equal(c.iface[0].subnet, 65535);
	assert_int_equal(c.iface[0].scope, 0);
	assert_int_equal(c.iface[1].subnet, 7);
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

/*
 * The message about an unknown key lists all keys of the section. Here the section has as many keys
 * as possible, all with the longest names, so the message must be cut to the size of its buffer.
 */
static void test_conf_unknown_key_among_many_long_ones(void **state)
{
	enum { KEYS = 64 };
	static char name[KEYS][CONF_LINE_MAX + 1];
	struct conf_key keys[KEYS] = { 0 };
	const struct conf_section kind = { .word = "fabric", .keys = keys, .nkeys = KEYS };
	/*
	 * the error buffer is a separate heap block, so that the sanitizer notices writes beyond
	 * the end of the buffer
	 */
	char *err = malloc(CONF_ERR_MAX);
	struct conf_parser p = { .file = "/etc/lab/lab.conf",
				 .line = 3,
				 .kind = &kind,
				 .section = "fabric lab",
				 .err = err };

	(void)state;
	assert_non_null(err);
	for (unsigned int i = 0; i < KEYS; i++) {
		memset(name[i], 'k', CONF_LINE_MAX);
		keys[i].name = name[i];
	}
	assert_int_equal(conf_key_given(&p, "colour", "red"), -EINVAL);
	assert_int_equal(strlen(err), CONF_ERR_MAX - 1);
	assert_memory_equal(
		err, "/etc/lab/lab.conf:3: [fabric lab] colour: unknown key, expected one of kk",
		72);
	free(err);
}

static void test_conf_unknown_key_as_long_as_a_line(void **state)
{
	char text[400] = LAB, word[CONF_LINE_MAX - 4] = "";

	(void)state;
	memset(word, 'c', sizeof(word) - 1);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s = y\n", word);
	refuses(text, "/etc/lab/lab.conf:3:", word, "sm-port");
}

static void test_conf_refuses_bad_structure(void **state)
{
	refuses("topology = x\n", "/etc/lab/lab.conf:1:", "topology", "before the first [section]");
	refuses("[fabric lab\n", "/etc/lab/lab.conf:1:", "'['", "']'");
	refuses("[fabric]\n", "/etc/lab/lab.conf:1:", "[fabric]", "[fabric NAME]");
	refuses("[udp vm1]\n", "/etc/lab/lab.conf:1:", "[udp vm1]",
		"[fabric NAME], [udp-link NAME] or [interface NAME]");
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
	refuses(LAB "ibsim =\n", "/etc/lab/lab.conf:3:", "ibsim", "a name of at most 63");
	refuses(LAB "ibsim = my sim\n", "/etc/lab/lab.conf:3:", "my sim", "a name");
	refuses(LAB "ibsim = 0123456789012345678901234567890123456789012345678901234567890123\n",
		"/etc/lab/lab.conf:3:", "ibsim", "at most 63");
	refuses(LAB "m-key = secret\n", "/etc/lab/lab.conf:3:", "m-key: 'secret'", "64 bits");
	refuses(LAB "m-key = 0\n", "/etc/lab/lab.conf:3:", "m-key: '0'", "other than 0");
	refuses(LAB "m-key = -1\n", "/etc/lab/lab.conf:3:", "m-key: '-1'", "or none");
	refuses(LAB "m-key = 0x1 2\n", "/etc/lab/lab.conf:3:", "0x1 2", "64 bits");
	refuses(LAB "m-key = 0x10000000000000000\n", "/etc/lab/lab.conf:3:", "m-key", "64 bits");
	refuses(LAB "sm-priority = 16\n", "/etc/lab/lab.conf:3:", "'16'", "0-15");
	refuses(LAB "outside-nodes = 0\n", "/etc/lab/lab.conf:3:", "'0'", "1-49151");
	refuses(LAB "partial-sweeps = maybe\n", "/etc/lab/lab.conf:3:", "'maybe'", "yes or no");
	refuses(LAB "lmc = 8\n", "/etc/lab/lab.conf:3:", "'8'", "0-7");
	refuses(LAB "lmc = -1\n", "/etc/lab/lab.conf:3:", "'-1'", "0-7");
	refuses(LAB "sm = external\nlmc = 1\n", "/etc/lab/lab.conf:1:", "lmc", "expected none");
	refuses(LAB "routing = torus\n", "/etc/lab/lab.conf:3:", "'torus'",
		"minhop, updn or ftree");
	refuses(LAB "m-key = 1\nm-key-protect = 4\n", "/etc/lab/lab.conf:4:", "'4'", "0-3");
	refuses(LAB "m-key = 1\nm-key-lease = 9\n", "/etc/lab/lab.conf:4:", "'9'", "10 to 65535");
	refuses(LAB "m-key = 1\nm-key-lease = 65536\n", "/etc/lab/lab.conf:4:", "'65536'",
		"10 to 65535");
	refuses(LAB "sidr-server = maybe\n", "/etc/lab/lab.conf:3:", "'maybe'", "yes or no");
	refuses(LAB "sidr-service = ibarp\n", "/etc/lab/lab.conf:3:", "'ibarp'", "64 bits");
	refuses(LAB "sidr-service = 0\n", "/etc/lab/lab.conf:3:", "'0'", "other than 0");
	refuses(LAB "sm = external\nsidr-server = yes\n", "/etc/lab/lab.conf:1:", "sidr-server",
		"sidr-server = yes in its section");
	refuses(LAB "sidr-server = yes\n[interface uib0]\nport = fabric:lab/Hca1/1\nsidr-server = "
		    "yes\n",
		"/etc/lab/lab.conf:4:", "sidr-server: 'yes'", "[fabric lab] serves");
	refuses(IFACE "sidr-server = 1\n", "/etc/lab/lab.conf:5:", "'1'", "yes or no");
	refuses(IFACE "sidr-service = -1\n", "/etc/lab/lab.conf:5:", "'-1'", "64 bits");
	refuses(LAB "m-key-lease = 60\n", "/etc/lab/lab.conf:1:", "m-key-lease", "with an m-key");
	refuses(LAB "sm = external\nm-key = 1\n", "/etc/lab/lab.conf:1:", "m-key", "sm = external");
	refuses(LAB "sm-key = secret\n", "/etc/lab/lab.conf:3:", "secret", "64 bits");
	refuses(LAB "sm-key = -1\n", "/etc/lab/lab.conf:3:", "-1", "64 bits");
	refuses(LAB "sm-key = 0x10000000000000000\n", "/etc/lab/lab.conf:3:", "0x1", "64 bits");
	refuses(IFACE "pkey = 0x8000\n", "/etc/lab/lab.conf:5:", "0x8000", "0x8001-0xffff");
	refuses(IFACE "pkey = 0\n", "/etc/lab/lab.conf:5:", "'0'", "0x0001");
	refuses(IFACE "pkey = 0x10000\n", "/etc/lab/lab.conf:5:", "0x10000", "0x0001");
	refuses(IFACE "pkey = -1\n", "/etc/lab/lab.conf:5:", "-1", "0x0001");
	refuses(IFACE "profile = cm\n", "/etc/lab/lab.conf:5:", "cm",
		"rfc4391 or linux or v6ib00 or hld2002 or encaparp00 or v4mc01");
	refuses(IFACE "scope = 15\n", "/etc/lab/lab.conf:5:", "'15'", "1-14");
	refuses(IFACE "scope = 0\n", "/etc/lab/lab.conf:5:", "'0'", "1-14");
	refuses(IFACE "profile = v6ib00\nscope = 5\n", "/etc/lab/lab.conf:3:", "scope: '5'",
		"expected 2");
	refuses(IFACE "profile = v4mc01\nsubnet-number = 0\n", "/etc/lab/lab.conf:6:", "'0'",
		"1-65535");
	refuses(IFACE "subnet-number = 7\n", "/etc/lab/lab.conf:3:", "subnet-number: '7'",
		"expected none");
	refuses(IFACE "profile = v4mc01\nsubnet-number = 7\nscope = 2\n",
		"/etc/lab/lab.conf:3:", "scope: '2'", "expected 14");
	refuses(IFACE "profile = v4mc01\n[interface uib1@h1]\nport = fabric:lab/Hca1/1\nprofile = "
		      "v4mc01\n"
		      "pkey = 0x8002\n",
		"/etc/lab/lab.conf:6:", "pkey: 0x8002, expected 0xffff", "profile v4mc01");
	refuses(IFACE "sl = 16\n", "/etc/lab/lab.conf:5:", "sl: '16'", "path, group or 0-15");
	refuses(IFACE "router = 1\n", "/etc/lab/lab.conf:5:", "router: '1'", "auto, yes or no");
	refuses(IFACE "profile = linux\nrouter = yes\n", "/etc/lab/lab.conf:3:", "router: 'yes'",
		"profile linux");
	refuses(IFACE "profile = v6ib00\n[interface uib1@h1]\nport = fabric:lab/Hca1/1\nprofile = "
		      "v6ib00\n"
		      "pkey = 0x8002\n",
		"/etc/lab/lab.conf:6:", "pkey: 0x8002, expected 0xffff", "one broadcast group");
	refuses(IFACE "profile = v6ib00\naddress = fd00::1/64\naddress = 10.4.0.1/24\n",
		"/etc/lab/lab.conf:3:", "address: an IPv4 address", "profile v6ib00");
	refuses(IFACE "pkeys = 0x8001\n", "/etc/lab/lab.conf:3:", "pkeys", "one interface");
	refuses(IFACE "devices = 4\n", "/etc/lab/lab.conf:3:", "devices", "one interface");
	refuses(IFACE "address = 10.4.0.1/24,pkey=0x8001\n",
		"/etc/lab/lab.conf:3:", "pkey=", "one interface");
	refuses(HLD "pkeys = 0x8001,x\n", "/etc/lab/lab.conf:6:", "'x'", "0x8001,0x8014");
	refuses(HLD "pkeys = 0x8000\n", "/etc/lab/lab.conf:6:", "'0x8000'", "0x8001-0xffff");
	refuses(HLD "pkeys = ,\n", "/etc/lab/lab.conf:6:", "pkeys", "0x8001,0x8014");
	refuses(HLD "pkeys = 0x8001\npkey = 0x8001\n", "/etc/lab/lab.conf:3:", "pkeys", "not both");
	refuses(HLD "devices = 0\n", "/etc/lab/lab.conf:6:", "'0'", "1-128");
	refuses(HLD "devices = 129\n", "/etc/lab/lab.conf:6:", "'129'", "1-128");
	refuses(HLD "qpn = 0x123\n", "/etc/lab/lab.conf:3:", "qpn", "several interfaces");
	refuses(HLD "address = 10.4.0.1/24\n", "/etc/lab/lab.conf:3:", "no P_Key", ",pkey=P_KEY");
	refuses(HLD "address = 10.4.0.1/24,pkey=0\n", "/etc/lab/lab.conf:6:", "pkey=0",
		"pkey=P_KEY");
	refuses(HLD "address = 10.4.0.1/24,x=1\n", "/etc/lab/lab.conf:6:", ",x=1", "pkey=P_KEY");
	refuses(HLD "pkeys = 0x8001\naddress = 10.4.0.1/24,pkey=2\n",
		"/etc/lab/lab.conf:3:", "address", "one of pkeys");
	refuses(HLD "[interface ib1@h1]\nport = fabric:lab/Hca1/1\nprofile = hld2002\n",
		"/etc/lab/lab.conf:6:", "that of line 3", "each P_Key");
	refuses(HLD "[interface ib0_1_14@h1]\nport = fabric:lab/Hca2/1\n",
		"/etc/lab/lab.conf:6:", "'ib0_1_14'", "line 3");
	refuses(LAB "[interface ib3_2_7fff@h1]\nport = fabric:lab/Hca2/1\n"
		    "[interface uib0@h1]\nport = fabric:lab/Hca1/1\nprofile = hld2002\n",
		"/etc/lab/lab.conf:3:", "'ib3_2_7fff'", "line 5");
	refuses(HLD "netns = x\n[interface ib0_1_14@h2]\nport = fabric:lab/Hca2/1\nnetns = x\n",
		"/etc/lab/lab.conf:7:", "'ib0_1_14'", "line 3");
	refuses(IFACE "netns = pid:x\n", "/etc/lab/lab.conf:5:", "pid:x", "pid:N");
	refuses(IFACE "netns = a/b\n", "/etc/lab/lab.conf:5:", "a/b", "absolute path");
	refuses(IFACE "address = 10.4.0.1\n", "/etc/lab/lab.conf:5:", "10.4.0.1", "PREFIX");
	refuses(IFACE "address = 10.4.0.1/33\n", "/etc/lab/lab.conf:5:", "/33", "PREFIX");
	refuses(IFACE "address = fd00::g/64\n", "/etc/lab/lab.conf:5:", "fd00::g", "PREFIX");
	refuses(IFACE "netdev = tun\n", "/etc/lab/lab.conf:5:", "'tun'", "tap or ibtap");
	refuses(IFACE "dhcp = on\n", "/etc/lab/lab.conf:5:", "'on'", "rewrite or raw");
	refuses(IFACE "stations = 65\n", "/etc/lab/lab.conf:5:", "65", "0-64");
	refuses(IFACE "neighbours = 65537\n", "/etc/lab/lab.conf:5:", "65537", "16-65536");
	refuses(IFACE "neighbours = 15\n", "/etc/lab/lab.conf:5:", "'15'", "16-65536");
	refuses(IFACE "qpn = 0xff\n", "/etc/lab/lab.conf:5:", "0xff", "0x100-0xfffffe");
	refuses(IFACE "qpn = 0xffffff\n", "/etc/lab/lab.conf:5:", "0xffffff", "0x100-0xfffffe");
	refuses(IFACE "qpn = 0x123\n[interface v]\nport = fabric:lab/Hca1/1\nqpn = 0x123\n",
		"/etc/lab/lab.conf:6:", "0x000123", "line 3");
	refuses(IFACE "mtu = 67\n", "/etc/lab/lab.conf:5:", "67", "68-4096");
	refuses(IFACE "mtu = 1500x\n", "/etc/lab/lab.conf:5:", "1500x", "68-4096");
	refuses(LAB "[interface u]\nport = lab/Hca1/1\n", "/etc/lab/lab.conf:4:", "lab/Hca1/1",
		"fabric:NAME/NODE/PORT");
	refuses(LAB "[interface u]\nport = fabric:lab/1\n", "/etc/lab/lab.conf:4:", "fabric:lab/1",
		"fabric:NAME/NODE/PORT");
	refuses(LAB "[interface u]\nport = verbs:mlx5_0\n",
		"/etc/lab/lab.conf:4:", "verbs:mlx5_0': no number of a port", "verbs:DEVICE/PORT");
	refuses(LAB "[interface u]\nport = verbs:/1\n",
		"/etc/lab/lab.conf:4:", "verbs:/1': no name of a device", "verbs:DEVICE/PORT");
	refuses(LAB "[interface u]\nport = verbs:mlx5_0/0\n",
		"/etc/lab/lab.conf:4:", "verbs:mlx5_0/0': no number of a port from 1 to 254",
		"verbs:DEVICE/PORT");
	refuses(LAB "[interface u]\nport = verbs:mlx5_0/1\nqpn = 0x123\n",
		"/etc/lab/lab.conf:", "0x000123",
		"the adapter of a port verbs:DEVICE/PORT chooses");
	refuses(LAB "[udp-link a]\nport = verbs:mlx5_0/1\nlisten = 127.0.0.1:5001\n",
		"/etc/lab/lab.conf:4:", "verbs:mlx5_0/1", "fabric:NAME/NODE/PORT");
}

/*
 * A port of a hardware CA needs no section [fabric]. Such a port does not belong to a fabric, even
 * if a section [fabric] has the name of the port's device.
 */
static void test_conf_verbs_ports(void **state)
{
	char err[CONF_ERR_MAX];
	struct conf c;

	assert_int_equal(parse(&c,
			       "[interface uib0@h1]\nport = verbs:mlx5_0/1\n"
			       "[interface uib1@h2]\nport = verbs:mlx5_0/2\npkey = 0x8001\n",
			       err),
			 0);
	assert_int_equal(c.nifaces, 2);
	assert_true(c.iface[0].port.verbs);
	assert_false(c.iface[0].port.udp);
	assert_string_equal(c.iface[0].port.node, "mlx5_0");
	assert_int_equal(c.iface[0].port.port, 1);
	assert_int_equal(c.iface[1].port.port, 2);
	conf_free(&c);
}

#define UDP LAB "[udp-link vm1]\nport = fabric:lab/Switch1/7\n"
#define UPORT(s) "[interface u]\nport = udp:" s "\n"

static void test_conf_udp_links(void **state)
{
	struct conf c;
	char err[CONF_ERR_MAX], text[CONF_ENDPOINT_MAX];

	assert_int_equal(parse(&c,
			       UDP "listen = 127.0.0.1:5001\n"
				   "[udp-link vm2]\nport = fabric:lab/Rack 1/S2/254\n"
				   "listen = [fd00::1]:65535\npeer = [fd00:0::2]:1\n",
			       err),
			 0);
	assert_int_equal(c.nudps, 2);
	assert_string_equal(c.udp[0].name, "vm1");
	assert_string_equal(c.udp[0].port.fabric, "lab");
	assert_string_equal(c.udp[0].port.node, "Switch1");
	assert_int_equal(c.udp[0].port.port, 7);
	assert_string_equal(conf_print_endpoint(&c.udp[0].listen, text), "127.0.0.1:5001");
	assert_int_equal(c.udp[0].peer.family, 0);
	assert_string_equal(conf_print_endpoint(&c.udp[0].peer, text), "");
	assert_string_equal(c.udp[1].port.node, "Rack 1/S2");
	assert_string_equal(conf_print_endpoint(&c.udp[1].listen, text), "[fd00::1]:65535");
	assert_string_equal(conf_print_endpoint(&c.udp[1].peer, text), "[fd00::2]:1");
	conf_free(&c);
}

static void test_conf_udp_link_refusals(void **state)
{
	refuses("[udp-link a/b]\n", "/etc/lab/lab.conf:1:", "a/b", "without");
	refuses(UDP, "/etc/lab/lab.conf:4:", "listen", "missing");
	refuses(LAB "[udp-link v]\nlisten = 127.0.0.1:1\n", "/etc/lab/lab.conf:4:", "port",
		"missing");
	refuses(UDP "listen = 127.0.0.1\n", "/etc/lab/lab.conf:5:", "'127.0.0.1'", "ADDR:PORT");
	refuses(UDP "listen = 127.0.0.1:0\n", "/etc/lab/lab.conf:5:", ":0'", "ADDR:PORT");
	refuses(UDP "listen = 127.0.0.1:65536\n", "/etc/lab/lab.conf:5:", "65536", "ADDR:PORT");
	refuses(UDP "listen = ::1:5001\n", "/etc/lab/lab.conf:5:", "::1:5001", "[::1]:5001");
	refuses(UDP "listen = [::1:5001\n", "/etc/lab/lab.conf:5:", "[::1:5001", "[::1]:5001");
	refuses(UDP "listen = localhost:5001\n", "/etc/lab/lab.conf:5:", "localhost", "ADDR:PORT");
	refuses(UDP "peer = 127.0.0.1:x\n", "/etc/lab/lab.conf:5:", "peer", "ADDR:PORT");
	refuses(UDP "listen = 127.0.0.1:1\nlisten = 127.0.0.1:2\n",
		"/etc/lab/lab.conf:6:", "listen", "twice");
	refuses(UDP "mtu = 5\n", "/etc/lab/lab.conf:5:", "mtu", "port, listen, peer");
	refuses(UDP "listen = 10.0.0.1:5001\n", "/etc/lab/lab.conf:3:", "10.0.0.1:5001", "peer");
	refuses(UDP "listen = [::]:5001\n", "/etc/lab/lab.conf:3:", "[::]:5001", "peer");
	refuses(UDP "listen = 0.0.0.0:5001\npeer = [::1]:5001\n",
		"/etc/lab/lab.conf:3:", "[::1]:5001", "IP version");
	refuses(UDP "listen = 127.0.0.1:5001\n[udp-link vm1]\n", "/etc/lab/lab.conf:6:", "vm1",
		"line 3");
	refuses(UDP "listen = 127.0.0.1:5001\n[udp-link vm2]\nport = fabric:lab/S/1\n"
		    "listen = 127.0.0.1:5001\n",
		"/etc/lab/lab.conf:6:", "127.0.0.1:5001", "[udp-link vm1]");
	refuses(LAB "[udp-link v]\nport = fabric:x/S/1\nlisten = 127.0.0.1:1\n",
		"/etc/lab/lab.conf:3:", "no [fabric x]", "port");
	refuses(LAB "[udp-link v]\nport = udp:127.0.0.1:1,guid=0x2\n",
		"/etc/lab/lab.conf:4:", "udp:127.0.0.1:1", "expected fabric:");
}

static void test_conf_udp_ports(void **state)
{
	struct conf c;
	char err[CONF_ERR_MAX], text[CONF_ENDPOINT_MAX];

	assert_int_equal(parse(&c,
			       "[interface a]\n"
			       "port = udp:127.0.0.1:5001,guid=0x0002c90300000001\n"
			       "[interface b]\n"
			       "port = udp:[0:0::1]:5002,listen=[::1]:6002,guid=0x2\n"
			       "[interface c]\n"
			       "port = udp:[::1]:5002,guid=0x2,listen=[::1]:6002\n",
			       err),
			 0);
	assert_true(c.iface[0].port.udp);
	assert_int_equal(c.iface[0].port.guid, 0x0002c90300000001);
	assert_string_equal(c.iface[0].port.fabric, "udp:127.0.0.1:5001");
	assert_int_equal(c.iface[0].port.port, 1);
	assert_int_equal(c.iface[0].port.listen.family, 0);
	assert_string_equal(c.iface[1].port.fabric, "udp:[::1]:5002");
	assert_string_equal(c.iface[2].port.fabric, "udp:[::1]:5002");
	assert_string_equal(conf_print_endpoint(&c.iface[1].port.listen, text), "[::1]:6002");
	conf_free(&c);
}

static void test_conf_udp_port_refusals(void **state)
{
	const char *const line2 = "/etc/lab/lab.conf:2:";

	refuses(UPORT("127.0.0.1:5001"), line2, "guid is missing", "guid=0x...");
	refuses(UPORT(""), line2, "'udp:'", "ADDR:PORT");
	refuses(UPORT("127.0.0.1,guid=0x1"), line2, "no ADDR:PORT", "udp:ADDR:PORT");
	refuses(UPORT("127.0.0.1:1,guid=1"), line2, "guid is no EUI-64", "guid=0x...");
	refuses(UPORT("127.0.0.1:1,guid=0x0"), line2, "guid is no EUI-64", "guid=0x...");
	refuses(UPORT("127.0.0.1:1,guid=0x"), line2, "guid is no EUI-64", "guid=0x...");
	refuses(UPORT("127.0.0.1:1,guid=0x-1"), line2, "guid is no EUI-64", "guid=0x...");
	refuses(UPORT("127.0.0.1:1,guid=0x12x"), line2, "guid is no EUI-64", "guid=0x...");
	refuses(UPORT("127.0.0.1:1,guid=0xffffffffffffffff"), line2, "EUI-64", "guid=0x...");
	refuses(UPORT("127.0.0.1:1,guid=0x10000000000000001"), line2, "EUI-64", "guid=0x...");
	refuses(UPORT("127.0.0.1:1,guid=0x0100000000000001"), line2, "EUI-64", "guid=0x...");
	refuses(UPORT("127.0.0.1:1,guid=0x1,guid=0x1"), line2, "twice", "guid=0x...");
	refuses(UPORT("127.0.0.1:1,guid=0x1,x=1"), line2, "unknown option", "listen=ADDR:PORT");
	refuses(UPORT("127.0.0.1:1,guid=0x1,listen=1"), line2, "listen is no", "listen=ADDR:PORT");
	refuses(UPORT("127.0.0.1:1,guid=0x1,listen=[::1]:1"), line2, "IP version", "listen=");
	refuses(UPORT("127.0.0.1:1,guid=0x1,listen=127.0.0.1:1,listen=127.0.0.1:1"), line2, "twice",
		"listen=");
	refuses(UPORT("127.0.0.1:1,guid=0x1") "[interface v]\nport = udp:127.0.0.1:1,guid=0x3\n",
		"/etc/lab/lab.conf:3:", "differ", "line 1");
	refuses(UPORT("127.0.0.1:1,guid=0x1") "[interface v]\n"
					      "port = "
					      "udp:127.0.0.1:1,guid=0x1,listen=127.0.0.1:3\n",
		"/etc/lab/lab.conf:3:", "differ", "line 1");
	refuses(UPORT("127.0.0.1:1,guid=0x1") "[interface v]\nport = udp:127.0.0.1:2,guid=0x1\n",
		"/etc/lab/lab.conf:3:", "guid is that of", "line 1");
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

static void test_H31_conf_pkeys_of_a_port(void **state)
{
	struct conf c;
	char err[CONF_ERR_MAX];

	assert_int_equal(parse(&c, HLD, err), 0);
	/* an empty list (npkeys 0) stands for all P_Keys of the port */
	assert_int_equal(c.iface[0].npkeys, 0);
	assert_int_equal(c.iface[0].devices, CONF_DEVICES_DEFAULT);
	conf_free(&c);
	assert_int_equal(parse(&c,
			       HLD
			       "pkeys = 0x8001,0x0014\npkeys = 0x7fff\ndevices = 128\n"
			       "address = 10.4.1.1/24,pkey=0x8014\naddress = fd00::1/64,pkey=1\n",
			       err),
			 0);
	assert_int_equal(c.iface[0].npkeys, 3);
	assert_int_equal(c.iface[0].pkeys[1], 0x0014);
	assert_int_equal(c.iface[0].pkeys[2], 0x7fff);
	assert_int_equal(c.iface[0].devices, 128);
	assert_int_equal(c.iface[0].addr[0].pkey, 0x8014);
	assert_int_equal(c.iface[0].addr[0].prefix_len, 24);
	assert_int_equal(c.iface[0].addr[1].pkey, 1);
	conf_free(&c);
	/* If the key "pkey" has only one P_Key, an address need not name its P_Key. */
	assert_int_equal(parse(&c, HLD "pkey = 0x8014\naddress = 10.4.1.1/24\n", err), 0);
	assert_int_equal(c.iface[0].npkeys, 1);
	assert_int_equal(c.iface[0].addr[0].pkey, 0x8014);
	conf_free(&c);
	/*
	 * The interfaces of P_Keys on host h1 get names that begin with ib0_1_. No other interface
	 * of h1 may have such a name, but an interface of host h2 may have such a name.
	 */
	assert_int_equal(parse(&c,
			       HLD "[interface ib0_1@h1]\nport = fabric:lab/Hca2/1\n"
				   "[interface ib0_1_14@h2]\nport = fabric:lab/Hca2/1\n",
			       err),
			 0);
	conf_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conf_whole_contract),
		cmocka_unit_test(test_conf_defaults),
		cmocka_unit_test(test_conf_refuses_what_inih_would_misread),
		cmocka_unit_test(test_conf_unknown_key_among_many_long_ones),
		cmocka_unit_test(test_conf_unknown_key_as_long_as_a_line),
		cmocka_unit_test(test_conf_refuses_bad_structure),
		cmocka_unit_test(test_conf_sidr),
		cmocka_unit_test(test_conf_sl_by_its_words),
		cmocka_unit_test(test_H34_conf_parameters),
		cmocka_unit_test(test_H29_the_command_line_wins_over_the_file),
		cmocka_unit_test(test_H29_settings_that_make_no_sense),
		cmocka_unit_test(test_a_message_does_not_repeat_a_secret),
		cmocka_unit_test(test_S1_conf_interface_identifiers),
		cmocka_unit_test(test_M6_conf_links_of_a_port_may_differ_by_their_subnet_number),
		cmocka_unit_test(test_conf_refuses_bad_values),
		cmocka_unit_test(test_conf_verbs_ports),
		cmocka_unit_test(test_conf_udp_links),
		cmocka_unit_test(test_conf_udp_link_refusals),
		cmocka_unit_test(test_conf_udp_ports),
		cmocka_unit_test(test_conf_udp_port_refusals),
		cmocka_unit_test(test_conf_nul_octet_refused),
		cmocka_unit_test(test_conf_load_names_the_file),
		cmocka_unit_test(test_H31_conf_pkeys_of_a_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

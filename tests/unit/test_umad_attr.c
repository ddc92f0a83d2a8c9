/* SPDX-License-Identifier: BSD-2-Clause */
#include "umad_rig.h"

/*
 * Tests the files of sysfs that umad serves. Their formats are those of Linux 6.1
 * (drivers/infiniband/core/sysfs.c, device.c, user_mad.c). libibumad (umad.c, sysfs.c) and scripts
 * parse these files.
 */

static struct umad_rig rig;
static struct umad_view ab;

static int setup(void **state)
{
	(void)state;
	umad_rig_init(&rig, NULL);
	return umad_rig_view(&rig, "ab", "", &ab);
}

static int teardown(void **state)
{
	(void)state;
	umad_rig_fini(&rig);
	return 0;
}

static void check_file(const struct umad_view *v, const char *path, const char *want)
{
	char buf[256] = "";
	bool dir = true;
	int n = umad_attr_read(v, path, buf, sizeof(buf) - 1, &dir);

	if (n < 0)
		fail_msg("%s: %d", path, n);
	buf[n] = '\0';
	assert_false(dir);
	if (strcmp(buf, want))
		fail_msg("%s: '%s', expected '%s'", path, buf, want);
}

/* Check the names in a folder. @want: all names, each followed by a comma */
static void check_dir(const struct umad_view *v, const char *path, const char *want)
{
	char buf[4096];
	bool dir = false;
	int n = umad_attr_read(v, path, buf, sizeof(buf) - 1, &dir);

	if (n < 0)
		fail_msg("%s: %d", path, n);
	assert_true(dir);
	assert_int_equal(buf[n - 1], '\0');
	for (int i = 0; i < n; i++)
		if (!buf[i])
			buf[i] = ',';
	buf[n] = '\0';
	if (strcmp(buf, want))
		fail_msg("%s: '%s', expected '%s'", path, buf, want);
}

static void test_files_of_a_ca(void **state)
{
	(void)state;
#define CA "class/infiniband/uipoib0/"
	check_file(&ab, CA "node_type", "1: CA\n");
	check_file(&ab, CA "node_guid", "0002:c903:0000:0100\n");
	check_file(&ab, CA "sys_image_guid", "0002:c903:0000:0110\n");
	check_file(&ab, CA "node_desc", "node A\n");
	check_file(&ab, CA "fw_ver", "1.0.0\n");
	check_file(&ab, CA "hw_rev", "a1\n");
	check_file(&ab, CA "hca_type", "soft HCA\n");
	check_file(&ab, CA "board_id", "uipoib\n");
	check_file(&ab, "class/infiniband/uipoib1/node_desc", "node B\n");
}

static void test_files_of_a_port(void **state)
{
	struct smp_port_info *pi = &rig.a.n.port[1].pi;

	(void)state;
#define PORT CA "ports/1/"
	pi->lid = 0x1a;
	pi->lmc = 3;
	pi->sm_lid = 7;
	pi->sm_sl = 2;
	pi->port_state = IB_PORT_INIT;
	pi->phys_state = IB_PHYS_LINK_UP;
	pi->cap_mask = 0x0250484a;
	rig.a.n.port[1].guids[3] = 0x1122334455667788ull;
	rig.a.n.port[1].pkeys[1] = 0x7001;
	check_file(&ab, PORT "lid", "0x1a\n");
	check_file(&ab, PORT "lid_mask_count", "3\n");
	check_file(&ab, PORT "sm_lid", "0x7\n");
	check_file(&ab, PORT "sm_sl", "2\n");
	check_file(&ab, PORT "state", "2: INIT\n");
	check_file(&ab, PORT "phys_state", "5: LinkUp\n");
	check_file(&ab, PORT "cap_mask", "0x0250484a\n");
	check_file(&ab, PORT "link_layer", "InfiniBand\n");
	check_file(&ab, PORT "gids/0", "fe80:0000:0000:0000:0002:c903:0000:0101\n");
	check_file(&ab, PORT "gids/3", "fe80:0000:0000:0000:1122:3344:5566:7788\n");
	check_file(&ab, PORT "gid_attrs/types/0", "IB/RoCE v1\n");
	check_file(&ab, PORT "pkeys/0", "0xffff\n");
	check_file(&ab, PORT "pkeys/1", "0x7001\n");
	check_file(&ab, PORT "pkeys/63", "0x0000\n");
	pi->lid = 0x1b; /* each read shows the current value */
	pi->port_state = IB_PORT_ACTIVE;
	check_file(&ab, PORT "lid", "0x1b\n");
	check_file(&ab, PORT "state", "4: ACTIVE\n");
	pi->phys_state = IB_PHYS_POLLING;
	pi->port_state = IB_PORT_DOWN;
	check_file(&ab, PORT "phys_state", "2: Polling\n");
	check_file(&ab, PORT "state", "1: DOWN\n");
}

static void test_rate(void **state)
{
	static const struct {
		uint8_t width, speed, ext;
		const char *want;
	} cases[] = {
		{ 1, 1, 0, "2.5 Gb/sec (1X SDR)\n" },  { 2, 1, 0, "10 Gb/sec (4X SDR)\n" },
		{ 2, 2, 0, "20 Gb/sec (4X DDR)\n" },   { 2, 4, 0, "40 Gb/sec (4X QDR)\n" },
		{ 8, 4, 0, "120 Gb/sec (12X QDR)\n" }, { 2, 4, 1, "56 Gb/sec (4X FDR)\n" },
		{ 2, 4, 2, "100 Gb/sec (4X EDR)\n" },  { 1, 4, 2, "25 Gb/sec (1X EDR)\n" },
		{ 2, 4, 4, "200 Gb/sec (4X HDR)\n" },  { 2, 4, 8, "400 Gb/sec (4X NDR)\n" },
		{ 16, 4, 4, "100 Gb/sec (2X HDR)\n" }, { 4, 1, 0, "20 Gb/sec (8X SDR)\n" },
	};
	struct smp_port_info *pi = &rig.a.n.port[1].pi;

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pi->width_active = cases[i].width;
		pi->speed_active = cases[i].speed;
		pi->speed_ext_active = cases[i].ext;
		check_file(&ab, PORT "rate", cases[i].want);
	}
}

static void test_counters_are_those_of_the_pma(void **state)
{
	struct node_counters *c = &rig.a.n.port[1].cnt;

	(void)state;
#define CNT PORT "counters/"
	c->symbol_errors = 70000; /* the sysfs counter stops at 16 bits */
	c->link_recovers = 3;
	c->link_downed = 300; /* stops at 8 bits */
	c->local_link_integrity = 5;
	c->excessive_overruns = 99; /* stops at 4 bits */
	c->vl15_dropped = 12;
	c->xmit_wait = 13;
	c->xmit_discards = 14;
	c->rcv_errors = 15;
	c->xmit_data = 0x123456789aull;
	c->rcv_data = 2;
	c->xmit_pkts = 3;
	c->rcv_pkts = 4;
	c->ucast_xmit = 5;
	c->ucast_rcv = 6;
	c->mcast_xmit = 7;
	c->mcast_rcv = 8;
	check_file(&ab, CNT "symbol_error", "65535\n");
	check_file(&ab, CNT "link_error_recovery", "3\n");
	check_file(&ab, CNT "link_downed", "255\n");
	check_file(&ab, CNT "local_link_integrity_errors", "5\n");
	check_file(&ab, CNT "excessive_buffer_overrun_errors", "15\n");
	check_file(&ab, CNT "VL15_dropped", "12\n");
	check_file(&ab, CNT "port_xmit_wait", "13\n");
	check_file(&ab, CNT "port_xmit_discards", "14\n");
	check_file(&ab, CNT "port_rcv_errors", "15\n");
	check_file(&ab, CNT "port_rcv_remote_physical_errors", "0\n");
	check_file(&ab, CNT "port_rcv_switch_relay_errors", "0\n");
	check_file(&ab, CNT "port_xmit_constraint_errors", "0\n");
	check_file(&ab, CNT "port_rcv_constraint_errors", "0\n");
	check_file(&ab, CNT "port_xmit_data", "78187493530\n");
	check_file(&ab, CNT "port_rcv_data", "2\n");
	check_file(&ab, CNT "port_xmit_packets", "3\n");
	check_file(&ab, CNT "port_rcv_packets", "4\n");
	check_file(&ab, CNT "unicast_xmit_packets", "5\n");
	check_file(&ab, CNT "unicast_rcv_packets", "6\n");
	check_file(&ab, CNT "multicast_xmit_packets", "7\n");
	check_file(&ab, CNT "multicast_rcv_packets", "8\n");
}

static void test_umad_class_numbers_ports_through_all_cas(void **state)
{
	(void)state;
#define MAD "class/infiniband_mad/"
	check_file(&ab, MAD "abi_version", "5\n");
	check_file(&ab, MAD "umad0/ibdev", "uipoib0\n");
	check_file(&ab, MAD "umad0/port", "1\n");
	check_file(&ab, MAD "umad1/port", "2\n");
	check_file(&ab, MAD "umad2/ibdev", "uipoib1\n");
	check_file(&ab, MAD "umad2/port", "1\n");
	check_file(&ab, MAD "umad2/dev", "231:2\n");
	check_file(&ab, MAD "issm2/ibdev", "uipoib1\n");
	check_file(&ab, MAD "issm2/port", "1\n");
	check_file(&ab, MAD "issm2/dev", "231:66\n");
}

static void test_directories(void **state)
{
	(void)state;
	check_dir(&ab, "", "class,");
	check_dir(&ab, "class", "infiniband,infiniband_mad,");
	check_dir(&ab, "/class//infiniband/", "uipoib0,uipoib1,");
	check_dir(&ab, "class/infiniband/uipoib0",
		  "board_id,fw_ver,hca_type,hw_rev,node_desc,node_guid,node_type,sys_image_guid,"
		  "ports,");
	check_dir(&ab, CA "ports", "1,2,");
	check_dir(&ab, PORT,
		  "cap_mask,counters,gid_attrs,gids,lid,lid_mask_count,link_layer,phys_state,pkeys,"
		  "rate,sm_lid,sm_sl,state,");
	check_dir(&ab, PORT "gid_attrs", "types,");
	check_dir(&ab, MAD, "abi_version,umad0,umad1,umad2,issm0,issm1,issm2,");
	check_dir(&ab, MAD "issm1", "dev,ibdev,port,");
}

static void test_a_switch_has_port_0(void **state)
{
	struct umad_view s;

	(void)state;
	assert_int_equal(umad_rig_view(&rig, "", "S", &s), 0);
	check_file(&s, CA "node_type", "2: switch\n");
	check_dir(&s, CA "ports", "0,");
	check_file(&s, CA "ports/0/lid", "0x0\n");
	check_file(&s, MAD "umad0/port", "0\n");
	check_file(&s, CA "ports/0/counters/port_xmit_data", "0\n");
}

static void test_what_is_not_there(void **state)
{
	static const char *const paths[] = {
		"x",
		"class/net",
		"class/infiniband/uipoib2",
		"class/infiniband/uipoib",
		"class/infiniband/uipoib00",
		"class/infiniband/uipoib0x",
		"class/infiniband/uipoib99999999999",
		CA "ports/0",
		CA "ports/3",
		CA "ports/01/lid",
		CA "ports/1/lid/x",
		CA "ports/1/lidx",
		CA "ports/1/li",
		CA "ports/-1",
		PORT "gids/32",
		PORT "pkeys/64",
		PORT "counters/",
		MAD "umad3",
		MAD "umad",
		MAD "@ca",
		"class/infiniband/@ca",
		"..",
	};
	char buf[4096];
	bool dir;

	(void)state;
	for (unsigned int i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int n = umad_attr_read(&ab, paths[i], buf, sizeof(buf), &dir);
		bool there = !strcmp(paths[i], PORT "counters/");

		if (there ? n <= 0 : n != -ENOENT)
			fail_msg("%s: %d", paths[i], n);
	}
}

static void test_answers_that_do_not_fit(void **state)
{
	char buf[8];
	bool dir;

	(void)state;
	assert_int_equal(umad_attr_read(&ab, CA "node_guid", buf, sizeof(buf), &dir), -ENOSPC);
	assert_int_equal(umad_attr_read(&ab, "class", buf, sizeof(buf), &dir), -ENOSPC);
}

static void test_a_connection_answers_paths(void **state)
{
	struct umad_attr a = { .msg = { UMAD_ATTR, sizeof(a) }, .path = PORT "lid" };
	struct umad_conn *c = umad_rig_conn(&rig);
	struct umad_content content;

	(void)state;
	assert_int_equal(umad_rig_hello(&rig, c, UMAD_KIND_ATTR, "a", "", 0), 0);
	assert_int_equal(umad_rig_msg(&rig, c, &a, sizeof(a), false), 0);
	assert_int_equal(rig.ans.to, UMAD_TO_CONN);
	memcpy(&content, rig.ans.msg, sizeof(content));
	assert_int_equal(content.msg.type, UMAD_CONTENT);
	assert_int_equal(content.msg.len, rig.ans.len);
	assert_int_equal(content.err, 0);
	assert_int_equal(content.dir, 0);
	assert_int_equal(content.data_len, 4);
	assert_memory_equal(rig.ans.msg + sizeof(content), "0x1\n", 4);
	strcpy(a.path, "class/infiniband");
	assert_int_equal(umad_rig_msg(&rig, c, &a, sizeof(a), false), 0);
	memcpy(&content, rig.ans.msg, sizeof(content));
	assert_int_equal(content.dir, 1);
	assert_int_equal(content.data_len, sizeof("uipoib0"));
	strcpy(a.path, "class/nothing");
	assert_int_equal(umad_rig_msg(&rig, c, &a, sizeof(a), false), 0);
	memcpy(&content, rig.ans.msg, sizeof(content));
	assert_int_equal(content.err, -ENOENT);
	assert_int_equal(rig.ans.len, sizeof(content));
	memset(a.path, 'a', sizeof(a.path));
	assert_int_equal(umad_rig_msg(&rig, c, &a, sizeof(a), false), -EPROTO);
	umad_conn_close(c, rig.now);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_files_of_a_ca),
		T(test_files_of_a_port),
		T(test_rate),
		T(test_counters_are_those_of_the_pma),
		T(test_umad_class_numbers_ports_through_all_cas),
		T(test_directories),
		T(test_a_switch_has_port_0),
		T(test_what_is_not_there),
		T(test_answers_that_do_not_fit),
		T(test_a_connection_answers_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

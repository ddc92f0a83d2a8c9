/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "ibsim_golden.h"
#include "ibsim_rig.h"

#define SMP_CLIENT 1 /* client id in the recorded dialogue */

static int setup(void **state)
{
	static struct ibsim_rig r;

	ibsim_rig_init(&r);
	*state = &r;
	return 0;
}

static int teardown(void **state)
{
	ibsim_rig_fini(*state);
	return 0;
}

static void say(struct ibsim_rig *r, const struct ibsim_peer *from, const uint8_t *msg,
		uint8_t answer[IBSIM_CTL_LEN])
{
	assert_int_equal(ibsim_srv_ctl(r->srv, from, msg, IBSIM_CTL_LEN, answer, r->n.now),
			 IBSIM_CTL_LEN);
}

/*
 * Send the messages that libumad2sim sent to ibsim, and compare the answers with those of ibsim, as
 * far as libumad2sim reads them.
 */
static void test_ibsim_dialogue_of_libumad2sim(void **state)
{
	struct ibsim_rig *r = *state;
	struct ibsim_peer from = ibsim_rig_peer(r, 0, 0x53e5);
	uint8_t a[IBSIM_CTL_LEN];
	struct smp_node_info ours, theirs;
	struct smp_port_info pi;

	ibsim_rig_connect(r, 1); /* takes id 0, which OpenSM had in the recording */
	say(r, &from, golden_connect, a);
	assert_memory_equal(a, golden_connected, sizeof(a));

	say(r, &from, golden_ask_vendor, a);
	assert_memory_equal(a, golden_vendor, 16); /* the other octets describe the rig's node */
	assert_int_equal(a[16 + 16], 1); /* firmware */

	say(r, &from, golden_ask_node_info, a);
	assert_memory_equal(a, golden_node_info, 16);
	smp_node_info_decode(&ours, a + 16, 64);
	smp_node_info_decode(&theirs, golden_node_info + 16, 64);
	assert_int_equal(ours.node_type, theirs.node_type);
	assert_int_equal(ours.nports, theirs.nports);

	say(r, &from, golden_ask_port_info, a);
	assert_memory_equal(a, golden_port_info, 16);
	smp_port_info_decode(&pi, a + 16, 64);
	assert_int_equal(pi.local_port, 1);
	assert_int_equal(pi.lid, RIG_LID);
	assert_int_equal(pi.sm_lid, RIG_SM_LID);

	say(r, &from, golden_ask_pkeys, a);
	assert_memory_equal(a, golden_pkeys, sizeof(a));

	ibsim_srv_recv(r->srv, SMP_CLIENT, golden_get_node_info, IBSIM_PKT_LEN, r->n.now);
	ibsim_rig_run(r, 0);
	assert_int_equal(r->nout, 1);
	assert_memory_equal(r->out[0].raw, golden_got_node_info, 20); /* addresses and status */
	assert_memory_equal(r->out[0].raw + 24, golden_got_node_info + 24,
			    8 + 24); /* length, MAD header */

	say(r, &from, golden_disconnect, a);
	assert_memory_equal(a, golden_disconnected, sizeof(a));
	ibsim_rig_run(r, 0);
	assert_false(r->is_open[SMP_CLIENT]);
	assert_true(r->is_open[0]);
}

/*
 * libumad2sim computes the GUID of a port as NodeGUID + port number. So the server's answer must
 * have a NodeGUID from which libumad2sim computes the right port GUID, whatever GUIDs the fabric
 * has.
 */
static void test_ibsim_node_guid_gives_the_port_guid(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 7);
	struct ibsim_ctl m = { .client = id, .type = IBSIM_CTL_GET_NODE_INFO, .len = 64 };
	struct ibsim_peer from = ibsim_rig_peer(r, 0, 7);
	struct smp_node_info info;

	r->n.n.port[1].guids[0] = 0xabcdef0000001234ull;
	assert_int_equal(ibsim_rig_ctl(r, &from, &m), IBSIM_CTL_GET_NODE_INFO);
	smp_node_info_decode(&info, m.data, 64);
	assert_true(info.node_guid + 1 == 0xabcdef0000001234ull);
	assert_true(info.port_guid == 0xabcdef0000001234ull);
	assert_true(info.sys_guid == r->n.n.info.sys_guid);
}

static void test_ibsim_ctl_of_no_tool(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 7);
	struct ibsim_ctl m = { .client = id, .type = IBSIM_CTL_GET_PORT, .len = 4 };
	struct ibsim_peer from = ibsim_rig_peer(r, 0, 7);
	static const uint8_t prefix[] = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0 };
	uint16_t lid;

	assert_int_equal(ibsim_rig_ctl(r, &from, &m), IBSIM_CTL_GET_PORT);
	memcpy(&lid, m.data, sizeof(lid));
	assert_int_equal(lid, RIG_LID);
	assert_int_equal(m.data[2], IB_PORT_INIT);

	m.type = IBSIM_CTL_GET_GID;
	assert_int_equal(ibsim_rig_ctl(r, &from, &m), IBSIM_CTL_GET_GID);
	assert_memory_equal(m.data, prefix, 8);
	assert_true(be64_at(m.data + 8) == RIG_GUID + 1);

	m.type = IBSIM_CTL_GET_GUID;
	assert_int_equal(ibsim_rig_ctl(r, &from, &m), IBSIM_CTL_GET_GUID);
	assert_true(be64_at(m.data) == RIG_GUID);
}

static void test_ibsim_port_info_of_other_ports(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 7);
	/*
	 * port numbers 0 to 4: for port 0 and ports that do not exist, the answer is about the
	 * client's own port 1
	 */
	static const uint8_t want[] = { 1, 1, 2, 1, 1 };
	struct ibsim_peer from = ibsim_rig_peer(r, 0, 7);

	r->n.n.port[1].pi.mkey = 0x1234;
	for (uint8_t port = 0; port < sizeof(want); port++) {
		struct ibsim_ctl m = { id, IBSIM_CTL_GET_PORT_INFO, 64, { port } };
		struct smp_port_info pi;

		assert_int_equal(ibsim_rig_ctl(r, &from, &m), IBSIM_CTL_GET_PORT_INFO);
		smp_port_info_decode(&pi, m.data, 64);
		assert_int_equal(pi.local_port, want[port]);
		assert_int_equal(pi.lid, want[port] == 1 ? RIG_LID : 0);
		assert_true(pi.mkey == 0);
	}
}

/* Malformed datagrams must get no answer, because their sender address can be forged. */
static void test_ibsim_ctl_garbage_is_counted(void **state)
{
	struct ibsim_rig *r = *state;
	struct ibsim_peer from = ibsim_rig_peer(r, 0, 7);
	uint8_t msg[200], a[IBSIM_CTL_LEN];

	memset(msg, 0xa5, sizeof(msg));
	for (size_t n = 0; n < sizeof(msg); n++)
		assert_int_equal(ibsim_srv_ctl(r->srv, &from, msg, n, a, r->n.now), 0);
	assert_int_equal(ibsim_srv_stats(r->srv)->drop_ctl_malformed, sizeof(msg));
}

static void test_ibsim_ctl_unknown_types_are_refused(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 7);
	struct ibsim_peer from = ibsim_rig_peer(r, 0, 7);
	static const uint32_t types[] = { IBSIM_CTL_ERROR, IBSIM_CTL_LAST, 77, UINT32_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct ibsim_ctl m = { .client = id, .type = types[i] };

		assert_int_equal(ibsim_rig_ctl(r, &from, &m), IBSIM_CTL_ERROR);
	}
	assert_int_equal(ibsim_srv_stats(r->srv)->refused_ctl, ARRAY_SIZE(types));
}

static void test_ibsim_connect_wrong_lengths(void **state)
{
	struct ibsim_rig *r = *state;
	struct ibsim_peer from = ibsim_rig_peer(r, 0, 7);

	for (uint32_t len = 0; len <= IBSIM_CTL_DATA; len++) {
		struct ibsim_ctl m = { .type = IBSIM_CTL_CONNECT, .len = len, .data = { 7 } };

		if (len != IBSIM_CLIENT_INFO_LEN)
			assert_int_equal(ibsim_rig_ctl(r, &from, &m), IBSIM_CTL_ERROR);
	}
	assert_int_equal(ibsim_srv_stats(r->srv)->connects, 0);
}

static void test_ibsim_connect_by_name(void **state)
{
	struct ibsim_rig *r = *state;
	struct ibsim_client_show s;
	int a = ibsim_rig_try_connect(r, 1, "Hca2", false);
	int b = ibsim_rig_try_connect(r, 2, "Hca2/2", false);

	assert_int_equal(ibsim_rig_try_connect(r, 3, "Hca3", false), -1);
	assert_int_equal(ibsim_srv_stats(r->srv)->refused_connect, 1);
	assert_true(ibsim_srv_client(r->srv, (unsigned int)a, &s));
	assert_int_equal(s.port, 1);
	assert_int_equal(s.pid, 1);
	assert_string_equal(s.node, "Hca2");
	assert_true(ibsim_srv_client(r->srv, (unsigned int)b, &s));
	assert_int_equal(s.port, 2);
	assert_false(ibsim_srv_client(r->srv, 2, &s));
	assert_false(ibsim_srv_client(r->srv, IBSIM_CLIENTS_MAX, &s));
}

/*
 * The server cannot open the socket by which it sends to the client, so it must not register the
 * client.
 */
static void test_ibsim_connect_without_a_way_back(void **state)
{
	struct ibsim_rig *r = *state;

	r->open_err = -ECONNREFUSED;
	assert_int_equal(ibsim_rig_try_connect(r, 1, "", false), -1);
	r->open_err = 0;
	assert_int_equal(ibsim_rig_connect(r, 1), 0);
}

static void test_ibsim_clients_of_a_port_are_limited(void **state)
{
	struct ibsim_rig *r = *state;

	for (uint32_t i = 0; i < IBSIM_PORT_CLIENTS_MAX; i++)
		assert_int_equal(ibsim_rig_connect(r, 1 + i), i);
	assert_int_equal(ibsim_rig_try_connect(r, 100, "", false), -1);
	assert_int_equal(ibsim_rig_try_connect(r, 101, "Hca2/2", false), IBSIM_PORT_CLIENTS_MAX);
	ibsim_srv_gone(r->srv, 3, "test", r->n.now);
	/*
	 * the server has not closed the socket of the old client yet, so there is no room for a new
	 * client
	 */
	assert_int_equal(ibsim_rig_try_connect(r, 100, "", false), -1);
	ibsim_rig_run(r, 0);
	assert_int_equal(ibsim_rig_connect(r, 100), 3);
}

/*
 * A process with another pid, or in another namespace, knows the id of a client. The server must
 * refuse this process nevertheless.
 */
static void test_ibsim_strangers_are_refused(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 7);
	struct ibsim_peer strangers[] = { ibsim_rig_peer(r, 0, 8), ibsim_rig_peer(r, 1, 7),
					  ibsim_rig_peer(r, 0, 70) };

	for (size_t i = 0; i < ARRAY_SIZE(strangers); i++) {
		struct ibsim_ctl m = { .client = id, .type = IBSIM_CTL_DISCONNECT };

		assert_int_equal(ibsim_rig_ctl(r, &strangers[i], &m), IBSIM_CTL_ERROR);
	}
	ibsim_rig_run(r, 0);
	assert_true(r->is_open[id]);
	assert_int_equal(ibsim_rig_set_issm(r, 9, 7, true), IBSIM_CTL_ERROR);
	assert_int_equal(ibsim_rig_set_issm(r, UINT32_MAX, 7, true), IBSIM_CTL_ERROR);
}

/*
 * One process connects twice. Its sockets have the same names both times, so the first client must
 * be removed.
 */
static void test_ibsim_a_process_that_connects_again_is_one_client(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int first = ibsim_rig_connect(r, 7), second = ibsim_rig_connect(r, 7);
	struct ibsim_client_show s;

	ibsim_rig_run(r, 0);
	assert_int_not_equal(first, second);
	assert_false(ibsim_srv_client(r->srv, first, &s));
	assert_true(ibsim_srv_client(r->srv, second, &s));
	assert_int_equal(ibsim_srv_stats(r->srv)->deaths, 1);
}

static void test_ibsim_issm(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int a = ibsim_rig_connect(r, 1), b = ibsim_rig_connect(r, 2);

	assert_int_equal(ibsim_rig_set_issm(r, a, 1, true), IBSIM_CTL_SET_ISSM);
	assert_int_equal(ibsim_rig_set_issm(r, a, 1, true), IBSIM_CTL_SET_ISSM);
	assert_true(r->issm);
	assert_int_equal(ibsim_rig_set_issm(r, b, 2, true), IBSIM_CTL_SET_ISSM);
	assert_int_equal(ibsim_rig_set_issm(r, a, 1, false), IBSIM_CTL_SET_ISSM);
	assert_true(r->issm); /* client b is still an SM */
	assert_int_equal(r->issm_calls, 1);
	ibsim_srv_gone(r->srv, b, "test", r->n.now);
	assert_false(r->issm);
}

static void test_ibsim_issm_of_a_port_with_another_sm(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int a = ibsim_rig_connect(r, 1);

	r->issm_err = -EBUSY;
	assert_int_equal(ibsim_rig_set_issm(r, a, 1, true), IBSIM_CTL_ERROR);
	assert_int_equal(ibsim_rig_try_connect(r, 2, "", true), -1);
	r->issm_err = 0;
	ibsim_rig_run(r, 0);
	assert_false(r->is_open[1]);
	assert_int_equal(ibsim_rig_try_connect(r, 2, "", true), 1); /* SIM_SET_ISSM */
	assert_true(r->issm);
}

static void test_ibsim_issm_wrong_length(void **state)
{
	struct ibsim_rig *r = *state;
	unsigned int id = ibsim_rig_connect(r, 7);
	struct ibsim_peer from = ibsim_rig_peer(r, 0, 7);

	for (uint32_t len = 0; len < 12; len++) {
		struct ibsim_ctl m = { id, IBSIM_CTL_SET_ISSM, len, { 1 } };

		assert_int_equal(ibsim_rig_ctl(r, &from, &m),
				 len == 4 ? IBSIM_CTL_SET_ISSM : IBSIM_CTL_ERROR);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_ibsim_dialogue_of_libumad2sim),
		T(test_ibsim_node_guid_gives_the_port_guid),
		T(test_ibsim_ctl_of_no_tool),
		T(test_ibsim_port_info_of_other_ports),
		T(test_ibsim_ctl_garbage_is_counted),
		T(test_ibsim_ctl_unknown_types_are_refused),
		T(test_ibsim_connect_wrong_lengths),
		T(test_ibsim_connect_by_name),
		T(test_ibsim_connect_without_a_way_back),
		T(test_ibsim_clients_of_a_port_are_limited),
		T(test_ibsim_strangers_are_refused),
		T(test_ibsim_a_process_that_connects_again_is_one_client),
		T(test_ibsim_issm),
		T(test_ibsim_issm_of_a_port_with_another_sm),
		T(test_ibsim_issm_wrong_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

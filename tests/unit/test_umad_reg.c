/* SPDX-License-Identifier: BSD-2-Clause */
#include "umad_rig.h"

/*
 * Tests connections and agents of the umad server. Sources: drivers/infiniband/core/user_mad.c and
 * mad.c of Linux 6.1.
 */

static struct umad_rig rig;

static int setup(void **state)
{
	(void)state;
	umad_rig_init(&rig, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	umad_rig_fini(&rig);
	return 0;
}

static int hello_err(uint32_t kind, const char *host, const char *node, uint32_t dev)
{
	struct umad_conn *c = umad_rig_conn(&rig);
	int err = umad_rig_hello(&rig, c, kind, host, node, dev);

	umad_conn_close(c, rig.now);
	return err;
}

static void test_hello_finds_ports_through_all_cas(void **state)
{
	struct umad_conn *c = umad_rig_open(&rig, "ab", 2);
	struct umad_conn_info info;

	(void)state;
	umad_conn_info(c, &info);
	assert_ptr_equal(info.port, &rig.b.n.port[1]);
	assert_int_equal(info.dev, 2);
	umad_conn_close(c, rig.now);
	assert_int_equal(hello_err(UMAD_KIND_MAD, "ab", "", 1), 0);
	assert_int_equal(hello_err(UMAD_KIND_MAD, "ab", "", 3), -ENOENT);
	assert_int_equal(hello_err(UMAD_KIND_MAD, "ab", "", UINT32_MAX), -ENOENT);
	assert_int_equal(hello_err(UMAD_KIND_MAD, "", "", 0), -ENOENT);
	assert_int_equal(hello_err(UMAD_KIND_MAD, "", "S", 0), 0);
	/* A switch has only port 0. */
	assert_int_equal(hello_err(UMAD_KIND_MAD, "", "S", 1), -ENOENT);
	assert_int_equal(hello_err(UMAD_KIND_ATTR, "a", "", 77), 0);
	assert_int_equal(hello_err(UMAD_KIND_ATTR, "", "T", 0), -ENOENT);
}

static void test_hello_of_another_version(void **state)
{
	struct umad_hello h = {
		.msg = { UMAD_HELLO, sizeof(h) },
		.version = UMAD_VERSION + 1,
		.kind = UMAD_KIND_ATTR,
		.host = "a",
	};
	struct umad_conn *c = umad_rig_conn(&rig);

	(void)state;
	assert_int_equal(umad_rig_msg(&rig, c, &h, sizeof(h), false), -EPROTO);
	assert_int_equal(umad_rig_result(&rig, UMAD_TO_CONN).err, -EPROTONOSUPPORT);
	umad_conn_close(c, rig.now);
}

static void test_nonsense_ends_the_connection(void **state)
{
	struct umad_hello h = {
		.msg = { UMAD_HELLO, sizeof(h) },
		.version = UMAD_VERSION,
		.kind = UMAD_KIND_MAD,
		.host = "a",
	};
	struct umad_register reg = umad_rig_reg(MAD_CLASS_SA, 2, 0);
	struct umad_conn *c = umad_rig_conn(&rig);

	(void)state;
	assert_int_equal(umad_rig_msg(&rig, c, &reg, sizeof(reg), true),
			 -EPROTO); /* a message before the hello */
	h.kind = 0;
	assert_int_equal(umad_rig_msg(&rig, c, &h, sizeof(h), false), -EPROTO);
	h.kind = UMAD_KIND_ATTR + 1;
	assert_int_equal(umad_rig_msg(&rig, c, &h, sizeof(h), false), -EPROTO);
	h.kind = UMAD_KIND_MAD;
	memset(h.host, 'a', sizeof(h.host)); /* a name without NUL */
	assert_int_equal(umad_rig_msg(&rig, c, &h, sizeof(h), false), -EPROTO);
	assert_int_equal(rig.ans.to, UMAD_TO_NOBODY);
	umad_conn_close(c, rig.now);
	c = umad_rig_open(&rig, "a", 0);
	h.host[1] = '\0';
	assert_int_equal(umad_rig_msg(&rig, c, &h, sizeof(h), false), -EPROTO); /* a second hello */
	/* a registration without its socket */
	assert_int_equal(umad_rig_msg(&rig, c, &reg, sizeof(reg), false), -EPROTO);
	umad_conn_close(c, rig.now);
}

/*
 * Every message is cut at every length, and sent on every kind of connection. The server must
 * either serve the message or end the connection.
 */
static void test_every_length_of_every_message(void **state)
{
	static uint8_t msg[sizeof(struct umad_attr) + 16];

	(void)state;
	for (uint32_t kind = 0; kind <= UMAD_KIND_ATTR; kind++)
		for (uint32_t type = 0; type <= UMAD_RESULT + 1; type++)
			for (uint32_t len = 0; len <= sizeof(msg); len++) {
				struct umad_msg h = { type, len };
				struct umad_conn *c = umad_rig_conn(&rig);
				uint8_t *exact = malloc(len ? len : 1);
				int err;

				if (kind)
					umad_rig_hello(&rig, c, kind, "a", "", 0);
				assert_non_null(exact);
				memset(msg, 0xff, sizeof(msg));
				memcpy(exact, msg, len);
				memcpy(exact, &h, len < sizeof(h) ? len : sizeof(h));
				err = umad_rig_msg(&rig, c, exact, len, true);
				assert_true(err == 0 || err == -EPROTO);
				free(exact);
				umad_conn_close(c, rig.now);
			}
}

static void test_ids_are_the_lowest_free_of_32(void **state)
{
	struct umad_register reg = umad_rig_reg(MAD_CLASS_SA, 2, 1);
	struct umad_unregister u = { .msg = { UMAD_UNREGISTER, sizeof(u) } };
	struct umad_conn *c = umad_rig_open(&rig, "a", 0), *d = umad_rig_open(&rig, "a", 0);

	(void)state;
	for (int i = 0; i < UMAD_AGENTS_MAX; i++)
		assert_int_equal(umad_rig_register(&rig, c, &reg), i);
	assert_int_equal(umad_rig_register(&rig, c, &reg), -ENOMEM);
	/* The limit on agents is per file, so another file can still register. */
	assert_int_equal(umad_rig_register(&rig, d, &reg), 0);
	u.id = 7;
	assert_int_equal(umad_rig_msg(&rig, c, &u, sizeof(u), true), 0);
	assert_int_equal(umad_rig_result(&rig, UMAD_TO_SOCKET).err, 0);
	assert_int_equal(umad_rig_msg(&rig, c, &u, sizeof(u), true), 0);
	assert_int_equal(umad_rig_result(&rig, UMAD_TO_SOCKET).err, -EINVAL);
	u.id = UMAD_AGENTS_MAX;
	assert_int_equal(umad_rig_msg(&rig, c, &u, sizeof(u), true), 0);
	assert_int_equal(umad_rig_result(&rig, UMAD_TO_SOCKET).err, -EINVAL);
	assert_int_equal(umad_rig_register(&rig, c, &reg), 7);
	umad_conn_close(c, rig.now);
	umad_conn_close(d, rig.now);
}

static void test_registrations_the_kernel_refuses(void **state)
{
	static const struct {
		struct umad_register r;
		int err;
	} cases[] = {
		{ { .qpn = 2, .mgmt_class = 3, .class_version = 2 }, -EINVAL },
		{ { .qpn = 0, .mgmt_class = 3, .class_version = 2 }, -EINVAL },
		{ { .qpn = 1, .mgmt_class = 1, .class_version = 1 }, -EINVAL },
		{ { .qpn = 1, .mgmt_class = 0x81, .class_version = 1 }, -EINVAL },
		{ { .qpn = 1, .mgmt_class = 3, .class_version = 2, .flags = 2 }, -EINVAL },
		{ { .qpn = 1, .mgmt_class = 3, .class_version = 2, .rmpp_version = 2 }, -EINVAL },
		{ { .qpn = 1, .mgmt_class = 3, .class_version = 0x83 }, -EINVAL },
		{ { .qpn = 1, .mgmt_class = 4, .class_version = 1, .rmpp_version = 1 }, -EINVAL },
		{ { .qpn = 1, .mgmt_class = 0x50, .class_version = 1 }, -EINVAL },
		/* a vendor class without OUI */
		{ { .qpn = 1, .mgmt_class = 0x30, .class_version = 1 }, -EINVAL },
		{ { .qpn = 1, .mgmt_class = 0x30, .class_version = 1, .oui = 1u << 24 }, -EINVAL },
		{ { .qpn = 1, .mgmt_class = 0, .flags = 1 }, -EINVAL },
		{ { .qpn = 1, .mgmt_class = 0x30, .class_version = 1, .oui = 0x1405 }, 0 },
		{ { .qpn = 1, .mgmt_class = 3, .class_version = 2, .rmpp_version = 1, .flags = 1 },
		  0 },
		{ { .qpn = 0, .mgmt_class = 0 }, 0 },
		{ { .qpn = 1, .mgmt_class = 0, .rmpp_version = 1, .methods = { ~0ull, ~0ull } },
		  0 },
		{ { .qpn = 1, .mgmt_class = 6, .class_version = 1, .rmpp_version = 1 }, 0 },
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct umad_register reg = cases[i].r;
		struct umad_conn *c = umad_rig_open(&rig, "a", 0);

		reg.msg = (struct umad_msg){ UMAD_REGISTER, sizeof(reg) };
		if (umad_rig_register(&rig, c, &reg) != cases[i].err)
			fail_msg("case %u", i);
		umad_conn_close(c, rig.now);
	}
}

static void test_methods_are_taken_once_a_port(void **state)
{
	struct umad_conn *c = umad_rig_open(&rig, "a", 0), *d = umad_rig_open(&rig, "a", 0);
	struct umad_conn *other = umad_rig_open(&rig, "a", 1);
	struct umad_register reg = umad_rig_reg(MAD_CLASS_SM_LID, 1, 0);

	(void)state;
	reg.methods[0] = 1 << MAD_METHOD_GET | 1 << MAD_METHOD_TRAP;
	assert_int_equal(umad_rig_register(&rig, c, &reg), 0);
	assert_int_equal(umad_rig_register(&rig, d, &reg), -EINVAL);
	assert_int_equal(umad_rig_register(&rig, other, &reg), 0);
	/* Class 0x81 can be registered separately from class 0x01, as OpenSM expects. */
	reg.mgmt_class = MAD_CLASS_SM_DR;
	assert_int_equal(umad_rig_register(&rig, c, &reg), 1);
	reg.methods[0] = 1 << MAD_METHOD_SET;
	assert_int_equal(umad_rig_register(&rig, d, &reg), 0);
	umad_conn_close(c, rig.now);
	reg.methods[0] = 1 << MAD_METHOD_GET;
	assert_int_equal(umad_rig_register(&rig, d, &reg), 1);
	umad_conn_close(d, rig.now);
	umad_conn_close(other, rig.now);
}

static void test_issm_is_one_a_port_and_lasts_while_open(void **state)
{
	const uint32_t *cap = &rig.a.n.port[1].pi.cap_mask;
	struct umad_conn *c = umad_rig_conn(&rig);

	(void)state;
	assert_false(*cap & SMP_CAP_IS_SM);
	assert_int_equal(umad_rig_hello(&rig, c, UMAD_KIND_ISSM, "a", "", 0), 0);
	assert_true(*cap & SMP_CAP_IS_SM);
	assert_int_equal(hello_err(UMAD_KIND_ISSM, "a", "", 0), -EAGAIN);
	assert_true(*cap & SMP_CAP_IS_SM);
	assert_int_equal(hello_err(UMAD_KIND_ISSM, "a", "", 1), 0);
	assert_false(rig.a.n.port[2].pi.cap_mask & SMP_CAP_IS_SM);
	umad_conn_close(c, rig.now);
	assert_false(*cap & SMP_CAP_IS_SM);
	/* The daemon itself has set IsSM of the port, so a program cannot open the issm device. */
	node_set_cap(&rig.a.n, 1, SMP_CAP_IS_SM, true, rig.now);
	assert_int_equal(hello_err(UMAD_KIND_ISSM, "a", "", 0), -EBUSY);
	assert_true(*cap & SMP_CAP_IS_SM);
	node_set_cap(&rig.a.n, 1, SMP_CAP_IS_SM, false, rig.now);
}

static void test_connections_are_limited(void **state)
{
	struct umad_conn *c[300], *more;
	unsigned int n = 0;

	(void)state;
	while (n < 300 && !umad_conn_open(rig.srv, NULL, &c[n]))
		n++;
	assert_int_equal(n, umad_limits_default.max_conns);
	assert_int_equal(umad_conn_open(rig.srv, NULL, &more), -ENOSPC);
	while (n)
		umad_conn_close(c[--n], rig.now);
	umad_conn_close(NULL, rig.now);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_hello_finds_ports_through_all_cas),
		T(test_hello_of_another_version),
		T(test_nonsense_ends_the_connection),
		T(test_every_length_of_every_message),
		T(test_ids_are_the_lowest_free_of_32),
		T(test_registrations_the_kernel_refuses),
		T(test_methods_are_taken_once_a_port),
		T(test_issm_is_one_a_port_and_lasts_while_open),
		T(test_connections_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

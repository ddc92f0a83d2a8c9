/* SPDX-License-Identifier: BSD-2-Clause */
#include "ifc/pkeys.h"

#include <errno.h>
#include <string.h>

#include "check.h"

/* A port whose P_Key table the test writes, and a log of what is told. */

#define TABLE 8

static uint16_t table[TABLE];
static uint16_t log_pkey[32];
static bool log_came[32];
static unsigned int nlog;

static int port_query(struct ca *ca, struct ca_port_attr *ret)
{
	*ret = (struct ca_port_attr){ .pkey_tbl_len = TABLE };
	return 0;
}

static int pkey_query(struct ca *ca, uint16_t index, uint16_t *ret)
{
	if (index >= TABLE)
		return -EINVAL;
	*ret = table[index];
	return 0;
}

static const struct ca_ops ca_ops = { .port_query = port_query, .pkey_query = pkey_query };

static void told(bool came, uint16_t pkey)
{
	assert_true(nlog < 32);
	log_came[nlog] = came;
	log_pkey[nlog++] = pkey;
}

static void on_came(void *ctx, uint16_t pkey, ns_t now)
{
	told(true, pkey);
}

static void on_gone(void *ctx, uint16_t pkey, ns_t now)
{
	told(false, pkey);
}

static const struct ifc_pkeys_ops ops = { .came = on_came, .gone = on_gone };
static struct ca ca = { .ops = &ca_ops };
static struct ifc_set set;
static struct ifc_port port;

static void start(struct ifc_pkeys *k, const uint16_t *only, unsigned int nonly)
{
	ifc_port_init(&port, &set, 1);
	port.ca = &ca;
	memset(table, 0, sizeof(table));
	nlog = 0;
	*k = (struct ifc_pkeys){ .ops = &ops, .only = only, .nonly = nonly };
	assert_int_equal(ifc_pkeys_start(k, &port), 0);
	assert_true(port.dirty && set.ports_dirty);
}

static void update(struct ifc_pkeys *k)
{
	nlog = 0;
	ifc_pkeys_update(k, &ca, 0);
}

static void test_H30_pkeys_that_come_and_go_are_told_once(void **state)
{
	struct ifc_pkeys k;

	(void)state;
	start(&k, NULL, 0);
	update(&k);
	assert_int_equal(nlog, 0);
	table[0] = 0xffff;
	table[3] = 0x0014;
	update(&k);
	assert_int_equal(nlog, 2);
	assert_true(log_came[0] && log_came[1]);
	assert_int_equal(log_pkey[0], 0x8014);
	assert_int_equal(log_pkey[1], 0xffff);
	/* Another place in the table, and another membership, are the same link. */
	table[3] = 0;
	table[5] = 0x8014;
	update(&k);
	assert_int_equal(nlog, 0);
	table[6] = 0x0014;
	update(&k);
	assert_int_equal(nlog, 0);
	/* What goes is told first. */
	table[5] = 0x8001;
	table[6] = 0;
	update(&k);
	assert_int_equal(nlog, 2);
	assert_false(log_came[0]);
	assert_int_equal(log_pkey[0], 0x8014);
	assert_true(log_came[1]);
	assert_int_equal(log_pkey[1], 0x8001);
	ifc_pkeys_stop(&k);
	assert_true(list_empty(&port.pkeys));
	ifc_pkeys_stop(&k);
}

static void test_H30_invalid_pkeys_are_none(void **state)
{
	struct ifc_pkeys k;

	(void)state;
	start(&k, NULL, 0);
	table[0] = 0x8000;
	table[1] = 0x0000;
	update(&k);
	assert_int_equal(nlog, 0);
	ifc_pkeys_stop(&k);
}

static void test_H30_a_full_table_is_told(void **state)
{
	struct ifc_pkeys k;

	(void)state;
	start(&k, NULL, 0);
	for (unsigned int i = 0; i < TABLE; i++)
		table[i] = (uint16_t)(0x8000 + TABLE - i);
	update(&k);
	assert_int_equal(nlog, TABLE);
	for (unsigned int i = 0; i < TABLE; i++)
		assert_int_equal(log_pkey[i], 0x8001 + i);
	memset(table, 0, sizeof(table));
	update(&k);
	assert_int_equal(nlog, TABLE);
	ifc_pkeys_stop(&k);
}

static void test_H31_pkeys_are_compared_with_a_list(void **state)
{
	static const uint16_t only[] = { 0x0014, 0x8015 };
	struct ifc_pkeys k;

	(void)state;
	start(&k, only, 2);
	table[0] = 0xffff;
	table[1] = 0x8014;
	table[2] = 0x0015;
	table[3] = 0x8016;
	update(&k);
	assert_int_equal(nlog, 2);
	assert_int_equal(log_pkey[0], 0x8014);
	assert_int_equal(log_pkey[1], 0x8015);
	ifc_pkeys_stop(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_H30_pkeys_that_come_and_go_are_told_once),
		cmocka_unit_test(test_H30_invalid_pkeys_are_none),
		cmocka_unit_test(test_H30_a_full_table_is_told),
		cmocka_unit_test(test_H31_pkeys_are_compared_with_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

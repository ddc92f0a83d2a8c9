/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "uib.h"
#include "unit/kmod_rig.h"

/*
 * Tests the state machines of kmod's link and port, and its traps, in user space
 * (tests/kernel/kernel.h).
 */

#define SILENCE_MS 4000
#define LID 5
#define SM_LID 1

static struct uib_dev *dev;

static int setup(void **state)
{
	dev = kmod_rig_new();
	return 0;
}

static int teardown(void **state)
{
	kmod_rig_free(dev);
	return 0;
}

static void smp(u8 method, __be16 attr, const void *data)
{
	struct ib_smp in = {
		.base_version = 1,
		.mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED,
		.class_version = 1,
		.method = method,
		.attr_id = attr,
	}, out;

	memcpy(in.data, data, IB_SMP_DATA_SIZE);
	assert_true(kmod_rig_mad(dev, &in, &out));
	assert_int_equal(out.status, 0);
}

/*
 * Send a Set(PortInfo) with the port state @state, the physical state @phys and the SM's LID
 * @sm_lid. All other fields have their present values, as when an SM writes these values back.
 */
static void set_port(u8 state, u8 phys, u16 sm_lid)
{
	u8 data[IB_SMP_DATA_SIZE] = { 0 };
	struct ib_port_info *i = (void *)data;

	i->gid_prefix = cpu_to_be64(UIB_DEFAULT_PREFIX);
	i->lid = cpu_to_be16(LID);
	i->sm_lid = cpu_to_be16(sm_lid);
	i->linkspeed_portstate = state;
	i->portphysstate_linkdown = phys << 4;
	/* SubnetTimeOut 18: a trap without a TrapRepress is repeated after 1.07 s */
	i->clientrereg_resv_subnetto = 18;
	smp(IB_MGMT_METHOD_SET, IB_SMP_ATTR_PORT_INFO, data);
}

static void poll_link(void)
{
	kmod_rig_advance(dev, SILENCE_MS);
	assert_string_equal(kmod_rig_link(dev), "polling");
}

static void bring_up(void)
{
	poll_link();
	kmod_rig_hears(dev);
	assert_string_equal(kmod_rig_link(dev), "up");
	assert_int_equal(dev->port.state, IB_PORT_INIT);
	assert_int_equal(dev->port.phys_state, UIB_PHYS_LINK_UP);
}

static void test_link_is_up_from_the_first_datagram_until_3_s_of_silence(void **state)
{
	kmod_rig_hears(dev);
	assert_string_equal(kmod_rig_link(dev), "silent");
	bring_up();
	kmod_rig_advance(dev, 2900);
	assert_string_equal(kmod_rig_link(dev), "up");
	kmod_rig_advance(dev, 200);
	assert_string_equal(kmod_rig_link(dev), "silent");
	assert_int_equal(dev->port.state, IB_PORT_DOWN);
	assert_int_equal(dev->port.phys_state, UIB_PHYS_POLLING);
	assert_int_equal(dev->counters[UIB_C_LINK_DOWNED], 1);
}

/*
 * After Set(Disabled) the link stays in use for 100 ms, so that the answer can be sent. The first
 * datagram of the peer arrives in this time, and must not bring the link up.
 */
static void test_set_disabled_while_polling_is_kept_when_the_peer_speaks(void **state)
{
	poll_link();
	set_port(IB_PORT_DOWN, UIB_PHYS_DISABLED, SM_LID);
	kmod_rig_hears(dev);
	assert_int_equal(dev->port.phys_state, UIB_PHYS_DISABLED);
	assert_int_equal(dev->port.state, IB_PORT_DOWN);
	kmod_rig_advance(dev, 200);
	assert_string_equal(kmod_rig_link(dev), "off");
	kmod_rig_hears(dev);
	kmod_rig_advance(dev, 2 * SILENCE_MS);
	kmod_rig_hears(dev);
	assert_string_equal(kmod_rig_link(dev), "off");
	assert_int_equal(dev->port.phys_state, UIB_PHYS_DISABLED);
	assert_int_equal(dev->counters[UIB_C_LINK_UPS], 0);
	assert_int_equal(dev->counters[UIB_C_LINK_DOWNED], 0);
}

static void test_set_disabled_while_up_is_kept_until_set_polling(void **state)
{
	bring_up();
	set_port(IB_PORT_DOWN, UIB_PHYS_DISABLED, SM_LID);
	kmod_rig_hears(dev);
	kmod_rig_advance(dev, 200);
	assert_string_equal(kmod_rig_link(dev), "off");
	set_port(IB_PORT_DOWN, UIB_PHYS_POLLING, SM_LID);
	poll_link();
	kmod_rig_hears(dev);
	assert_int_equal(dev->port.state, IB_PORT_INIT);
}

/*
 * A datagram of the peer arrives after ib_modify_port() has set the physical state to Disabled, but
 * before this function has stopped the link. The datagram must not bring the link up.
 */
static void test_shutdown_is_kept_when_the_peer_speaks_meanwhile(void **state)
{
	poll_link();
	dev->port.phys_state = UIB_PHYS_DISABLED;
	kmod_rig_hears(dev);
	uib_link_enable(&dev->link, false);
	assert_string_equal(kmod_rig_link(dev), "off");
	assert_int_equal(dev->port.phys_state, UIB_PHYS_DISABLED);
}

/*
 * --- the log. The fake kernel prints the peer's address as a pointer. So only the part of the line
 * before the address is compared.
 */

#define assert_logged(text) assert_memory_equal(kmod_rig_log(), text, strlen(text))

static void test_the_log_says_why_the_link_went_down(void **state)
{
	poll_link();
	assert_string_equal(kmod_rig_log(), "");
	kmod_rig_hears(dev);
	assert_logged("link up, peer ");
	kmod_rig_advance(dev, 3100);
	assert_string_equal(kmod_rig_log(), "link down: nothing came from the peer for 3 s\n");
	bring_up();
	set_port(IB_PORT_DOWN, UIB_PHYS_POLLING, SM_LID);
	kmod_rig_advance(dev, 200);
	assert_string_equal(kmod_rig_log(), "link down: this port trains again\n");
	bring_up();
	set_port(IB_PORT_DOWN, UIB_PHYS_DISABLED, SM_LID);
	kmod_rig_advance(dev, 200);
	assert_string_equal(kmod_rig_log(), "link down: this port was disabled\n");
}

/* --- traps */

static void repress(const struct ib_smp *trap)
{
	struct ib_smp m = *trap, out;

	m.method = IB_MGMT_METHOD_TRAP_REPRESS;
	assert_false(kmod_rig_mad(dev, &m, &out));
}

static unsigned int traps_sent(void)
{
	unsigned int n;

	kmod_rig_sent(&n);
	return n;
}

static void test_a_notice_that_waits_is_sent_after_the_repress(void **state)
{
	unsigned int n;

	bring_up();
	set_port(0, 0, SM_LID);
	uib_trap_cap_change(dev, false);
	kmod_rig_advance(dev, 0);
	uib_trap_cap_change(dev, true);
	assert_int_equal(traps_sent(), 1);
	repress(kmod_rig_sent(&n));
	kmod_rig_advance(dev, 1100);
	assert_int_equal(traps_sent(), 2);
}

/*
 * One notice was sent, and a second one waits for the TrapRepress of the first. The port loses its
 * SM. Both notices must be dropped, so that the next SM gets only notices of later events.
 */
static void test_a_notice_that_waits_is_forgotten_with_its_sm(void **state)
{
	unsigned int before, n;

	bring_up();
	set_port(0, 0, SM_LID);
	uib_trap_cap_change(dev, false);
	kmod_rig_advance(dev, 0);
	uib_trap_cap_change(dev, true);
	set_port(0, 0, 0);
	kmod_rig_advance(dev, 1500);
	before = traps_sent();
	set_port(0, 0, SM_LID);
	uib_trap_cap_change(dev, false);
	kmod_rig_advance(dev, 100);
	assert_int_equal(traps_sent(), before + 1);
	repress(kmod_rig_sent(&n));
	kmod_rig_advance(dev, 2500);
	assert_int_equal(traps_sent(), before + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		CASE(test_link_is_up_from_the_first_datagram_until_3_s_of_silence),
		CASE(test_set_disabled_while_polling_is_kept_when_the_peer_speaks),
		CASE(test_set_disabled_while_up_is_kept_until_set_polling),
		CASE(test_shutdown_is_kept_when_the_peer_speaks_meanwhile),
		CASE(test_the_log_says_why_the_link_went_down),
		CASE(test_a_notice_that_waits_is_sent_after_the_repress),
		CASE(test_a_notice_that_waits_is_forgotten_with_its_sm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

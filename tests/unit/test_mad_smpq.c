/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the pipeline of SMPs (smpq): how many SMPs are open at a time, and when the pipeline asks
 * the sources of SMPs for more.
 */
#include "check.h"

#include <string.h>

#include "mad/smpq.h"

#define OPEN 3
#define SENT_MAX 32

static struct timers timers;
static struct mad_ep *ep;
static struct smpq q;
static uint8_t sent[SENT_MAX][MAD_LEN];
static unsigned int nsent, nanswered, ndone, nidle;

static int on_send(void *ctx, const struct mad_addr *to, const void *mad, ns_t now)
{
	assert_true(nsent < SENT_MAX);
	memcpy(sent[nsent++], mad, MAD_LEN);
	return 0;
}

static const struct mad_ep_ops ops = { .send = on_send };

static void on_done(void *ctx, const struct smp_cmd *cmd, int status, const uint8_t *data, ns_t now)
{
	assert_int_equal(status, 0);
	ndone++;
}

static void on_idle(void *ctx, ns_t now)
{
	nidle++;
}

static int setup(void **state)
{
	struct mad_agent_cfg ac = { .qp = 0, .mgmt_class = MAD_CLASS_SM_LID, .class_version = 1 };
	struct smpq_cfg c = {
		.timers = &timers, .max_open = OPEN, .timeout_ms = 100, .idle = on_idle
	};

	timers_init(&timers);
	nsent = nanswered = ndone = nidle = 0;
	ep = mad_ep_create(&ops, NULL, &timers, NULL);
	assert_non_null(ep);
	assert_int_equal(mad_agent_add(ep, &ac, &c.agent), 0);
	smpq_init(&q, &c);
	return 0;
}

static int teardown(void **state)
{
	smpq_cancel(&q);
	mad_ep_destroy(ep);
	timers_fini(&timers);
	return 0;
}

/* Deliver the answer to the oldest SMP that has no answer yet. */
static void answer(void)
{
	struct mad_addr from = mad_addr_smp_dr();
	uint8_t mad[MAD_LEN];

	assert_true(nanswered < nsent);
	memcpy(mad, sent[nanswered++], MAD_LEN);
	mad[MAD_OFF_METHOD] = MAD_METHOD_GET_RESP;
	mad[MAD_OFF_STATUS] = 0x80; /* the D bit */
	assert_int_equal(mad_ep_recv(ep, &from, mad, 1), 0);
}

static void add(uint32_t mod)
{
	struct smp_cmd c = {
		.method = MAD_METHOD_GET, .attr = SMP_ATTR_PORT_INFO, .mod = mod, .done = on_done
	};

	assert_true(smpq_add(&q, &c, 1));
}

struct numbers {
	struct smpq_source source;
	uint32_t next, end;
	unsigned int each; /* number of SMPs that one call of .source.more adds */
};

static bool numbers_more(struct smpq_source *s, ns_t now)
{
	struct numbers *n = container_of(s, struct numbers, source);

	for (unsigned int i = 0; i < n->each && n->next < n->end; i++)
		add(n->next++);
	return n->next < n->end;
}

static void add_numbers(struct numbers *n, uint32_t first, uint32_t count, unsigned int each)
{
	*n = (struct numbers){
		.source.more = numbers_more, .next = first, .end = first + count, .each = each
	};
	smpq_add_source(&q, &n->source, 1);
}

static void test_a_source_is_asked_when_its_SMPs_can_be_sent(void **state)
{
	struct numbers n;

	add_numbers(&n, 0, 10, 1);
	assert_int_equal(nsent, OPEN);
	assert_int_equal(n.next, OPEN);
	for (unsigned int i = 0; i < 10; i++) {
		assert_false(smpq_idle(&q));
		assert_int_equal(nidle, 0);
		answer();
		assert_int_equal(n.next, i + 1 + OPEN < 10 ? i + 1 + OPEN : 10);
		assert_int_equal(nsent, n.next);
	}
	assert_int_equal(ndone, 10);
	assert_int_equal(nidle, 1);
	assert_true(smpq_idle(&q));
}

static void test_sources_follow_each_other_and_those_that_wait(void **state)
{
	struct numbers a, none, b;

	for (uint32_t i = 0; i < 5; i++)
		add(i);
	add_numbers(&a, 5, 4, 2);
	add_numbers(&none, 0, 0, 1);
	add_numbers(&b, 9, 3, 5);
	add(100);
	while (!smpq_idle(&q))
		answer();
	assert_int_equal(ndone, 13);
	assert_int_equal(nidle, 1);
	/*
	 * SMPs 0 to 4 and SMP 100 were added by add(). These six SMPs must be sent before the SMPs
	 * that the sources add.
	 */
	for (uint32_t i = 0; i < 13; i++)
		assert_int_equal(be32_at(sent[i] + 20), i < 5 ? i : i == 5 ? 100 : i - 1);
}

static void test_a_source_without_SMPs_ends_at_once(void **state)
{
	struct numbers n;

	add_numbers(&n, 0, 0, 1);
	assert_true(smpq_idle(&q));
	assert_int_equal(nsent, 0);
}

static void test_a_cancelled_source_is_not_asked_again(void **state)
{
	struct numbers n;

	add_numbers(&n, 0, 10, 1);
	smpq_cancel(&q);
	assert_true(smpq_idle(&q));
	add(50);
	nanswered = OPEN;
	answer();
	assert_int_equal(n.next, OPEN);
	assert_int_equal(nsent, OPEN + 1);
	assert_int_equal(ndone, 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_a_source_is_asked_when_its_SMPs_can_be_sent),
		CASE(test_sources_follow_each_other_and_those_that_wait),
		CASE(test_a_source_without_SMPs_ends_at_once),
		CASE(test_a_cancelled_source_is_not_asked_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

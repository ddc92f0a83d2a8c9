/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fabric answers a survey (src/survey) with any octets. Each answer has the next piece of the
 * input as its data. Many answers have the TID, the class and the attribute of their request, so
 * that the survey accepts them. Other answers have a damaged header, and some requests get no
 * answer. The survey must end, and its result must not be larger than cfg.octets_max. Then the
 * checks of the result must end, too.
 */
#include <assert.h>
#include <string.h>

#include "check/check.h"
#include "input.h"
#include "survey/survey.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OPEN_MAX 4
#define REQUESTS_MAX 20000

static void answer(struct input *in, struct survey *s, struct survey_mad *m, ns_t now)
{
	uint8_t how = 1;

	take(in, &how, 1);
	m->mad[3] = MAD_METHOD_GET_RESP;
	memset(m->mad + SMP_DATA_OFF, 0, MAD_LEN - SMP_DATA_OFF);
	if (how & 1) {
		survey_lost(s, m->mad, MAD_HDR_LEN, now);
		return;
	}
	if (how & 2) /* damage the header of the MAD, which may then answer another request */
		take(in, m->mad, MAD_HDR_LEN);
	take(in, m->mad + SMP_DATA_OFF, SMP_DATA_LEN);
	survey_recv(s, m->mad, how & 4 ? MAD_LEN - 1 : MAD_LEN, now);
}

static struct sm_partitions *partitions(void)
{
	static const char text[] =
		"Default=0x7fff, ipoib: ALL=limited, ALL_SWITCHES=full, SELF=full;\n"
		"a=0x8001: ALL_CAS=full;\nb=0x2: 0x12345678=full, ALL=both;\n";
	struct sm_partitions *ps = NULL;
	char err[200] = "";

	assert(sm_partitions_parse(&ps, "fuzz", text, sizeof(text) - 1, err, sizeof(err)) == 0);
	return ps;
}

static void judge(struct chk_fabric *f)
{
	static struct sm_partitions *ps;
	struct chk_opts o = { 0 };
	struct chk_report r;

	if (!ps)
		ps = partitions();
	o.partitions = ps;

	assert(f->octets <= f->octets_max);
	assert(chk_run(f, &o, &r) == 0);
	assert(r.n <= CHK_FINDINGS_MAX && r.faults + r.notes == r.n + r.left_out);
	chk_report_fini(&r);
	chk_fabric_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct survey_cfg cfg = survey_cfg_default();
	struct survey_mad open[OPEN_MAX];
	unsigned int n = 0, sent = 0;
	struct survey *s;
	ns_t now = 0;

	cfg.window = OPEN_MAX;
	cfg.octets_max = 1 << 20;
	s = survey_create(&cfg);
	assert(s);
	while (!survey_done(s) && sent < REQUESTS_MAX) {
		while (n < OPEN_MAX && survey_next(s, &open[n], now)) {
			n++;
			sent++;
		}
		if (n)
			answer(&in, s, &open[--n], now);
		else if (!survey_done(s) && survey_deadline(s) > now)
			now = survey_deadline(s);
		assert(now != NS_NEVER);
	}
	judge(survey_take(s));
	survey_free(s);
	return 0;
}

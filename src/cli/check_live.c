/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/check_live.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check/check.h"
#include "cli/cli.h"
#include "os/umad_dev.h"
#include "survey/sa.h"

/* The transport of a survey: the umad device of a port. */

struct live {
	struct umad_dev dev;
	struct survey *s;
	int agent[2]; /* by QPN: subnet management, performance management */
};

static ns_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return NS_SEC(t.tv_sec) + (ns_t)t.tv_nsec;
}

static int send_all(struct live *l)
{
	struct survey_mad m;

	while (survey_next(l->s, &m, now_ns())) {
		int err = umad_dev_send(&l->dev, l->agent[m.qpn], m.qpn, m.dlid, m.mad,
					sizeof(m.mad));

		/* The device refuses this request, as an HCA refuses a LID before the port has one of its own. */
		if (err == -EINVAL)
			survey_lost(l->s, m.mad, sizeof(m.mad), now_ns());
		else if (err)
			return err;
	}
	return 0;
}

static int receive_all(struct live *l)
{
	uint8_t buf[UMAD_DEV_HDR + MAD_LEN];
	const uint8_t *mad;
	bool lost;
	long n;

	while ((n = umad_dev_recv(&l->dev, buf, sizeof(buf), &mad, &lost)) >= 0) {
		if (lost)
			survey_lost(l->s, mad, (size_t)n, now_ns());
		else
			survey_recv(l->s, mad, (size_t)n, now_ns());
	}
	return n == -EAGAIN || n == -EINTR ? 0 : (int)n;
}

static int wait_for(struct live *l)
{
	struct pollfd p = { .fd = l->dev.fd, .events = POLLIN };
	ns_t at = survey_deadline(l->s), now = now_ns(), left = at > now ? at - now : 0;
	struct timespec t = { .tv_sec = (time_t)(left / NS_SEC(1)),
			      .tv_nsec = (long)(left % NS_SEC(1)) };

	return ppoll(&p, 1, at == NS_NEVER ? NULL : &t, NULL) < 0 && errno != EINTR ? -errno : 0;
}

static int read_fabric(struct live *l)
{
	int err = 0;

	while (!err && !survey_done(l->s)) {
		err = send_all(l);
		if (!err && !survey_done(l->s))
			err = wait_for(l);
		if (!err)
			err = receive_all(l);
	}
	return err;
}

/* --- the SA: members of groups, and SLs of paths */

#define SA_PATIENCE_MS 4000 /* the SA may collect many records; repeated once */
#define SA_ANSWER_MAX ((size_t)32 << 20)

/* Wait for the answer to the one request that is open. Return: octets of the MAD, -errno */
static long sa_answer(struct live *l, uint8_t *buf, const uint8_t **ret_mad)
{
	struct pollfd p = { .fd = l->dev.fd, .events = POLLIN };
	ns_t end = now_ns() + NS_MSEC(2 * SA_PATIENCE_MS) + NS_SEC(2);

	while (now_ns() < end) {
		bool lost;
		long n = umad_dev_recv(&l->dev, buf, SA_ANSWER_MAX, ret_mad, &lost);

		if (n >= 0 && lost && (size_t)n >= MAD_HDR_LEN &&
		    mad_class(*ret_mad) == MAD_CLASS_SA)
			return -ETIMEDOUT;
		if (n >= MAD_HDR_LEN && mad_class(*ret_mad) == MAD_CLASS_SA)
			return n;
		if (n < 0 && n != -EAGAIN && n != -EINTR)
			return n;
		if (n == -EAGAIN)
			poll(&p, 1, 1000);
	}
	return -ETIMEDOUT;
}

struct sa {
	struct live *l;
	struct chk_fabric *f;
	int agent;
	uint8_t *buf; /* of SA_ANSWER_MAX octets */
};

/* Ask the SA. Return: octets of the answer, -errno */
static long sa_ask(struct sa *a, const uint8_t mad[MAD_LEN], const uint8_t **ret)
{
	int err = umad_dev_send(&a->l->dev, a->agent, 1, survey_sa_lid(a->f), mad, MAD_LEN);

	return err ? err : sa_answer(a->l, a->buf, ret);
}

static void read_members(struct sa *a, uint64_t sm_key)
{
	const uint8_t *answer = NULL;
	uint8_t mad[MAD_LEN];
	long n;

	survey_ask_members(mad, sm_key, 1);
	n = sa_ask(a, mad, &answer);
	if (n > 0 && answer)
		survey_take_members(a->f, answer, (size_t)n);
}

/* The SLs of the paths that a credit loop depends on */
static void read_paths(struct sa *a)
{
	struct chk_wait w[CHK_WAITS_MAX];
	uint32_t n = chk_credit_waits(a->f, w);
	long len = 1;

	for (uint32_t i = 0; len > 0 && i < n; i++) {
		const uint8_t *answer = NULL;
		uint8_t mad[MAD_LEN];

		survey_ask_path(mad, w[i].slid, w[i].dlid, 2 + i);
		len = sa_ask(a, mad, &answer);
		if (len > 0 && answer)
			survey_take_path(a->f, answer, (size_t)len);
	}
}

/* What the SA does not say is not known, and no check concludes anything from it. */
static void ask_sa(struct live *l, struct chk_fabric *f, uint64_t sm_key)
{
	struct sa a = { .l = l, .f = f };

	a.agent = umad_dev_register(&l->dev, 1, MAD_CLASS_SA, 2, true);
	a.buf = malloc(SA_ANSWER_MAX);
	l->dev.timeout_ms = SA_PATIENCE_MS;
	l->dev.retries = 1;
	if (a.agent >= 0 && a.buf && survey_sa_lid(f)) {
		read_members(&a, sm_key);
		read_paths(&a);
	}
	free(a.buf);
}

/* The device is open; register both classes. */
static int start(struct live *l)
{
	l->agent[0] = umad_dev_register(&l->dev, 0, MAD_CLASS_SM_DR, 1, false);
	l->agent[1] = umad_dev_register(&l->dev, 1, MAD_CLASS_PERF, 1, false);
	if (l->agent[0] < 0)
		return l->agent[0];
	return l->agent[1] < 0 ? l->agent[1] : 0;
}

static int open_port(struct live *l, const char *port)
{
	int err = umad_dev_open(&l->dev, port);

	if (err == -ENOENT)
		return cli_error(PROTO_EXIT_ENV, "%s: no such port in /sys/class/infiniband_mad",
				 port);
	if (err)
		return cli_error(PROTO_EXIT_ENV, "%s: its umad device: %s", port, strerror(-err));
	err = start(l);
	if (err) {
		umad_dev_close(&l->dev);
		return cli_error(PROTO_EXIT_ENV, "%s: registering with umad: %s", port,
				 strerror(-err));
	}
	return 0;
}

/* The own node is the first that was read. Without a link nothing but this node can be read. */
static bool has_link(const struct chk_fabric *f)
{
	const struct chk_node *n = f->n ? f->node[0] : NULL;

	for (unsigned int p = 1; n && p <= n->nports; p++)
		if (n->port[p].known && n->port[p].pi.port_state >= IB_PORT_INIT)
			return true;
	return false;
}

int check_live(struct chk_fabric **ret, struct survey_stats *ret_stats, const char *port,
	       const struct survey_cfg *cfg, unsigned int timeout_ms, uint64_t sm_key)
{
	struct live l = { .dev.fd = -1 };
	int status = open_port(&l, port), err;

	if (status)
		return status;
	l.dev.timeout_ms = timeout_ms;
	l.s = survey_create(cfg);
	err = l.s ? read_fabric(&l) : -ENOMEM;
	if (!err) {
		*ret_stats = *survey_stats(l.s);
		*ret = survey_take(l.s);
		ask_sa(&l, *ret, sm_key);
	}
	umad_dev_close(&l.dev);
	survey_free(l.s);
	if (err)
		return cli_error(PROTO_EXIT_ENV, "%s: %s", port, strerror(-err));
	if ((*ret)->n > 1 || has_link(*ret))
		return 0;
	if ((*ret)->n)
		status = cli_error(PROTO_EXIT_ENV, "%s: the port has no link", port);
	chk_fabric_free(*ret);
	if (status)
		return status;
	return cli_error(PROTO_EXIT_TIMEOUT,
			 "%s: the port itself does not answer subnet management", port);
}

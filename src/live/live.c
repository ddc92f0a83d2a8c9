/* SPDX-License-Identifier: BSD-2-Clause */
#include "live/live.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "live/priv.h"
#include "os/clock.h"
#include "util/list.h"

static const struct {
	uint8_t mgmt_class, version, qpn;
	bool rmpp;
} classes[] = {
	{ MAD_CLASS_SM_DR, 1, 0, false },
	{ MAD_CLASS_SM_LID, 1, 0, false },
	{ MAD_CLASS_PERF, 1, 1, false },
	{ MAD_CLASS_SA, 2, 1, true },
};

/* --- the device */

static int start(struct live *l)
{
	static_assert(ARRAY_SIZE(classes) == ARRAY_SIZE(l->agent), "an id for each class");
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		l->agent[i] = umad_dev_register(&l->dev, classes[i].qpn, classes[i].mgmt_class,
						classes[i].version, classes[i].rmpp);
		if (l->agent[i] < 0)
			return l->agent[i];
	}
	l->buf = malloc(UMAD_DEV_HDR + LIVE_ANSWER_MAX);
	return l->buf ? 0 : -ENOMEM;
}

int live_open(struct live *l, const char *port, char err[LIVE_ERR_MAX])
{
	int status = umad_dev_open(&l->dev, port);

	l->buf = NULL;
	if (status == -ENOENT) {
		snprintf(err, LIVE_ERR_MAX, "no such port in /sys/class/infiniband_mad");
	} else if (status) {
		snprintf(err, LIVE_ERR_MAX, "its umad device: %s", strerror(-status));
	} else {
		status = start(l);
		if (!status)
			return 0;
		live_close(l);
		snprintf(err, LIVE_ERR_MAX,
			 "registering with umad: %s; is it a port of InfiniBand?",
			 strerror(-status));
	}
	return status;
}

void live_close(struct live *l)
{
	umad_dev_close(&l->dev);
	free(l->buf);
	l->buf = NULL;
}

static int send(struct live *l, uint8_t qpn, uint16_t dlid, const uint8_t mad[MAD_LEN])
{
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (classes[i].mgmt_class == mad_class(mad))
			return umad_dev_send(&l->dev, l->agent[i], qpn, dlid, mad, MAD_LEN);
	return -EINVAL;
}

static long receive(struct live *l, const uint8_t **ret_mad, bool *ret_lost)
{
	return umad_dev_recv(&l->dev, l->buf, UMAD_DEV_HDR + LIVE_ANSWER_MAX, ret_mad, ret_lost);
}

/* --- many questions */

static int send_all(struct live *l, const struct live_asker *who)
{
	struct survey_mad m;

	while (who->next(who->ctx, &m, clock_now())) {
		int err = send(l, m.qpn, m.dlid, m.mad);

		/*
		 * -EINVAL means that the device refuses this request. For example, an HCA refuses a
		 * request by LID while its port has no LID. The request counts as lost.
		 */
		if (err == -EINVAL)
			who->lost(who->ctx, m.mad, sizeof(m.mad), clock_now());
		else if (err)
			return err;
	}
	return 0;
}

static int receive_all(struct live *l, const struct live_asker *who)
{
	const uint8_t *mad;
	bool lost;
	long n;

	while ((n = receive(l, &mad, &lost)) >= 0)
		(lost ? who->lost : who->recv)(who->ctx, mad, (size_t)n, clock_now());
	return n == -EAGAIN || n == -EINTR ? 0 : (int)n;
}

static int wait_for(struct live *l, ns_t at)
{
	struct pollfd p = { .fd = l->dev.fd, .events = POLLIN };
	ns_t now = clock_now(), left = at > now ? at - now : 0;
	struct timespec t = { .tv_sec = (time_t)(left / NS_SEC(1)),
			      .tv_nsec = (long)(left % NS_SEC(1)) };

	return ppoll(&p, 1, at == NS_NEVER ? NULL : &t, NULL) < 0 && errno != EINTR ? -errno : 0;
}

int live_run(struct live *l, const struct live_asker *who)
{
	int err = 0;

	while (!err && !who->done(who->ctx)) {
		err = send_all(l, who);
		if (!err && !who->done(who->ctx))
			err = wait_for(l, who->deadline(who->ctx));
		if (!err)
			err = receive_all(l, who);
	}
	return err;
}

/* --- one question to the SA */

long live_ask_sa(struct live *l, uint16_t dlid, const uint8_t mad[MAD_LEN], const uint8_t **ret)
{
	struct pollfd p = { .fd = l->dev.fd, .events = POLLIN };
	ns_t end = clock_now() + NS_MSEC(l->dev.timeout_ms) * (l->dev.retries + 1) + NS_SEC(2);
	int err = send(l, 1, dlid, mad);

	if (err)
		return err;
	while (clock_now() < end) {
		bool lost;
		long n = receive(l, ret, &lost);

		if (n >= MAD_HDR_LEN && mad_class(*ret) == MAD_CLASS_SA)
			return lost ? -ETIMEDOUT : n;
		if (n < 0 && n != -EAGAIN && n != -EINTR)
			return n;
		if (n == -EAGAIN)
			poll(&p, 1, 1000);
	}
	return -ETIMEDOUT;
}

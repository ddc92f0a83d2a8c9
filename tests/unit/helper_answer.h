/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HELPER_ANSWER_H
#define TESTS_HELPER_ANSWER_H

/*
 * Waits for the answer to a job of the helper process. The test posts the job with the callback
 * helper_answered(), whose ctx is a zeroed struct helper_answer.
 */

#include <poll.h>

#include "check.h"
#include "helper/helper.h"
#include "netdev_env.h"

struct helper_answer {
	unsigned int n; /* number of answers so far */
	int err, value, fd;
	struct netdev_ns_files files;
	char text[NETDEV_ERR_MAX];
};

static inline void helper_answered(void *ctx, const struct netdev_answer *a)
{
	struct helper_answer *d = ctx;

	d->n++;
	d->err = a->err;
	d->value = a->value;
	d->fd = a->fd;
	d->files = a->files;
	snprintf(d->text, sizeof(d->text), "%s", a->text);
}

/* Wait until @n answers have come */
static inline void helper_await_answers(struct netdev_helper *h, const struct helper_answer *d,
					unsigned int n)
{
	while (d->n < n) {
		env_wait(netdev_helper_fd(h), POLLIN);
		assert_int_equal(netdev_helper_dispatch(h), 0);
	}
}

/* Wait for the answer @d. Returns the error of the answer, or the value if there is no error. */
static inline int helper_await(struct netdev_helper *h, struct helper_answer *d)
{
	helper_await_answers(h, d, 1);
	return d->err ? d->err : d->value;
}

#endif

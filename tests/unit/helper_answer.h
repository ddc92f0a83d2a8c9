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
	unsigned int n;
	int err, value;
};

static inline void helper_answered(void *ctx, const struct netdev_answer *a)
{
	struct helper_answer *d = ctx;

	d->n++;
	d->err = a->err;
	d->value = a->value;
}

/* Wait for the answer @d. Returns the error of the answer, or the value if there is no error. */
static inline int helper_await(struct netdev_helper *h, struct helper_answer *d)
{
	while (!d->n) {
		env_wait(netdev_helper_fd(h), POLLIN);
		assert_int_equal(netdev_helper_dispatch(h), 0);
	}
	return d->err ? d->err : d->value;
}

#endif

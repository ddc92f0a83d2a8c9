/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/reload.h"

#include <fcntl.h>
#include <unistd.h>

bool run_has_terminal(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void say(void *ctx, const char *outcome)
{
	const struct run_job *job = ctx;

	if (job->ready)
		ready_reloads(job->ready, outcome);
}

bool run_reload_begin(struct reload *r, const struct run_job *job)
{
	if (!job->file)
		return false;
	*r = (struct reload){
		.name = job->name,
		.file = job->file,
		.over = job->over,
		.conf = job->conf,
		.said = say,
		.ctx = (void *)job,
	};
	reload_open(r);
	return true;
}

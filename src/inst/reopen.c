/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/reopen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "helper/helper.h"
#include "inst/port.h"
#include "verbs/verbs.h"

/* Log why the device cannot be opened. A reason that stays the same is logged once. */
static void log_why(struct inst_port *p, const char *why)
{
	if (!strcmp(p->reopen.why, why))
		return;
	snprintf(p->reopen.why, sizeof(p->reopen.why), "%s", why);
	log_to(&p->log, LOG_LVL_WARN, "port %s does not come back: %s", p->name, why);
}

static int open_again(struct inst_port *p)
{
	char why[VERBS_ERR_MAX];
	int status = verbs_reopen(p->ifc.ca, p->inst->loop.now, why);

	if (status) {
		log_why(p, why);
		return status;
	}
	p->reopen.why[0] = '\0';
	log_to(&p->log, LOG_LVL_INFO, "port %s: the device is back", p->name);
	return 0;
}

static void on_files(void *ctx, const struct netdev_answer *a)
{
	struct inst_port *p = ctx;
	int err = a->err;

	p->reopen.asked = false;
	if (!err)
		err = open_again(p);
	else if (err == -EPERM)
		log_why(p, "uipoib may not make device files; it has to be started again");
	else if (err != -ENODEV)
		log_why(p, a->text);
	if (err && err != -EPERM)
		reopen_start(p, p->inst->loop.now);
}

static void look(struct timer *t, ns_t now)
{
	struct inst_port *p = container_of(t, struct inst_port, reopen.timer);

	p->reopen.asked = !netdev_post_rdma_nodes(p->inst->helper, p->name, on_files, p);
	if (!p->reopen.asked)
		reopen_start(p, now);
}

void reopen_init(struct inst_port *p)
{
	timer_init(&p->reopen.timer, look);
}

void reopen_allow(struct inst_port *p)
{
	struct inst *in = p->inst;
	int folder, err = netdev_rdma_add(in->helper, p->name, &folder);

	if (err) {
		log_to(&p->log, LOG_LVL_INFO,
		       "port %s: if its device is removed, uipoib cannot open it again: %s",
		       p->name, netdev_helper_error(in->helper));
		return;
	}
	if (in->rdma_folder >= 0)
		close(folder);
	else
		in->rdma_folder = folder;
}

void reopen_start(struct inst_port *p, ns_t now)
{
	if (!p->reopen.asked)
		timer_arm(&p->inst->loop.timers, &p->reopen.timer, now + REOPEN_INTERVAL);
}

void reopen_fini(struct inst_port *p)
{
	timer_cancel(&p->inst->loop.timers, &p->reopen.timer);
	if (p->inst->helper)
		netdev_cancel(p->inst->helper, p);
}

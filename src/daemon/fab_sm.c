/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/fab_sm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/file.h"
#include "sm/partition.h"
#include "sm/sa.h"

static bool is_master(const struct inst_sm *m)
{
	struct sm_status st;

	sm_status(m->sm, &st);
	return st.self.state == SMP_SM_MASTER;
}

struct inst_sm *fab_sm(const struct inst_fabric *f)
{
	struct inst_sm *m;

	list_for_each (m, &f->sms, link)
		if (is_master(m))
			return m;
	return list_empty(&f->sms) ? NULL : list_first(&f->sms, struct inst_sm, link);
}

struct inst_sm *fab_sm_at(const struct inst_fabric *f, const struct fabric_port *at)
{
	struct inst_sm *m;

	list_for_each (m, &f->sms, link)
		if (m->at == at)
			return m;
	return NULL;
}

static void sm_stage(void *ctx, const struct sm_sweep *sw, ns_t now)
{
	struct inst_sm *m = ctx;
	struct inst_fabric *f = m->fab;

	if (sw->stage != SM_STAGE_UP)
		return;
	if (!f->up_at)
		f->up_at = now;
	log_to(&f->inst->cfg.log, LOG_LVL_INFO,
	       "fabric %s: SUBNET UP, sweep %llu: %u switches, %u end ports, %u links in %.1f ms",
	       f->name, (unsigned long long)sw->number, sw->switches, sw->end_ports, sw->links,
	       (double)(now - sw->started) / 1e6);
}

static const struct sm_events sm_events = { .stage = sm_stage };

/* --- partitions */

static int read_partitions(struct sm_partitions **ret, const char *file, char err[INST_ERR_MAX])
{
	char *text;
	size_t len;
	int status = file_read(file, &text, &len);

	if (status) {
		snprintf(err, INST_ERR_MAX, "partitions %s: %s", file, strerror(-status));
		return status;
	}
	err[0] = '\0';
	status = sm_partitions_parse(ret, file, text, len, err, INST_ERR_MAX);
	free(text);
	if (status && !*err)
		snprintf(err, INST_ERR_MAX, "partitions %s: %s", file, strerror(-status));
	return status;
}

/* Each manager owns what it gets: what can be read once can be read again, but for memory. */
static int give_partitions(struct inst_sm *m, const char *file, ns_t now, char err[INST_ERR_MAX])
{
	struct sm_partitions *ps;
	int status = read_partitions(&ps, file, err);

	if (!status)
		sm_set_partitions(m->sm, ps, now);
	return status;
}

int fab_set_partitions(struct inst_fabric *f, const char *file, ns_t now, char err[INST_ERR_MAX])
{
	struct sm_partitions *ps;
	struct inst_sm *m;
	char *copy;
	int status;

	if (list_empty(&f->sms)) {
		snprintf(err, INST_ERR_MAX, "fabric %s: its subnet manager is external, or stopped",
			 f->name);
		return -EINVAL;
	}
	status = read_partitions(&ps, file, err);
	if (status)
		return status;
	sm_partitions_free(ps);
	copy = strdup(file);
	if (!copy) {
		snprintf(err, INST_ERR_MAX, "partitions %s: %s", file, strerror(ENOMEM));
		return -ENOMEM;
	}
	free(f->partitions_file);
	f->partitions_file = copy;
	list_for_each (m, &f->sms, link) {
		status = give_partitions(m, file, now, err);
		if (status)
			return status;
	}
	return 0;
}

/* --- life */

static struct node *node_of(const struct fabric_port *at, uint8_t *ret_port)
{
	*ret_port = (uint8_t)fabric_port_num(at);
	return fabric_node_node(fabric_port_node(at));
}

static void sm_free(struct inst_sm *m)
{
	sa_destroy(m->sa);
	sm_destroy(m->sm);
	free(m);
}

static int create(struct inst_sm *m, uint8_t priority)
{
	struct inst_fabric *f = m->fab;
	struct sm_cfg sc = sm_cfg_default();
	uint8_t port;
	struct node *node = node_of(m->at, &port);
	int status;

	sc.priority = priority;
	sc.sm_key = f->sm_key;
	if (f->mkey.key) {
		sc.mkey = f->mkey.key;
		sc.mkey_protect = f->mkey.protect;
		sc.mkey_lease = f->mkey.lease;
	}
	status = sm_create(&m->sm, node->port[port].ep, &sc, &f->inst->loop.timers,
			   &f->inst->cfg.log);
	if (!status)
		status = sa_create(&m->sa, m->sm);
	if (!status)
		sm_listen(m->sm, &m->listener);
	return status;
}

static struct inst_sm *sm_alloc(struct inst_fabric *f, struct fabric_port *at)
{
	struct inst_sm *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->fab = f;
	m->at = at;
	m->listener = (struct sm_listener){ .ops = &sm_events, .ctx = m };
	list_init(&m->listener.link);
	list_init(&m->link);
	return m;
}

static int may_start(struct inst_fabric *f, struct fabric_port *at, char err[INST_ERR_MAX])
{
	char name[FABRIC_NAME_MAX];
	uint8_t port;
	struct node *node = node_of(at, &port);

	if (!node->port[port].ep) {
		snprintf(err, INST_ERR_MAX,
			 "fabric %s: port %s: expected port 0 of a switch or a port of a CA",
			 f->name, fabric_port_name(at, name, sizeof(name)));
		return -EINVAL;
	}
	if (node->port[port].pi.cap_mask & SMP_CAP_IS_SM) {
		snprintf(err, INST_ERR_MAX, "fabric %s: port %s has a subnet manager already",
			 f->name, fabric_port_name(at, name, sizeof(name)));
		return -EBUSY;
	}
	return 0;
}

int fab_sm_start(struct inst_fabric *f, struct fabric_port *at, uint8_t priority, ns_t now,
		 char err[INST_ERR_MAX])
{
	int status = may_start(f, at, err);
	struct inst_sm *m;
	struct node *node;
	uint8_t port;

	if (status)
		return status;
	m = sm_alloc(f, at);
	status = m ? create(m, priority) : -ENOMEM;
	if (status)
		snprintf(err, INST_ERR_MAX, "fabric %s: subnet manager: %s", f->name,
			 strerror(-status));
	else if (f->partitions_file)
		status = give_partitions(m, f->partitions_file, now, err);
	if (status) {
		if (m)
			sm_free(m);
		return status;
	}
	list_add_tail(&f->sms, &m->link);
	inst_sm_came(m);
	node = node_of(at, &port);
	node_set_cap(node, port, SMP_CAP_IS_SM, true, now);
	sm_start(m->sm, now);
	return 0;
}

void fab_sm_stop(struct inst_sm *m, ns_t now)
{
	uint8_t port;
	struct node *node = node_of(m->at, &port);

	inst_sm_goes(m);
	list_del(&m->link);
	node_set_cap(node, port, SMP_CAP_IS_SM, false, now);
	sm_free(m);
}

int fab_sm_restart(struct inst_sm *m, ns_t now, char err[INST_ERR_MAX])
{
	struct inst_fabric *f = m->fab;
	struct fabric_port *at = m->at;
	uint8_t priority = sm_config(m->sm)->priority;

	/* What would stop the new one from starting is to be known while the old one runs. */
	if (f->partitions_file) {
		struct sm_partitions *ps;
		int status = read_partitions(&ps, f->partitions_file, err);

		if (status)
			return status;
		sm_partitions_free(ps);
	}
	fab_sm_stop(m, now);
	return fab_sm_start(f, at, priority, now, err);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/fab_sm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inst/udplink.h"
#include "os/file.h"
#include "partition/partition.h"
#include "sa/sa.h"

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
	log_to(&f->log, LOG_LVL_INFO,
	       "fabric %s: SUBNET UP, sweep %llu: %u switches, %u end ports, %u links in %.1f ms",
	       f->name, (unsigned long long)sw->number, sw->switches, sw->end_ports, sw->links,
	       (double)(now - sw->started) / 1e6);
}

static const struct sm_events sm_events = { .stage = sm_stage };

/* --- partitions */

static int parse_partitions(struct sm_partitions **ret, const struct inst_partitions *p,
			    char err[INST_ERR_MAX])
{
	int status;

	err[0] = '\0';
	status = sm_partitions_parse(ret, p->name, p->text, p->len, err, INST_ERR_MAX);
	if (status && !*err)
		snprintf(err, INST_ERR_MAX, "partitions %s: %s", p->name, strerror(-status));
	return status;
}

/*
 * Parses the text of the partitions again, and gives the result to the subnet manager, which then
 * owns the result. keep_partitions() has parsed the same text without an error, so this function
 * fails only if memory runs out.
 */
static int give_partitions(struct inst_sm *m, ns_t now, char err[INST_ERR_MAX])
{
	struct sm_partitions *ps;
	int status = parse_partitions(&ps, &m->fab->partitions, err);

	if (!status)
		sm_set_partitions(m->sm, ps, now);
	return status;
}

static void partitions_free(struct inst_partitions *p)
{
	free(p->name);
	free(p->text);
	*p = (struct inst_partitions){ 0 };
}

/*
 * Checks the text of a partition file, and stores it for managers that start later. The function
 * owns @text, also on failure.
 */
static int keep_partitions(struct inst_fabric *f, const char *name, char *text, size_t len,
			   char err[INST_ERR_MAX])
{
	struct inst_partitions p = { .name = strdup(name), .text = text, .len = len };
	struct sm_partitions *ps = NULL;
	int status = p.name ? parse_partitions(&ps, &p, err) : -ENOMEM;

	if (!p.name)
		snprintf(err, INST_ERR_MAX, "partitions %s: %s", name, strerror(ENOMEM));
	sm_partitions_free(ps);
	if (status) {
		partitions_free(&p);
		return status;
	}
	partitions_free(&f->partitions);
	f->partitions = p;
	return 0;
}

int fab_load_partitions(struct inst_fabric *f, const char *file, char err[INST_ERR_MAX])
{
	char *text;
	size_t len;
	int status = file_read(file, &text, &len);

	if (!status)
		return keep_partitions(f, file, text, len, err);
	snprintf(err, INST_ERR_MAX, "partitions %s: %s", file, strerror(-status));
	return status;
}

int fab_check_managers(const struct inst_fabric *f, char err[INST_ERR_MAX])
{
	if (!list_empty(&f->sms))
		return 0;
	snprintf(err, INST_ERR_MAX, "fabric %s: its subnet manager is external, or stopped",
		 f->name);
	return -EINVAL;
}

int fab_set_partitions(struct inst_fabric *f, const char *name, int fd, ns_t now,
		       char err[INST_ERR_MAX])
{
	struct inst_sm *m;
	char *text;
	size_t len;
	int status = fab_check_managers(f, err);

	if (status)
		return status;
	status = file_read_sealed(fd, &text, &len);
	if (status) {
		snprintf(err, INST_ERR_MAX, "partitions %s: %s", name,
			 status == -EINVAL ? "expected a sealed memory file with the request"
					   : strerror(-status));
		return status;
	}
	status = keep_partitions(f, name, text, len, err);
	if (status)
		return status;
	list_for_each (m, &f->sms, link) {
		status = give_partitions(m, now, err);
		if (status)
			return status;
	}
	return 0;
}

void fab_free_partitions(struct inst_fabric *f)
{
	partitions_free(&f->partitions);
}

/* --- starting and ending SMs */

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

/*
 * Tells whether a port is the end of a UDP link. The cables behind a UDP link belong to another
 * process, so the SM treats the nodes behind the link as external.
 */
static bool is_external(void *ctx, uint64_t node_guid, uint8_t port)
{
	const struct inst_fabric *f = ctx;
	const struct inst_udp *u;

	list_for_each (u, &f->inst->udps.links, link)
		if (u->fab == f && fabric_port_num(u->port) == port &&
		    fabric_node_node(fabric_port_node(u->port))->info.node_guid == node_guid)
			return true;
	return false;
}

static int create(struct inst_sm *m, uint8_t priority)
{
	struct inst_fabric *f = m->fab;
	struct sm_cfg sc = sm_cfg_default();
	uint8_t port;
	struct node *node = node_of(m->at, &port);
	int status;

	sc.priority = priority;
	sc.sm_key = f->conf.sm_key_given ? f->conf.sm_key : SM_KEY_DEFAULT;
	sc.routing = f->conf.routing;
	sc.partial_sweeps = f->conf.partial_sweeps;
	sc.lmc = f->conf.lmc;
	sc.is_external = is_external;
	sc.is_external_ctx = f;
	if (f->conf.outside_nodes)
		sc.outside_nodes = f->conf.outside_nodes;
	if (f->conf.mkey.key) {
		sc.mkey = f->conf.mkey.key;
		sc.mkey_protect = f->conf.mkey.protect;
		sc.mkey_lease = f->conf.mkey.lease;
	}
	status = sm_create(&m->sm, node->port[port].ep, &sc, &f->inst->loop.timers, &f->log);
	if (!status)
		status = sa_create(&m->sa, m->sm);
	if (!status && f->conf.sidr_server)
		status = sa_sidr_start(m->sa, f->conf.sidr_service);
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
		snprintf(err, INST_ERR_MAX,
			 "fabric %s: port %s has a subnet manager already, and 'uipoib fabric sm' "
			 "shows ours. "
			 "Stop it first, or choose another port",
			 f->name, fabric_port_name(at, name, sizeof(name)));
		return -EBUSY;
	}
	return 0;
}

/* Returns the bits of CapabilityMask that a port has while a manager of this instance runs on the port */
static uint32_t caps(const struct inst_fabric *f)
{
	return SMP_CAP_IS_SM | (f->conf.sidr_server ? SMP_CAP_IS_CM : 0);
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
	else if (f->partitions.text)
		status = give_partitions(m, now, err);
	if (status) {
		if (m)
			sm_free(m);
		return status;
	}
	list_add_tail(&f->sms, &m->link);
	inst_sm_came(m);
	node = node_of(at, &port);
	node_set_cap(node, port, caps(f), true, now);
	sm_start(m->sm, now);
	return 0;
}

void fab_sm_stop(struct inst_sm *m, ns_t now)
{
	uint8_t port;
	struct node *node = node_of(m->at, &port);

	inst_sm_goes(m);
	list_del(&m->link);
	node_set_cap(node, port, caps(m->fab), false, now);
	sm_free(m);
}

int fab_sm_restart(struct inst_sm *m, ns_t now, char err[INST_ERR_MAX])
{
	struct inst_fabric *f = m->fab;
	struct fabric_port *at = m->at;
	uint8_t priority = sm_config(m->sm)->priority;

	fab_sm_stop(m, now);
	return fab_sm_start(f, at, priority, now, err);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "inst/fab.h"
#include "verbs/verbs.h"

/* Handles an event of the port. Runs inside a callback of the CA, so it must not call the CA. */
static void on_event(struct ifc_port *ip, enum ca_event ev, ns_t now)
{
	struct inst_port *p = container_of(ip, struct inst_port, ifc);

	log_to(&p->log, LOG_LVL_DEBUG, "port %s: %s", p->name, ca_event_name(ev));
	inst_port_event(p, ev, now);
	if (ev == CA_EVENT_DEVICE_FATAL)
		reopen_start(p, now);
}

bool port_same_ca(const struct inst_port *a, const struct inst_port *b)
{
	return a->fab == b->fab && !strcmp(a->ca_name, b->ca_name);
}

static struct inst_port *port_find(struct inst *in, const struct inst_fabric *f, const char *ca,
				   uint8_t num)
{
	struct inst_port *p;

	list_for_each (p, &in->ports, link)
		if (p->fab == f && !strcmp(p->ca_name, ca) && p->num == num)
			return p;
	return NULL;
}

static void ca_readable(struct loop_fd *fd, uint32_t events, ns_t now)
{
	struct inst_port *p = container_of(fd, struct inst_port, ca_fd);

	(void)events;
	ca_dispatch(p->ifc.ca, now);
}

/*
 * Watches the descriptor of the CA, which is open already, and starts the SA client and the CM
 * agent.
 */
static int port_start(struct inst_port *p)
{
	int fd = p->ifc.ca->fd, status = 0;

	if (fd >= 0)
		status = loop_watch(&p->inst->loop, &p->ca_fd, fd, EPOLLIN, ca_readable);
	return status ? status : ifc_port_start(&p->ifc);
}

static int open_soft(struct inst_port *p, struct ca_soft_hca *soft)
{
	return ca_soft_open(soft, p->num, &ifc_port_notify, &p->ifc, &p->ifc.ca);
}

/*
 * Makes a struct for a port of the fabric @f, or of the kernel if @f is NULL. The struct is in no
 * list, and the port is not open yet. Return: NULL if out of memory
 */
static struct inst_port *port_alloc(struct inst *in, struct inst_fabric *f, const char *ca,
				    uint8_t num)
{
	struct inst_port *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	list_init(&p->link);
	p->inst = in;
	p->fab = f;
	p->num = num;
	p->ca_fd.fd = -1;
	reopen_init(p);
	snprintf(p->ca_name, sizeof(p->ca_name), "%s", ca);
	snprintf(p->name, sizeof(p->name), "%s/%u", ca, num);
	p->log = f ? f->log : in->cfg.log;
	p->log.about.port = p->name;
	ifc_port_init(&p->ifc, &in->ifcs);
	p->ifc.log = &p->log;
	p->ifc.on_event = on_event;
	return p;
}

static void add_to_list(struct inst_port *p)
{
	p->serial = p->inst->ports_added++;
	list_add_tail(&p->inst->ports, &p->link);
}

static int node_index(struct inst_fabric *f, const struct fabric_node *n)
{
	for (unsigned int i = 0; i < fabric_nnodes(f->fabric); i++)
		if (fabric_node_at(f->fabric, i) == n)
			return (int)i;
	return -1;
}

/*
 * Returns the node that @where names, or NULL, with a message in @err, if the fabric has no CA of
 * this name with this port
 */
static struct fabric_node *soft_node(struct inst_fabric *f, const struct conf_port *where,
				     char err[INST_ERR_MAX])
{
	struct fabric_node *n = f ? fabric_node_find(f->fabric, where->node) : NULL;

	if (n && fabric_node_hca(n) && where->port && fabric_node_port(n, where->port))
		return n;
	snprintf(err, INST_ERR_MAX, "port fabric:%s/%s/%u: %s", where->fabric, where->node,
		 where->port,
		 !f		       ? "no such fabric"
		 : !n		       ? "no such node in the topology"
		 : !fabric_node_hca(n) ? "a switch, expected a port of a CA"
				       : "the CA has no such port");
	return NULL;
}

static int open_verbs(struct inst_port *p, char err[INST_ERR_MAX])
{
	struct inst *in = p->inst;
	const struct verbs_cfg cfg = {
		.device = p->ca_name,
		.port = p->num,
		.pool = in->pool,
		.timers = &in->loop.timers,
		.log = &p->log,
	};
	char why[VERBS_ERR_MAX];
	int status = verbs_open(&cfg, &ifc_port_notify, &p->ifc, &p->ifc.ca, why);

	if (!status) {
		status = port_start(p);
		snprintf(why, sizeof(why), "%s", strerror(-status));
	}
	if (status)
		snprintf(err, INST_ERR_MAX, "port verbs:%s: %s", p->name, why);
	in->env_lacks |= status == -EOPNOTSUPP || status == -ELIBACC;
	return status;
}

static int get_verbs(struct inst *in, const struct conf_port *where, struct inst_port **ret,
		     char err[INST_ERR_MAX])
{
	struct inst_port *p = port_find(in, NULL, where->node, where->port);
	int status = 0;

	if (!p) {
		p = port_alloc(in, NULL, where->node, where->port);
		if (!p) {
			snprintf(err, INST_ERR_MAX, "port verbs:%s/%u: out of memory", where->node,
				 where->port);
			return -ENOMEM;
		}
		status = open_verbs(p, err);
		if (status) {
			port_close(p);
			return status;
		}
		reopen_allow(p);
		add_to_list(p);
	}
	*ret = p;
	return status;
}

struct inst_port *port_verbs_find(const struct inst *in, const char *name)
{
	struct inst_port *p;

	list_for_each (p, &in->ports, link)
		if (!p->fab && !strncmp(name, "verbs:", 6) && !strcmp(name + 6, p->name))
			return p;
	return NULL;
}

bool port_any_verbs(const struct inst *in)
{
	const struct inst_port *p;

	list_for_each (p, &in->ports, link)
		if (!p->fab)
			return true;
	return false;
}

int port_get(struct inst *in, const struct conf_port *where, struct inst_port **ret,
	     char err[INST_ERR_MAX])
{
	struct inst_fabric *f = inst_fabric_find(in, where->fabric);
	struct fabric_node *n;
	struct inst_port *p;
	int status;

	if (where->verbs)
		return get_verbs(in, where, ret, err);
	n = soft_node(f, where, err);
	if (!n)
		return -EINVAL;
	p = port_find(in, f, fabric_node_name(n), where->port);
	if (p) {
		*ret = p;
		return 0;
	}
	p = port_alloc(in, f, fabric_node_name(n), where->port);
	if (!p) {
		snprintf(err, INST_ERR_MAX, "port %s/%u: out of memory", where->node, where->port);
		return -ENOMEM;
	}
	p->node = n;
	status = open_soft(p, f->soft[node_index(f, n)]);
	if (!status)
		status = port_start(p);
	if (status) {
		snprintf(err, INST_ERR_MAX, "port %s: %s", p->name, strerror(-status));
		port_close(p);
		return status;
	}
	add_to_list(p);
	*ret = p;
	return 0;
}

void port_close(struct inst_port *p)
{
	list_del(&p->link);
	capfile_port_gone(&p->inst->captures, p->ifc.ca);
	loop_unwatch(&p->inst->loop, &p->ca_fd);
	reopen_fini(p);
	ifc_port_close(&p->ifc);
	free(p);
}

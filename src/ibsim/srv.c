/* SPDX-License-Identifier: BSD-2-Clause */
#include "ibsim/srv.h"

#include <errno.h>
#include <stdlib.h>

#include "ibsim/priv.h"

#define QUEUE_FIRST 64 /* number of MADs for which a new queue has room */

static void client_free(struct ibsim_client *c)
{
	struct ibsim_srv *s = c->s;

	s->client[c->id] = NULL;
	ibsim_mads_fini(c);
	s->ops->close(s->ctx, c->id);
	ibsim_client_queue_free(c);
	free(c);
}

/*
 * Free the dead clients. The server may notice the end of a client inside a callback of an agent or
 * a socket of this client. So the client cannot be freed at this moment.
 */
static void reap(struct timer *t, ns_t now)
{
	struct ibsim_srv *s = container_of(t, struct ibsim_srv, reaper);

	(void)now;
	for (unsigned int i = 0; i < IBSIM_CLIENTS_MAX; i++)
		if (s->client[i] && s->client[i]->dead)
			client_free(s->client[i]);
}

struct ibsim_srv *ibsim_srv_create(const struct ibsim_ops *ops, void *ctx, struct timers *timers,
				   const struct log_sink *log)
{
	struct ibsim_srv *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->ops = ops;
	s->ctx = ctx;
	s->timers = timers;
	s->log = log;
	timer_init(&s->reaper, reap);
	return s;
}

void ibsim_srv_destroy(struct ibsim_srv *s, ns_t now)
{
	if (!s)
		return;
	for (unsigned int i = 0; i < IBSIM_CLIENTS_MAX; i++)
		if (s->client[i] && !s->client[i]->dead)
			ibsim_client_end(s->client[i], now);
	reap(&s->reaper, now);
	timer_cancel(s->timers, &s->reaper);
	free(s);
}

/* --- clients */

struct ibsim_client *ibsim_client_by_id(const struct ibsim_srv *s, unsigned int id)
{
	struct ibsim_client *c = id < IBSIM_CLIENTS_MAX ? s->client[id] : NULL;

	return c && !c->dead ? c : NULL;
}

static unsigned int clients_on(const struct ibsim_srv *s, const struct node_port *port)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < IBSIM_CLIENTS_MAX; i++)
		n += s->client[i] && s->client[i]->port == port;
	return n;
}

/*
 * Return: the lowest free id for a client. A dead client keeps its id until it is freed, because
 * the name of its socket contains the id.
 */
static unsigned int free_id(const struct ibsim_srv *s)
{
	unsigned int i = 0;

	while (i < IBSIM_CLIENTS_MAX && s->client[i])
		i++;
	return i;
}

int ibsim_client_add(struct ibsim_srv *s, const struct ibsim_peer *from, struct node_port *port,
		     const char *node, uint32_t pid, struct ibsim_client **ret)
{
	unsigned int id = free_id(s);
	struct ibsim_client *c;
	int err;

	if (id == IBSIM_CLIENTS_MAX || clients_on(s, port) >= IBSIM_PORT_CLIENTS_MAX)
		return -EMFILE;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->s = s;
	c->port = port;
	c->id = id;
	c->pid = from->pid ? from->pid : pid;
	c->peer = *from;
	memcpy(c->node, node, strnlen(node, sizeof(c->node) - 1));
	err = ibsim_mads_init(c);
	if (!err)
		err = s->ops->open(s->ctx, id, from, pid);
	if (err) {
		ibsim_mads_fini(c);
		free(c);
		return err;
	}
	s->client[id] = c;
	*ret = c;
	return 0;
}

void ibsim_client_end(struct ibsim_client *c, ns_t now)
{
	if (c->issm)
		ibsim_client_issm(c, false, now);
	c->dead = true;
	timer_arm(c->s->timers, &c->s->reaper, now);
}

/* Tell whether another client of the same port is an SM. */
static bool port_has_sm(const struct ibsim_client *c)
{
	for (unsigned int i = 0; i < IBSIM_CLIENTS_MAX; i++) {
		const struct ibsim_client *o = ibsim_client_by_id(c->s, i);

		if (o && o != c && o->issm && o->port == c->port)
			return true;
	}
	return false;
}

int ibsim_client_issm(struct ibsim_client *c, bool on, ns_t now)
{
	struct ibsim_srv *s = c->s;
	int err;

	if (on == c->issm)
		return 0;
	err = ibsim_mads_listen(c, on);
	if (!err && !port_has_sm(c))
		err = s->ops->issm(s->ctx, c->port, on, now);
	if (err && on) {
		ibsim_mads_listen(c, false);
		log_to(s->log, LOG_LVL_WARN,
		       "ibsim: client %u (pid %u) on %s/%u: no IsSM: the port has an SM", c->id,
		       c->pid, c->node, c->port->num);
		return err;
	}
	c->issm = on;
	log_to(s->log, LOG_LVL_INFO, "ibsim: client %u (pid %u) on %s/%u %s", c->id, c->pid,
	       c->node, c->port->num, on ? "is an SM" : "is no SM any more");
	return 0;
}

void ibsim_srv_gone(struct ibsim_srv *s, unsigned int id, const char *why, ns_t now)
{
	struct ibsim_client *c = ibsim_client_by_id(s, id);

	if (!c)
		return;
	s->st.deaths++;
	log_to(s->log, LOG_LVL_INFO, "ibsim: client %u (pid %u) on %s/%u is gone: %s", c->id,
	       c->pid, c->node, c->port->num, why);
	ibsim_client_end(c, now);
}

/* --- MADs to a client */

static uint8_t *queue_slot(struct ibsim_client *c, unsigned int i)
{
	return c->queue[(c->qhead + i) % c->qcap];
}

static bool queue_grow(struct ibsim_client *c)
{
	unsigned int cap = c->qcap ? 2 * c->qcap : QUEUE_FIRST;
	uint8_t(*v)[IBSIM_PKT_LEN] = malloc(cap * sizeof(*v));

	if (!v)
		return false;
	for (unsigned int i = 0; i < c->qlen; i++)
		memcpy(v[i], queue_slot(c, i), IBSIM_PKT_LEN);
	free(c->queue);
	c->queue = v;
	c->qcap = cap;
	c->qhead = 0;
	return true;
}

void ibsim_client_queue_free(struct ibsim_client *c)
{
	c->s->queued -= c->qlen;
	free(c->queue);
	c->queue = NULL;
	c->qlen = c->qcap = c->qhead = 0;
}

/*
 * If other MADs are waiting, the MAD is queued even if the socket has room, so that MADs keep their
 * order.
 */
void ibsim_client_send(struct ibsim_client *c, const struct ibsim_pkt *k, unsigned int max,
		       ns_t now)
{
	struct ibsim_srv *s = c->s;

	if (c->dead)
		return;
	if (c->qlen >= max || s->queued >= IBSIM_QUEUED_MAX ||
	    (c->qlen == c->qcap && !queue_grow(c))) {
		s->st.drop_queue++;
		return;
	}
	ibsim_pkt_encode(queue_slot(c, c->qlen), k);
	s->queued++;
	if (++c->qlen == 1)
		ibsim_srv_writable(s, c->id, now);
}

void ibsim_srv_writable(struct ibsim_srv *s, unsigned int id, ns_t now)
{
	struct ibsim_client *c = ibsim_client_by_id(s, id);

	while (c && c->qlen) {
		int err = s->ops->send(s->ctx, id, queue_slot(c, 0), IBSIM_PKT_LEN);

		if (err == -EAGAIN)
			return;
		if (err) {
			ibsim_srv_gone(s, id, "it cannot be sent to", now);
			return;
		}
		c->qhead = (c->qhead + 1) % c->qcap;
		c->qlen--;
		s->queued--;
	}
	if (c && c->qcap > QUEUE_FIRST)
		ibsim_client_queue_free(c);
}

/* --- information for the command line */

const struct ibsim_stats *ibsim_srv_stats(const struct ibsim_srv *s)
{
	return &s->st;
}

bool ibsim_srv_client(const struct ibsim_srv *s, unsigned int id, struct ibsim_client_show *ret)
{
	const struct ibsim_client *c = ibsim_client_by_id(s, id);

	if (!c)
		return false;
	*ret = (struct ibsim_client_show){
		.id = id,
		.pid = c->pid,
		.node = c->node,
		.port = c->port->num,
		.issm = c->issm,
		.open = c->nopen,
		.queued = c->qlen,
		.st = c->st,
	};
	return true;
}

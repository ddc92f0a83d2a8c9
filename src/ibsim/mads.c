/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "ibsim/priv.h"

#define TID_CLIENT_SHIFT 48
#define SM_CLASS_VERSION 1
#define SA_CLASS_VERSION 2

/* --- open requests */

/*
 * Return the hash chain of a request. The hash has no secret key, because a client whose TIDs
 * collide on purpose slows down only its own requests.
 */
static struct ibsim_open **chain_of(struct ibsim_client *c, const uint8_t *mad)
{
	uint64_t h = (mad_tid(mad) ^ mad_class(mad)) * 0x9e3779b97f4a7c15ull;

	return &c->by_tid[(h >> 32) % IBSIM_OPEN_HASH];
}

static struct ibsim_open *open_get(struct ibsim_client *c, const struct ibsim_pkt *k)
{
	struct ibsim_open *o = c->free_open, **chain = chain_of(c, k->mad);

	if (!o)
		return NULL;
	c->free_open = o->next;
	o->pkt = *k;
	o->next = *chain;
	*chain = o;
	c->nopen++;
	return o;
}

static void open_free(struct ibsim_open *o)
{
	o->next = o->c->free_open;
	o->c->free_open = o;
}

static void open_put(struct ibsim_open *o)
{
	struct ibsim_open **at = chain_of(o->c, o->pkt.mad);

	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	o->c->nopen--;
	open_free(o);
}

int ibsim_mads_init(struct ibsim_client *c)
{
	struct mad_agent_cfg qp0 = { .qp = IB_QP0 }, qp1 = { .qp = IB_QP1 };
	int err;

	for (unsigned int i = 0; i < IBSIM_OPEN_MAX; i++) {
		c->open[i].c = c;
		open_free(&c->open[i]);
	}
	err = mad_agent_add(c->port->ep, &qp0, &c->agent[IB_QP0]);
	if (!err)
		err = mad_agent_add(c->port->ep, &qp1, &c->agent[IB_QP1]);
	if (err)
		ibsim_mads_fini(c);
	return err;
}

void ibsim_mads_fini(struct ibsim_client *c)
{
	ibsim_mads_listen(c, false);
	mad_agent_del(c->agent[IB_QP0]);
	mad_agent_del(c->agent[IB_QP1]);
	c->agent[IB_QP0] = c->agent[IB_QP1] = NULL;
}

/* --- MADs from a client */

/*
 * Make the address to which a MAD of a client is sent. Return: 0; -EINVAL: the LID is invalid. The
 * caller then returns a request to the client at once, and does not wait for a time-out. ibsim does
 * the same
 */
static int address(struct mad_addr *ret, const struct ibsim_pkt *k)
{
	bool smp = mad_class_is_smp(mad_class(k->mad));

	if (!ib_lid_is_unicast(k->dlid) && !(smp && k->dlid == IB_LID_PERMISSIVE))
		return -EINVAL;
	*ret = smp ? mad_addr_smp_lid(k->dlid) : mad_addr_gmp(k->dlid, 0);
	if (!smp && k->dest_qp)
		ret->qpn = k->dest_qp;
	return 0;
}

/*
 * Send a request back to the client that sent it, as the kernel's ib_umad does with a request that
 * timed out.
 */
static void send_back(struct ibsim_client *c, struct ibsim_pkt *k, ns_t now)
{
	k->status = IBSIM_STATUS_TIMEOUT;
	c->st.timeouts++;
	c->s->st.timeouts++;
	ibsim_client_send(c, k, IBSIM_QUEUE_MAX, now);
}

static void answer(struct ibsim_client *c, struct ibsim_pkt *k, const struct mad_addr *from,
		   const void *mad, ns_t now)
{
	uint64_t tid = mad_tid(k->mad);
	uint32_t qp = k->dest_qp;
	uint8_t end[MAD_LEN];

	k->dlid = k->slid;
	k->slid = from->lid;
	k->dest_qp = k->src_qp;
	k->src_qp = qp;
	k->len = ibsim_rmpp_len(mad);
	memcpy(k->mad, mad, MAD_LEN);
	be64_put(k->mad + MAD_OFF_TID, tid);
	c->st.answers++;
	c->s->st.answers++;
	ibsim_client_send(c, k, IBSIM_QUEUE_MAX, now);
	if (ibsim_rmpp_end(end, mad))
		mad_reply(c->agent[IB_QP1], from, end, MAD_LEN, now);
}

static void request_done(void *ctx, int status, const struct mad_addr *from, const void *mad,
			 size_t len, ns_t now)
{
	struct ibsim_open *o = ctx;
	struct ibsim_client *c = o->c;
	struct ibsim_pkt k = o->pkt;

	(void)len; /* The length is always 256, because the agents do not use RMPP. */
	open_put(o);
	if (c->dead)
		return;
	if (status == 0)
		answer(c, &k, from, mad, now);
	else
		send_back(c, &k, now);
}

/*
 * Tell whether a request repeats an open request. The repetition is not sent, because the answer to
 * the open request also answers the repetition.
 */
static bool is_open(struct ibsim_client *c, const struct ibsim_pkt *k)
{
	const struct ibsim_open *o = *chain_of(c, k->mad);

	while (o && (mad_tid(o->pkt.mad) != mad_tid(k->mad) ||
		     mad_class(o->pkt.mad) != mad_class(k->mad)))
		o = o->next;
	return o;
}

/*
 * Send a request. Two agents of the client's program may use the same TID at the same time. The
 * second request then gets a new TID on the wire.
 */
static int request_send(struct ibsim_open *o, const struct mad_addr *to, ns_t now)
{
	struct mad_agent *a = o->c->agent[to->qp];
	struct mad_req req = {
		.to = *to,
		.mad = o->pkt.mad,
		.keep_tid = true,
		.len = MAD_LEN,
		.timeout_ms = IBSIM_TRY_MS,
		.retries = IBSIM_RETRIES,
		.done = request_done,
		.ctx = o,
	};
	int err = mad_request(a, &req, NULL, now);

	if (err != -EEXIST)
		return err;
	req.keep_tid = false;
	return mad_request(a, &req, NULL, now);
}

static void request(struct ibsim_client *c, const struct mad_addr *to, struct ibsim_pkt *k,
		    ns_t now)
{
	struct ibsim_open *o;

	if (is_open(c, k)) {
		c->s->st.drop_duplicate++;
		return;
	}
	o = open_get(c, k);
	if (o) {
		if (!request_send(o, to, now))
			return;
		open_put(o);
	}
	c->s->st.drop_open++;
	send_back(c, k, now);
}

/*
 * Tell whether a MAD with this method is sent as a request. A MAD with the method Send has no
 * response. A Trap has the response TrapRepress, which OpenSM needs for its Trap 144 when it is a
 * standby SM.
 */
static bool wants_response(uint8_t method)
{
	return !mad_method_is_response(method) && method != MAD_METHOD_SEND;
}

/*
 * Fill in the fields of a client's request that ibsim would fill in: the client's id, and the SLID.
 */
static void complete(const struct ibsim_client *c, struct ibsim_pkt *k)
{
	uint64_t low = mad_tid(k->mad) & ((1ull << TID_CLIENT_SHIFT) - 1);

	be64_put(k->mad + MAD_OFF_TID, low | (uint64_t)c->id << TID_CLIENT_SHIFT);
	if (!k->slid)
		k->slid = c->port->pi.lid;
}

static void mad_from_client(struct ibsim_client *c, struct ibsim_pkt *k, ns_t now)
{
	struct ibsim_stats *st = &c->s->st;
	bool is_request = wants_response(mad_method(k->mad));
	struct mad_addr to;

	if (is_request) {
		complete(c, k);
		c->st.requests++;
		st->requests++;
	} else {
		c->st.responses++;
		st->responses++;
	}
	if (mad_class_is_smp(mad_class(k->mad)))
		c->sent_smp = true;
	if (address(&to, k)) {
		st->drop_address++;
		if (is_request)
			send_back(c, k, now);
		return;
	}
	ibsim_rmpp_complete(k);
	if (is_request)
		request(c, &to, k, now);
	else
		mad_reply(c->agent[to.qp], &to, k->mad, MAD_LEN, now);
}

void ibsim_srv_recv(struct ibsim_srv *s, unsigned int id, const void *pkt, size_t len, ns_t now)
{
	struct ibsim_client *c = ibsim_client_by_id(s, id);
	struct ibsim_pkt k;

	if (!c)
		s->st.drop_no_client++;
	else if (ibsim_pkt_decode(&k, pkt, len) || k.mad[0] != MAD_BASE_VERSION)
		s->st.drop_malformed++;
	else
		mad_from_client(c, &k, now);
}

/* --- unsolicited MADs to a client that is an SM */

/*
 * Return the client that gets the unsolicited MADs of the port of @c. Only a client of this port
 * that is an SM and has sent an SMP can get them. Of several such clients, return the one with the
 * lowest id. Return NULL if there is none
 */
static const struct ibsim_client *sm_of(const struct ibsim_client *c)
{
	for (unsigned int i = 0; i < IBSIM_CLIENTS_MAX; i++) {
		const struct ibsim_client *o = ibsim_client_by_id(c->s, i);

		if (o && o->issm && o->sent_smp && o->port == c->port)
			return o;
	}
	return NULL;
}

static void unsolicited(void *ctx, const struct mad_addr *from, const void *mad, size_t len,
			ns_t now)
{
	struct ibsim_client *c = ctx;
	struct ibsim_pkt k = {
		.dlid = c->port->pi.lid,
		.slid = from->lid,
		.dest_qp = from->qp,
		.src_qp = from->qpn,
		.len = MAD_LEN,
	};

	(void)len; /* The length is always 256, because the agents do not use RMPP. */
	if (c->dead || sm_of(c) != c)
		return;
	/* Drop a control MAD of RMPP, because OpenSM would mistake an ACK for a repeated query. */
	if (ibsim_rmpp_is_control(mad)) {
		c->s->st.drop_rmpp++;
		return;
	}
	memcpy(k.mad, mad, MAD_LEN);
	c->st.unsolicited++;
	c->s->st.unsolicited++;
	ibsim_client_send(c, &k, IBSIM_UNSOLICITED_MAX, now);
}

static int listen_to(struct ibsim_client *c, struct mad_agent_cfg *cfg, const uint8_t *methods,
		     size_t n, struct mad_agent **ret)
{
	cfg->shared = true;
	cfg->recv = unsolicited;
	cfg->ctx = c;
	for (size_t i = 0; i < n; i++)
		mad_agent_cfg_method(cfg, methods[i]);
	return mad_agent_add(c->port->ep, cfg, ret);
}

int ibsim_mads_listen(struct ibsim_client *c, bool on)
{
	static const uint8_t smp[] = { MAD_METHOD_GET, MAD_METHOD_SET, MAD_METHOD_TRAP };
	static const uint8_t sa[] = { MAD_METHOD_GET,	    MAD_METHOD_SET,
				      MAD_METHOD_GET_TABLE, MAD_METHOD_GET_TRACE_TABLE,
				      MAD_METHOD_GET_MULTI, MAD_METHOD_DELETE };
	struct mad_agent_cfg sm_cfg = {
		.qp = IB_QP0,
		.mgmt_class = MAD_CLASS_SM_LID,
		.class_version = SM_CLASS_VERSION,
	};
	struct mad_agent_cfg sa_cfg = {
		.qp = IB_QP1,
		.mgmt_class = MAD_CLASS_SA,
		.class_version = SA_CLASS_VERSION,
	};
	int err = 0;

	if (on) {
		err = listen_to(c, &sm_cfg, smp, ARRAY_SIZE(smp), &c->sm);
		if (!err)
			err = listen_to(c, &sa_cfg, sa, ARRAY_SIZE(sa), &c->sa);
		if (!err)
			return 0;
	}
	mad_agent_del(c->sm);
	mad_agent_del(c->sa);
	c->sm = c->sa = NULL;
	return err;
}

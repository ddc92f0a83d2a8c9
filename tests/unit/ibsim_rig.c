/* SPDX-License-Identifier: BSD-2-Clause */
#include "ibsim_rig.h"

#include <stdio.h>

static struct node_port *rig_find(void *ctx, void *place, const char *name, const char **ret_name)
{
	struct ibsim_rig *r = ctx;

	(void)place;
	if (*name && strcmp(name, "Hca2") != 0 && strcmp(name, "Hca2/2") != 0)
		return NULL;
	*ret_name = "Hca2";
	return &r->n.n.port[strcmp(name, "Hca2/2") ? 1 : 2];
}

static int rig_open(void *ctx, unsigned int id, const struct ibsim_peer *peer, uint32_t pid)
{
	struct ibsim_rig *r = ctx;

	(void)peer;
	(void)pid;
	assert_true(id < IBSIM_CLIENTS_MAX && !r->is_open[id]);
	if (!r->open_err)
		r->is_open[id] = true;
	return r->open_err;
}

static void rig_close(void *ctx, unsigned int id)
{
	struct ibsim_rig *r = ctx;

	assert_true(r->is_open[id]);
	r->is_open[id] = false;
}

static int rig_send(void *ctx, unsigned int id, const void *pkt, size_t len)
{
	struct ibsim_rig *r = ctx;

	assert_int_equal(len, IBSIM_PKT_LEN);
	assert_true(r->is_open[id]);
	if (r->send_err)
		return r->send_err;
	assert_true(r->nout < RIG_OUT);
	r->out[r->nout].id = id;
	memcpy(r->out[r->nout].raw, pkt, len);
	assert_int_equal(ibsim_pkt_decode(&r->out[r->nout].k, pkt, len), 0);
	r->nout++;
	return 0;
}

static int rig_issm(void *ctx, struct node_port *port, bool on, ns_t now)
{
	struct ibsim_rig *r = ctx;

	(void)port;
	(void)now;
	if (r->issm_err)
		return r->issm_err;
	assert_true(r->issm != on);
	r->issm = on;
	r->issm_calls++;
	return 0;
}

static const struct ibsim_ops rig_ops = {
	.find = rig_find,
	.open = rig_open,
	.close = rig_close,
	.send = rig_send,
	.issm = rig_issm,
};

void ibsim_rig_init(struct ibsim_rig *r)
{
	memset(r, 0, sizeof(*r));
	node_rig_init(&r->n, IB_NODE_CA, 2);
	node_link(&r->n.n, 1, true, r->n.now);
	node_rig_lids(&r->n, 1);
	r->n.nsent = 0;
	r->srv = ibsim_srv_create(&rig_ops, r, &r->n.timers, &r->n.log);
	assert_non_null(r->srv);
}

void ibsim_rig_fini(struct ibsim_rig *r)
{
	ibsim_srv_destroy(r->srv, r->n.now);
	for (unsigned int i = 0; i < IBSIM_CLIENTS_MAX; i++)
		assert_false(r->is_open[i]);
	assert_false(r->issm);
	node_rig_fini(&r->n);
}

void ibsim_rig_run(struct ibsim_rig *r, ns_t for_ns)
{
	node_rig_run(&r->n, for_ns);
}

struct ibsim_peer ibsim_rig_peer(struct ibsim_rig *r, unsigned int place, uint32_t pid)
{
	struct ibsim_peer p = { .place = &r->place[place], .pid = pid };

	p.len = (size_t)snprintf((char *)p.addr, sizeof(p.addr), "ctl%u", pid);
	return p;
}

int ibsim_rig_ctl(struct ibsim_rig *r, const struct ibsim_peer *from, struct ibsim_ctl *m)
{
	uint8_t msg[IBSIM_CTL_LEN], answer[IBSIM_CTL_LEN];
	size_t n;

	ibsim_ctl_encode(msg, m);
	n = ibsim_srv_ctl(r->srv, from, msg, sizeof(msg), answer, r->n.now);
	if (!n)
		return -1;
	assert_int_equal(ibsim_ctl_decode(m, answer, n), 0);
	return (int)m->type;
}

int ibsim_rig_try_connect(struct ibsim_rig *r, uint32_t pid, const char *node, bool issm)
{
	struct ibsim_client_info info = { .id = pid, .issm = issm };
	struct ibsim_ctl m = { .type = IBSIM_CTL_CONNECT, .len = IBSIM_CLIENT_INFO_LEN };
	struct ibsim_peer from = ibsim_rig_peer(r, 0, pid);

	snprintf(info.node, sizeof(info.node), "%s", node);
	ibsim_client_info_encode(m.data, &info);
	if (ibsim_rig_ctl(r, &from, &m) != IBSIM_CTL_CONNECT)
		return -1;
	assert_int_equal(ibsim_client_info_decode(&info, m.data, m.len), 0);
	return (int)info.id;
}

unsigned int ibsim_rig_connect(struct ibsim_rig *r, uint32_t pid)
{
	int id = ibsim_rig_try_connect(r, pid, "", false);

	assert_true(id >= 0);
	return (unsigned int)id;
}

int ibsim_rig_set_issm(struct ibsim_rig *r, unsigned int id, uint32_t pid, bool on)
{
	struct ibsim_ctl m = { .client = id, .type = IBSIM_CTL_SET_ISSM, .len = 4, .data[0] = on };
	struct ibsim_peer from = ibsim_rig_peer(r, 0, pid);

	return ibsim_rig_ctl(r, &from, &m);
}

void ibsim_rig_send_pkt(struct ibsim_rig *r, unsigned int id, const struct ibsim_pkt *k)
{
	uint8_t raw[IBSIM_PKT_LEN];

	ibsim_pkt_encode(raw, k);
	ibsim_srv_recv(r->srv, id, raw, sizeof(raw), r->n.now);
}

void ibsim_rig_send(struct ibsim_rig *r, unsigned int id, uint16_t dlid, uint8_t mgmt_class,
		    uint8_t method, uint16_t attr, uint64_t tid)
{
	bool smp = mad_class_is_smp(mgmt_class);
	struct mad_hdr h = {
		.base_version = 1,
		.mgmt_class = mgmt_class,
		.class_version = mgmt_class == MAD_CLASS_SA ? 2 : 1,
		.method = method,
		.tid = tid,
		.attr_id = attr,
	};
	struct ibsim_pkt k = {
		.dlid = dlid,
		.slid = dlid == IB_LID_PERMISSIVE ? IB_LID_PERMISSIVE : 0,
		.dest_qp = !smp,
		.src_qp = !smp,
		.len = MAD_LEN,
	};

	mad_hdr_encode(k.mad, &h);
	if (mgmt_class == MAD_CLASS_SM_DR) {
		be16_put(k.mad + SMP_OFF_DR_SLID, IB_LID_PERMISSIVE);
		be16_put(k.mad + SMP_OFF_DR_DLID, IB_LID_PERMISSIVE);
	}
	ibsim_rig_send_pkt(r, id, &k);
}

const uint8_t *ibsim_rig_wire(const struct ibsim_rig *r, unsigned int i)
{
	assert_true(i < r->n.nsent);
	return r->n.sent[r->n.nsent - 1 - i].mad;
}

void ibsim_rig_answer(struct ibsim_rig *r, unsigned int i)
{
	struct mad_addr from;
	uint8_t mad[MAD_LEN];

	assert_true(i < r->n.nsent);
	from = r->n.sent[r->n.nsent - 1 - i].to;
	memcpy(mad, ibsim_rig_wire(r, i), sizeof(mad));
	mad[3] = mad[3] == MAD_METHOD_SET    ? MAD_METHOD_GET_RESP
		 : mad[3] == MAD_METHOD_TRAP ? MAD_METHOD_TRAP_REPRESS
					     : mad[3] | MAD_METHOD_RESP;
	from.port = 1;
	node_mad_rx(&r->n.n, 1, &from, mad, r->n.now);
}

const struct ibsim_pkt *ibsim_rig_got(const struct ibsim_rig *r, unsigned int id)
{
	for (unsigned int i = r->nout; i; i--)
		if (r->out[i - 1].id == id)
			return &r->out[i - 1].k;
	fail_msg("client %u got nothing", id);
	return NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "umad/priv.h"
#include "wire/sa.h"

#define RETRIES_MAX 255 /* limit of retries, for programs that ask for absurdly many */
#define RMPP_HDR_END 36 /* octets that a MAD must have at least, as ib_umad demands */

/* A request of a program that waits for its response */
struct sent {
	struct umad_conn *conn;
	struct umad_mad m;
	uint8_t hdr[MAD_HDR_LEN];
};

/*
 * Tells whether a MAD will be sent by RMPP. @data has at least the first UMAD_HEAD_LEN octets of
 * the MAD, or the whole MAD if the MAD is shorter.
 */
static bool by_rmpp(const struct umad_agent *a, const uint8_t *data)
{
	return a->rmpp && rmpp_hdr_len(mad_class(data)) &&
	       (data[SA_RMPP_OFF + 2] & RMPP_FLAG_ACTIVE);
}

bool umad_conn_takes(const struct umad_conn *c, const void *msg, size_t len,
		     const uint8_t head[UMAD_HEAD_LEN], size_t big_len)
{
	struct umad_mad m;

	if (c->kind != UMAD_KIND_MAD || len < sizeof(m) || big_len > UMAD_DATA_MAX)
		return false;
	memcpy(&m, msg, sizeof(m));
	return m.id < UMAD_AGENTS_MAX && c->agent[m.id].mad && by_rmpp(&c->agent[m.id], head) &&
	       big_len <= c->quota.max_octets - c->quota.octets;
}

/*
 * Prepares a MAD for mad_request() and mad_reply(). A MAD that is not sent by RMPP and is shorter
 * than 256 octets is copied to @pad and filled up with zeros. Then *data is @pad.
 * Return: 0; -EINVAL
 */
static int normalize(const struct umad_agent *a, const uint8_t **data, size_t *len,
		     uint8_t pad[MAD_LEN])
{
	uint8_t c = mad_class(*data);

	if (*len < umad_data_off(c) || (a->rmpp_only && !rmpp_hdr_len(c)))
		return -EINVAL;
	if (by_rmpp(a, *data))
		return 0;
	if (*len > MAD_LEN)
		return -EINVAL;
	if (*len < MAD_LEN) {
		memset(pad, 0, MAD_LEN);
		memcpy(pad, *data, *len);
		*data = pad;
		*len = MAD_LEN;
	}
	return 0;
}

static int address(struct mad_addr *ret, const struct umad_agent *a, const struct umad_mad *m)
{
	const struct node_port *np = a->conn->port->np;

	if (m->pkey_index >= NODE_PKEYS || (m->grh_present && m->gid_index >= NODE_GUIDS))
		return -EINVAL;
	*ret = (struct mad_addr){
		.qp = a->qp,
		.sl = m->sl & 15,
		.path_bits = m->path_bits & 0x7f,
		.lid = be16_at(m->lid),
		.pkey = a->qp == IB_QP0 ? IB_PKEY_DEFAULT : np->pkeys[m->pkey_index],
		.qpn = be32_at(m->qpn) & 0xffffff,
		/* QP1 has this Q_Key, whatever the program has written */
		.qkey = a->qp == IB_QP0 ? 0 : IB_QP1_QKEY,
		.has_grh = m->grh_present,
		.gid_index = m->gid_index,
		.tclass = m->traffic_class,
		.hop_limit = m->hop_limit,
		.flow_label = be32_at(m->flow_label) & 0xfffff,
	};
	memcpy(&ret->gid, m->gid, sizeof(ret->gid));
	return 0;
}

static void done(void *ctx, int status, const struct mad_addr *from, const void *mad, size_t len,
		 ns_t now)
{
	struct sent *s = ctx;

	(void)now;
	if (!status) {
		umad_queue_recv(s->conn, s->m.id, from, mad, len);
	} else if (status == -ETIMEDOUT) {
		s->conn->st.timeouts++;
		umad_queue_back(s->conn, &s->m, s->hdr, ETIMEDOUT);
	}
	/*
	 * As in the kernel, the program is not told that the peer aborted an RMPP message, or that
	 * a request ended because its agent was removed.
	 */
	free(s);
}

static int request(struct umad_agent *a, const struct umad_mad *m, const struct mad_addr *to,
		   const uint8_t *data, size_t len, ns_t now)
{
	struct sent *s = malloc(sizeof(*s));
	struct mad_req req = {
		.to = *to,
		.mad = data,
		.keep_tid = true,
		.len = len,
		.timeout_ms = m->timeout_ms,
		.retries = m->retries < RETRIES_MAX ? m->retries : RETRIES_MAX,
		.done = done,
		.ctx = s,
	};
	int err;

	if (!s)
		return -ENOMEM;
	s->conn = a->conn;
	s->m = *m;
	memcpy(s->hdr, data, sizeof(s->hdr));
	be32_put(s->hdr + MAD_OFF_TID, mad_agent_id(a->mad));
	err = mad_request(a->mad, &req, NULL, now);
	if (err)
		free(s);
	return err == -EEXIST ? -EINVAL : err;
}

/*
 * Sends a MAD for which no response is expected. The high half of its TID becomes the agent's id,
 * except in a response, which keeps the TID of the request.
 */
static int send_alone(struct umad_agent *a, const struct mad_addr *to, const uint8_t *data,
		      size_t len, ns_t now)
{
	uint8_t *copy;
	int err;

	if (mad_method_is_response(mad_method(data)))
		return mad_reply(a->mad, to, data, len, now);
	copy = malloc(len);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, len);
	be32_put(copy + MAD_OFF_TID, mad_agent_id(a->mad));
	err = mad_reply(a->mad, to, copy, len, now);
	free(copy);
	return err;
}

static int send_as(struct umad_agent *a, const struct umad_mad *m, const uint8_t *data, size_t len,
		   ns_t now)
{
	uint8_t pad[MAD_LEN];
	struct mad_addr to;
	int err = normalize(a, &data, &len, pad);

	if (!err)
		err = address(&to, a, m);
	if (err)
		return err;
	if (m->timeout_ms && !mad_method_is_response(mad_method(data)))
		return request(a, m, &to, data, len, now);
	return send_alone(a, &to, data, len, now);
}

static void count(struct umad_conn *c, int err)
{
	if (err == -EBUSY)
		c->st.drops[UMAD_DROP_BUSY]++;
	else if (err == -ENOMEM)
		c->st.drops[UMAD_DROP_MEM]++;
	else if (err == -EINVAL)
		c->st.drops[UMAD_DROP_MALFORMED]++;
	else if (err)
		c->st.drops[UMAD_DROP_DOWN]++;
	else
		c->st.sent++;
}

int umad_send(struct umad_conn *c, const struct umad_mad *m, const uint8_t *data, size_t len,
	      ns_t now)
{
	bool known = m->id < UMAD_AGENTS_MAX && c->agent[m->id].mad;
	int err = -EINVAL;

	if (known && len >= RMPP_HDR_END && len <= UMAD_DATA_MAX)
		err = send_as(&c->agent[m->id], m, data, len, now);
	count(c, err);
	/*
	 * The program's write() has returned already. So a program that waits for an answer gets
	 * the MAD back, with the error as its status.
	 */
	if (err && known && len >= MAD_HDR_LEN && m->timeout_ms)
		umad_queue_back(c, m, data, (uint32_t)-err);
	return err;
}

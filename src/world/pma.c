/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/pma.h"

#include <errno.h>

#define PERF_CLASS_VERSION 1
#define TRIES 3

static void send_request(struct world *w, const uint8_t *mad, bool grh)
{
	struct ib_ud_hdr h = {
		.lrh = { .sl = WORLD_PMA_SL, .dlid = w->dut.lid, .slid = WORLD_SM_LID },
		.has_grh = grh,
		.grh = { .ip_ver = 6,
			 .nxt_hdr = IB_GRH_NXTHDR,
			 .hop_limit = 1,
			 .sgid = ib_gid_of(IB_SUBNET_PREFIX_DEFAULT, WORLD_SWITCH_GUID),
			 .dgid = w->dut.gid },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY, .pkey = WORLD_PKEY, .dest_qp = IB_QP1 },
		.deth = { .qkey = IB_QP1_QKEY, .src_qp = IB_QP1 },
	};

	world_send(w, &h, mad, MAD_LEN);
}

static bool is_answer(const struct seen *s, const void *tid)
{
	return s->kind == SEEN_GMP && s->payload_len == MAD_LEN &&
	       mad_class(s->payload) == MAD_CLASS_PERF &&
	       mad_method_is_response(mad_method(s->payload)) &&
	       mad_tid(s->payload) == *(const uint64_t *)tid;
}

int world_pma_ask(struct world *w, const struct pma_request *q, const struct seen **ret)
{
	struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = MAD_CLASS_PERF,
		.class_version = PERF_CLASS_VERSION,
		.method = q->method,
		.tid = ++w->tid,
		.attr_id = q->attr,
	};
	const uint64_t since = w->log.last + 1;
	uint8_t mad[MAD_LEN] = { 0 };

	mad_hdr_encode(mad, &h);
	if (q->data)
		memcpy(mad + PMA_DATA_OFF, q->data, q->len);
	*ret = NULL;
	for (unsigned int i = 0; i < TRIES && !*ret && !w->interrupted; i++) {
		send_request(w, mad, q->grh);
		*ret = world_expect(w, since, is_answer, &h.tid, NS_SEC(1));
	}
	return *ret ? mad_status((*ret)->payload) : -ETIMEDOUT;
}

int world_pma_counters(struct world *w, struct pma_port_counters *ret, const struct seen **ret_s)
{
	struct pma_port_counters c = { .port_select = w->dut.node.local_port };
	uint8_t data[PMA_PORT_COUNTERS_LEN];
	struct pma_request q = { .method = MAD_METHOD_GET,
				 .attr = PMA_ATTR_PORT_COUNTERS,
				 .data = data,
				 .len = sizeof(data) };
	int status;

	pma_port_counters_encode(data, &c);
	status = world_pma_ask(w, &q, ret_s);
	if (status >= 0)
		pma_port_counters_decode(ret, pma_attr_data(*ret_s), PMA_PORT_COUNTERS_LEN);
	return status;
}

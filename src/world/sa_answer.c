/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/sa_priv.h"

/*
 * DOC: Answers of the SA
 *
 * Tables are sent in RMPP segments. The suite never sends a segment twice; a DUT that has lost a segment asks for the
 * table again.
 */

void sa_send_gmp(struct world *w, const struct ib_ud_hdr *to, const uint8_t *mad)
{
	struct ib_ud_hdr h = {
		.lrh = { .sl = to->lrh.sl, .dlid = to->lrh.slid, .slid = WORLD_SM_LID },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY,
			 /* The SA is a full member of the partition, so its packets have the full P_Key. */
			 .pkey = to->bth.pkey | IB_PKEY_FULL,
			 .dest_qp = to->deth.src_qp },
		.deth = { .qkey = IB_QP1_QKEY, .src_qp = IB_QP1 },
	};

	world_send(w, &h, mad, MAD_LEN);
}

/* Send the segments up to number @last, which the DUT has allowed by its window */
static void table_send(struct world *w, uint32_t last)
{
	struct world_table *t = &w->table;
	const uint32_t segments = t->len ? (uint32_t)((t->len - 1) / SA_DATA_LEN + 1) : 1;
	struct rmpp_hdr rmpp = { .version = RMPP_VERSION, .type = RMPP_TYPE_DATA };
	uint8_t mad[MAD_LEN];

	while (t->sent < segments && t->sent < last) {
		size_t at = t->sent * (size_t)SA_DATA_LEN;
		size_t n = t->len - at < SA_DATA_LEN ? t->len - at : SA_DATA_LEN;

		rmpp.data1 = ++t->sent;
		rmpp.flags = RMPP_FLAG_ACTIVE | (t->sent == 1 ? RMPP_FLAG_FIRST : 0) |
			     (t->sent == segments ? RMPP_FLAG_LAST : 0);
		/*
		 * PayloadLength of the first segment is the length of all segments together, each with the SA's
		 * header. PayloadLength of the last segment is the length of this segment.
		 */
		rmpp.data2 = t->sent == segments ? (uint32_t)(SA_HDR_LEN + n) : 0;
		if (t->sent == 1)
			rmpp.data2 = (uint32_t)(segments * SA_HDR_LEN + t->len);
		sa_mad_encode(mad, &t->mad, &t->sa);
		rmpp_hdr_encode(mad + SA_RMPP_OFF, &rmpp);
		memcpy(mad + SA_DATA_OFF, t->data + at, n);
		sa_send_gmp(w, &t->to, mad);
	}
}

void sa_table_acknowledged(struct world *w, const struct sa_mad *q)
{
	if (q->mad.tid == w->table.mad.tid && q->rmpp.type == RMPP_TYPE_ACK)
		table_send(w, q->rmpp.data2);
}

void sa_answer_table(struct world *w, const struct seen *s, const struct sa_mad *q, size_t len,
		     size_t size)
{
	struct world_table *t = &w->table;

	t->mad = q->mad;
	t->mad.method = MAD_METHOD_GET_TABLE_RESP;
	t->mad.status = 0;
	t->sa = (struct sa_hdr){ .comp_mask = q->sa.comp_mask,
				 .attr_offset = (uint16_t)(size / 8) };
	t->to = s->h;
	t->len = len;
	t->sent = 0;
	table_send(w, 1);
}

size_t sa_table_step(size_t len)
{
	return (len + 7) & ~(size_t)7;
}

void sa_answer(struct world *w, const struct seen *s, const struct sa_mad *q, uint16_t status,
	       const void *data, size_t len)
{
	struct mad_hdr h = q->mad;
	struct sa_hdr sa = { .comp_mask = q->sa.comp_mask };
	uint8_t mad[MAD_LEN];

	if (h.method == MAD_METHOD_GET_TABLE && !status) {
		memset(w->table.data, 0, sa_table_step(len));
		if (len)
			memcpy(w->table.data, data, len);
		sa_answer_table(w, s, q, sa_table_step(len), sa_table_step(len));
		return;
	}
	h.method = h.method == MAD_METHOD_SET ? MAD_METHOD_GET_RESP : h.method | MAD_METHOD_RESP;
	h.status = status;
	sa_mad_encode(mad, &h, &sa);
	if (len)
		memcpy(mad + SA_DATA_OFF, data, len);
	sa_send_gmp(w, &s->h, mad);
}

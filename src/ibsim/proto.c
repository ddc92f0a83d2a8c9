/* SPDX-License-Identifier: BSD-2-Clause */
#include "ibsim/proto.h"

#include <errno.h>

/*
 * The layout in which ibsim stores a big-endian LID in a uint32_t: on x86 the LID is in the first
 * two octets, and the other two octets are 0.
 */
struct lid32 {
	be16 lid;
	uint8_t zero[2];
};

struct pkt_wire {
	struct lid32 dlid, slid;
	be32 dest_qp, src_qp, status;
	uint8_t pad[4];
	be64 len;
	uint8_t mad[MAD_LEN];
};
static_assert(sizeof(struct pkt_wire) == IBSIM_PKT_LEN, "struct sim_request of x86-64");
static_assert(offsetof(struct pkt_wire, len) == 24, "aligned to 8");

static struct lid32 lid32_of(uint16_t lid)
{
	return (struct lid32){ .lid = be16_of(lid) };
}

int ibsim_pkt_decode(struct ibsim_pkt *ret, const void *p, size_t n)
{
	struct pkt_wire w;
	uint64_t len;

	if (n != sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	len = be64_get(w.len);
	if (len < MAD_HDR_LEN || len > MAD_LEN)
		return -EBADMSG;
	*ret = (struct ibsim_pkt){
		.dlid = be16_get(w.dlid.lid),
		.slid = be16_get(w.slid.lid),
		.dest_qp = be32_get(w.dest_qp) & IB_QPN_MASK,
		.src_qp = be32_get(w.src_qp) & IB_QPN_MASK,
		.status = be32_get(w.status),
		.len = (uint16_t)len,
	};
	/*
	 * Copy only the valid octets. The octets after these are uninitialized memory of the
	 * client.
	 */
	memcpy(ret->mad, w.mad, len);
	return 0;
}

void ibsim_pkt_encode(void *p, const struct ibsim_pkt *k)
{
	struct pkt_wire w = {
		.dlid = lid32_of(k->dlid),
		.slid = lid32_of(k->slid),
		.dest_qp = be32_of(k->dest_qp),
		.src_qp = be32_of(k->src_qp),
		.status = be32_of(k->status),
		.len = be64_of(k->len),
	};

	memcpy(w.mad, k->mad, sizeof(w.mad));
	memcpy(p, &w, sizeof(w));
}

struct ctl_wire {
	uint32_t magic, client, type, len;
	uint8_t data[IBSIM_CTL_DATA];
};
static_assert(sizeof(struct ctl_wire) == IBSIM_CTL_LEN, "struct sim_ctl");

int ibsim_ctl_decode(struct ibsim_ctl *ret, const void *p, size_t n)
{
	struct ctl_wire w;

	if (n != sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	if (w.magic != IBSIM_MAGIC || w.len > sizeof(w.data))
		return -EBADMSG;
	*ret = (struct ibsim_ctl){ .client = w.client, .type = w.type, .len = w.len };
	memcpy(ret->data, w.data, sizeof(w.data));
	return 0;
}

void ibsim_ctl_encode(void *p, const struct ibsim_ctl *c)
{
	struct ctl_wire w = {
		.magic = IBSIM_MAGIC,
		.client = c->client,
		.type = c->type,
		.len = c->len,
	};

	memcpy(w.data, c->data, sizeof(w.data));
	memcpy(p, &w, sizeof(w));
}

struct client_info_wire {
	uint32_t id, qp, issm;
	char node[IBSIM_NODE_MAX];
};
static_assert(sizeof(struct client_info_wire) == IBSIM_CLIENT_INFO_LEN, "struct sim_client_info");
static_assert(IBSIM_CLIENT_INFO_LEN <= IBSIM_CTL_DATA, "fits");

int ibsim_client_info_decode(struct ibsim_client_info *ret, const void *p, size_t len)
{
	struct client_info_wire w;

	if (len != sizeof(w))
		return -EBADMSG;

	memcpy(&w, p, sizeof(w));
	if (!memchr(w.node, '\0', sizeof(w.node)))
		return -EBADMSG;
	*ret = (struct ibsim_client_info){ .id = w.id, .qp = w.qp, .issm = w.issm != 0 };
	memcpy(ret->node, w.node, sizeof(ret->node));
	return 0;
}

void ibsim_client_info_encode(void *p, const struct ibsim_client_info *i)
{
	struct client_info_wire w = { .id = i->id, .qp = i->qp, .issm = i->issm };

	memcpy(w.node, i->node, strnlen(i->node, sizeof(w.node) - 1));
	memcpy(p, &w, sizeof(w));
}

struct vendor_wire {
	uint32_t vendor_id, part_id, hw_ver, pad;
	uint64_t fw_ver;
};
static_assert(sizeof(struct vendor_wire) == IBSIM_VENDOR_LEN, "struct sim_vendor of x86-64");
static_assert(offsetof(struct vendor_wire, fw_ver) == 16, "aligned to 8");

void ibsim_vendor_encode(void *p, const struct ibsim_vendor *v)
{
	struct vendor_wire w = {
		.vendor_id = v->vendor_id,
		.part_id = v->part_id,
		.hw_ver = v->hw_ver,
		.fw_ver = v->fw_ver,
	};

	memcpy(p, &w, sizeof(w));
}

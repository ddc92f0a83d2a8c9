/* SPDX-License-Identifier: BSD-2-Clause */
#include "world/sm.h"

#include <errno.h>

#include "world/group.h"
#include "world/sa.h"
#include "wire/smp.h"

#define SMP_CLASS_VERSION 1
#define TRIES 3

static void send_smp(struct world *w, const uint8_t *mad, bool by_lid)
{
	struct ib_ud_hdr h = {
		.lrh = { .vl = IB_VL15, .dlid = IB_LID_PERMISSIVE, .slid = IB_LID_PERMISSIVE },
		.bth = { .opcode = IB_OP_UD_SEND_ONLY, .pkey = IB_PKEY_DEFAULT },
	};

	if (by_lid) {
		h.lrh.dlid = w->dut.lid;
		h.lrh.slid = WORLD_SM_LID;
	}
	world_send(w, &h, mad, MAD_LEN);
}

static void repress(struct world *w, const struct seen *s)
{
	uint8_t mad[MAD_LEN];

	memcpy(mad, s->payload, MAD_LEN);
	mad[MAD_OFF_METHOD] = MAD_METHOD_TRAP_REPRESS;
	send_smp(w, mad, true);
}

void world_sm_rx(struct world *w, const struct seen *s)
{
	if (s->payload_len != MAD_LEN || !mad_class_is_smp(mad_class(s->payload)))
		return;
	if (mad_method(s->payload) == MAD_METHOD_TRAP) {
		if (!w->trap_silent)
			repress(w, s);
	} else if (mad_method_is_response(mad_method(s->payload)) && w->answer_tid &&
		   mad_tid(s->payload) == w->answer_tid) {
		w->answer = world_log_keep(&w->kept, s);
		w->answer_tid = 0;
	}
}

static bool answered(const struct world *w, const void *arg)
{
	return w->answer || !w->up;
}

int world_sm_ask(struct world *w, const struct sm_request *q, const struct seen **ret)
{
	struct mad_hdr h = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = q->by_lid ? MAD_CLASS_SM_LID : MAD_CLASS_SM_DR,
		.class_version = SMP_CLASS_VERSION,
		.method = q->method,
		/*
		 * HopPointer 1 and HopCount 1: in the SMP's directed route, the switch that the
		 * suite plays has already forwarded the SMP.
		 */
		.class_specific = q->by_lid ? 0 : 0x0101,
		.tid = ++w->tid,
		.attr_id = q->attr,
		.attr_mod = q->mod,
	};
	struct smp_dr dr = {
		.mkey = w->mkey ^ q->mkey,
		.dr_slid = IB_LID_PERMISSIVE,
		.dr_dlid = IB_LID_PERMISSIVE,
		.initial_path = { 0, 1 },
	};
	uint8_t mad[MAD_LEN];

	smp_encode(mad, &h, &dr, q->data);
	w->answer = NULL;
	w->answer_tid = h.tid;
	for (unsigned int i = 0; i < (q->once ? 1 : TRIES) && !w->answer && !w->interrupted; i++) {
		send_smp(w, mad, q->by_lid);
		world_wait(w, answered, NULL, NS_SEC(1));
	}
	w->answer_tid = 0;
	*ret = w->answer;
	return w->answer ? mad_status(w->answer->payload) & ~MAD_STATUS_DR_D : -ETIMEDOUT;
}

int world_sm_port(struct world *w, void (*change)(struct smp_port_info *pi, unsigned int arg),
		  unsigned int arg, const struct seen **ret)
{
	struct smp_port_info pi = w->dut.port;
	uint8_t data[SMP_DATA_LEN] = { 0 };
	struct sm_request q = {
		.method = MAD_METHOD_SET, .attr = SMP_ATTR_PORT_INFO, .mod = 1, .data = data
	};
	int status;

	pi.mkey = w->mkey;
	pi.mkey_protect = 0;
	pi.gid_prefix = IB_SUBNET_PREFIX_DEFAULT;
	pi.lid = w->dut.lid;
	pi.sm_lid = WORLD_SM_LID;
	pi.sm_sl = 0;
	pi.lmc = 0;
	pi.neighbor_mtu = pi.mtu_cap < w->mtu_code ? pi.mtu_cap : w->mtu_code;
	pi.oper_vls = 1;
	pi.subnet_timeout = 14; /* the code 14 means 67 ms */
	pi.client_reregister = false;
	pi.port_state = IB_PORT_NOP;
	pi.phys_state = IB_PHYS_NOP;
	pi.down_default = 0;
	if (change)
		change(&pi, arg);
	smp_port_info_encode(data, &pi);
	status = world_sm_ask(w, &q, ret);
	if (status == 0)
		smp_port_info_decode(&w->dut.port, sm_attr_data(*ret), SMP_DATA_LEN);
	return status;
}

static void set_reregister(struct smp_port_info *pi, unsigned int arg)
{
	pi->client_reregister = true;
}

int world_sm_reregister(struct world *w, const struct seen **ret)
{
	for (unsigned int i = 0; i < WORLD_GROUPS; i++) {
		w->group[i].dut_state = 0;
		w->group[i].exists = w->group[i].exists && w->group[i].admin;
	}
	w->nsubs = 0;
	w->sidr.registered = false;
	return world_sm_port(w, set_reregister, 0, ret);
}

static void set_state(struct smp_port_info *pi, unsigned int state)
{
	pi->port_state = (uint8_t)state;
}

int world_sm_activate(struct world *w, const struct seen **ret)
{
	uint8_t pkeys[SMP_DATA_LEN] = { 0xff, 0xff }, vl[SMP_DATA_LEN] = { 0 };
	struct sm_request tables[] = {
		{ .method = MAD_METHOD_SET, .attr = SMP_ATTR_PKEY_TABLE, .data = pkeys },
		{ .method = MAD_METHOD_SET, .attr = SMP_ATTR_SLTOVL, .data = vl },
	};
	int status;

	for (unsigned int i = 0; i < 2; i++) {
		if (i == 1 && !(w->dut.port.cap_mask & SMP_CAP_IS_SL_MAP))
			continue;
		status = world_sm_ask(w, &tables[i], ret);
		if (status)
			return status;
	}
	status = world_sm_port(w, NULL, 0, ret);
	if (!status)
		status = world_sm_port(w, set_state, IB_PORT_ARMED, ret);
	if (status)
		return status;
	/*
	 * Count the DUT as Active before the answer comes, because the DUT may send data as soon as
	 * it has received the request.
	 */
	w->dut.active = true;
	return world_sm_port(w, set_state, IB_PORT_ACTIVE, ret);
}

bool world_sm_restore(struct world *w)
{
	ib_gid bcast = sa_mgid_broadcast(w);
	struct world_group *g = world_group(w, &bcast);
	const struct seen *s;

	if (!world_link_up(w))
		return false;
	if (g)
		g->dut_state = 0;
	w->nsubs = 0;
	if (world_sm_activate(w, &s))
		return false;
	return !g || world_wait(w, sa_is_full_member, g, WORLD_LONGEST);
}

bool sm_is_trap(const struct seen *s, const void *arg)
{
	struct mad_notice n;

	return s->kind == SEEN_SMP && s->payload_len == MAD_LEN &&
	       mad_method(s->payload) == MAD_METHOD_TRAP &&
	       !mad_notice_decode(&n, s->payload + SMP_DATA_OFF, MAD_NOTICE_LEN) && n.generic &&
	       n.trap == *(const uint16_t *)arg;
}

bool sm_is_trap_again(const struct seen *s, const void *arg)
{
	return s->kind == SEEN_SMP && s->payload_len == MAD_LEN &&
	       mad_method(s->payload) == MAD_METHOD_TRAP &&
	       mad_tid(s->payload) == *(const uint64_t *)arg;
}

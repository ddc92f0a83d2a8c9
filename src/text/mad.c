/* SPDX-License-Identifier: BSD-2-Clause */
#include "text/print.h"

#include "wire/pma.h"
#include "text/parts.h"
#include "wire/sa.h"
#include "wire/smp.h"

#define VENDOR2_OUI_OFF 37

void text_add_class_port_info(struct text *t, const void *p, size_t len)
{
	struct mad_class_port_info c;

	if (mad_class_port_info_decode(&c, p, len) < 0)
		return;

	text_add(t, " version %u.%u CapabilityMask 0x%04x CapabilityMask2 0x%07x RespTimeValue %u",
		 c.base_version, c.class_version, c.cap_mask, c.cap_mask2, c.resp_time);
	if (c.redirect_lid != 0)
		text_add(t, " redirect to LID %u QP 0x%06x", c.redirect_lid, c.redirect_qp);
}

void text_add_node_info(struct text *t, const struct smp_node_info *i)
{
	text_add(t, " %s ports %u node 0x%016llx port 0x%016llx LocalPort %u",
		 print_node_type(i->node_type), i->nports, (unsigned long long)i->node_guid,
		 (unsigned long long)i->port_guid, i->local_port);
}

void text_add_port_info(struct text *t, const struct smp_port_info *i)
{
	text_add(t, " LID %u/%u SMLID %u %s phys %u width %u speed %u ext %u MTU %u of %u", i->lid,
		 i->lmc, i->sm_lid, print_port_state(i->port_state), i->phys_state, i->width_active,
		 i->speed_active, i->speed_ext_active, ib_mtu_octets(i->neighbor_mtu),
		 ib_mtu_octets(i->mtu_cap));
	if (i->client_reregister)
		text_add(t, " ClientReregister");
}

void text_add_quoted(struct text *t, const void *s, size_t len)
{
	const unsigned char *c = s;

	text_add(t, " \"");
	for (size_t i = 0; i < len && c[i] != '\0'; i++)
		text_add(t, "%c", c[i] >= ' ' && c[i] <= '~' ? c[i] : '.');
	text_add(t, "\"");
}

static void add_switch_info(struct text *t, const void *p)
{
	struct smp_switch_info i;

	smp_switch_info_decode(&i, p, SMP_DATA_LEN);
	text_add(t, " LFT top %u of %u MFT top 0x%04x of %u%s", i.lft_top, i.lft_cap, i.mft_top,
		 i.mft_cap, i.port_state_change ? " PortStateChange" : "");
}

static void add_sm_info(struct text *t, const void *p)
{
	static const char *const states[] = { "NotActive", "Discovering", "Standby", "Master" };
	struct smp_sm_info i;

	smp_sm_info_decode(&i, p, SMP_DATA_LEN);
	text_add(t, " GUID 0x%016llx priority %u %s ActCount %u", (unsigned long long)i.guid,
		 i.priority, i.state <= SMP_SM_MASTER ? states[i.state] : "?", i.act_count);
}

static void add_pkeys(struct text *t, const void *p)
{
	uint16_t pkeys[SMP_PKEYS_PER_BLOCK];

	smp_pkey_block_decode(pkeys, p, SMP_DATA_LEN);
	for (unsigned int i = 0; i < SMP_PKEYS_PER_BLOCK; i++) {
		if (pkeys[i] != 0)
			text_add(t, " [%u] 0x%04x", i, pkeys[i]);
	}
}

/* Add the AttributeModifier of an SMP, whose meaning depends on the attribute (IBTA 14.2.5). */
static void add_smp_mod(struct text *t, const struct mad_hdr *h)
{
	uint32_t mod = h->attr_mod;

	switch (h->attr_id) {
	case SMP_ATTR_PORT_INFO:
		text_add(t, " port %u", mod & 0xff);
		break;
	case SMP_ATTR_PKEY_TABLE:
		text_add(t, " port %u block %u", mod >> 16, mod & 0xffff);
		break;
	case SMP_ATTR_SLTOVL:
		text_add(t, " in %u out %u", mod >> 8 & 0xff, mod & 0xff);
		break;
	case SMP_ATTR_VLARB:
		text_add(t, " port %u block %u", mod & 0xffff, mod >> 16);
		break;
	case SMP_ATTR_GUID_INFO:
	case SMP_ATTR_LFT:
		text_add(t, " block %u", mod & 0xffff);
		break;
	case SMP_ATTR_MFT:
		text_add(t, " block %u position %u", mod & 0x1ff, mod >> 28);
		break;
	default:
		if (mod != 0)
			text_add(t, " modifier 0x%x", mod);
	}
}

static void add_smp_attr(struct text *t, unsigned int attr, const uint8_t *data)
{
	struct smp_node_info ni;
	struct smp_port_info pi;

	switch (attr) {
	case SMP_ATTR_NOTICE:
		text_add_notice(t, data, SMP_DATA_LEN);
		break;
	case SMP_ATTR_NODE_DESC:
		text_add_quoted(t, data, SMP_DATA_LEN);
		break;
	case SMP_ATTR_NODE_INFO:
		smp_node_info_decode(&ni, data, SMP_DATA_LEN);
		text_add_node_info(t, &ni);
		break;
	case SMP_ATTR_SWITCH_INFO:
		add_switch_info(t, data);
		break;
	case SMP_ATTR_PORT_INFO:
		smp_port_info_decode(&pi, data, SMP_DATA_LEN);
		text_add_port_info(t, &pi);
		break;
	case SMP_ATTR_PKEY_TABLE:
		add_pkeys(t, data);
		break;
	case SMP_ATTR_SM_INFO:
		add_sm_info(t, data);
		break;
	}
}

static void add_route(struct text *t, const struct mad_hdr *h, const struct smp_dr *dr)
{
	unsigned int hops = h->class_specific & 0xff;

	text_add(t, " hop %u/%u", h->class_specific >> 8, hops);
	if (dr->dr_slid != IB_LID_PERMISSIVE || dr->dr_dlid != IB_LID_PERMISSIVE)
		text_add(t, " DrSLID %u DrDLID %u", dr->dr_slid, dr->dr_dlid);
	text_add(t, " path 0");
	for (unsigned int i = 1; i <= hops && i <= IB_MAX_HOPS; i++)
		text_add(t, ",%u", dr->initial_path[i]);
	if (h->status & MAD_STATUS_DR_D)
		text_add(t, " returning");
}

static void add_smp(struct text *t, const uint8_t *mad, size_t len)
{
	struct mad_hdr h;
	struct smp_dr dr;

	if (smp_hdr_decode(&h, &dr, mad, len) < 0)
		return;

	if (h.mgmt_class == MAD_CLASS_SM_DR)
		add_route(t, &h, &dr);
	add_smp_mod(t, &h);
	if (h.method != MAD_METHOD_GET)
		add_smp_attr(t, h.attr_id, mad + SMP_DATA_OFF);
}

static void add_perf(struct text *t, const struct mad_hdr *h, const uint8_t *mad, size_t len)
{
	struct pma_port_counters c;
	struct pma_port_counters_ext e;

	if (len <= PMA_DATA_OFF)
		return;

	mad += PMA_DATA_OFF;
	len -= PMA_DATA_OFF;
	if (h->attr_id == MAD_ATTR_CLASS_PORT_INFO && h->method != MAD_METHOD_GET)
		text_add_class_port_info(t, mad, len);
	else if (h->attr_id == PMA_ATTR_PORT_COUNTERS &&
		 pma_port_counters_decode(&c, mad, len) == 0)
		text_add(t, " port %u select 0x%04x xmit %u/%u rcv %u/%u", c.port_select,
			 c.counter_select, c.xmit_pkts, c.xmit_data, c.rcv_pkts, c.rcv_data);
	else if (h->attr_id == PMA_ATTR_PORT_COUNTERS_EXT &&
		 pma_port_counters_ext_decode(&e, mad, len) == 0)
		text_add(t, " port %u select 0x%04x xmit %llu/%llu rcv %llu/%llu", e.port_select,
			 e.counter_select, (unsigned long long)e.xmit_pkts,
			 (unsigned long long)e.xmit_data, (unsigned long long)e.rcv_pkts,
			 (unsigned long long)e.rcv_data);
}

static void add_hdr(struct text *t, const struct mad_hdr *h)
{
	const char *method = print_mad_method(h->mgmt_class, h->method);
	const char *attr = print_attr(h->mgmt_class, h->attr_id);
	unsigned int status = h->status;

	if (h->mgmt_class == MAD_CLASS_SM_DR)
		status &= ~(unsigned int)MAD_STATUS_DR_D;
	if (*method == '?')
		text_add(t, "%s class 0x%02x method 0x%02x", print_mad_class(h->mgmt_class),
			 h->mgmt_class, h->method);
	else
		text_add(t, "%s", method);
	if (*attr == '?')
		text_add(t, " attribute 0x%04x", h->attr_id);
	else
		text_add(t, " %s", attr);
	text_add(t, " TID 0x%016llx status 0x%04x", (unsigned long long)h->tid, status);
	if (status != 0)
		text_add(t, " (%s)", print_sa_status(status));
}

char *print_mad(char *buf, size_t size, const void *mad, size_t len)
{
	struct text t = { .buf = buf, .size = size };
	const uint8_t *m = mad;
	struct mad_hdr h;

	if (mad_hdr_decode(&h, mad, len) < 0) {
		text_add(&t, "MAD of %zu octets", len);
		return buf;
	}
	add_hdr(&t, &h);
	if (mad_class_is_smp(h.mgmt_class))
		add_smp(&t, m, len);
	else if (h.mgmt_class == MAD_CLASS_SA)
		text_add_sa(&t, m, len);
	else if (h.mgmt_class == MAD_CLASS_CM)
		text_add_cm(&t, m, len);
	else if (h.mgmt_class == MAD_CLASS_PERF)
		add_perf(&t, &h, m, len);
	else if (h.mgmt_class >= MAD_CLASS_VENDOR2_MIN && h.mgmt_class <= MAD_CLASS_VENDOR2_MAX &&
		 len >= VENDOR2_OUI_OFF + 3)
		text_add(&t, " OUI 0x%02x%02x%02x", m[VENDOR2_OUI_OFF], m[VENDOR2_OUI_OFF + 1],
			 m[VENDOR2_OUI_OFF + 2]);
	return buf;
}

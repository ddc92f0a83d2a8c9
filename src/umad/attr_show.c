/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "umad/attr.h"
#include "wire/pma.h"

/*
 * Content of the sysfs files, in the format of the kernel's
 * drivers/infiniband/core/{sysfs,device,user_mad}.c
 */

/* firmware version that programs are shown; it is invented, because there is no firmware */
#define FW_VERSION "1.0.0"
#define ABI_VERSION 5 /* IB_USER_MAD_ABI_VERSION */
#define MAJOR 231
#define ISSM_MINOR 64

static int print(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int print(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, size, fmt, ap);
	va_end(ap);
	return n < 0 || (size_t)n >= size ? -ENOSPC : n;
}

static struct node *ca_of(const struct umad_place *p)
{
	return p->view->node[p->ca];
}

static const struct node_port *port_of(const struct umad_place *p)
{
	return &ca_of(p)->port[p->port];
}

/* --- files of a CA */

static int node_type(const struct umad_place *p, char *buf, size_t size)
{
	static const char *const names[] = { "?", "CA", "switch", "router" };
	unsigned int t = ca_of(p)->info.node_type;

	return print(buf, size, "%u: %s\n", t, names[t & 3]);
}

static int guid(char *buf, size_t size, uint64_t g)
{
	return print(buf, size, "%04x:%04x:%04x:%04x\n", (unsigned int)(g >> 48),
		     (unsigned int)(g >> 32 & 0xffff), (unsigned int)(g >> 16 & 0xffff),
		     (unsigned int)(g & 0xffff));
}

static int node_guid(const struct umad_place *p, char *buf, size_t size)
{
	return guid(buf, size, ca_of(p)->info.node_guid);
}

static int sys_image_guid(const struct umad_place *p, char *buf, size_t size)
{
	return guid(buf, size, ca_of(p)->info.sys_guid);
}

static int node_desc(const struct umad_place *p, char *buf, size_t size)
{
	return print(buf, size, "%.64s\n", ca_of(p)->desc);
}

static int fw_ver(const struct umad_place *p, char *buf, size_t size)
{
	(void)p;
	return print(buf, size, FW_VERSION "\n");
}

static int hw_rev(const struct umad_place *p, char *buf, size_t size)
{
	return print(buf, size, "%x\n", ca_of(p)->info.revision);
}

static int hca_type(const struct umad_place *p, char *buf, size_t size)
{
	(void)p;
	return print(buf, size, "soft HCA\n");
}

static int board_id(const struct umad_place *p, char *buf, size_t size)
{
	(void)p;
	return print(buf, size, UMAD_CA_NAME "\n");
}

/* --- files of a port */

static int state(const struct umad_place *p, char *buf, size_t size)
{
	static const char *const names[] = { "NOP", "DOWN", "INIT", "ARMED", "ACTIVE" };
	unsigned int s = port_of(p)->pi.port_state;

	return print(buf, size, "%u: %s\n", s, s <= IB_PORT_ACTIVE ? names[s] : "UNKNOWN");
}

static int phys_state(const struct umad_place *p, char *buf, size_t size)
{
	static const char *const names[] = {
		"<unknown>",
		"Sleep",
		"Polling",
		"Disabled",
		"PortConfigurationTraining",
		"LinkUp",
		"LinkErrorRecovery",
		"Phy Test",
	};

	return print(buf, size, "%u: %s\n", port_of(p)->pi.phys_state,
		     names[port_of(p)->pi.phys_state & 7]);
}

static int lid(const struct umad_place *p, char *buf, size_t size)
{
	return print(buf, size, "0x%x\n", port_of(p)->pi.lid);
}

static int lid_mask_count(const struct umad_place *p, char *buf, size_t size)
{
	return print(buf, size, "%u\n", port_of(p)->pi.lmc);
}

static int sm_lid(const struct umad_place *p, char *buf, size_t size)
{
	return print(buf, size, "0x%x\n", port_of(p)->pi.sm_lid);
}

static int sm_sl(const struct umad_place *p, char *buf, size_t size)
{
	return print(buf, size, "%u\n", port_of(p)->pi.sm_sl);
}

static int cap_mask(const struct umad_place *p, char *buf, size_t size)
{
	return print(buf, size, "0x%08x\n", port_of(p)->pi.cap_mask);
}

static int link_layer(const struct umad_place *p, char *buf, size_t size)
{
	(void)p;
	return print(buf, size, "InfiniBand\n");
}

struct speed {
	const char *name;
	unsigned int lane; /* rate of one lane in units of 100 Mb/s */
};

static const struct speed *speed_of(const struct smp_port_info *pi)
{
	static const struct speed base[] = { { "SDR", 25 }, { "DDR", 50 }, { "QDR", 100 } };
	static const struct speed ext[] = {
		{ "FDR", 140 }, { "EDR", 250 }, { "HDR", 500 }, { "NDR", 1000 }
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(ext); i++)
		if (pi->speed_ext_active == 1u << i)
			return &ext[i];
	for (unsigned int i = 0; i < ARRAY_SIZE(base); i++)
		if (pi->speed_active == 1u << i)
			return &base[i];
	return &base[0];
}

static unsigned int lanes(uint8_t width_code)
{
	switch (width_code) {
	case 2:
		return 4;
	case 4:
		return 8;
	case 8:
		return 12;
	case 16:
		return 2;
	default:
		return 1;
	}
}

static int rate(const struct umad_place *p, char *buf, size_t size)
{
	const struct smp_port_info *pi = &port_of(p)->pi;
	const struct speed *s = speed_of(pi);
	unsigned int n = lanes(pi->width_active), r = n * s->lane;

	return print(buf, size, "%u%s Gb/sec (%uX %s)\n", r / 10, r % 10 ? ".5" : "", n, s->name);
}

static int gid(const struct umad_place *p, char *buf, size_t size)
{
	const struct node_port *np = port_of(p);
	ib_gid g = node_gid(np, p->index);
	char text[8 * 5 + 1];

	for (unsigned int i = 0; i < 8; i++)
		snprintf(text + i * 5, 6, "%04x:", be16_at(g.raw + i * 2));
	text[39] = '\0';
	return print(buf, size, "%s\n", text);
}

static int gid_type(const struct umad_place *p, char *buf, size_t size)
{
	(void)p;
	return print(buf, size, "IB/RoCE v1\n");
}

static int pkey(const struct umad_place *p, char *buf, size_t size)
{
	return print(buf, size, "0x%04x\n", port_of(p)->pkeys[p->index]);
}

/* --- counters, which are read from the PMA of the port, as in the kernel */

struct counter {
	uint16_t attr;
	uint16_t bit; /* offset of the counter in the attribute, in bits */
	uint8_t width; /* bits of the counter */
};

static uint64_t bits_at(const uint8_t *data, const struct counter *c)
{
	const uint8_t *p = data + c->bit / 8;
	uint64_t v = 0;

	if (c->width == 4)
		return c->bit % 8 ? *p & 15 : *p >> 4;
	for (unsigned int i = 0; i < c->width / 8u; i++)
		v = v << 8 | p[i];
	return v;
}

static int counter(const struct umad_place *p, char *buf, size_t size)
{
	const struct counter *c = p->arg;
	uint8_t data[NODE_PMA_DATA_LEN];

	if (node_pma_get(ca_of(p), (uint8_t)p->port, c->attr, data))
		return print(buf, size, "N/A (no PMA)\n");
	return print(buf, size, "%llu\n", (unsigned long long)bits_at(data, c));
}

/* --- files of umadN and issmN */

static int abi_version(const struct umad_place *p, char *buf, size_t size)
{
	(void)p;
	return print(buf, size, "%d\n", ABI_VERSION);
}

static int dev_ibdev(const struct umad_place *p, char *buf, size_t size)
{
	unsigned int ca = 0;

	umad_view_port(p->view, p->dev, &ca);
	return print(buf, size, UMAD_CA_NAME "%u\n", ca);
}

static int dev_port(const struct umad_place *p, char *buf, size_t size)
{
	return print(buf, size, "%u\n", umad_view_port(p->view, p->dev, NULL)->num);
}

static int umad_dev(const struct umad_place *p, char *buf, size_t size)
{
	return print(buf, size, "%d:%u\n", MAJOR, p->dev);
}

static int issm_dev(const struct umad_place *p, char *buf, size_t size)
{
	return print(buf, size, "%d:%u\n", MAJOR, ISSM_MINOR + p->dev);
}

#define COUNTER(name, bit, width)                                       \
	{                                                               \
		PORT "counters/" name, counter, &(const struct counter) \
		{                                                       \
			PMA_ATTR_PORT_COUNTERS, bit, width              \
		}                                                       \
	}
/* clang-format off */
#define COUNTER_EXT(name, bit)            \
	{ PORT "counters/" name, counter, \
	  &(const struct counter){ PMA_ATTR_PORT_COUNTERS_EXT, bit, 64 } }
/* clang-format on */
#define CA "class/infiniband/@ca/"
#define PORT CA "ports/@port/"
#define MAD "class/infiniband_mad/"

const struct umad_attr_row umad_attr_rows[] = {
	{ CA "board_id", board_id },
	{ CA "fw_ver", fw_ver },
	{ CA "hca_type", hca_type },
	{ CA "hw_rev", hw_rev },
	{ CA "node_desc", node_desc },
	{ CA "node_guid", node_guid },
	{ CA "node_type", node_type },
	{ CA "sys_image_guid", sys_image_guid },
	{ PORT "cap_mask", cap_mask },
	COUNTER("VL15_dropped", 176, 16),
	COUNTER("excessive_buffer_overrun_errors", 156, 4),
	COUNTER("link_downed", 56, 8),
	COUNTER("link_error_recovery", 48, 8),
	COUNTER("local_link_integrity_errors", 152, 4),
	COUNTER_EXT("multicast_rcv_packets", 512),
	COUNTER_EXT("multicast_xmit_packets", 448),
	COUNTER("port_rcv_constraint_errors", 136, 8),
	COUNTER_EXT("port_rcv_data", 128),
	COUNTER("port_rcv_errors", 64, 16),
	COUNTER_EXT("port_rcv_packets", 256),
	COUNTER("port_rcv_remote_physical_errors", 80, 16),
	COUNTER("port_rcv_switch_relay_errors", 96, 16),
	COUNTER("port_xmit_constraint_errors", 128, 8),
	COUNTER_EXT("port_xmit_data", 64),
	COUNTER("port_xmit_discards", 112, 16),
	COUNTER_EXT("port_xmit_packets", 192),
	COUNTER("port_xmit_wait", 320, 32),
	COUNTER("symbol_error", 32, 16),
	COUNTER_EXT("unicast_rcv_packets", 384),
	COUNTER_EXT("unicast_xmit_packets", 320),
	{ PORT "gid_attrs/types/@gid", gid_type },
	{ PORT "gids/@gid", gid },
	{ PORT "lid", lid },
	{ PORT "lid_mask_count", lid_mask_count },
	{ PORT "link_layer", link_layer },
	{ PORT "phys_state", phys_state },
	{ PORT "pkeys/@pkey", pkey },
	{ PORT "rate", rate },
	{ PORT "sm_lid", sm_lid },
	{ PORT "sm_sl", sm_sl },
	{ PORT "state", state },
	{ MAD "abi_version", abi_version },
	{ MAD "umad@/dev", umad_dev },
	{ MAD "umad@/ibdev", dev_ibdev },
	{ MAD "umad@/port", dev_port },
	{ MAD "issm@/dev", issm_dev },
	{ MAD "issm@/ibdev", dev_ibdev },
	{ MAD "issm@/port", dev_port },
};
const unsigned int umad_attr_nrows = ARRAY_SIZE(umad_attr_rows);

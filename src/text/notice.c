/* SPDX-License-Identifier: BSD-2-Clause */
#include "text/parts.h"

#include "text/print.h"
#include "util/list.h"
#include "wire/notice.h"

/* Add the data of a trap 64 to 67: the port or the group that has appeared or disappeared */
static void add_gid(struct text *t, const struct mad_notice *n)
{
	ib_gid g = mad_notice_get_gid(n);
	char gid[PRINT_GID_LEN];

	text_add(t, " GID %s", print_gid(gid, sizeof(gid), &g));
}

static void add_change(struct text *t, const struct mad_notice *n)
{
	static const char *const others[] = { "NodeDescription", "LinkWidthEnabled",
					      "LinkSpeedEnabled", "SMPriority" };
	struct notice_change c;

	notice_change_decode(&c, n);
	text_add(t, " about LID %u CapabilityMask 0x%08x", mad_notice_get_lid(n), c.cap_mask);
	for (unsigned int i = 0; i < ARRAY_SIZE(others); i++)
		if (c.others >> i & 1)
			text_add(t, " changed %s", others[i]);
}

/*
 * Add the data of trap 256. The wrong M_Key is not shown, because it may be the right M_Key of
 * another fabric, and users may pass this line on.
 */
static void add_mkey(struct text *t, const struct mad_notice *n)
{
	struct notice_mkey k;

	notice_mkey_decode(&k, n);
	text_add(t, " about LID %u request %s %s modifier 0x%08x", mad_notice_get_lid(n),
		 print_mad_method(MAD_CLASS_SM_LID, k.method), print_attr(MAD_CLASS_SM_LID, k.attr),
		 k.mod);
	if (!k.directed)
		return;
	text_add(t, " DrSLID %u return path", k.dr_slid);
	for (unsigned int i = 0; i < k.hops; i++)
		text_add(t, " %u", k.path[i]);
	if (k.truncated)
		text_add(t, " ...");
}

/* Add the addresses of one end of a packet. Values that the notice does not have are omitted. */
static void add_end(struct text *t, const char *word, uint16_t lid, uint32_t qp, const ib_gid *gid)
{
	char buf[PRINT_GID_LEN];

	if (!lid && !qp && !gid)
		return;
	text_add(t, " %s", word);
	if (lid)
		text_add(t, " LID %u", lid);
	if (qp)
		text_add(t, " QP 0x%06x", qp);
	if (gid)
		text_add(t, " GID %s", print_gid(buf, sizeof(buf), gid));
}

static void add_violation(struct text *t, const struct mad_notice *n)
{
	struct notice_violation v;

	notice_violation_decode(&v, n);
	if (n->trap == MAD_TRAP_BAD_QKEY)
		text_add(t, " Q_Key 0x%08x", v.key);
	else
		text_add(t, " P_Key 0x%04x", v.key & 0xffff);
	text_add(t, " SL %u of a packet", v.sl);
	add_end(t, "from", v.slid, v.src_qp, v.has_gids ? &v.sgid : NULL);
	add_end(t, "to", v.dlid, v.dest_qp, v.has_gids ? &v.dgid : NULL);
	if (n->trap == MAD_TRAP_SWITCH_BAD_PKEY)
		text_add(t, " at port %u of LID %u", v.port, v.switch_lid);
}

static void add_details(struct text *t, const struct mad_notice *n)
{
	switch (n->trap) {
	case MAD_TRAP_GID_IN_SERVICE:
	case MAD_TRAP_GID_OUT_OF_SERVICE:
	case MAD_TRAP_MC_CREATED:
	case MAD_TRAP_MC_DELETED:
		add_gid(t, n);
		break;
	case MAD_TRAP_LINK_INTEGRITY:
	case MAD_TRAP_BUFFER_OVERRUN:
	case MAD_TRAP_FLOW_WATCHDOG:
		text_add(t, " about port %u of LID %u", notice_get_port(n), mad_notice_get_lid(n));
		break;
	case MAD_TRAP_CAP_CHANGE:
		add_change(t, n);
		break;
	case MAD_TRAP_SYSGUID_CHANGE:
		text_add(t, " about LID %u SystemImageGUID 0x%016llx", mad_notice_get_lid(n),
			 (unsigned long long)notice_get_sys_guid(n));
		break;
	case MAD_TRAP_BAD_MKEY:
		add_mkey(t, n);
		break;
	case MAD_TRAP_BAD_PKEY:
	case MAD_TRAP_BAD_QKEY:
	case MAD_TRAP_SWITCH_BAD_PKEY:
		add_violation(t, n);
		break;
	default:
		text_add(t, " about LID %u", mad_notice_get_lid(n));
	}
}

void text_add_notice(struct text *t, const void *p, size_t len)
{
	struct mad_notice n;

	if (mad_notice_decode(&n, p, len) < 0)
		return;
	if (!n.generic) {
		text_add(t, " vendor 0x%06x device %u", n.producer, n.trap);
		return;
	}
	text_add(t, " trap %u (%s) from LID %u", n.trap, print_trap(n.trap), n.issuer_lid);
	add_details(t, &n);
}

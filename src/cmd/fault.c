/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "inst/fab.h"
#include "inst/udplink.h"
#include "fabric/fault.h"

/*
 * Faults on links. The id of a fault is unique only within a fabric, so an instance with several fabrics needs
 * the argument "fabric".
 */

static json_t *fault_row(const struct inst_fabric *f, const struct fault_info *i)
{
	json_t *row = cmd_fabric_row(f);
	char text[FAULT_TEXT_MAX], port[FABRIC_NAME_MAX];

	cmd_set_int(row, "id", i->id);
	cmd_set_str(row, "port", fabric_port_name(i->port, port, sizeof(port)));
	cmd_set_str(row, "fault", fault_print(text, sizeof(text), &i->spec));
	cmd_set_int(row, "seen", (long long)i->seen);
	cmd_set_int(row, "hit", (long long)i->hit);
	cmd_set_int(row, "held", i->held);
	return row;
}

static void fault_rows(struct ctl_req *r, struct inst_fabric *f)
{
	struct fault_info i = { 0 };

	while (fabric_fault_next(f->fabric, i.id, &i))
		ctl_row(r, fault_row(f, &i));
}

static void fault_show(struct ctl_req *r)
{
	cmd_each_fabric(r, fault_rows);
}

/*
 * Find the port whose outgoing packets get a fault: NODE/PORT, or udp:LINK for the far end of a
 * link over UDP. The outgoing packets of the far end are those that arrive at this fabric.
 */
static struct fabric_port *faulty_port(struct ctl_req *r, struct inst_fabric *f)
{
	bool bad;
	const char *text = ctl_arg_str(r, "port", &bad);
	char name[FABRIC_NAME_MAX];
	struct inst_udp *u;

	if (bad)
		return NULL;
	if (!text || strncmp(text, "udp:", 4) != 0)
		return cmd_arg_port(r, f, "port");
	list_for_each (u, &r->in->udps.links, link)
		if (u->fab == f && !strcmp(fabric_port_name(u->end, name, sizeof(name)), text))
			return u->end;
	ctl_end(r, PROTO_EXIT_USAGE, "port '%s': no such UDP link in fabric %s", text, f->name);
	return NULL;
}

static void fault_add(struct ctl_req *r)
{
	bool bad;
	const char *text = ctl_arg_str(r, "fault", &bad);
	struct inst_fabric *f = bad ? NULL : ctl_arg_fabric(r);
	struct fabric_port *p = f ? faulty_port(r, f) : NULL;
	struct fault_spec spec;
	struct fault_info info;
	char err[256] = "";
	unsigned int id;
	int status;

	if (!p)
		return;
	if (!text || fault_parse(&spec, text, err, sizeof(err))) {
		ctl_end(r, PROTO_EXIT_USAGE, "fault: %s", text ? err : "missing");
		return;
	}
	status = fabric_fault_add(p, &spec, &id);
	if (status) {
		ctl_end(r, PROTO_EXIT_USAGE, "fault: %s",
			status == -ENOTCONN ? "the port has no cable" : strerror(-status));
		return;
	}
	if (fabric_fault_next(f->fabric, id - 1, &info))
		ctl_row(r, fault_row(f, &info));
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

static void fault_del(struct ctl_req *r)
{
	bool bad;
	unsigned int id = (unsigned int)ctl_arg_int(r, "id", 1, UINT32_MAX, 0, &bad);
	struct inst_fabric *f = bad ? NULL : ctl_arg_fabric(r);

	if (!f)
		return;
	if (!id)
		ctl_end(r, PROTO_EXIT_USAGE, "id: missing");
	else if (fabric_fault_del(f->fabric, id, r->now))
		ctl_end(r, PROTO_EXIT_USAGE, "id %u: no such fault in fabric %s", id, f->name);
	else
		ctl_end(r, PROTO_EXIT_OK, NULL);
}

static void fault_clear(struct ctl_req *r)
{
	struct inst_fabric *f = ctl_arg_fabric(r);
	struct fault_info info;

	if (!f)
		return;
	while (fabric_fault_next(f->fabric, 0, &info))
		fabric_fault_del(f->fabric, info.id, r->now);
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

const struct ctl_cmd cmd_fault[] = {
	{ "fault show", CTL_READS, fault_show, (const char *const[]){ "fabric", NULL } },
	{ "fault add", CTL_CHANGES, fault_add,
	  (const char *const[]){ "port", "fault", "fabric", NULL } },
	{ "fault del", CTL_CHANGES, fault_del, (const char *const[]){ "id", "fabric", NULL } },
	{ "fault clear", CTL_CHANGES, fault_clear, (const char *const[]){ "fabric", NULL } },
	{ NULL },
};

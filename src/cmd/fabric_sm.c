/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/fabric.h"
#include "inst/fab_sm.h"
#include "sm/group.h"
#include "subnet/membership.h"
#include "route/route.h"
#include "partition/partition.h"

/* The subnet manager: its state and sweeps, partitions, multicast groups. */

/* Return the embedded SM that is master, or else any embedded SM; NULL after an error was sent */
static struct inst_sm *arg_sm(struct ctl_req *r)
{
	struct inst_fabric *f = ctl_arg_fabric(r);
	struct inst_sm *m = f ? fab_sm(f) : NULL;

	if (f && !m)
		ctl_end(r, PROTO_EXIT_USAGE,
			"fabric %s: its subnet manager is external, or stopped", f->name);
	return m;
}

/* --- state and sweeps */

static json_t *sweep_object(const struct sm_sweep *s, ns_t now)
{
	json_t *o = json_object();

	cmd_set_int(o, "number", (long long)s->number);
	cmd_set_str(o, "stage", sm_stage_name(s->stage));
	cmd_set(o, "ago_ms", s->ended ? cmd_ms(now - s->ended) : json_null());
	cmd_set(o, "duration_us",
		s->ended ? json_integer((json_int_t)((s->ended - s->started) / 1000))
			 : json_null());
	cmd_set(o, "partial", json_boolean(s->partial));
	cmd_set_int(o, "nodes", s->nodes);
	cmd_set_int(o, "switches", s->switches);
	cmd_set_int(o, "end_ports", s->end_ports);
	cmd_set_int(o, "links", s->links);
	cmd_set_int(o, "sms", s->sms);
	cmd_set_int(o, "lids_assigned", s->lids_assigned);
	cmd_set_int(o, "smps", s->smps);
	cmd_set_int(o, "timeouts", s->timeouts);
	cmd_set_int(o, "lft_blocks", s->lft_blocks);
	cmd_set_int(o, "mft_blocks", s->mft_blocks);
	cmd_set_int(o, "pkey_blocks", s->pkey_blocks);
	cmd_set_int(o, "ports_set", s->ports_set);
	cmd_set_int(o, "armed", s->armed);
	cmd_set_int(o, "activated", s->activated);
	cmd_set_int(o, "foreign_mkeys", s->foreign_mkeys);
	cmd_set_int(o, "left_out", s->left_out);
	cmd_set_int(o, "errors", s->errors);
	return o;
}

static json_t *others_array(const struct sm_status *st)
{
	json_t *v = json_array();

	for (uint32_t k = 0; k < st->nothers; k++) {
		const struct sm_other *s = &st->others[k];
		json_t *o = json_object();

		cmd_set(o, "port_guid", cmd_guid(s->port_guid));
		cmd_set_str(o, "state", sm_state_name((enum smp_sm_state)s->info.state));
		cmd_set_int(o, "priority", s->info.priority);
		json_array_append_new(v, o);
	}
	return v;
}

/* External managers are known only by the capability bit IsSM of the ports that they use. */
static json_t *external_object(const struct inst_fabric *f)
{
	json_t *o = json_object(), *ports = json_array();
	char name[FABRIC_NAME_MAX];

	for (unsigned int k = 0; k < fabric_nnodes(f->fabric); k++) {
		struct fabric_node *n = fabric_node_at(f->fabric, k);
		const struct node *node = fabric_node_node(n);

		for (unsigned int i = 0; i <= node->info.nports; i++)
			if (node->port[i].ep && node->port[i].pi.cap_mask & SMP_CAP_IS_SM)
				json_array_append_new(
					ports, ctl_str(fabric_port_name(fabric_node_port(n, i),
									name, sizeof(name))));
	}
	cmd_set_str(o, "state", "external");
	cmd_set(o, "is_sm", ports);
	return o;
}

static json_t *sm_object(const struct inst_sm *m, ns_t now)
{
	json_t *o = json_object();
	char port[FABRIC_NAME_MAX];
	struct sm_status st;

	sm_status(m->sm, &st);
	cmd_set_str(o, "port", fabric_port_name(m->at, port, sizeof(port)));
	cmd_set(o, "port_guid", cmd_guid(st.self.guid));
	cmd_set_str(o, "state", sm_state_name((enum smp_sm_state)st.self.state));
	cmd_set_int(o, "priority", st.self.priority);
	cmd_set_str(o, "stage", sm_stage_name(st.stage));
	cmd_set_str(o, "routing", st.routing);
	cmd_set(o, "master_guid", st.master_guid ? cmd_guid(st.master_guid) : json_null());
	cmd_set_int(o, "generation", (long long)st.generation);
	cmd_set_int(o, "heavy_sweeps", (long long)st.heavy_sweeps);
	cmd_set_int(o, "partial_sweeps", (long long)st.partial_sweeps);
	cmd_set_int(o, "light_sweeps", (long long)st.light_sweeps);
	cmd_set_int(o, "traps", (long long)st.traps);
	cmd_set_int(o, "traps_many", (long long)st.traps_many);
	cmd_set_int(o, "repairs", (long long)st.repairs);
	cmd_set_int(o, "smps", (long long)st.smps);
	cmd_set_int(o, "timeouts", (long long)st.timeouts);
	cmd_set(o, "last_sweep", st.last.number ? sweep_object(&st.last, now) : json_null());
	cmd_set(o, "others", others_array(&st));
	return o;
}

json_t *cmd_sm_object(const struct inst_fabric *f, ns_t now)
{
	const struct inst_sm *m = fab_sm(f);

	return m ? sm_object(m, now) : external_object(f);
}

static void sm_rows(struct ctl_req *r, struct inst_fabric *f)
{
	const struct inst_sm *m;

	list_for_each (m, &f->sms, link) {
		json_t *row = cmd_fabric_row(f), *sm = sm_object(m, r->now);

		json_object_update(row, sm);
		json_decref(sm);
		ctl_row(r, row);
	}
}

void cmd_fabric_sm_show(struct ctl_req *r)
{
	cmd_each_fabric(r, sm_rows);
}

void cmd_fabric_sweep(struct ctl_req *r)
{
	struct inst_sm *m = arg_sm(r);

	if (!m)
		return;
	sm_kick(m->sm, "asked for by a client", r->now);
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

/* --- starting and stopping managers */

static void end_or_error(struct ctl_req *r, int status, const char *err)
{
	if (status)
		ctl_end(r, PROTO_EXIT_USAGE, "%s", err);
	else
		ctl_end(r, PROTO_EXIT_OK, NULL);
}

void cmd_fabric_sm_start(struct ctl_req *r)
{
	struct inst_fabric *f = ctl_arg_fabric(r);
	struct fabric_port *at = f ? cmd_arg_port(r, f, "port") : NULL;
	char err[INST_ERR_MAX];
	long long priority;
	bool bad;

	if (!at)
		return;
	priority = ctl_arg_int(r, "priority", 0, 15, 0, &bad);
	if (!bad)
		end_or_error(r, fab_sm_start(f, at, (uint8_t)priority, r->now, err), err);
}

/*
 * Return the SM on the port that the argument "port" names; without the argument, the master. NULL
 * after an error was sent
 */
static struct inst_sm *arg_sm_at(struct ctl_req *r)
{
	struct inst_fabric *f;
	struct fabric_port *at;
	struct inst_sm *m;
	char name[FABRIC_NAME_MAX];

	if (!json_object_get(r->args, "port"))
		return arg_sm(r);
	f = ctl_arg_fabric(r);
	at = f ? cmd_arg_port(r, f, "port") : NULL;
	m = at ? fab_sm_at(f, at) : NULL;
	if (at && !m)
		ctl_end(r, PROTO_EXIT_USAGE, "port %s: no subnet manager of this instance is there",
			fabric_port_name(at, name, sizeof(name)));
	return m;
}

void cmd_fabric_sm_stop(struct ctl_req *r)
{
	struct inst_sm *m = arg_sm_at(r);

	if (!m)
		return;
	fab_sm_stop(m, r->now);
	ctl_end(r, PROTO_EXIT_OK, NULL);
}

void cmd_fabric_sm_restart(struct ctl_req *r)
{
	struct inst_sm *m = arg_sm_at(r);
	char err[INST_ERR_MAX];

	if (m)
		end_or_error(r, fab_sm_restart(m, r->now, err), err);
}

/* --- LIDs */

static const char *set_lid_why(int status)
{
	switch (status) {
	case -ENOENT:
		return "the subnet manager does not know this port";
	case -EEXIST:
		return "another port has it";
	case -EINVAL:
		return "expected 1 to 49151, a multiple of the number of LIDs of a port";
	case -EAGAIN:
		return "no subnet manager of this instance is master";
	default:
		return strerror(-status);
	}
}

/*
 * Return the GUID of the port that the argument "port" gives as NODE/PORT or as a GUID; a port
 * behind a link over UDP can be given only as a GUID. 0 after an error was sent
 */
static uint64_t arg_port_guid(struct ctl_req *r, struct inst_fabric *f)
{
	bool bad;
	const char *text = ctl_arg_str(r, "port", &bad);
	const struct node_port *np;
	struct fabric_port *p;
	uint64_t guid;
	char *end;

	if (!bad && text && !strncmp(text, "0x", 2)) {
		errno = 0;
		guid = strtoull(text, &end, 16);
		if (guid && !*end && !errno)
			return guid;
		ctl_end(r, PROTO_EXIT_USAGE, "port '%s': expected NODE/PORT or a GUID", text);
		return 0;
	}
	p = bad ? NULL : cmd_arg_port(r, f, "port");
	if (!p)
		return 0;
	np = &fabric_node_node(fabric_port_node(p))->port[fabric_port_num(p)];
	if (!np->ep)
		ctl_end(r, PROTO_EXIT_USAGE,
			"port '%s': expected port 0 of a switch or a port of a CA", text);
	return np->ep ? np->guids[0] : 0;
}

void cmd_fabric_lid_set(struct ctl_req *r)
{
	struct inst_fabric *f = ctl_arg_fabric(r);
	struct inst_sm *m = f ? arg_sm(r) : NULL;
	uint64_t guid = m ? arg_port_guid(r, f) : 0;
	long long lid;
	bool bad;
	int status;

	if (!guid)
		return;
	if (!json_object_get(r->args, "lid")) {
		ctl_end(r, PROTO_EXIT_USAGE, "lid: missing, expected a number");
		return;
	}
	lid = ctl_arg_int(r, "lid", 1, 0xbfff, 0, &bad);
	if (bad)
		return;
	status = sm_set_lid(m->sm, guid, (uint16_t)lid, r->now);
	if (status)
		ctl_end(r, PROTO_EXIT_USAGE, "lid %lld: %s", lid, set_lid_why(status));
	else
		ctl_end(r, PROTO_EXIT_OK, NULL);
}

/* --- partitions */

static json_t *members_of(const struct inst_fabric *f, const struct sm_partition *p, bool full)
{
	const struct inst_sm *m = fab_sm(f);
	const struct sm_db *db = m ? sm_db(m->sm) : NULL;
	json_t *v = json_array();

	for (struct sm_port *e = db ? sm_db_end_port(db, NULL) : NULL; e;
	     e = sm_db_end_port(db, e)) {
		enum sm_membership is = sm_partition_membership(p, e, e == db->self);

		if (full ? is == SM_MEMBER_FULL || is == SM_MEMBER_BOTH : is == SM_MEMBER_LIMITED)
			json_array_append_new(v, ctl_strf("%s/%u", e->node->desc, e->num));
	}
	return v;
}

static void partition_rows(struct ctl_req *r, struct inst_fabric *f)
{
	const struct inst_sm *m = fab_sm(f);
	const struct sm_partitions *ps = m ? sm_partitions(m->sm) : NULL;

	for (size_t k = 0; ps && k < ps->n; k++) {
		const struct sm_partition *p = &ps->part[k];
		json_t *row = cmd_fabric_row(f);

		cmd_set_str(row, "partition", p->name);
		cmd_set(row, "pkey", cmd_hex(p->pkey | IB_PKEY_FULL, 4));
		cmd_set_bool(row, "ipoib", p->ipoib);
		cmd_set_int(row, "groups", (long long)p->ngroups);
		cmd_set(row, "full_members", members_of(f, p, true));
		cmd_set(row, "limited_members", members_of(f, p, false));
		ctl_row(r, row);
	}
}

void cmd_fabric_partition_show(struct ctl_req *r)
{
	cmd_each_fabric(r, partition_rows);
}

void cmd_fabric_partition_load(struct ctl_req *r)
{
	bool bad;
	const char *name = ctl_arg_str(r, "file", &bad);
	struct inst_fabric *f = bad ? NULL : ctl_arg_fabric(r);
	int fd = ctl_take_fd(r);
	char err[INST_ERR_MAX];

	if (f && !name)
		ctl_end(r, PROTO_EXIT_USAGE, "file: missing, expected the name of what was read");
	else if (f)
		end_or_error(r, fab_set_partitions(f, name, fd, r->now, err), err);
	if (fd >= 0)
		close(fd);
}

/* --- groups */

static const char *join_name(uint8_t state, char buf[32])
{
	snprintf(buf, 32, "%s%s%s%s", state & MCM_JOIN_FULL ? "full " : "",
		 state & MCM_JOIN_NON ? "non " : "", state & MCM_JOIN_SEND_ONLY_NON ? "send " : "",
		 state & MCM_JOIN_SEND_ONLY_FULL ? "send-full " : "");
	if (*buf)
		buf[strlen(buf) - 1] = '\0';
	return buf;
}

static json_t *group_members(const struct inst_sm *sm, const struct sm_group *g)
{
	const struct sm_db *db = sm_db(sm->sm);
	json_t *v = json_array();
	struct sm_mcmember *m;

	list_for_each (m, &g->members, link) {
		const struct sm_port *p = db ? sm_db_port_by_guid(db, m->port_guid) : NULL;
		json_t *o = json_object();
		char join[32];

		cmd_set(o, "port", p ? ctl_strf("%s/%u", p->node->desc, p->num) : json_null());
		cmd_set(o, "port_gid", cmd_gid(&m->port_gid));
		cmd_set_str(o, "join", join_name(m->join_state, join));
		json_array_append_new(v, o);
	}
	return v;
}

static void group_rows(struct ctl_req *r, struct inst_fabric *f)
{
	const struct inst_sm *m = fab_sm(f);
	const struct sm_group *g = NULL;

	while (m && (g = sm_group_next(m->sm, g))) {
		json_t *row = cmd_fabric_row(f);

		cmd_set(row, "mgid", cmd_gid(&g->rec.mgid));
		cmd_set(row, "mlid", cmd_hex(g->rec.mlid, 4));
		cmd_set(row, "pkey", cmd_hex(g->rec.pkey, 4));
		cmd_set(row, "qkey", cmd_hex(g->rec.qkey, 8));
		cmd_set_int(row, "mtu", ib_mtu_octets(g->rec.mtu_code));
		cmd_set(row, "rate_mbps", cmd_rate(g->rec.rate_code));
		cmd_set_int(row, "sl", g->rec.sl);
		cmd_set_int(row, "scope", g->rec.scope);
		cmd_set_bool(row, "admin", g->admin);
		cmd_set_bool(row, "broadcast", g->broadcast);
		cmd_set_int(row, "nmembers", g->nmembers);
		cmd_set(row, "members", group_members(m, g));
		ctl_row(r, row);
	}
}

void cmd_fabric_group_show(struct ctl_req *r)
{
	cmd_each_fabric(r, group_rows);
}

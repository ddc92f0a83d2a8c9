/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Order in which data are read from the instance:
 *  - the sections below;
 *  - the map of the fabrics. The sections are read before it, because the picture of a large fabric
 *    leaves out CAs (layout/layout.h), but no CA with an interface;
 *  - the load of the links, part by part, again and again.
 *
 * When an event tells that a section or the map has changed, the section or the map is read again
 * before the next reading of the load.
 */

static const struct {
	const char *name, *cmd;
	const char *const
		/*
		 * members of a row that are stored; NULL: all members. Members that change often
		 * and are not needed are left out
		 */
		*members;
} sections[WEB_SECTIONS] = {
	[WEB_INTERFACES] = { "interfaces", "link show",
			     (const char *const[]){ "ifname", "host", "state", "reason", "admin_up",
						    "carrier", "fabric", "port", "pkey", "profile",
						    "mtu", "lid", "gid", "qpn", "lladdr",
						    "addresses", "broadcast", "mlid", NULL } },
	[WEB_SMS] = { "sms", "fabric sm show",
		      (const char *const[]){ "fabric", "port", "port_guid", "state", "priority",
					     "routing", "master_guid", "heavy_sweeps",
					     "partial_sweeps", NULL } },
	[WEB_GROUPS] = { "groups", "fabric group show", NULL },
	[WEB_PARTITIONS] = { "partitions", "fabric partition show", NULL },
};

const char *web_section_name(enum web_section s)
{
	return sections[s].name;
}

void web_live_init(struct web_live *l, uint64_t first)
{
	memset(l, 0, sizeof(*l));
	web_ring_init(&l->ring, first);
}

void web_live_fini(struct web_live *l)
{
	web_model_free(&l->model);
	web_ring_fini(&l->ring);
	json_decref(l->rows);
	for (int s = 0; s < WEB_SECTIONS; s++)
		free(l->section[s].text);
}

/* --- what is asked next */

void web_live_want(struct web_live *l, ns_t now)
{
	if (!l->wanted || now - l->wanted > WEB_LIVE_IDLE) {
		l->map_dirty = true;
		l->loaded = false;
		for (int s = 0; s < WEB_SECTIONS; s++)
			l->section[s].dirty = true;
	}
	l->wanted = now;
}

bool web_live_ready(const struct web_live *l)
{
	bool ready = l->loaded && !l->map_dirty;

	for (int s = 0; s < WEB_SECTIONS; s++)
		ready &= l->section[s].text != NULL;
	return ready;
}

static bool wanted(const struct web_live *l, ns_t now)
{
	return l->wanted && now - l->wanted <= WEB_LIVE_IDLE;
}

static ns_t section_due(const struct web_live *l, enum web_section s)
{
	return l->section[s].dirty ? 0 : l->section[s].at + WEB_LIVE_SECTIONS;
}

static ns_t map_due(const struct web_live *l)
{
	return l->map_dirty ? 0 : l->map_at + WEB_LIVE_MAP;
}

static json_t *part_args(const struct web_live *l, const char *fabric)
{
	return json_pack("{s:s, s:i, s:i}", "fabric", fabric, "from", l->from, "count",
			 WEB_LIVE_PART);
}

/* Choose what is read from the instance next, if it is time. */
static void begin(struct web_live *l, ns_t now)
{
	for (int s = 0; s < WEB_SECTIONS; s++) {
		if (section_due(l, (enum web_section)s) <= now) {
			l->doing = WEB_LIVE_READS_SECTION;
			l->which = (enum web_section)s;
			l->section[s].dirty = false;
			return;
		}
	}
	l->began = now;
	l->fabric = l->from = 0;
	if (map_due(l) <= now) {
		l->doing = WEB_LIVE_READS_FABRICS;
		l->map_dirty = false;
		l->map_at = now;
	} else if (ns_min(l->load_due, l->soon) <= now && l->model.nfabrics) {
		l->doing = WEB_LIVE_READS_LOAD;
		l->soon = NS_NEVER;
	}
}

static const char *fabric_in_rows(const struct web_live *l)
{
	return json_string_value(json_object_get(json_array_get(l->rows, l->fabric), "fabric"));
}

bool web_live_next(struct web_live *l, ns_t now, const char **ret_cmd, json_t **ret_args)
{
	*ret_args = NULL;
	if (!wanted(l, now))
		return false;
	if (l->doing == WEB_LIVE_REST)
		begin(l, now);
	switch (l->doing) {
	case WEB_LIVE_READS_SECTION:
		*ret_cmd = sections[l->which].cmd;
		return true;
	case WEB_LIVE_READS_FABRICS:
		*ret_cmd = "fabric show";
		return true;
	case WEB_LIVE_READS_MAP:
		*ret_cmd = "fabric map";
		*ret_args = part_args(l, fabric_in_rows(l));
		return true;
	case WEB_LIVE_READS_LOAD:
		*ret_cmd = "fabric load";
		*ret_args = part_args(l, l->model.fabric[l->fabric].name);
		return true;
	case WEB_LIVE_REST:
		break;
	}
	return false;
}

ns_t web_live_due(const struct web_live *l, ns_t now)
{
	ns_t due = ns_min(map_due(l), ns_min(l->load_due, l->soon));

	if (!wanted(l, now))
		return NS_NEVER;
	if (l->doing != WEB_LIVE_REST)
		return now;
	for (int s = 0; s < WEB_SECTIONS; s++)
		due = ns_min(due, section_due(l, (enum web_section)s));
	return due;
}

/* --- sections */

static json_t *reduced(json_t *row, const char *const *members)
{
	json_t *v = members ? json_object() : json_incref(row);

	for (; members && *members; members++)
		json_object_set(v, *members, json_object_get(row, *members));
	return v;
}

static void take_section(struct web_live *l, json_t *rows, ns_t now)
{
	struct web_live_section *s = &l->section[l->which];
	json_t *all = json_array(), *row;
	char *text;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		json_array_append_new(all, reduced(row, sections[l->which].members));
	}
	text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	s->at = now;
	l->doing = WEB_LIVE_REST;
	if (!text || (s->text && !strcmp(text, s->text))) {
		free(text);
		return;
	}
	free(s->text);
	s->text = text;
	web_ring_push(&l->ring, "section", json_pack("{s:s}", "name", web_section_name(l->which)));
}

/* --- the map */

/* Return: a JSON object whose keys are the names of those nodes of a fabric that have interfaces */
static json_t *nodes_with_interfaces(const struct web_live *l, const char *fabric)
{
	const char *text = l->section[WEB_INTERFACES].text;
	json_t *all = text ? json_loads(text, 0, NULL) : NULL, *keep = json_object(), *row;
	size_t i;

	json_array_foreach(all, i, row)
	{
		const char *port = json_string_value(json_object_get(row, "port")),
			   *of = json_string_value(json_object_get(row, "fabric"));
		const char *slash = port ? strrchr(port, '/') : NULL;
		char name[256];

		if (!slash || !of || strcmp(of, fabric))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(slash - port), port);
		json_object_set_new(keep, name, json_true());
	}
	json_decref(all);
	return keep;
}

/*
 * Build a new model from the rows of the map. If it differs, all clients are told to request a new
 * snapshot.
 */
static void new_model(struct web_live *l, ns_t now)
{
	int status = web_model_build(&l->model, l->rows);

	l->rows = NULL;
	l->doing = WEB_LIVE_REST;
	if (status > 0)
		return;
	l->loaded = !l->model.nfabrics;
	l->load_due = now;
	web_ring_push(&l->ring, "reset", json_pack("{s:s}", "reason", "the fabric has changed"));
}

static void take_fabrics(struct web_live *l, json_t *rows, ns_t now)
{
	json_t *row;
	size_t i;

	json_decref(l->rows);
	l->rows = json_array();
	json_array_foreach(rows, i, row)
	{
		const char *name = json_string_value(json_object_get(row, "fabric"));

		if (name)
			json_array_append_new(l->rows,
					      json_pack("{s:s, s:[], s:o}", "fabric", name, "rows",
							"keep", nodes_with_interfaces(l, name)));
	}
	l->doing = WEB_LIVE_READS_MAP;
	if (!json_array_size(l->rows))
		new_model(l, now);
}

static void take_map(struct web_live *l, json_t *rows, ns_t now)
{
	json_t *f = json_array_get(l->rows, l->fabric);

	json_array_extend(json_object_get(f, "rows"), rows);
	l->from += (unsigned int)json_array_size(rows);
	if (json_array_size(rows) == WEB_LIVE_PART)
		return;
	l->from = 0;
	if (++l->fabric == json_array_size(l->rows))
		new_model(l, now);
}

/* --- the load */

static void take_load(struct web_live *l, json_t *rows, ns_t now, long long unix_ms)
{
	if (web_model_load(&l->model, l->fabric, l->from, rows, now)) {
		l->map_dirty = true;
		l->doing = WEB_LIVE_REST;
		return;
	}
	l->from += WEB_LIVE_PART;
	if (l->from >= l->model.fabric[l->fabric].n) {
		l->from = 0;
		l->fabric++;
	}
	if (l->fabric < l->model.nfabrics)
		return;
	l->doing = WEB_LIVE_REST;
	l->load_due = now + ns_max(WEB_LIVE_PERIOD, WEB_LIVE_SHARE * (now - l->began));
	web_model_tell(&l->model, l->loaded ? &l->ring : NULL, unix_ms);
	l->loaded = true;
}

void web_live_answer(struct web_live *l, json_t *rows, ns_t now, long long unix_ms)
{
	switch (l->doing) {
	case WEB_LIVE_READS_SECTION:
		take_section(l, rows, now);
		break;
	case WEB_LIVE_READS_FABRICS:
		take_fabrics(l, rows, now);
		break;
	case WEB_LIVE_READS_MAP:
		take_map(l, rows, now);
		break;
	case WEB_LIVE_READS_LOAD:
		take_load(l, rows, now, unix_ms);
		break;
	case WEB_LIVE_REST:
		break;
	}
}

/* --- events of the instance */

static void dirty(struct web_live *l, enum web_section s)
{
	l->section[s].dirty = true;
}

void web_live_event(struct web_live *l, json_t *row, ns_t now)
{
	const char *event = json_string_value(json_object_get(row, "event"));

	if (!event)
		return;
	web_ring_push(&l->ring, "notice", json_incref(row));
	if (!strcmp(event, "link") || !strcmp(event, "interface"))
		dirty(l, WEB_INTERFACES);
	if (!strcmp(event, "sm") || !strcmp(event, "sweep"))
		dirty(l, WEB_SMS);
	if (!strcmp(event, "group") || !strcmp(event, "sweep"))
		dirty(l, WEB_GROUPS);
	if (!strcmp(event, "end_port") || !strcmp(event, "sweep"))
		dirty(l, WEB_PARTITIONS);
	/*
	 * After a sweep of the SM, LIDs may have changed, so the map is read again. In a large
	 * fabric, the map is read again only at the next regular time.
	 */
	if (!strcmp(event, "sweep") && l->model.nnodes <= WEB_LIVE_PART)
		l->map_dirty = l->loaded;
	if (strcmp(event, "drop"))
		l->soon = ns_min(l->soon, ns_max(now, l->began + WEB_LIVE_SOON));
}

int web_live_snapshot(const struct web_live *l, const char *instance, char **ret, size_t *ret_len)
{
	FILE *out = open_memstream(ret, ret_len);

	if (!out)
		return -ENOMEM;
	fprintf(out, "{\"seq\":%llu,\"first\":%llu,\"instance\":\"%s\",",
		(unsigned long long)(l->ring.next - 1), (unsigned long long)l->ring.first,
		instance);
	web_model_snapshot(&l->model, out);
	for (int s = 0; s < WEB_SECTIONS; s++)
		fprintf(out, ",\n\"%s\":%s", web_section_name((enum web_section)s),
			l->section[s].text ? l->section[s].text : "[]");
	fputs("}\n", out);
	return fclose(out) ? -ENOMEM : 0;
}

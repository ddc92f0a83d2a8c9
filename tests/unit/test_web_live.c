/* SPDX-License-Identifier: BSD-2-Clause */
#include "web/live.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

/*
 * The web server asks an instance questions to follow its state. The tests check when the web
 * server asks, and what it does with the answers. The test plays an instance with two switches, a
 * cable between them, a CA at each switch, and a link to another process.
 */

#define UP 4

struct rig {
	struct web_live l;
	ns_t now;
	ns_t each; /* time that an answer takes */
	/* number of questions of each kind: sections, fabrics, map, load, others */
	unsigned int asked[5];
	json_t *links; /* rows of "link show" */
	unsigned int state; /* state of the cable between the switches */
	long long data; /* data sent by Hca1, in units of four octets */
	unsigned int extra; /* number of further switches, without cables */
	char text[65536];
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	web_live_init(&r->l, 1000);
	r->links = json_array();
	r->state = UP;
	r->now = NS_SEC(100);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	web_live_fini(&r->l);
	json_decref(r->links);
	free(r);
	return 0;
}

/* --- the instance */

static const char *const map[] = {
	"{'node':'Switch1','description':'one','type':'switch','node_guid':'0x1','lid':1,'cables':"
	"[[1,'4xEDR','Switch2/1',false],[2,'4xEDR','Hca1/1',false],[3,'4xEDR','there',true]]}",
	"{'node':'Switch2','description':'<b>','type':'switch','node_guid':'0x2','lid':2,'cables':"
	"[[1,'4xEDR','Switch1/1',false],[2,'4xEDR','Hca2/1',false]]}",
	"{'node':'Hca1','description':'h','type':'ca','node_guid':'0x3','lid':3,'cables':"
	"[[1,'4xEDR','Switch1/2',false]]}",
	"{'node':'Hca2','description':'h','type':'ca','node_guid':'0x4','lid':4,'cables':"
	"[[1,'4xEDR','Switch2/2',false]]}",
};

static json_t *parse(const char *text)
{
	char *copy = strdup(text);
	json_t *v;

	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	v = json_loads(copy, JSON_DECODE_ANY, NULL);
	free(copy);
	assert_non_null(v);
	return v;
}

static json_t *map_row(unsigned int k)
{
	json_t *row;
	char name[16];

	if (k < 4)
		return parse(map[k]);
	snprintf(name, sizeof(name), "Spare%u", k);
	row = json_pack("{s:s, s:s, s:s, s:s, s:i, s:[]}", "node", name, "description", name,
			"type", "switch", "node_guid", "0x9", "lid", 0, "cables");
	return row;
}

static json_t *load_row(const struct rig *r, unsigned int k)
{
	switch (k) {
	case 0:
		return json_pack("{s:[i,i,i,i,i,i,i,i,i]}", "v", r->state, 0, 0, UP, 0, 0, UP, 0,
				 0);
	case 1:
		return json_pack("{s:[i,i,i,i,i,i]}", "v", r->state, 0, 7, UP, 0, 0);
	case 2:
		return json_pack("{s:[i,I,i]}", "v", UP, (json_int_t)r->data, 0);
	case 3:
		return json_pack("{s:[i,i,i]}", "v", UP, 0, 0);
	default:
		return json_pack("{s:[]}", "v");
	}
}

static json_t *part(struct rig *r, json_t *args, bool is_map)
{
	unsigned int from = (unsigned int)json_integer_value(json_object_get(args, "from")),
		     count = (unsigned int)json_integer_value(json_object_get(args, "count"));
	json_t *rows = json_array();

	assert_string_equal(json_string_value(json_object_get(args, "fabric")), "lab");
	for (unsigned int k = from; k < from + count && k < 4 + r->extra; k++)
		json_array_append_new(rows, is_map ? map_row(k) : load_row(r, k));
	return rows;
}

static json_t *instance(struct rig *r, const char *cmd, json_t *args)
{
	if (!strcmp(cmd, "fabric show"))
		return r->asked[1]++, parse("[{'fabric':'lab'}]");
	if (!strcmp(cmd, "fabric map"))
		return r->asked[2]++, part(r, args, true);
	if (!strcmp(cmd, "fabric load"))
		return r->asked[3]++, part(r, args, false);
	r->asked[0]++;
	return strcmp(cmd, "link show") ? json_array() : json_incref(r->links);
}

/* Let the web server ask its questions, and answer them, until the time @end. */
static void run_until(struct rig *r, ns_t end)
{
	for (int n = 0; n < 100000; n++) {
		const char *cmd;
		json_t *args, *rows;
		ns_t due;

		if (web_live_next(&r->l, r->now, &cmd, &args)) {
			rows = instance(r, cmd, args);
			json_decref(args);
			r->now += r->each;
			web_live_answer(&r->l, rows, r->now, (long long)(r->now / NS_MSEC(1)));
			json_decref(rows);
			continue;
		}
		due = web_live_due(&r->l, r->now);
		if (due > end || r->now >= end) {
			r->now = ns_max(r->now, end);
			return;
		}
		/* otherwise the time of the test would never advance */
		assert_true(due > r->now);
		r->now = due;
	}
	fail_msg("it does not come to rest");
}

static void ready(struct rig *r)
{
	web_live_want(&r->l, r->now);
	run_until(r, r->now + NS_MSEC(1));
	assert_true(web_live_ready(&r->l));
}

/* Returns all events from number @from on, as one text. */
static const char *events_since(struct rig *r, uint64_t from)
{
	size_t len, n = 0;

	r->text[0] = '\0';
	for (; from < r->l.ring.next; from++) {
		const char *t = web_ring_at(&r->l.ring, from, &len);

		assert_true(n + len < sizeof(r->text));
		memcpy(r->text + n, t, len + 1);
		n += len;
	}
	return r->text;
}

static json_t *snapshot(struct rig *r)
{
	char *text;
	size_t len;
	json_t *v;

	assert_int_equal(web_live_snapshot(&r->l, "lab", &text, &len), 0);
	v = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	assert_non_null(v);
	return v;
}

/* --- tests */

static void test_nothing_is_asked_for_nobody(void **state)
{
	struct rig *r = *state;
	const char *cmd;
	json_t *args;

	assert_false(web_live_next(&r->l, r->now, &cmd, &args));
	assert_true(web_live_due(&r->l, r->now) == NS_NEVER);
	ready(r);
	run_until(r, r->now + 2 * WEB_LIVE_IDLE);
	memset(r->asked, 0, sizeof(r->asked));
	run_until(r, r->now + NS_SEC(1000));
	assert_int_equal(r->asked[0] + r->asked[1] + r->asked[2] + r->asked[3], 0);
	/* A browser that connects later must get all values anew. */
	r->state = 1;
	web_live_want(&r->l, r->now);
	assert_false(web_live_ready(&r->l));
	run_until(r, r->now + NS_MSEC(1));
	assert_true(web_live_ready(&r->l));
	assert_int_equal(r->asked[2], 1);
	assert_int_equal(r->l.model.link[0].told.state, 1);
}

static void test_the_snapshot_has_what_was_read(void **state)
{
	struct rig *r = *state;
	json_t *s, *nodes, *links;

	ready(r);
	s = snapshot(r);
	nodes = json_object_get(s, "nodes");
	links = json_object_get(s, "links");
	assert_int_equal(json_array_size(nodes), 4);
	assert_int_equal(json_array_size(links), 4); /* each cable once */
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(nodes, 1), "description")), "<b>");
	assert_string_equal(json_string_value(json_object_get(json_array_get(links, 2), "outside")),
			    "there");
	assert_int_equal(json_integer_value(
				 json_array_get(json_object_get(json_array_get(links, 0), "b"), 0)),
			 1);
	assert_int_equal(json_integer_value(json_array_get(
				 json_object_get(json_array_get(links, 0), "errors"), 1)),
			 7);
	assert_int_equal(json_integer_value(json_object_get(s, "seq")), r->l.ring.next - 1);
	json_decref(s);
}

/*
 * 125,000,000 octets per second are a gigabit per second. The web server must report the rate in
 * octets, although the instance counts in units of four octets.
 */
static void test_rates_are_octets_a_second(void **state)
{
	struct rig *r = *state;
	uint64_t from;

	ready(r);
	from = r->l.ring.next;
	r->data += 125000000 / 4;
	run_until(r, r->now + NS_SEC(1) + NS_MSEC(1));
	/* Only the counter of Hca1 (end B) has grown. So Switch1/2 (end A) must have no rate. */
	assert_non_null(strstr(events_since(r, from), "\"links\":[[1,\"up\",0,12"));
	assert_in_range(r->l.model.link[1].told.rate[1], 124000000, 126000000);
	from = r->l.ring.next;
	run_until(r, r->now + NS_SEC(1));
	assert_non_null(strstr(events_since(r, from), "[1,\"up\",0,0,0,0]"));
	from = r->l.ring.next;
	run_until(r, r->now + NS_SEC(3));
	assert_null(strstr(events_since(r, from), "links")); /* the rate is the same, so no event */
}

static void test_a_counter_that_was_cleared_makes_no_rate(void **state)
{
	struct rig *r = *state;

	r->data = 1000000000;
	ready(r);
	r->data = 5;
	run_until(r, r->now + NS_SEC(2));
	assert_int_equal(r->l.model.link[1].now.rate[1], 0);
}

/*
 * After a trap, the web server must read the load soon, and not only at the next second. During a
 * flood of traps, it must not read the load all the time.
 */
static void test_an_event_brings_the_reading_forward(void **state)
{
	struct rig *r = *state;
	json_t *trap = parse("{'event':'trap','what':'link state of a switch changed'}");
	unsigned int loads;
	uint64_t from;

	ready(r);
	run_until(r, r->now + NS_MSEC(200));
	r->state = 1;
	from = r->l.ring.next;
	web_live_event(&r->l, trap, r->now);
	run_until(r, r->now + NS_MSEC(1));
	assert_non_null(strstr(events_since(r, from), "event: notice"));
	assert_non_null(strstr(r->text, "[0,\"disabled\""));
	loads = r->asked[3];
	for (int k = 0; k < 1000; k++) {
		web_live_event(&r->l, trap, r->now);
		run_until(r, r->now + NS_MSEC(1));
	}
	assert_in_range(r->asked[3] - loads, 2, NS_SEC(1) / WEB_LIVE_SOON + 2);
	json_decref(trap);
}

static void test_sections_are_read_when_an_event_says_so(void **state)
{
	struct rig *r = *state;
	json_t *link = parse("{'event':'link','ifname':'uib0'}");
	uint64_t from;

	ready(r);
	run_until(r, r->now + NS_MSEC(300));
	from = r->l.ring.next;
	json_array_append_new(r->links,
			      parse("{'ifname':'uib0','host':'h1','state':'UP','fabric':'lab',"
				    "'port':'Hca1/1','since_ms':17}"));
	web_live_event(&r->l, link, r->now);
	run_until(r, r->now + NS_MSEC(1));
	assert_non_null(strstr(events_since(r, from), "{\"name\":\"interfaces\"}"));
	assert_null(strstr(r->l.section[WEB_INTERFACES].text, "since_ms"));
	from = r->l.ring.next;
	web_live_event(&r->l, link, r->now); /* the rows have not changed */
	run_until(r, r->now + NS_MSEC(1));
	assert_null(strstr(events_since(r, from), "event: section"));
	json_decref(link);
}

/*
 * The map of a fabric has changed, so answers about its load no longer match the model. The web
 * server must read the map again, and tell browsers to fetch a new snapshot.
 */
static void test_a_changed_map_resets_the_clients(void **state)
{
	struct rig *r = *state;
	uint64_t from;
	json_t *s;

	ready(r);
	from = r->l.ring.next;
	r->extra = 300;
	run_until(r, r->now + WEB_LIVE_MAP / 3);
	web_live_want(&r->l, r->now);
	run_until(r, r->now + WEB_LIVE_MAP / 3);
	web_live_want(&r->l, r->now);
	run_until(r, r->now + WEB_LIVE_MAP / 2);
	assert_non_null(strstr(events_since(r, from), "event: reset"));
	s = snapshot(r);
	assert_int_equal(json_array_size(json_object_get(s, "nodes")), 304);
	json_decref(s);
}

/*
 * If an instance needs long for its answers, the web server must ask less often, so that it takes
 * only a part of the instance's time.
 */
static void test_a_slow_instance_is_asked_less(void **state)
{
	struct rig *r = *state;
	unsigned int loads;
	ns_t until;

	r->extra = 1000;
	r->each = NS_MSEC(50);
	web_live_want(&r->l, r->now);
	run_until(r, r->now + NS_SEC(5));
	assert_true(web_live_ready(&r->l));
	loads = r->asked[3];
	for (until = r->now + NS_SEC(100); r->now < until;) {
		web_live_want(&r->l, r->now);
		run_until(r, r->now + NS_SEC(5));
	}
	assert_in_range((r->asked[3] - loads) * r->each, NS_SEC(2),
			NS_SEC(100) / WEB_LIVE_SHARE + NS_SEC(1));
}

static void test_rows_that_do_not_fit_are_refused(void **state)
{
	struct rig *r = *state;
	json_t *rows = parse("[{'v':[4,0]}]"), *many = parse("[{},{},{},{},{}]");

	ready(r);
	assert_int_not_equal(web_model_load(&r->l.model, 0, 2, rows, r->now), 0);
	assert_int_not_equal(web_model_load(&r->l.model, 0, 0, many, r->now), 0);
	assert_int_not_equal(web_model_load(&r->l.model, 0, 4, rows, r->now), 0);
	assert_int_not_equal(web_model_load(&r->l.model, 1, 0, rows, r->now), 0);
	json_decref(rows);
	json_decref(many);
}

/* The picture folds leaf nodes, but it must show each CA that has an interface. */
static void test_hosts_are_not_folded(void **state)
{
	struct web_model m = { 0 };
	json_t *rows = json_array(), *cables = json_array(), *f;

	(void)state;
	for (int k = 1; k <= 200; k++) {
		char name[16], peer[16];

		snprintf(name, sizeof(name), "Hca%d", k);
		snprintf(peer, sizeof(peer), "Switch1/%d", k);
		json_array_append_new(rows, json_pack("{s:s, s:s, s:[[i,s,s,b]]}", "node", name,
						      "type", "ca", "cables", 1, "4xEDR", peer, 0));
		snprintf(peer, sizeof(peer), "Hca%d/1", k);
		json_array_append_new(cables, json_pack("[i,s,s,b]", k, "4xEDR", peer, 0));
	}
	json_array_append_new(rows, json_pack("{s:s, s:s, s:o}", "node", "Switch1", "type",
					      "switch", "cables", cables));
	f = json_pack("[{s:s, s:o, s:{s:b}}]", "fabric", "lab", "rows", rows, "keep", "Hca7", 1);
	assert_int_equal(web_model_build(&m, f), 0);
	assert_false(m.layout.node[6].hidden);
	assert_true(m.layout.node[7].hidden);
	assert_int_equal(m.layout.node[200].folded, 199);
	assert_int_equal(m.nlinks, 200);
	web_model_free(&m);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_nothing_is_asked_for_nobody),
		T(test_the_snapshot_has_what_was_read),
		T(test_rates_are_octets_a_second),
		T(test_a_counter_that_was_cleared_makes_no_rate),
		T(test_an_event_brings_the_reading_forward),
		T(test_sections_are_read_when_an_event_says_so),
		T(test_a_changed_map_resets_the_clients),
		T(test_a_slow_instance_is_asked_less),
		T(test_rows_that_do_not_fit_are_refused),
		T(test_hosts_are_not_folded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

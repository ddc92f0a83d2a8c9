/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "cli/check_live.h"
#include "cli/cli.h"
#include "cli/finding.h"
#include "cli/host.h"
#include "os/file.h"
#include "topo/topo.h"
#include "util/text.h"

/*
 * `uipoib fabric check` reads a fabric from a file, or a live fabric through umad. To read the fabric of an instance
 * through umad, the program executes itself at a node of the instance, as `uipoib exec` would. So the check judges
 * the answers of the agents in the fabric, and not the data that the instance has about the fabric.
 */

#define TABLES_MAX 64

struct opts {
	const char *file, *live, *at, *partitions;
	const char *tables[TABLES_MAX];
	unsigned int ntables;
	struct survey_cfg survey;
	unsigned int timeout_ms;
	uint64_t sm_key;
	/*
	 * command-line words after `check`, with which the program executes itself at a node of the
	 * instance
	 */
	char **argv;
	int argc;
};

static int usage(int status)
{
	fputs("uipoib fabric check [--at HOST|NODE]     the fabric of the running instance\n"
	      "uipoib fabric check --live PORT          the fabric at a port that umad sees: "
	      "mlx5_0/1, umad0\n"
	      "uipoib fabric check FILE [--tables FILE]...\n"
	      "                     what ibnetdiscover printed, and what ibroute, dump_fts or "
	      "OpenSM printed of\n"
	      "                     its tables\n"
	      "        look for faults: LIDs, GUIDs, links, routes, loops, partitions, counters\n"
	      "  --partitions FILE  P_Keys that ports should have: OpenSM's partitions.conf\n"
	      "  --seconds S        between two readings of counters (3); 0: do not read counters\n"
	      "  --rate N           most requests a second (2000)\n"
	      "  --window N         most requests at once (16)\n"
	      "  --within S         stop reading after so many seconds, and say what is missing "
	      "(3600)\n"
	      "  --timeout MS       until a request is repeated, three times at most (300)\n"
	      "  --mkey KEY         M_Key of the requests (0)\n"
	      "  --smkey KEY        SM_Key, to ask for the members of groups (1, as OpenSM has "
	      "it)\n",
	      status ? stderr : stdout);
	return status;
}

/* --- the command line */

static int set_seconds(struct opts *o, const char *text)
{
	long long ms;

	if (cli_seconds(&ms, text))
		return cli_error(PROTO_EXIT_USAGE, "fabric check: --seconds '%s': expected seconds",
				 text);
	o->survey.counters = ms > 0;
	o->survey.counter_ms = (unsigned int)ms;
	return 0;
}

static int set_option(struct opts *o, int c)
{
	unsigned int seconds = 0;
	int status;

	switch (c) {
	case 'l':
		o->live = optarg;
		return 0;
	case 'a':
		o->at = optarg;
		return 0;
	case 'p':
		o->partitions = optarg;
		return 0;
	case 't':
		if (o->ntables == TABLES_MAX)
			return cli_error(PROTO_EXIT_USAGE,
					 "fabric check: --tables: more than %d files", TABLES_MAX);
		o->tables[o->ntables++] = optarg;
		return 0;
	case 's':
		return set_seconds(o, optarg);
	case 'r':
		return cli_count(&o->survey.per_second, "fabric check: --rate", optarg, 1, 1000000);
	case 'w':
		return cli_count(&o->survey.window, "fabric check: --window", optarg, 1,
				 SURVEY_WINDOW_MAX);
	case 'W':
		status = cli_count(&seconds, "fabric check: --within", optarg, 1, 1000000);
		o->survey.within = NS_SEC(seconds);
		return status;
	case 'T':
		return cli_count(&o->timeout_ms, "fabric check: --timeout", optarg, 1, 60000);
	case 'm':
		return cli_u64(&o->survey.mkey, "fabric check: --mkey", optarg);
	case 'k':
		return cli_u64(&o->sm_key, "fabric check: --smkey", optarg);
	}
	return usage(PROTO_EXIT_USAGE);
}

const struct option cli_fabric_check_options[] = {
	{ "live", required_argument, NULL, 'l' },	{ "at", required_argument, NULL, 'a' },
	{ "partitions", required_argument, NULL, 'p' }, { "tables", required_argument, NULL, 't' },
	{ "seconds", required_argument, NULL, 's' },	{ "rate", required_argument, NULL, 'r' },
	{ "window", required_argument, NULL, 'w' },	{ "within", required_argument, NULL, 'W' },
	{ "timeout", required_argument, NULL, 'T' },	{ "mkey", required_argument, NULL, 'm' },
	{ "smkey", required_argument, NULL, 'k' },	{ NULL },
};

static int parse(struct opts *o, int argc, char **argv)
{
	int c, status = 0;

	optind = 1;
	while (!status && (c = getopt_long(argc, argv, "", cli_fabric_check_options, NULL)) != -1)
		status = set_option(o, c);
	if (status)
		return status;
	if (argc - optind > 1)
		return usage(PROTO_EXIT_USAGE);
	o->file = argv[optind];
	if (!!o->file + !!o->live + !!o->at > 1)
		return cli_error(PROTO_EXIT_USAGE,
				 "fabric check: expected one of FILE, --live and --at");
	if (o->ntables && !o->file)
		return cli_error(PROTO_EXIT_USAGE, "fabric check: --tables is for a FILE");
	/*
	 * The kernel repeats a request three times, and then reports that the request is lost. On a
	 * busy machine this report is late, so this program waits longer than the kernel.
	 */
	o->survey.patience = NS_MSEC(o->timeout_ms) * 5 + NS_SEC(10);
	return 0;
}

/* --- files */

static void left_out(void *ctx, enum topo_note kind, const char *text)
{
	(void)ctx;
	if (kind == TOPO_NOTE_LEFT_OUT)
		cli_print(stderr, "%s (left out)\n", text);
}

static int read_text(const char *file, char **ret, size_t *ret_len)
{
	int err = file_read(strcmp(file, "-") ? file : "/dev/stdin", ret, ret_len);

	return err ? cli_error(PROTO_EXIT_USAGE, "%s: %s", file, strerror(-err)) : 0;
}

static int memory_error(int err)
{
	return cli_error(PROTO_EXIT_ENV, "fabric check: %s", strerror(-err));
}

static int read_topology(struct chk_fabric **ret, const char *file)
{
	const struct topo_sink sink = { .note = left_out };
	struct topo_err why = { "" };
	struct topo *t;
	char *text;
	size_t len;
	int status = read_text(file, &text, &len), err;

	if (status)
		return status;
	err = topo_parse_found(&t, file, text, len, &sink, &why);
	free(text);
	if (err)
		return *why.text ? cli_error(PROTO_EXIT_USAGE, "%s", why.text) : memory_error(err);
	err = chk_from_topo(ret, t, CHK_OCTETS_MAX);
	topo_free(t);
	return err ? memory_error(err) : 0;
}

static int read_tables(struct chk_fabric *f, const char *file)
{
	struct chk_err why = { "" };
	unsigned int unknown = 0;
	char *text;
	size_t len;
	int status = read_text(file, &text, &len), err;

	if (status)
		return status;
	err = chk_read_tables(f, file, text, len, &unknown, &why);
	free(text);
	if (unknown)
		cli_print(stderr,
			  "%s: tables of %u switches that the topology does not have (left out)\n",
			  file, unknown);
	if (err)
		return *why.text ? cli_error(PROTO_EXIT_USAGE, "%s", why.text) : memory_error(err);
	return 0;
}

static int read_file(struct chk_fabric **ret, const struct opts *o)
{
	int status = read_topology(ret, o->file);

	for (unsigned int i = 0; !status && i < o->ntables; i++) {
		status = read_tables(*ret, o->tables[i]);
		if (status)
			chk_fabric_free(*ret);
	}
	return status;
}

static int read_partitions(struct sm_partitions **ret, const char *file)
{
	char *text, why[512] = "";
	size_t len;
	int status = read_text(file, &text, &len), err;

	if (status)
		return status;
	err = sm_partitions_parse(ret, file, text, len, why, sizeof(why));
	free(text);
	if (err)
		return *why ? cli_error(PROTO_EXIT_USAGE, "%s", why) : memory_error(err);
	return 0;
}

/* --- the report */

struct size {
	uint32_t switches, cas, links;
	bool tables; /* the LFT of at least one switch is known */
	uint32_t untabled; /* number of switches whose LFT is not known */
};

static struct size size_of(const struct chk_fabric *f)
{
	struct size z = { 0 };
	uint32_t ends = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		const struct chk_node *n = f->node[i];

		if (n->sw)
			z.switches++;
		else
			z.cas++;
		z.untabled += n->sw && !n->sw->lft;
		z.tables = z.tables || (n->sw && n->sw->lft);
		for (unsigned int p = 1; p <= n->nports; p++)
			ends += chk_peer(f, &n->port[p]) != NULL;
	}
	z.links = ends / 2;
	return z;
}

/*
 * Reason why the members of groups are not known, as a word for -j and as a part of a sentence. Both are NULL if the
 * members are known
 */
struct members_why {
	const char *word, *text;
};

static struct members_why members_why(const struct chk_fabric *f)
{
	static const struct members_why why[] = {
		[CHK_MEMBERS_UNASKED] = { "unasked", "no subnet administrator was asked" },
		[CHK_MEMBERS_SILENT] = { "no-answer", "the subnet administrator did not answer" },
		[CHK_MEMBERS_REFUSED] = { "refused",
					  "the subnet administrator refused the question" },
		[CHK_MEMBERS_UNNAMED] = { "unnamed",
					  "the subnet administrator named none (--smkey)" },
		[CHK_MEMBERS_CUT] = { "incomplete", "they need more memory than there is" },
		[CHK_MEMBERS_KNOWN] = { NULL, NULL },
	};

	return why[f->members];
}

static json_t *one_json(const struct chk_finding *x)
{
	json_t *v = finding_json(chk_kind_info(x->kind), x->what);
	char guid[20] = "";

	snprintf(guid, sizeof(guid), "0x%016" PRIx64, x->guid);
	json_object_set_new(v, "where", finding_utf8(x->where));
	json_object_set_new(v, "guid", x->guid ? json_string(guid) : json_null());
	return v;
}

static void print_json(const char *source, const struct chk_fabric *f, const struct chk_report *r,
		       const struct survey_stats *st)
{
	struct size z = size_of(f);
	json_t *list = json_array();

	for (uint32_t i = 0; i < r->n; i++)
		json_array_append_new(list, one_json(&r->finding[i]));
	cli_print_json(json_pack(
		"{s:i, s:{s:o, s:I, s:I, s:I, s:b, s:I, s:b, s:s?, s:b, s:I, s:I, s:I, s:o, "
		"s:{s:I, s:I, s:I, s:I}}}",
		"schema", PROTO_SCHEMA, "check", "source", finding_utf8(source), "switches",
		(json_int_t)z.switches, "cas", (json_int_t)z.cas, "links", (json_int_t)z.links,
		"tables", z.tables, "without_tables", (json_int_t)z.untabled, "members",
		f->members == CHK_MEMBERS_KNOWN, "members_why", members_why(f).word, "complete",
		!f->cut && !f->late, "faults", (json_int_t)r->faults, "notes", (json_int_t)r->notes,
		"left_out", (json_int_t)r->left_out, "findings", list, "requests", "sent",
		(json_int_t)st->sent, "lost", (json_int_t)st->lost, "refused",
		(json_int_t)st->refused, "busy", (json_int_t)st->busy));
}

/* The explanation is the same for all findings of a kind, so it is printed once, after the last of these findings. */
static void print_kind(const struct chk_report *r, enum chk_kind kind)
{
	const struct chk_kind_info *info = chk_kind_info(kind);
	char text[CHK_WHERE_MAX + CHK_WHAT_MAX + 2];
	bool any = false;

	for (uint32_t i = 0; i < r->n; i++) {
		if (r->finding[i].kind != kind)
			continue;
		any = true;
		snprintf(text, sizeof(text), "%s: %s", r->finding[i].where, r->finding[i].what);
		finding_print(info, text);
	}
	if (any)
		finding_advice(info);
}

static void print_text(const char *source, const struct chk_fabric *f, const struct chk_report *r,
		       bool live)
{
	struct size z = size_of(f);

	for (unsigned int k = 0; k < CHK_KINDS; k++)
		print_kind(r, k);
	if (r->left_out)
		printf("%u more findings\n", r->left_out);
	cli_print(stdout, "%s: %u switch%s, %u CA%s, %u link%s: %u fault%s, %u note%s\n", source,
		  z.switches, z.switches == 1 ? "" : "es", z.cas, text_s(z.cas), z.links,
		  text_s(z.links), r->faults, text_s(r->faults), r->notes, text_s(r->notes));
	if (!z.tables && z.switches)
		cli_print(stdout,
			  "%s: no forwarding tables are known, so routes were not checked\n",
			  source);
	else if (z.untabled)
		cli_print(stdout,
			  "%s: the forwarding tables of %u switches are not known, so routes "
			  "were not checked beyond them\n",
			  source, z.untabled);
	if (live && z.switches && members_why(f).text)
		cli_print(stdout,
			  "%s: no members of groups are known, because %s, so members were not "
			  "checked\n",
			  source, members_why(f).text);
}

/*
 * A live fabric may change while it is read. So if the first reading has findings, the fabric is
 * read again, and findings that the second reading does not have are dropped. Findings about
 * counters that grew are not dropped, because each of them follows from two readings already.
 */
static int confirm(struct chk_report *r, const struct opts *o, const struct chk_opts *what)
{
	struct survey_cfg cfg = survey_cfg_again(&o->survey);
	struct survey_stats st;
	struct chk_report again;
	struct chk_fabric *f;
	int status, err;

	status = check_live(&f, &st, o->live, &cfg, o->timeout_ms, o->sm_key);
	if (status)
		return status;
	err = chk_run(f, what, &again);
	if (!err)
		chk_report_confirm(r, &again);
	chk_report_fini(&again);
	chk_fabric_free(f);
	return err ? memory_error(err) : 0;
}

static int judge(const struct opts *o, const struct chk_fabric *f, const struct survey_stats *st,
		 const struct sm_partitions *ps)
{
	const struct chk_opts what = { .partitions = ps };
	const char *source = o->file ? o->file : o->live;
	struct chk_report r;
	int err = chk_run(f, &what, &r), status = err ? memory_error(err) : 0;

	if (!status && o->live && r.n)
		status = confirm(&r, o, &what);
	if (!status && cli_opts.json)
		print_json(source, f, &r, st);
	else if (!status)
		print_text(source, f, &r, o->live != NULL);
	if (!status && r.faults)
		status = PROTO_EXIT_FAILED;
	chk_report_fini(&r);
	return status;
}

/* --- the running instance */

struct choice {
	char node[TOPO_NAME_MAX + 1];
	int rank;
};

static void choose(void *ctx, json_t *row)
{
	struct choice *c = ctx;
	const char *node = json_string_value(json_object_get(row, "node"));
	const char *type = json_string_value(json_object_get(row, "type"));
	int rank = 1;

	/*
	 * A node with a LID is better than one without a LID, because a subnet manager has reached
	 * it. If both or neither have a LID, a switch is better than a CA, because more of the
	 * fabric can be reached from it.
	 */
	if (json_integer_value(json_object_get(row, "lid")))
		rank += 2;
	if (type && !strcmp(type, "switch"))
		rank++;
	if (!node || rank <= c->rank)
		return;
	snprintf(c->node, sizeof(c->node), "%s", node);
	c->rank = rank;
}

/* Execute this program at a node, with the same options. */
static int at_node(const struct opts *o)
{
	static char self[] = "/proc/self/exe", fabric[] = "fabric", check[] = "check",
		    live[] = "--live", first[] = "umad0", json[] = "-j";
	char **argv = calloc((size_t)o->argc + 8, sizeof(*argv));
	struct choice c = { "" };
	int status = o->at ? 0 : cli_call("fabric node show", json_object(), choose, &c), n = 0;

	if (!argv)
		return memory_error(-ENOMEM);
	if (!status && !o->at && !c.node[0])
		status = cli_error(PROTO_EXIT_USAGE, "fabric check: the instance has no fabric");
	if (!status)
		status = host_enter_tools(o->at ? o->at : c.node);
	argv[n++] = self;
	if (cli_opts.json)
		argv[n++] = json;
	argv[n++] = fabric;
	argv[n++] = check;
	argv[n++] = live;
	argv[n++] = first;
	for (int i = 1; i < o->argc; i++) {
		if (!strcmp(o->argv[i], "--at"))
			i++;
		else if (strncmp(o->argv[i], "--at=", 5))
			argv[n++] = o->argv[i];
	}
	if (!status)
		status = host_exec(argv);
	free(argv);
	return status;
}

int cli_fabric_check(int argc, char **argv)
{
	struct opts o = { .survey = survey_cfg_default(),
			  .timeout_ms = 300,
			  .sm_key = 1,
			  .argv = argv,
			  .argc = argc };
	struct survey_stats st = { 0 };
	struct sm_partitions *ps = NULL;
	struct chk_fabric *f = NULL;
	int status;

	if (cli_opts.help)
		return usage(PROTO_EXIT_OK);
	status = parse(&o, argc, argv);
	if (status)
		return status;
	if (!o.file && !o.live)
		return at_node(&o);
	if (o.partitions)
		status = read_partitions(&ps, o.partitions);
	if (!status)
		status = o.file ? read_file(&f, &o)
				: check_live(&f, &st, o.live, &o.survey, o.timeout_ms, o.sm_key);
	if (!status && f) {
		status = judge(&o, f, &st, ps);
		chk_fabric_free(f);
	}
	sm_partitions_free(ps);
	return status;
}

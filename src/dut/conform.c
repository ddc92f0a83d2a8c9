/* SPDX-License-Identifier: BSD-2-Clause */
#include "dut/dut.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clauses/profile.h"
#include "cmdline/cmdline.h"
#include "conf/conf.h"
#include "dut/fixtures.h"
#include "dut/io.h"

#define CLAUSES_MAX 64

struct conform_opts {
	struct conform_cfg cfg;
	struct ip_endpoint listen;
	const char *clause[CLAUSES_MAX + 1];
	unsigned int nclauses;
	const char *hook, *junit, *json, *pcap_dir, *fixtures;
	bool strict, list;
};

static int usage(int status)
{
	fputs("uipoib conform --dut udp:ADDR:PORT [--listen ADDR:PORT] [OPTION ...]\n"
	      "        play switch, SM, SA and peers at one end of a UDP link, and judge the IPoIB "
	      "implementation\n"
	      "        at the other end, the DUT, clause by clause\n"
	      "  --dut udp:ADDR:PORT    the DUT's end of the link\n"
	      "  --listen ADDR:PORT     this end (a port that the kernel chooses)\n"
	      "  --profile P            rfc4391, linux, hld2002, v4mc01, v6ib00 or "
	      "encaparp00 (rfc4391)\n"
	      "  --clause ID            judge this clause or case only, and those that it needs; "
	      "repeatable\n"
	      "  --address A            an IP address of the DUT, one of each version (10.9.0.1, "
	      "fd09::1);\n"
	      "                         the peers are in the same /24 and /64\n"
	      "  --hook CMD             makes the DUT act; gets a step, as \"send 239.7.0.1\", as "
	      "arguments\n"
	      "  --scope N              scope of the DUT's groups, 1 to 14 (2; with a subnet "
	      "number 14)\n"
	      "  --subnet-number N      number of the DUT's IP subnet (v4mc01), 1 to 65535\n"
	      "  --pkey-list            the DUT has the P_Keys 0x7fff and 0x0014 in a list, and no "
	      "others (hld2002)\n"
	      "  --mcast-timeout MS, --mcast-retry-cnt N\n"
	      "                         these parameters of the DUT (hld2002)\n"
	      "  --slow                 judge clauses, too, that take minutes\n"
	      "  --strict               INCONCLUSIVE counts as a failure\n"
	      "  --json F, --junit F    the report as a file; - is standard output\n"
	      "  --pcap-dir D           a capture of each FAIL\n"
	      "  --fixtures DIR         a packet of each kind of message, as pcap and as JSON; DIR "
	      "must be "
	      "new or empty\n"
	      "  --list                 the clauses of the profile, and why some have no case\n"
	      "exit status: 0 no FAIL, 1 a FAIL, or interrupted, 2 usage, 3 it cannot be run\n",
	      status ? stderr : stdout);
	return status;
}

static int set_dut(struct conform_opts *o, const char *text)
{
	if (strncmp(text, "udp:", 4) || conf_parse_endpoint(&o->cfg.world.dut, text + 4))
		return cli_error(PROTO_EXIT_USAGE,
				 "conform: --dut '%s': expected udp:ADDR:PORT, as "
				 "udp:127.0.0.1:6001 or udp:[::1]:6001",
				 text);
	return 0;
}

static int set_listen(struct conform_opts *o, const char *text)
{
	if (conf_parse_endpoint(&o->listen, text))
		return cli_error(PROTO_EXIT_USAGE, "conform: --listen '%s': expected ADDR:PORT",
				 text);
	return 0;
}

static int set_address(struct conform_opts *o, const char *text)
{
	if (inet_pton(AF_INET, text, o->cfg.world.ip4) != 1 &&
	    inet_pton(AF_INET6, text, o->cfg.world.ip6) != 1)
		return cli_error(PROTO_EXIT_USAGE,
				 "conform: --address '%s': expected an IPv4 or IPv6 address", text);
	return 0;
}

static int set_profile(struct conform_opts *o, const char *name)
{
	o->cfg.profile = conform_profile_find(name);
	if (o->cfg.profile)
		return 0;
	return cli_error(PROTO_EXIT_USAGE,
			 "conform: --profile '%s': expected rfc4391, linux, hld2002, v4mc01, "
			 "v6ib00 or encaparp00",
			 name);
}

/* Parse a number from @min to @max */
static int set_number(unsigned long *ret, const char *option, const char *text, unsigned long min,
		      unsigned long max)
{
	char *end;

	errno = 0;
	*ret = strtoul(text, &end, 0);
	if (errno || end == text || *end || !isdigit((unsigned char)*text) || *ret < min ||
	    *ret > max)
		return cli_error(PROTO_EXIT_USAGE,
				 "conform: %s '%s': expected a number from %lu to %lu", option,
				 text, min, max);
	return 0;
}

static int set_scope(struct conform_opts *o, const char *text)
{
	unsigned long n;
	int status = set_number(&n, "--scope", text, 1, 14);

	if (!status)
		o->cfg.world.scope = (uint8_t)n;
	return status;
}

static int set_mcast(unsigned int *ret, const char *option, const char *text, unsigned long min,
		     unsigned long max)
{
	unsigned long n = *ret;
	int status = set_number(&n, option, text, min, max);

	*ret = (unsigned int)n;
	return status;
}

static int set_subnet(struct conform_opts *o, const char *text)
{
	unsigned long n;
	int status = set_number(&n, "--subnet-number", text, 1, 0xffff);

	if (!status)
		o->cfg.world.subnet = (uint16_t)n;
	return status;
}

static int set_clause(struct conform_opts *o, const char *id)
{
	if (o->nclauses == CLAUSES_MAX)
		return cli_error(PROTO_EXIT_USAGE, "conform: --clause: more than %d", CLAUSES_MAX);
	o->clause[o->nclauses++] = id;
	return 0;
}

enum {
	OPT_DUT = 256,
	OPT_LISTEN,
	OPT_PROFILE,
	OPT_CLAUSE,
	OPT_ADDRESS,
	OPT_HOOK,
	OPT_SCOPE,
	OPT_SUBNET,
	OPT_SLOW,
	OPT_STRICT,
	OPT_JSON,
	OPT_JUNIT,
	OPT_PCAP,
	OPT_FIXTURES,
	OPT_PKEY_LIST,
	OPT_MCAST_TIMEOUT,
	OPT_MCAST_RETRY,
	OPT_LIST
};

const struct option dut_conform_options[] = {
	{ "dut", required_argument, NULL, OPT_DUT },
	{ "listen", required_argument, NULL, OPT_LISTEN },
	{ "profile", required_argument, NULL, OPT_PROFILE },
	{ "clause", required_argument, NULL, OPT_CLAUSE },
	{ "address", required_argument, NULL, OPT_ADDRESS },
	{ "hook", required_argument, NULL, OPT_HOOK },
	{ "scope", required_argument, NULL, OPT_SCOPE },
	{ "subnet-number", required_argument, NULL, OPT_SUBNET },
	{ "pkey-list", no_argument, NULL, OPT_PKEY_LIST },
	{ "mcast-timeout", required_argument, NULL, OPT_MCAST_TIMEOUT },
	{ "mcast-retry-cnt", required_argument, NULL, OPT_MCAST_RETRY },
	{ "slow", no_argument, NULL, OPT_SLOW },
	{ "strict", no_argument, NULL, OPT_STRICT },
	{ "json", required_argument, NULL, OPT_JSON },
	{ "junit", required_argument, NULL, OPT_JUNIT },
	{ "pcap-dir", required_argument, NULL, OPT_PCAP },
	{ "fixtures", required_argument, NULL, OPT_FIXTURES },
	{ "list", no_argument, NULL, OPT_LIST },
	{ "help", no_argument, NULL, 'h' },
	{ NULL },
};

/*
 * Apply one option. Return: 0; -1 after an option that only prints text, after which the program
 * ends; otherwise an exit status
 */
static int one_option(struct conform_opts *o, int opt)
{
	switch (opt) {
	case OPT_DUT:
		return set_dut(o, optarg);
	case OPT_LISTEN:
		return set_listen(o, optarg);
	case OPT_PROFILE:
		return set_profile(o, optarg);
	case OPT_CLAUSE:
		return set_clause(o, optarg);
	case OPT_ADDRESS:
		return set_address(o, optarg);
	case OPT_HOOK:
		o->hook = optarg;
		return 0;
	case OPT_SCOPE:
		return set_scope(o, optarg);
	case OPT_SUBNET:
		return set_subnet(o, optarg);
	case OPT_PKEY_LIST:
		o->cfg.world.conf.pkey_list = true;
		return 0;
	case OPT_MCAST_TIMEOUT:
		return set_mcast(&o->cfg.world.conf.mcast_timeout, "--mcast-timeout", optarg, 1,
				 10000);
	case OPT_MCAST_RETRY:
		return set_mcast(&o->cfg.world.conf.mcast_retry_cnt, "--mcast-retry-cnt", optarg, 0,
				 15);
	case OPT_SLOW:
		o->cfg.slow = true;
		return 0;
	case OPT_STRICT:
		o->strict = true;
		return 0;
	case OPT_JSON:
		o->json = optarg;
		return 0;
	case OPT_JUNIT:
		o->junit = optarg;
		return 0;
	case OPT_PCAP:
		o->pcap_dir = optarg;
		return 0;
	case OPT_FIXTURES:
		o->fixtures = optarg;
		return 0;
	case OPT_LIST:
		o->list = true;
		return 0;
	case 'h':
		usage(PROTO_EXIT_OK);
		return -1;
	default:
		return usage(PROTO_EXIT_USAGE);
	}
}

static int parse(struct conform_opts *o, int argc, char **argv)
{
	int opt, status;

	o->cfg.profile = conform_profile_find("rfc4391");
	optind = 0;
	while ((opt = getopt_long(argc, argv, "h", dut_conform_options, NULL)) >= 0) {
		status = one_option(o, opt);
		if (status)
			return status;
	}
	if (optind < argc)
		return cli_error(PROTO_EXIT_USAGE, "conform: '%s': unexpected", argv[optind]);
	if (o->list) {
		conform_print_list(stdout, o->cfg.profile);
		return -1;
	}
	if (!o->cfg.world.dut.family)
		return cli_error(PROTO_EXIT_USAGE,
				 "conform: --dut is missing: expected --dut udp:ADDR:PORT");
	if (!o->listen.family) {
		o->listen = (struct ip_endpoint){ .family = o->cfg.world.dut.family };
		if (ip_endpoint_is_loopback(&o->cfg.world.dut))
			memcpy(o->listen.addr, o->cfg.world.dut.addr, sizeof(o->listen.addr));
	}
	if (o->listen.family != o->cfg.world.dut.family)
		return cli_error(PROTO_EXIT_USAGE,
				 "conform: --listen and --dut are of different IP versions");
	o->cfg.clauses = o->clause;
	return 0;
}

/*
 * Open the report file @name before the run begins, so that a file name that does not work is
 * reported at once
 */
static int open_file(FILE **ret, const char *name)
{
	*ret = NULL;
	if (!name)
		return 0;
	*ret = strcmp(name, "-") ? fopen(name, "we") : stdout;
	return *ret ? 0 : cli_error(PROTO_EXIT_ENV, "conform: %s: %s", name, strerror(errno));
}

static int close_file(FILE *f, const char *name, int status)
{
	bool lost = f && (ferror(f) || fflush(f));

	if (f && f != stdout)
		lost |= fclose(f) != 0;
	return lost ? cli_error(PROTO_EXIT_ENV, "conform: %s: not written completely", name)
		    : status;
}

static void progress(void *ctx, const struct conform_result *r)
{
	FILE *f = ctx;

	conform_print_result(f, r);
	fflush(f);
}

static int judge(const struct conform_opts *o, const struct conform_report *rep)
{
	if (rep->interrupted || conform_count(rep, CONFORM_FAIL))
		return PROTO_EXIT_FAILED;
	if (o->strict && conform_count(rep, CONFORM_INCONCLUSIVE))
		return PROTO_EXIT_FAILED;
	return PROTO_EXIT_OK;
}

static int run(struct conform_opts *o, struct conform_outside *out, FILE *json, FILE *junit)
{
	FILE *text = json == stdout || junit == stdout ? stderr : stdout;
	struct conform_report rep;
	const char *unknown;
	int status, err = conform_run(&rep, &o->cfg, &out->io, progress, text, &unknown);

	if (err == -ENOENT)
		return cli_error(
			PROTO_EXIT_USAGE,
			"conform: --clause '%s': no such clause or case; --list shows them",
			unknown);
	if (err)
		return cli_error(PROTO_EXIT_ENV, "conform: %s", strerror(-err));
	conform_print_summary(text, &rep);
	if (json)
		conform_print_json(json, &rep);
	if (junit)
		conform_print_junit(junit, &rep);
	status = judge(o, &rep);
	conform_report_fini(&rep);
	return status;
}

/*
 * Write the packets for --fixtures. Return: @status, the exit status of the run, or the exit status
 * for a write error
 */
static int write_fixtures(struct fixtures *f, const struct conform_opts *o, int status)
{
	int lost = conform_fixtures_write(f, o->fixtures, o->cfg.profile->name);

	return lost ? lost : status;
}

int dut_conform(int argc, char **argv)
{
	struct conform_opts o = { 0 };
	struct conform_outside out = { 0 };
	struct fixtures fixtures = { 0 };
	char text[CONF_ENDPOINT_MAX];
	FILE *json = NULL, *junit = NULL;
	int status = parse(&o, argc, argv), err;

	if (status)
		return status < 0 ? PROTO_EXIT_OK : status;
	status = open_file(&json, o.json);
	if (!status)
		status = open_file(&junit, o.junit);
	if (!status && o.pcap_dir)
		status = conform_dir("--pcap-dir", o.pcap_dir);
	if (!status && o.fixtures)
		status = conform_fixtures_dir(o.fixtures);
	if (status)
		return close_file(junit, o.junit, close_file(json, o.json, status));
	if (!ip_endpoint_is_loopback(&o.listen))
		cli_error(0, "conform: warning: a UDP link is not authenticated");
	out.dut = o.cfg.world.dut;
	out.hook = o.hook;
	out.pcap_dir = o.pcap_dir;
	out.fixtures = o.fixtures ? &fixtures : NULL;
	err = conform_outside_open(&out, &o.listen);
	if (err) {
		status = cli_error(PROTO_EXIT_ENV, "conform: --listen %s: %s",
				   conf_print_endpoint(&o.listen, text), strerror(-err));
	} else {
		status = run(&o, &out, json, junit);
		conform_outside_close(&out);
		if (o.fixtures && status != PROTO_EXIT_USAGE && status != PROTO_EXIT_ENV)
			status = write_fixtures(&fixtures, &o, status);
		fixtures_fini(&fixtures);
	}
	status = close_file(json, o.json, status);
	return close_file(junit, o.junit, status);
}

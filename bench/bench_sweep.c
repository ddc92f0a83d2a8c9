/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Measures the sweep time and memory of the embedded SM for 10, 100 and 1,000 HCAs, or for fabrics
 * that files describe. Also measures how many PathRecords a second the SA answers while 16 queries
 * are open. Fabric, SM, SA and client all run in this process, whose CPU time is measured.
 *
 * For a file, the program also prints the cost of pulling one cable between switches, and of plugging this cable in
 * again.
 *
 *	bench_sweep [-e ENGINE] [-s | -1] [HCAS | FILE] ...
 *
 * -s measures only the first sweep and the queries, -1 only the first sweep. -e sets the routing engine.
 */

#include <ctype.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fabric/fabric.h"
#include "route/route.h"
#include "sm/group.h"
#include "util/prng.h"
#include "sa/sa.h"
#include "sm/sm.h"
#include "wire/records.h"

#define OPEN 16
#define JOINS 10000
#define CABLES 20
#define TABLES 20

struct bench {
	struct timers timers;
	struct pkt_pool *pool;
	struct fabric *f;
	struct sm *sm;
	struct sa *sa;
	ns_t now;
	bool up;
	struct sm_sweep sweep;
	struct sm_listener listener;
	/*
	 * CPU seconds at the start of the current stage of the sweep, and CPU seconds that each
	 * stage took
	 */
	double stage_at, stage[SM_STAGE_UP + 1];
	/* members for the queries to the SA */
	struct mad_agent *agent;
	struct node_port *port;
	uint16_t *lids;
	ib_gid *gids;
	unsigned int nhosts, next;
	uint64_t answered, failed;
	unsigned int open;
	bool asking, table;
};

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static long peak_kib(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_maxrss;
}

/* Returns the CPU seconds since the last call with the same @since. */
static double lap(double *since)
{
	double now = cpu_seconds(), took = now - *since;

	*since = now;
	return took;
}

static void on_stage(void *ctx, const struct sm_sweep *sw, ns_t now)
{
	struct bench *b = ctx;

	b->stage[sw->stage] = lap(&b->stage_at);
	if (sw->stage == SM_STAGE_UP && !b->up) {
		b->up = true;
		b->sweep = *sw;
	}
}

static const struct sm_events events = { .stage = on_stage };

/* Run everything that is due now, then advance the virtual time to the next deadline. */
static void step(struct bench *b)
{
	timers_run(&b->timers, b->now);
	while (fabric_run(b->f, b->now))
		;
	if (timers_next(&b->timers) > b->now && timers_next(&b->timers) != NS_NEVER)
		b->now = timers_next(&b->timers);
}

static struct topo *generate(unsigned int hosts)
{
	struct topo_gen_random g = {
		.seed = 1,
		.cas = hosts,
		.switches = hosts / 16 + 2,
		.max_ca_ports = 1,
		.extra_links = hosts / 8,
	};

	return topo_gen_random(&g);
}

static struct topo *load(const char *file)
{
	struct topo *t = NULL;
	struct topo_err err;
	char *text = NULL;
	size_t len = 0;
	FILE *f = fopen(file, "r");

	if (!f || getdelim(&text, &len, 0, f) < 0) {
		perror(file);
		exit(1);
	}
	fclose(f);
	if (topo_parse(&t, file, text, strlen(text), NULL, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	free(text);
	return t;
}

static void build(struct bench *b, const struct topo *t, const struct sm_engine *engine)
{
	struct fabric_cfg fc = { .timers = &b->timers, .crc = HCA_CRC_LAZY };
	struct sm_cfg sc = sm_cfg_default();
	struct mad_ep *ep = NULL;

	sc.routing = engine;
	timers_init(&b->timers);
	b->now = NS_SEC(1);
	b->pool = pkt_pool_create(65536, 1024);
	fc.pool = b->pool;
	if (!t || fabric_create(&b->f, t, &fc, b->now))
		exit(1);
	for (unsigned int i = 0; i < fabric_nnodes(b->f) && !ep; i++)
		if (!fabric_node_hca(fabric_node_at(b->f, i)))
			ep = fabric_node_node(fabric_node_at(b->f, i))->port[0].ep;
	if (sm_create(&b->sm, ep, &sc, &b->timers, NULL) || sa_create(&b->sa, b->sm))
		exit(1);
	b->listener = (struct sm_listener){ .ops = &events, .ctx = b };
	sm_listen(b->sm, &b->listener);
}

static void collect_hosts(struct bench *b)
{
	unsigned int n = fabric_nnodes(b->f);

	b->lids = calloc(n, sizeof(*b->lids));
	b->gids = calloc(n, sizeof(*b->gids));
	for (unsigned int i = 0; i < n; i++) {
		struct fabric_node *node = fabric_node_at(b->f, i);
		struct node_port *p = &fabric_node_node(node)->port[1];

		if (!fabric_node_hca(node))
			continue;
		b->lids[b->nhosts] = p->pi.lid;
		b->gids[b->nhosts++] = node_gid(p, 0);
		if (!b->port)
			b->port = p;
	}
}

static void ask(struct bench *b);

static void on_done(void *ctx, int status, const struct mad_addr *from, const void *mad, size_t len,
		    ns_t now)
{
	struct bench *b = ctx;

	b->open--;
	if (status || mad_status(mad))
		b->failed++;
	else
		b->answered += b->table ? (len - SA_DATA_OFF) / PATH_REC_LEN : 1;
	if (b->asking)
		ask(b);
}

/*
 * Send one request: for a single path, or for a table of the paths from one port to all other
 * ports.
 */
static void ask(struct bench *b)
{
	struct ib_path_rec rec = {
		.sgid = b->gids[0],
		.dgid = b->gids[1 + b->next++ % (b->nhosts - 1)],
		.pkey = 0xffff,
		.numb_path = 1,
	};
	struct sa_hdr sa = { .comp_mask = PATH_COMP_SGID };
	struct mad_hdr h = { .base_version = 1,
			     .mgmt_class = MAD_CLASS_SA,
			     .class_version = 2,
			     .method = b->table ? MAD_METHOD_GET_TABLE : MAD_METHOD_GET,
			     .attr_id = SA_ATTR_PATH_RECORD };
	uint8_t mad[MAD_LEN];
	struct mad_req req = { .mad = mad,
			       .len = MAD_LEN,
			       .timeout_ms = 1000,
			       .retries = 3,
			       .done = on_done,
			       .ctx = b };

	if (!b->table)
		sa.comp_mask |=
			PATH_COMP_DGID | PATH_COMP_PKEY | PATH_COMP_NUMB_PATH | PATH_COMP_TCLASS;
	sa_mad_encode(mad, &h, &sa);
	ib_path_rec_encode(mad + SA_DATA_OFF, &rec);
	req.to = mad_addr_gmp(b->port->pi.sm_lid, 0);
	if (mad_request(b->agent, &req, NULL, b->now))
		exit(1);
	b->open++;
}

static void pass(struct bench *b)
{
	timers_run(&b->timers, b->now);
	fabric_run(b->f, b->now);
	b->now += 1000;
}

/*
 * Returns the number of PathRecords per second of CPU time that the SA answers if each request asks
 * for one PathRecord.
 */
static double query_rate(struct bench *b)
{
	double start = cpu_seconds(), rate;

	b->asking = true;
	for (int i = 0; i < OPEN; i++)
		ask(b);
	while (cpu_seconds() - start < 1.0)
		pass(b);
	rate = (double)b->answered / (cpu_seconds() - start);
	b->asking = false;
	while (b->open)
		pass(b);
	return rate;
}

/*
 * Returns the number of PathRecords per second of CPU time that the SA sends if the method of each
 * request is GetTable. A second of virtual time passes between two requests, so that the SA's rate
 * limit for the port refuses no request.
 */
static double table_rate(struct bench *b)
{
	double took = 0;

	b->table = true;
	b->answered = 0;
	for (int i = 0; i < TABLES; i++) {
		ns_t until = b->now + NS_SEC(1);
		double start;

		while (timers_next(&b->timers) < until)
			step(b);
		b->now = until;
		start = cpu_seconds();
		ask(b);
		while (b->open)
			pass(b);
		took += cpu_seconds() - start;
	}
	return (double)b->answered / took;
}

/*
 * A second sweep follows the first sweep. Wait until the second sweep has ended, so that only the
 * queries are measured.
 */
static void settle(struct bench *b)
{
	ns_t until = b->now + NS_SEC(5);

	while (timers_next(&b->timers) < until)
		step(b);
	b->now = until;
}

static void client_open(struct bench *b)
{
	struct mad_agent_cfg ac = {
		.qp = 1, .mgmt_class = MAD_CLASS_SA, .class_version = 2, .rmpp = true
	};

	collect_hosts(b);
	if (mad_agent_add(b->port->ep, &ac, &b->agent))
		exit(1);
}

/*
 * Not inlined, so that `valgrind --tool=callgrind --toggle-collect=until_up` counts only the
 * sweeps.
 */
static __attribute__((noinline)) double until_up(struct bench *b)
{
	double start = cpu_seconds();

	b->up = false;
	b->stage_at = start;
	while (!b->up)
		step(b);
	return cpu_seconds() - start;
}

static void print_stages(const struct bench *b)
{
	printf("   ");
	for (int i = SM_STAGE_DISCOVER; i <= SM_STAGE_UP; i++)
		printf(" %s %.0f", sm_stage_name((enum sm_stage)i), b->stage[i] * 1e3);
	printf(" ms\n");
}

static void on_joined(void *ctx, int status, ns_t now)
{
	unsigned int *left = ctx;

	(*left)--;
}

/*
 * Let all HCAs, but at most JOINS, join the broadcast group, with OPEN joins under way at a time,
 * as when all hosts boot together.
 */
static void joins(struct bench *b)
{
	struct sm_group *g = sm_group_next(b->sm, NULL);
	double start = cpu_seconds();
	unsigned int open = 0, n = b->nhosts < JOINS ? b->nhosts : JOINS;

	for (unsigned int i = 0; g && i < n; i++) {
		open++;
		if (sm_group_join(b->sm, g, &b->gids[i], MCM_JOIN_FULL, false, on_joined, &open,
				  b->now))
			exit(1);
		while (open >= OPEN || (open && i == n - 1))
			step(b);
	}
	printf("    %u joins of one group: %.1f ms CPU\n", n, (cpu_seconds() - start) * 1e3);
}

/* Measure a sweep that finds no change, for example a sweep after a trap that was sent although nothing had changed. */
static void again(struct bench *b)
{
	double took;

	sm_kick(b->sm, "bench", b->now);
	took = until_up(b);
	printf("    again %.1f ms CPU, %u SMPs, %u LFT blocks\n", took * 1e3, b->sweep.smps,
	       b->sweep.lft_blocks);
	print_stages(b);
}

static struct fabric_port *some_cable(struct bench *b, struct prng *rnd)
{
	for (;;) {
		struct fabric_node *n = fabric_node_at(b->f, prng_below(rnd, fabric_nnodes(b->f)));
		struct fabric_port *p, *q;

		if (fabric_node_hca(n))
			continue;
		p = fabric_node_port(n, 1 + prng_below(rnd, fabric_node_node(n)->info.nports));
		q = p ? fabric_port_peer(p) : NULL;
		if (q && !fabric_node_hca(fabric_port_node(q)))
			return p;
	}
}

/*
 * Returns the CPU seconds from the change of a cable until the sweep that this change causes is
 * over; @ret gets the counts of SMPs of this sweep.
 */
static double one_cable(struct bench *b, struct fabric_port *p, bool up, struct sm_sweep *ret)
{
	double start = cpu_seconds();

	fabric_link_set(p, up, b->now);
	b->up = false;
	while (!b->up)
		step(b);
	*ret = b->sweep;
	return cpu_seconds() - start;
}

static void cables(struct bench *b)
{
	struct prng rnd;

	prng_seed(&rnd, 11);
	for (int dir = 0; dir < 2; dir++) {
		double sum = 0, worst = 0;
		uint32_t most_smps = 0, most_lft = 0, partial = 0;

		prng_seed(&rnd, 11);
		for (int i = 0; i < CABLES; i++) {
			struct sm_sweep sw;
			double took = one_cable(b, some_cable(b, &rnd), dir, &sw);
			ns_t until = b->now + NS_SEC(3);

			sum += took;
			worst = took > worst ? took : worst;
			most_smps = sw.smps > most_smps ? sw.smps : most_smps;
			most_lft = sw.lft_blocks > most_lft ? sw.lft_blocks : most_lft;
			partial += sw.partial;
			/*
			 * Wait for the traps of the switches at both ends of the cable. A switch
			 * whose trap was lost repeats the trap within SubnetTimeOut.
			 */
			while (timers_next(&b->timers) < until)
				step(b);
		}
		printf("    a cable %s: %.1f ms CPU, worst of %d %.1f; most SMPs %u, LFT blocks "
		       "%u; "
		       "%u sweeps were partial\n",
		       dir ? "in" : "out", sum / CABLES * 1e3, CABLES, worst * 1e3, most_smps,
		       most_lft, partial);
	}
}

static void quiet(struct bench *b)
{
	double start = cpu_seconds();
	ns_t until = b->now + NS_SEC(60);
	struct sm_status before, after;

	sm_status(b->sm, &before);
	while (timers_next(&b->timers) < until) {
		b->now = timers_next(&b->timers);
		step(b);
	}
	sm_status(b->sm, &after);
	printf("    60 s of quiet: %.1f ms CPU, %llu heavy and %llu light sweeps\n",
	       (cpu_seconds() - start) * 1e3,
	       (unsigned long long)(after.heavy_sweeps - before.heavy_sweeps),
	       (unsigned long long)(after.light_sweeps - before.light_sweeps));
}

enum part { ALL, QUERIES, SWEEP };

static void one(const char *what, const struct sm_engine *engine, enum part part)
{
	bool file = !isdigit((unsigned char)*what);
	static struct bench b;
	double since = cpu_seconds(), loaded, built, sweep, rate, table;
	long before = peak_kib();
	struct topo *t = file ? load(what) : generate((unsigned int)atoi(what));

	loaded = lap(&since);
	build(&b, t, engine);
	topo_free(t);
	built = lap(&since);
	sm_start(b.sm, b.now);
	sweep = until_up(&b);
	if (file) { /* print this now, because a later sweep overwrites .stage */
		printf("    read %.0f ms, made %.0f ms; by stage:\n", loaded * 1e3, built * 1e3);
		print_stages(&b);
	}
	if (part == SWEEP) {
		printf("    %u SMPs, %.1f ms CPU, peak memory %ld KiB\n", b.sweep.smps, sweep * 1e3,
		       peak_kib() - before);
		return;
	}
	settle(&b);
	client_open(&b);
	rate = query_rate(&b);
	table = table_rate(&b);
	printf("%6u HCAs, %4u switches: sweep %8.1f ms CPU, %7u SMPs (%5.1f us each), peak memory "
	       "%6ld KiB, PathRecords %7.0f/s CPU, %7.0f/s in tables (%llu failed)\n",
	       b.nhosts, b.sweep.switches, sweep * 1e3, b.sweep.smps, sweep * 1e6 / b.sweep.smps,
	       peak_kib() - before, rate, table, (unsigned long long)b.failed);
	if (file && part == ALL) {
		joins(&b);
		again(&b);
		cables(&b);
		again(&b);
		quiet(&b);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const char *const sizes[] = { "10", "100", "1000" };
	const struct sm_engine *engine = NULL;
	const char *const *what = sizes;
	int n = 3, c;
	enum part part = ALL;

	while ((c = getopt(argc, argv, "e:s1")) != -1) {
		part = c == '1' ? SWEEP : c == 's' ? QUERIES : part;
		if (c == 'e')
			engine = sm_engine_find(optarg);
		if (c == '?' || (c == 'e' && !engine))
			return 2;
	}
	if (argc > optind) {
		what = (const char *const *)argv + optind;
		n = argc - optind;
	}
	for (int i = 0; i < n; i++) {
		/*
		 * Each measurement has a process of its own, because the kernel reports only the
		 * largest memory size that a process ever had.
		 */
		pid_t pid = fork();
		int status;

		if (!pid) {
			one(what[i], engine, part);
			fflush(stdout);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) < 0 || status)
			return 1;
	}
	return 0;
}

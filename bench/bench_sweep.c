/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Sweep time and memory of the embedded SM for 10, 100 and 1,000 HCAs, and PathRecords a second with 16
 * queries open. Everything is in this process: fabric, SM, SA, client; times are CPU time of all.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fabric/fabric.h"
#include "sm/sa.h"
#include "sm/sm.h"
#include "wire/records.h"

#define OPEN 16

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
	/* queries */
	struct mad_agent *agent;
	struct node_port *port;
	uint16_t *lids;
	ib_gid *gids;
	unsigned int nhosts, next;
	uint64_t answered, failed;
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

static void on_stage(void *ctx, const struct sm_sweep *sw, ns_t now)
{
	struct bench *b = ctx;

	if (sw->stage == SM_STAGE_UP && !b->up) {
		b->up = true;
		b->sweep = *sw;
	}
}

static const struct sm_events events = { .stage = on_stage };

/* Whatever can happen at this instant; then time jumps to the next deadline. */
static void step(struct bench *b)
{
	timers_run(&b->timers, b->now);
	while (fabric_run(b->f, b->now))
		;
	if (timers_next(&b->timers) > b->now && timers_next(&b->timers) != NS_NEVER)
		b->now = timers_next(&b->timers);
}

static void build(struct bench *b, unsigned int hosts)
{
	struct topo_gen_random g = {
		.seed = 1,
		.cas = hosts,
		.switches = hosts / 16 + 2,
		.max_ca_ports = 1,
		.extra_links = hosts / 8,
	};
	struct topo *t = topo_gen_random(&g);
	struct fabric_cfg fc = { .timers = &b->timers, .crc = HCA_CRC_FULL };
	struct sm_cfg sc = sm_cfg_default();
	struct mad_ep *ep = NULL;

	memset(b, 0, sizeof(*b));
	timers_init(&b->timers);
	b->now = NS_SEC(1);
	b->pool = pkt_pool_create(65536, 16);
	fc.pool = b->pool;
	if (!t || fabric_create(&b->f, t, &fc, b->now))
		exit(1);
	topo_free(t);
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

	if (status || mad_status(mad))
		b->failed++;
	else
		b->answered++;
	ask(b);
}

static void ask(struct bench *b)
{
	struct ib_path_rec rec = {
		.sgid = b->gids[0],
		.dgid = b->gids[1 + b->next++ % (b->nhosts - 1)],
		.pkey = 0xffff,
		.numb_path = 1,
	};
	struct sa_hdr sa = { .comp_mask = PATH_COMP_SGID | PATH_COMP_DGID | PATH_COMP_PKEY |
					  PATH_COMP_NUMB_PATH | PATH_COMP_TCLASS };
	struct mad_hdr h = { .base_version = 1,
			     .mgmt_class = MAD_CLASS_SA,
			     .class_version = 2,
			     .method = MAD_METHOD_GET,
			     .attr_id = SA_ATTR_PATH_RECORD };
	uint8_t mad[MAD_LEN];
	struct mad_req req = { .mad = mad,
			       .len = MAD_LEN,
			       .timeout_ms = 1000,
			       .retries = 3,
			       .done = on_done,
			       .ctx = b };

	sa_mad_encode(mad, &h, &sa);
	ib_path_rec_encode(mad + SA_DATA_OFF, &rec);
	req.to = mad_addr_gmp(b->port->pi.sm_lid, 0);
	if (mad_request(b->agent, &req, NULL, b->now))
		b->failed++;
}

static double query_rate(struct bench *b)
{
	struct mad_agent_cfg ac = {
		.qp = 1, .mgmt_class = MAD_CLASS_SA, .class_version = 2, .rmpp = true
	};
	double start;

	collect_hosts(b);
	if (mad_agent_add(b->port->ep, &ac, &b->agent))
		exit(1);
	start = cpu_seconds();
	for (int i = 0; i < OPEN; i++)
		ask(b);
	while (cpu_seconds() - start < 1.0) {
		timers_run(&b->timers, b->now);
		fabric_run(b->f, b->now);
		b->now += 1000;
	}
	return (double)b->answered / (cpu_seconds() - start);
}

static void one(unsigned int hosts)
{
	static struct bench b;
	double start, sweep, rate;
	long before;

	before = peak_kib();
	build(&b, hosts);
	start = cpu_seconds();
	sm_start(b.sm, b.now);
	while (!b.up)
		step(&b);
	sweep = cpu_seconds() - start;
	rate = query_rate(&b);
	printf("%6u HCAs, %4u switches: sweep %8.1f ms CPU, %6u SMPs (%5.1f us each), peak memory "
	       "%6ld KiB, "
	       "PathRecords %6.0f/s CPU (%llu failed)\n",
	       hosts, b.sweep.switches, sweep * 1e3, b.sweep.smps, sweep * 1e6 / b.sweep.smps,
	       peak_kib() - before, rate, (unsigned long long)b.failed);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const unsigned int size[] = { 10, 100, 1000 };

	for (unsigned int i = 0; i < 3; i++) {
		pid_t pid = fork(); /* each with a fresh heap: memory is a high-water mark */
		int status;

		if (!pid) {
			one(argc > 1 ? (unsigned int)atoi(argv[1]) : size[i]);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) < 0 || status)
			return 1;
		if (argc > 1)
			break;
	}
	return 0;
}

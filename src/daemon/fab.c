/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/fab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/capfile.h"
#include "daemon/file.h"
#include "daemon/ibsim.h"
#include "sm/partition.h"
#include "sm/sa.h"

/* `include` of a topology file: relative to the folder of the file itself. */
static int read_include(void *ctx, const char *file, char **ret_text, size_t *ret_len)
{
	const char *from = *(const char **)ctx, *slash = strrchr(from, '/');
	char path[4096];

	if (*file == '/' || !slash)
		return file_read(file, ret_text, ret_len);
	if ((size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - from), from, file) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	return file_read(path, ret_text, ret_len);
}

int fab_load_topology(struct topo **ret, const char *file, char err[INST_ERR_MAX])
{
	struct topo_reader reader = { .read = read_include, .ctx = &file };
	struct topo_err why = { "" };
	char *text;
	size_t len;
	int status = file_read(file, &text, &len);

	if (status) {
		snprintf(err, INST_ERR_MAX, "topology %s: %s", file, strerror(-status));
		return status;
	}
	status = topo_parse(ret, file, text, len, &reader, &why);
	free(text);
	if (status)
		snprintf(err, INST_ERR_MAX, "%s", *why.text ? why.text : strerror(-status));
	return status;
}

static void hca_event(void *ctx, struct fabric_node *n, uint8_t port, enum node_event ev, ns_t now)
{
	(void)n;
	ca_soft_event(ctx, port, ev, now);
}

static void hca_ready(void *ctx, struct hca_qp *qp)
{
	ca_soft_ready(ctx, qp);
}

static int bind_hcas(struct inst_fabric *f)
{
	const struct fabric_notify notify = { .event = hca_event, .ready = hca_ready };
	unsigned int n = fabric_nnodes(f->fabric);

	f->soft = calloc(n, sizeof(*f->soft));
	if (!f->soft)
		return -ENOMEM;
	for (unsigned int i = 0; i < n; i++) {
		struct fabric_node *node = fabric_node_at(f->fabric, i);

		if (!fabric_node_hca(node))
			continue;
		f->soft[i] = ca_soft_hca_create();
		if (!f->soft[i])
			return -ENOMEM;
		ca_soft_hca_bind(f->soft[i], fabric_node_hca(node));
		fabric_set_hca_notify(f->fabric, node, &notify, f->soft[i]);
	}
	return 0;
}

static struct fabric_node *default_sm_node(struct inst_fabric *f)
{
	for (unsigned int i = 0; i < fabric_nnodes(f->fabric); i++)
		if (!fabric_node_hca(fabric_node_at(f->fabric, i)))
			return fabric_node_at(f->fabric, i);
	return fabric_node_at(f->fabric, 0);
}

/* The end port where the SM sits: port 0 of a switch, a port of a CA. */
static int place_sm(struct inst_fabric *f, const struct fab_cfg *cfg, char err[INST_ERR_MAX])
{
	struct fabric_node *n =
		cfg->sm_node ? fabric_node_find(f->fabric, cfg->sm_node) : default_sm_node(f);
	unsigned int port = cfg->sm_node ? cfg->sm_port : n && fabric_node_hca(n) ? 1 : 0;

	f->sm_at = n ? fabric_node_port(n, port) : NULL;
	if (f->sm_at && fabric_node_node(n)->port[port].ep)
		return 0;
	snprintf(err, INST_ERR_MAX,
		 "fabric %s: sm-port %s/%u: %s, expected port 0 of a switch or a port of a CA",
		 f->name, cfg->sm_node ? cfg->sm_node : "?", port,
		 n ? "no management port" : "no such node in the topology");
	return -EINVAL;
}

static void sm_stage(void *ctx, const struct sm_sweep *sw, ns_t now)
{
	struct inst_fabric *f = ctx;

	if (sw->stage != SM_STAGE_UP)
		return;
	if (!f->up_at)
		f->up_at = now;
	log_to(&f->inst->cfg.log, LOG_LVL_INFO,
	       "fabric %s: SUBNET UP, sweep %llu: %u switches, %u end ports, %u links in %.1f ms",
	       f->name, (unsigned long long)sw->number, sw->switches, sw->end_ports, sw->links,
	       (double)(now - sw->started) / 1e6);
}

static const struct sm_events sm_events = { .stage = sm_stage };

static int start_sm(struct inst_fabric *f, const struct fab_cfg *cfg, char err[INST_ERR_MAX])
{
	struct sm_cfg sc = sm_cfg_default();
	struct node *node = fabric_node_node(fabric_port_node(f->sm_at));
	uint8_t port = (uint8_t)fabric_port_num(f->sm_at);
	ns_t now = f->inst->loop.now;
	int status;

	if (cfg->sm_key_given)
		sc.sm_key = cfg->sm_key;
	status = sm_create(&f->sm, node->port[port].ep, &sc, &f->inst->loop.timers,
			   &f->inst->cfg.log);
	if (!status)
		status = sa_create(&f->sa, f->sm);
	if (status) {
		snprintf(err, INST_ERR_MAX, "fabric %s: subnet manager: %s", f->name,
			 strerror(-status));
		return status;
	}
	f->listener = (struct sm_listener){ .ops = &sm_events, .ctx = f };
	list_init(&f->listener.link);
	sm_listen(f->sm, &f->listener);
	if (cfg->partitions_file) {
		status = fab_set_partitions(f, cfg->partitions_file, now, err);
		if (status)
			return status;
	}
	node_set_cap(node, port, SMP_CAP_IS_SM, true, now);
	sm_start(f->sm, now);
	return 0;
}

int fab_set_partitions(struct inst_fabric *f, const char *file, ns_t now, char err[INST_ERR_MAX])
{
	struct sm_partitions *ps;
	char *text;
	size_t len;
	int status;

	if (!f->sm) {
		snprintf(err, INST_ERR_MAX, "fabric %s: its subnet manager is external", f->name);
		return -EINVAL;
	}
	status = file_read(file, &text, &len);
	if (status) {
		snprintf(err, INST_ERR_MAX, "partitions %s: %s", file, strerror(-status));
		return status;
	}
	err[0] = '\0';
	status = sm_partitions_parse(&ps, file, text, len, err, INST_ERR_MAX);
	free(text);
	if (status) {
		if (!*err)
			snprintf(err, INST_ERR_MAX, "partitions %s: %s", file, strerror(-status));
		return status;
	}
	sm_set_partitions(f->sm, ps, now);
	return 0;
}

static const enum hca_crc crc_of[] = {
	[CONF_CRC_FULL] = HCA_CRC_FULL,
	[CONF_CRC_ICRC] = HCA_CRC_ICRC,
	[CONF_CRC_OFF] = HCA_CRC_OFF,
};

/* Cheaper hardware than ours is: MTUCap of every port. */
static void limit_mtu(struct inst_fabric *f, unsigned int mtu)
{
	uint8_t code = IB_MTU_4096;

	while (code > IB_MTU_256 && ib_mtu_octets(code) > mtu)
		code--;
	for (unsigned int i = 0; i < fabric_nnodes(f->fabric); i++) {
		struct node *n = fabric_node_node(fabric_node_at(f->fabric, i));

		for (unsigned int p = 0; p <= n->info.nports; p++) {
			struct smp_port_info *pi = &n->port[p].pi;

			pi->mtu_cap = code;
			if (pi->neighbor_mtu > code)
				pi->neighbor_mtu = code;
		}
	}
}

static int build(struct inst_fabric *f, const struct fab_cfg *cfg, const struct topo *topo,
		 char err[INST_ERR_MAX])
{
	struct inst *in = f->inst;
	struct fabric_cfg fc = {
		.timers = &in->loop.timers,
		.pool = in->pool,
		.log = &in->cfg.log,
		.crc = crc_of[cfg->crc],
		.seed = 1,
	};
	int status = fabric_create(&f->fabric, topo, &fc, in->loop.now);

	if (!status)
		status = bind_hcas(f);
	if (status) {
		snprintf(err, INST_ERR_MAX, "fabric %s: %s", f->name,
			 status == -EINVAL ? "the topology has no node" : strerror(-status));
		return status;
	}
	if (cfg->mtu)
		limit_mtu(f, cfg->mtu);
	if (cfg->sm_embedded)
		status = place_sm(f, cfg, err);
	if (!status && cfg->sm_embedded)
		status = start_sm(f, cfg, err);
	if (!status && cfg->ibsim)
		status = ibsim_open(f, cfg->ibsim, err);
	return status;
}

int fab_add(struct inst *in, const struct fab_cfg *cfg, const struct topo *topo,
	    char err[INST_ERR_MAX])
{
	struct inst_fabric **bigger = realloc(in->fab, (in->nfabs + 1) * sizeof(*bigger));
	struct inst_fabric *f = calloc(1, sizeof(*f));
	int status;

	if (bigger)
		in->fab = bigger;
	if (!bigger || !f) {
		free(f);
		snprintf(err, INST_ERR_MAX, "fabric %s: out of memory", cfg->name);
		return -ENOMEM;
	}
	f->inst = in;
	f->crc = cfg->crc;
	list_init(&f->captures);
	snprintf(f->name, sizeof(f->name), "%s", cfg->name);
	if (cfg->topology_file)
		f->topology_file = strdup(cfg->topology_file);
	status = build(f, cfg, topo, err);
	if (status) {
		fab_destroy(f);
		return status;
	}
	in->fab[in->nfabs++] = f;
	return 0;
}

void fab_destroy(struct inst_fabric *f)
{
	if (!f)
		return;
	capfile_close_all(f);
	ibsim_close(f->ibsim);
	sa_destroy(f->sa);
	sm_destroy(f->sm);
	if (f->soft)
		for (unsigned int i = 0; i < fabric_nnodes(f->fabric); i++)
			ca_soft_hca_destroy(f->soft[i]);
	free(f->soft);
	fabric_destroy(f->fabric);
	free(f->topology_file);
	free(f);
}

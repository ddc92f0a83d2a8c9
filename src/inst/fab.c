/* SPDX-License-Identifier: BSD-2-Clause */
#include "inst/fab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inst/fab_sm.h"
#include "os/file.h"

static void hca_event(void *ctx, struct fabric_node *n, uint8_t port, enum node_event ev, ns_t now)
{
	(void)n;
	ca_soft_event(ctx, port, ev, now);
}

static void hca_ready(void *ctx, struct hca_qp *qp)
{
	ca_soft_ready(ctx, qp);
}

/* --- the egress queues of the fabric, and of a CA's port */

static unsigned int hca_queued(void *ctx, uint8_t port)
{
	(void)port;
	return fabric_queued(fabric_node_fabric(ctx));
}

static struct ca_send_queue hca_send_queue(void *ctx, uint8_t port)
{
	struct fabric_send_queue q = fabric_send_queue(fabric_node_port(ctx, port));

	return (struct ca_send_queue){ q.waiting, q.sent, q.stalled };
}

static unsigned int hca_send_flush(void *ctx, uint8_t port, ns_t now)
{
	return fabric_send_flush(fabric_node_port(ctx, port), now);
}

static const struct ca_soft_queues queues = { hca_queued, hca_send_queue, hca_send_flush };

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
		ca_soft_hca_bind(f->soft[i], fabric_node_hca(node), &queues, node);
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

/* Finds the end port on which the SM runs, which is port 0 of a switch or a port of a CA. */
static int place_sm(struct fabric_port **ret, struct inst_fabric *f, const struct conf_fabric *cfg,
		    char err[INST_ERR_MAX])
{
	struct fabric_node *n =
		*cfg->sm_node ? fabric_node_find(f->fabric, cfg->sm_node) : default_sm_node(f);
	unsigned int port = *cfg->sm_node ? cfg->sm_port : n && fabric_node_hca(n) ? 1 : 0;

	*ret = n ? fabric_node_port(n, port) : NULL;
	if (*ret && fabric_node_node(n)->port[port].ep)
		return 0;
	snprintf(err, INST_ERR_MAX,
		 "fabric %s: sm-port %s/%u: %s, expected port 0 of a switch or a port of a CA",
		 f->name, *cfg->sm_node ? cfg->sm_node : "?", port,
		 n ? "no management port" : "no such node in the topology");
	return -EINVAL;
}

/*
 * Refuses an LMC with which the end ports would need more LIDs than there are. A CA port takes an
 * aligned range of 2^LMC LIDs, a switch one LID. LID 0 is reserved, so no CA port gets the range
 * that contains LID 0; switches use the rest of this range.
 */
static int check_lids(const struct inst_fabric *f, uint8_t lmc, char err[INST_ERR_MAX])
{
	uint32_t ends = 0, switches = 0, lids = SM_LID_TOP_MAX + 1u;

	for (unsigned int i = 0; i < fabric_nnodes(f->fabric); i++) {
		const struct node *n = fabric_node_node(fabric_node_at(f->fabric, i));

		if (n->sw)
			switches++;
		else
			ends += n->info.nports;
	}
	if (!lmc || (ends < lids >> lmc && (ends << lmc) + switches < lids))
		return 0;
	snprintf(err, INST_ERR_MAX,
		 "fabric %s: lmc %u: %u LIDs for each of %u ports of HCAs, and %u switches, are "
		 "more "
		 "than a subnet has (%u)",
		 f->name, lmc, 1u << lmc, ends, switches, lids - 1);
	return -EINVAL;
}

static int start_sm(struct inst_fabric *f, const struct conf_fabric *cfg, char err[INST_ERR_MAX])
{
	struct fabric_port *at;
	int status = check_lids(f, cfg->lmc, err);

	if (!status)
		status = place_sm(&at, f, cfg, err);
	return status ? status : fab_sm_start(f, at, cfg->sm_priority, f->inst->loop.now, err);
}

static const enum hca_crc crc_of[] = {
	[CONF_CRC_LAZY] = HCA_CRC_LAZY,
	[CONF_CRC_FULL] = HCA_CRC_FULL,
	[CONF_CRC_ICRC] = HCA_CRC_ICRC,
	[CONF_CRC_OFF] = HCA_CRC_LAZY,
};

/*
 * Sets MTUCap of every port to the largest MTU that is not greater than @mtu octets, as if the
 * hardware supported no larger MTU.
 */
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

static int build(struct inst_fabric *f, const struct conf_fabric *cfg, const struct topo *topo,
		 char err[INST_ERR_MAX])
{
	struct inst *in = f->inst;
	struct fabric_cfg fc = {
		.timers = &in->loop.timers,
		.pool = in->pool,
		.log = &f->log,
		.crc = crc_of[cfg->crc],
		.trains = true,
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
		status = start_sm(f, cfg, err);
	return status;
}

int fab_add(struct inst *in, const struct conf_fabric *cfg, const struct topo *topo,
	    char err[INST_ERR_MAX])
{
	struct inst_fabric **bigger = realloc(in->fab, (in->nfabs + 1) * sizeof(*bigger));
	struct inst_fabric *f = calloc(1, sizeof(*f));
	char *file = cfg->topology ? strdup(cfg->topology) : NULL;
	int status;

	if (bigger)
		in->fab = bigger;
	if (!bigger || !f || (cfg->topology && !file)) {
		free(file);
		free(f);
		snprintf(err, INST_ERR_MAX, "fabric %s: out of memory", cfg->name);
		return -ENOMEM;
	}
	f->inst = in;
	f->log = in->cfg.log;
	f->log.about.fabric = f->name;
	f->conf = *cfg;
	/* The file names in @cfg belong to the caller, so the names are not kept. */
	f->conf.topology = f->conf.partitions = f->conf.capture = NULL;
	list_init(&f->sms);
	snprintf(f->name, sizeof(f->name), "%s", cfg->name);
	f->topology_file = file;
	status = cfg->partitions ? fab_load_partitions(f, cfg->partitions, err) : 0;
	if (!status)
		status = build(f, cfg, topo, err);
	if (status) {
		fab_destroy(f);
		return status;
	}
	in->fab[in->nfabs++] = f;
	return 0;
}

struct capfile_at fab_packets(struct inst_fabric *f)
{
	return (struct capfile_at){
		.files = &f->inst->captures, .log = &f->log, .name = f->name, .fabric = f->fabric
	};
}

void fab_destroy(struct inst_fabric *f)
{
	struct inst_sm *m, *tmp;

	if (!f)
		return;
	if (f->fabric)
		capfile_close_all(&f->inst->captures, f->fabric);
	list_for_each_safe (m, tmp, &f->sms, link)
		fab_sm_stop(m, f->inst->loop.now);
	if (f->soft)
		for (unsigned int i = 0; i < fabric_nnodes(f->fabric); i++)
			ca_soft_hca_destroy(f->soft[i]);
	free(f->soft);
	fabric_destroy(f->fabric);
	free(f->topology_file);
	fab_free_partitions(f);
	free(f);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "partition/partition.h"

#include <errno.h>
#include <stdlib.h>

#include "partition/table.h"
#include "wire/mgid.h"

struct sm_partition *sm_partition_add(struct sm_partitions *ps, const char *name, uint16_t pkey)
{
	struct sm_partition *v = realloc(ps->part, (ps->n + 1) * sizeof(*v));
	size_t len = strnlen(name, sizeof(v->name) - 1);

	if (!v)
		return NULL;
	ps->part = v;
	v += ps->n++;
	memset(v, 0, sizeof(*v));
	memcpy(v->name, name, len);
	v->pkey = pkey;
	return v;
}

int sm_partition_add_rule(struct sm_partition *part, const struct sm_partition_rule *r)
{
	struct sm_partition_rule *v = realloc(part->rule, (part->nrules + 1) * sizeof(*v));

	if (!v)
		return -ENOMEM;
	part->rule = v;
	v[part->nrules++] = *r;
	return 0;
}

int sm_partition_add_group(struct sm_partition *part, const struct sm_partition_group *g)
{
	struct sm_partition_group *v = realloc(part->group, (part->ngroups + 1) * sizeof(*v));

	if (!v)
		return -ENOMEM;
	part->group = v;
	v[part->ngroups++] = *g;
	return 0;
}

struct sm_partition_group sm_partition_group_default(void)
{
	return (struct sm_partition_group){
		.mtu_code = IB_MTU_2048,
		.rate_code = 3,
		.scope = 2, /* link-local, the default that RFC 4391 recommends */
		.qkey = SM_QKEY_DEFAULT,
	};
}

struct sm_partitions *sm_partitions_default(void)
{
	struct sm_partition_rule all = { .kind = SM_MEMBER_ALL, .membership = SM_MEMBER_FULL };
	struct sm_partition_group g = sm_partition_group_default();
	struct sm_partitions *ps = calloc(1, sizeof(*ps));
	struct sm_partition *part = ps ? sm_partition_add(ps, "Default", 0x7fff) : NULL;

	g.broadcast = true;
	if (!part || sm_partition_add_rule(part, &all) ||
	    mgid_broadcast(&g.mgid, IB_PKEY_DEFAULT, g.scope) || sm_partition_add_group(part, &g)) {
		sm_partitions_free(ps);
		return NULL;
	}
	part->ipoib = true;
	return ps;
}

void sm_partitions_free(struct sm_partitions *ps)
{
	if (!ps)
		return;
	for (size_t i = 0; i < ps->n; i++) {
		free(ps->part[i].rule);
		free(ps->part[i].group);
	}
	free(ps->part);
	free(ps);
}

const struct sm_partition *sm_partitions_find(const struct sm_partitions *ps, uint16_t pkey)
{
	for (size_t i = 0; i < ps->n; i++) {
		if (ps->part[i].pkey == (pkey & 0x7fff))
			return &ps->part[i];
	}
	return NULL;
}

uint8_t sm_partitions_sl(const struct sm_partitions *ps, uint16_t pkey)
{
	const struct sm_partition *part = sm_partitions_find(ps, pkey);

	for (size_t i = 0; part && i < part->ngroups; i++) {
		if (part->group[i].broadcast)
			return part->group[i].sl;
	}
	return 0;
}

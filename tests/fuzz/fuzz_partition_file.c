/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "partition/partition.h"

/*
 * Partitions that the parser accepts must fulfil the guarantees of the parser's header file, and
 * each refusal must have a message.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sm_partitions *ps = NULL;
	char err[128] = "";
	int rc = sm_partitions_parse(&ps, "fuzz", (const char *)data, size, err, sizeof(err));

	if (rc) {
		if (ps || (!err[0] && rc != -ENOMEM))
			abort();
		return 0;
	}
	if (!sm_partitions_find(ps, 0xffff))
		abort();
	for (size_t i = 0; i < ps->n; i++) {
		const struct sm_partition *p = &ps->part[i];

		if (!p->pkey || p->pkey > 0x7fff || !memchr(p->name, 0, sizeof(p->name)))
			abort();
		if (sm_partitions_find(ps, p->pkey) != p)
			abort();
		for (size_t k = 0; k < p->ngroups; k++) {
			if (!ib_gid_is_mcast(&p->group[k].mgid) ||
			    !ib_mtu_octets(p->group[k].mtu_code))
				abort();
		}
	}
	sm_partitions_free(ps);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONF_TOPOLOGY_H
#define CONF_TOPOLOGY_H

#include "conf/conf.h"
#include "topo/topo.h"

/**
 * conf_topology_load() - Read and parse a topology file and the files that it includes
 * @ret:	the caller frees it with topo_free(); written only on success
 * @err:	on failure, the file, the line and what was expected
 *
 * Return: 0; -EINVAL or another error of topo_parse(); -errno of reading a file
 */
int conf_topology_load(struct topo **ret, const char *file, char err[CONF_ERR_MAX]);

#endif

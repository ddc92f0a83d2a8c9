/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/tools.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inst/fab.h"
#include "proto/proto.h"
#include "tools/ibsim.h"
#include "tools/umad.h"

struct tools {
	struct inst *in;
	struct umad_net *umad;
	/*
	 * Servers of ibsim's protocol, indexed by the number of the fabric in inst.fab; NULL if
	 * ibsim is not configured
	 */
	struct ibsim_net **ibsim;
	unsigned int nibsims;
};

static int open_umad(struct tools *t, char err[INST_ERR_MAX])
{
	char path[108];
	int status = proto_umad_path(path, sizeof(path), t->in->cfg.name);

	if (status)
		snprintf(err, INST_ERR_MAX, "socket %s.umad: %s", t->in->cfg.name,
			 strerror(-status));
	else
		status = umad_open(&t->umad, t->in, path, err);
	if (status)
		t->in->env_lacks = true;
	return status;
}

static int open_ibsims(struct tools *t, const struct conf *c, char err[INST_ERR_MAX])
{
	char section[CONF_NAME_MAX + 16];
	struct inst *in = t->in;
	int status = 0;

	t->ibsim = calloc(in->nfabs + 1, sizeof(struct ibsim_net *));
	if (!t->ibsim) {
		snprintf(err, INST_ERR_MAX, "ibsim: out of memory");
		return -ENOMEM;
	}
	for (t->nibsims = 0; !status && t->nibsims < in->nfabs; t->nibsims++) {
		struct inst_fabric *f = in->fab[t->nibsims];

		if (!*f->conf.ibsim)
			continue;
		snprintf(section, sizeof(section), "fabric %s", f->name);
		status = ibsim_open(&t->ibsim[t->nibsims], f, f->conf.ibsim, err);
		status = conf_blame(c, f->conf.line, section, status, err, INST_ERR_MAX);
	}
	return status;
}

int tools_open(struct tools **ret, struct inst *in, const struct conf *c, char err[INST_ERR_MAX])
{
	struct tools *t = calloc(1, sizeof(*t));
	int status;

	if (!t) {
		snprintf(err, INST_ERR_MAX, "out of memory");
		return -ENOMEM;
	}
	t->in = in;
	status = open_umad(t, err);
	if (!status)
		status = open_ibsims(t, c, err);
	if (status) {
		tools_close(t);
		return status;
	}
	*ret = t;
	return 0;
}

void tools_close(struct tools *t)
{
	if (!t)
		return;
	umad_close(t->umad);
	for (unsigned int k = 0; k < t->nibsims; k++)
		ibsim_close(t->ibsim[k]);
	free(t->ibsim);
	free(t);
}

const struct umad_net *tools_umad(const struct tools *t)
{
	return t->umad;
}

const struct ibsim_net *tools_ibsim(const struct tools *t, const struct inst_fabric *f)
{
	for (unsigned int k = 0; k < t->nibsims; k++)
		if (t->in->fab[k] == f)
			return t->ibsim[k];
	return NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any text must be either accepted as a file with the tables of a fabric, or refused with a message
 * that names the line. The checks of accepted tables must succeed, and report at most
 * CHK_FINDINGS_MAX findings.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "check/check.h"
#include "topo/topo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * The fabric that `uipoib demo` makes: a ring of three switches with four CAs; all ports have LIDs.
 */
static struct chk_fabric *fabric(void)
{
	struct topo *t = topo_gen_demo(4, 3);
	struct chk_fabric *f;
	uint16_t lid = 0;

	assert(t && chk_from_topo(&f, t, 1 << 22) == 0);
	topo_free(t);
	for (uint32_t i = 0; i < f->n; i++)
		for (unsigned int p = 0; p <= f->node[i]->nports; p++)
			if (chk_is_end(f->node[i], &f->node[i]->port[p]))
				f->node[i]->port[p].lid = ++lid;
	return f;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct chk_fabric *f = fabric();
	struct chk_err err = { "" };
	const struct chk_opts o = { 0 };
	struct chk_report r;
	unsigned int unknown;
	int status = chk_read_tables(f, "f", (const char *)data, size, &unknown, &err);

	assert(status == 0 || status == -ENOSPC ||
	       (status == -EINVAL && !strncmp(err.text, "f:", 2)));
	assert(f->octets <= f->octets_max);
	assert(chk_run(f, &o, &r) == 0);
	assert(r.n <= CHK_FINDINGS_MAX && r.faults + r.notes == r.n + r.left_out);
	chk_report_fini(&r);
	chk_fabric_free(f);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "relay/count.h"

#include <stddef.h>

static const char *const drop_names[N_DROPS] = {
	[DROP_HEADER] = "header",   [DROP_TOO_LONG] = "too_long", [DROP_MEMORY] = "memory",
	[DROP_VCRC] = "vcrc",	    [DROP_ICRC] = "icrc",	  [DROP_DOWN] = "down",
	[DROP_NO_ROOM] = "no_room", [DROP_REFUSED] = "refused",
};

#define ROW(member) #member, offsetof(struct count, member)

static const struct {
	const char *name;
	size_t at;
} rows[] = {
	{ ROW(frames_read) }, { ROW(octets_read) },    { ROW(super_frames) },	{ ROW(packets) },
	{ ROW(cut) },	      { ROW(checksums) },      { ROW(sealed) },		{ ROW(verified) },
	{ ROW(coalesced) },   { ROW(frames_written) }, { ROW(octets_written) },
};

json_t *count_json(const struct count *c)
{
	json_t *o = json_object(), *drops = json_object();

	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		const uint64_t *v = (const void *)((const char *)c + rows[k].at);

		json_object_set_new(o, rows[k].name, json_integer((json_int_t)*v));
	}
	for (unsigned int k = DROP_NONE + 1; k < N_DROPS; k++)
		json_object_set_new(drops, drop_names[k], json_integer((json_int_t)c->drops[k]));
	json_object_set_new(o, "drops", drops);
	return o;
}

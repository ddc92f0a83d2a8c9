/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/req.h"

#include <errno.h>

const char *ctl_arg_str(struct ctl_req *r, const char *name, bool *bad)
{
	const json_t *v = json_object_get(r->args, name);

	*bad = v && !json_is_string(v);
	if (*bad)
		ctl_end(r, PROTO_EXIT_USAGE, "%s: expected a string", name);
	return json_string_value(v);
}

bool ctl_arg_bool(struct ctl_req *r, const char *name, bool *bad)
{
	const json_t *v = json_object_get(r->args, name);

	*bad = v && !json_is_boolean(v);
	if (*bad)
		ctl_end(r, PROTO_EXIT_USAGE, "%s: expected true or false", name);
	return json_is_true(v);
}

long long ctl_arg_int(struct ctl_req *r, const char *name, long long min, long long max,
		      long long def, bool *bad)
{
	const json_t *v = json_object_get(r->args, name);
	long long n = v ? json_integer_value(v) : def;

	*bad = v && (!json_is_integer(v) || n < min || n > max);
	if (*bad)
		ctl_end(r, PROTO_EXIT_USAGE, "%s: expected a number from %lld to %lld", name, min,
			max);
	return n;
}

struct inst_iface *ctl_arg_iface(struct ctl_req *r, bool *bad)
{
	const char *name = ctl_arg_str(r, "dev", bad);
	struct inst_iface *i = name ? inst_iface_find(r->in, name) : NULL;

	if (name && !i) {
		*bad = true;
		ctl_end_errno(r, PROTO_EXIT_USAGE, ENODEV,
			      "dev '%s': no such interface, or several: expected NAME@HOST", name);
	}
	return i;
}

struct inst_fabric *ctl_arg_fabric(struct ctl_req *r)
{
	bool bad;
	const char *name = ctl_arg_str(r, "fabric", &bad);
	struct inst_fabric *f;

	if (bad)
		return NULL;
	if (!name && r->in->nfabs == 1)
		return r->in->fab[0];
	f = name ? inst_fabric_find(r->in, name) : NULL;
	if (!f)
		ctl_end(r, PROTO_EXIT_USAGE,
			name ? "fabric '%s': no such fabric"
			     : "fabric: expected a name%s, there are several",
			name ? name : "");
	return f;
}

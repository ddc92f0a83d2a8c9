/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/finding.h"

#include <stdlib.h>

#include "cli/cli.h"
#include "util/escape.h"

static const char *severity(const struct chk_kind_info *i)
{
	return i->note ? "note" : "fault";
}

void finding_print(const struct chk_kind_info *i, const char *what)
{
	cli_print(stdout, "%s %s: %s\n", severity(i), i->name, what);
}

void finding_advice(const struct chk_kind_info *i)
{
	cli_print(stdout, "    %s\n    %s\n", i->why, i->todo);
}

json_t *finding_utf8(const char *s)
{
	char *text = text_utf8(s);
	json_t *v = json_string(text ? text : "");

	free(text);
	return v;
}

json_t *finding_json(const struct chk_kind_info *i, const char *what)
{
	return json_pack("{s:s, s:s, s:o, s:s, s:s}", "kind", i->name, "severity", severity(i),
			 "what", finding_utf8(what), "why", i->why, "todo", i->todo);
}

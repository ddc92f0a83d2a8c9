/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_FINDING_H
#define CLI_FINDING_H

#include <jansson.h>

#include "check/check.h"

/* Functions by which `check` and `fabric check` print a finding. */

/*
 * finding_print() - Print "fault KIND: WHAT"; finding_advice() - Print two lines: why the finding
 * matters, and what the user should do
 */
void finding_print(const struct chk_kind_info *i, const char *what);
void finding_advice(const struct chk_kind_info *i);
/*
 * finding_json() - Return an object with the members "kind", "severity", "what", "why" and "todo"
 */
json_t *finding_json(const struct chk_kind_info *i, const char *what);
/* finding_utf8() - Make a JSON string of a text that may have octets that are not UTF-8 */
json_t *finding_utf8(const char *s);

#endif

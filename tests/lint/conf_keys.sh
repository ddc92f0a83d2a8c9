#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Check that each key of the configuration's tables (src/conf/conf_*.c) has an entry in man/uipoib.conf.5 and a case in the
# unit test of the parser.
cd "$(dirname "$0")/../.." || exit 1
failed=0 n=0
for key in $(sed -n '/^static const struct conf_key keys/,/^};/s/^\t{ "\([^"]*\)".*/\1/p' src/conf/conf_*.c | sort -u); do
	n=$((n + 1))
	grep -Eq "^\.(B|BI) \"?${key//-/\\\\-}" man/uipoib.conf.5 || { echo "not ok - man/uipoib.conf.5 has no entry for $key"; failed=1; }
	grep -Eq "(^|[^-])$key = " tests/unit/test_conf_file.c || { echo "not ok - tests/unit/test_conf_file.c has no $key"; failed=1; }
done
[ $n -ge 20 ] || { echo "not ok - $n keys found in the tables"; failed=1; }
[ $failed = 0 ] && echo "ok - $n keys are documented and tested"
exit $failed

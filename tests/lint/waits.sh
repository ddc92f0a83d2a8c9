#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A wait of the scripts in tests must look anew each time. In `eventually 5 equal 0 "$(count)"` and `eventually 5 grep -q x <(show)` the shell
# runs count and show once, before the wait begins. Put the comparison into a function.
set -u
cd "$(dirname "$0")/../.."
# shellcheck disable=SC2016
git ls-files -z '*.sh' '*.bash' | xargs -0 perl -ne '
	$start ||= $.;
	$text .= s/\\\n//r and next if /\\\n/;
	$text .= $_;
	$bare = $text =~ s/\x27[^\x27]*\x27/x/gr =~ s/^\s*#.*//r;
	if ($bare =~ /\b(?:eventually|within) \S+ (?:not )?(?:equal|grep)\b((?:(?!&&|\|\||;).)*)/s && $1 =~ /\$\((?!\()|<\(|<<</) {
		print "$ARGV:$start: $text";
		$bad = 1;
	}
	($text, $start) = ("", 0);
} continue { if (eof) { close ARGV; ($text, $start) = ("", 0) } } END { exit $bad // 0; '

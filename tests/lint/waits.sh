#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Check that each wait of the scripts in tests reads its values again in each attempt. In `eventually 5 equal 0 "$(count)"` and
# `eventually 5 grep -q x <(show)` the shell runs count and show only once, before the wait begins. Such a comparison must be in a
# function.
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

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A room is a folder of src/. Check that
# - each line of src/layers names only rooms of earlier lines,
# - the #include lines of each room, and the symbols that its archive needs, are from rooms that src/layers allows,
# - the table in ARCHITECTURE.md is that of src/layers.
#
#	layers.sh		check
#	layers.sh closure	print for the Makefile each room with all rooms that it uses, directly or through others
#	layers.sh table		print the table of ARCHITECTURE.md
set -u
cd "$(dirname "$0")/../.."
fail=0
rooms=()
declare -A may kind what closure

while read -r room k list; do
	case $room in '' | '#'*) continue ;; esac
	rooms+=("$room")
	kind[$room]=$k
	what[$room]=${list#*# }
	list=${list%%#*}
	may[$room]=${list#-}
done <src/layers

bad() {
	echo "$1: $2"
	fail=1
}

# A room may use only rooms that are listed before it, so the closures of those rooms are known already.
for r in "${rooms[@]}"; do
	c=" $r "
	for e in ${may[$r]}; do
		d=${e#*=}
		d=${d%%/*}
		[ -n "${closure[$d]-}" ] || bad src/layers "$r names $d, which does not stand above it"
		[ "$r" = guest ] || [ "$r" = preload ] && continue # guest compiles the one file that it shares, and preload shares only a header
		for x in ${closure[$d]-}; do
			case $c in *" $x "*) ;; *) c+="$x " ;; esac
		done
	done
	closure[$r]=$c
done

case ${1-} in
closure)
	for r in "${rooms[@]}"; do echo "uses_$r :=${closure[$r]% }"; done
	all=" ${rooms[*]} "
	all=${all/ guest / }
	echo "uses_all :=${all/ preload / }"
	echo 'folders := $(uses_all)'
	exit
	;;
table)
	echo '| Room | What is in it | May include |'
	echo '|---|---|---|'
	for r in "${rooms[@]}"; do
		text=
		for e in ${may[$r]}; do
			case $e in
			*=*) text+=" \`${e#*=}\` (${e%%=*}.[ch])" ;;
			*) text+=" \`$e\`" ;;
			esac
		done
		echo "| \`$r\` | ${what[$r]} |${text:- no other room} |"
	done
	exit
	;;
esac

allowed() {	# room, file, include
	local rule
	for rule in "$1" ${may[$1]-}; do
		case $rule in *=*)
			[ "${2%.[ch]}" = "src/$1/${rule%%=*}" ] || continue
			rule=${rule#*=} ;;
		esac
		[ "$3" = "$rule" ] || [ "${3%%/*}" = "$rule" ] && return 0
	done
	return 1
}

# One process reads all files, because several processes for each file took 19 s of CPU time.
while read -r f nth inc; do
	room=${f#src/}
	room=${room%%/*}
	own=${f#src/}
	own=${own%.c}.h
	if [ "$nth" = 1 ] && [ -f "src/$own" ] && [ "$inc" != "\"$own\"" ]; then bad "$f" "must include \"$own\" first"; fi
	case "${kind[$room]-} $inc" in
	*\") # "
		inc=${inc//\"/}
		if [ ! -f "src/$inc" ]; then
			bad "$f" "includes \"$inc\", which is not in src/"
		elif ! allowed "$room" "$f" "$inc"; then
			bad "$f" "may not include \"$inc\""
		fi
		;;
	'pure <stdio.h>' | [-p]*' <unistd.h>' | [-p]*' <time.h>' | [-p]*' <sys/socket.h>' | [-p]*' <sys/time.h>')
		bad "$f" "is sans-I/O, but includes $inc"
		;;
	*' <infiniband/'*)
		[ "$room" = verbs ] || bad "$f" "only the room verbs may include <infiniband/...>"
		;;
	esac
done < <(awk '/^#include / { print FILENAME, ++n[FILENAME], $2 }' src/*/*.[ch])
for d in src/*/; do
	d=${d#src/}
	[ -n "${kind[${d%/}]-}" ] || bad "src/$d" "the room ${d%/} is not in src/layers"
done
for f in $(awk 'FNR == 1 && !/SPDX-License-Identifier: (GPL-2.0 OR )?BSD-2-Clause/ { print FILENAME }' src/*/*.[ch]); do bad "$f" "has no SPDX line"; done

# A folder with more than 6000 lines is too large to be understood as one unit, and must be split.
for r in "${rooms[@]}"; do
	lines=$(cat "src/$r"/*.[ch] | wc -l)
	[ "$lines" -le 6000 ] || bad "src/$r" "$lines lines, expected at most 6000"
done

# Every undefined symbol of a room's archive that the project defines must come from a room that the room may use.
# libpreload.a is linked with none of the others, and defines functions of the C library.
lib=${O:-build}
if [ -f "$lib/libcli.a" ]; then
	declare -A where
	archived=()
	for r in "${rooms[@]}"; do
		[ "$r" = preload ] || [ ! -f "$lib/lib$r.a" ] || archived+=("$r")
	done
	for r in "${archived[@]}"; do
		for s in $(nm -g --defined-only "$lib/lib$r.a" 2>/dev/null | awk 'NF == 3 { print $3 }'); do where[$s]=$r; done
	done
	for r in "${archived[@]}"; do
		for s in $(nm -gu "$lib/lib$r.a" 2>/dev/null | awk 'NF == 2 { print $2 }' | sort -u); do
			w=${where[$s]-}
			[ -z "$w" ] && continue
			case ${closure[$r]} in *" $w "*) ;; *) bad "lib$r.a" "uses $s of $w" ;; esac
		done
	done
fi

want=$(sed -n '/^<!-- layers -->$/,/^<!-- \/layers -->$/p' ARCHITECTURE.md | sed '1d;$d')
[ "$want" = "$(bash "$0" table)" ] ||
	bad ARCHITECTURE.md "the table between the marks <!-- layers --> is not what tests/lint/layers.sh table prints"
exit $fail

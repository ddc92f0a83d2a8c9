#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Check src/layers: no room may use a room above it, #include lines and archives use only rooms that the file allows,
# and the table in ARCHITECTURE.md is the same.
#
# 	layers.sh		check
# 	layers.sh closure	print each room with all rooms that it links with, for the Makefile
# 	layers.sh table		print the table of ARCHITECTURE.md
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

# Rooms are listed from the bottom to the top, so the closures of the rooms that this room uses are known already.
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
		echo "| \`$r\` | ${what[$r]} |${text:- nothing of ours} |"
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

for f in src/*/*.[ch]; do
	room=${f#src/}
	room=${room%%/*}
	[ -n "${kind[$room]-}" ] || bad "$f" "the room $room is not in src/layers"
	while read -r inc; do
		[ -f "src/$inc" ] || { bad "$f" "includes \"$inc\", which is not in src/"; continue; }
		allowed "$room" "$f" "$inc" || bad "$f" "may not include \"$inc\""
	done < <(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$f")
	case ${kind[$room]-} in
	pure) grep -nE '^#include <(unistd|time|stdio|sys/socket|sys/time)\.h>' "$f" && bad "$f" "is sans-I/O" ;;
	-) grep -nE '^#include <(unistd|time|sys/socket|sys/time)\.h>' "$f" && bad "$f" "is sans-I/O" ;;
	esac
	case "$f" in
	src/ca/ca_verbs*) ;;
	*) grep -nE '^#include <infiniband/' "$f" && bad "$f" "only ca_verbs may include <infiniband/...>" ;;
	esac
	case "$f" in
	*.c)
		h=${f#src/}
		h=${h%.c}.h
		first=$(sed -n 's/^#include "\([^"]*\)".*/\1/p;s/^#include <\(.*\)>/<\1>/p' "$f" | head -1)
		if [ -f "src/$h" ] && [ "$first" != "$h" ]; then bad "$f" "must include \"$h\" first"; fi ;;
	esac
	head -1 "$f" | grep -q 'SPDX-License-Identifier: BSD-2-Clause' || bad "$f" "has no SPDX line"
done

# A folder above 6000 lines is too large to understand as one and must be split.
for r in "${rooms[@]}"; do
	lines=$(cat "src/$r"/*.[ch] | wc -l)
	[ "$lines" -le 6000 ] || bad "src/$r" "$lines lines, expected at most 6000"
done

# Every undefined symbol of a room's archive that the project defines must come from a room that the room may use.
lib=${O:-build}
if [ -f "$lib/libcli.a" ]; then
	declare -A where
	for r in "${rooms[@]}"; do
		[ -f "$lib/lib$r.a" ] || continue
		for s in $(nm -g --defined-only "$lib/lib$r.a" 2>/dev/null | awk 'NF == 3 { print $3 }'); do where[$s]=$r; done
	done
	for r in "${rooms[@]}"; do
		[ -f "$lib/lib$r.a" ] || continue
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

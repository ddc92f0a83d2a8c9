#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The SMA and PMA of an interface whose port is a UDP link give the answers that tests/interop/agents.py expects.
# tests/interop/linux/kmod.sh sends the same requests to uib.ko.
#
#	agents.py == UDP == HCA -- h1
. "$(dirname "$0")/lib.sh"
need python3

read -r here there < <(free_udp_ports 2)
printf '[interface uib0@h1]\nport = udp:127.0.0.1:%s,guid=0x00ace0000000a6e7,listen=127.0.0.1:%s\n' "$here" "$there" >"$work/lab.conf"
lab_start
python3 tests/interop/agents.py "127.0.0.1:$here" "127.0.0.1:$there" || failed=1
finish

#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# hook_step.sh FIFO STEP [GROUP [NAME]]: has hook_server.py carry out a step; ends with the step's status
fifo=$1
shift
reply=$fifo.$$
mkfifo "$reply" || exit 1
trap 'rm -f "$reply"' EXIT
echo "$reply $*" >"$fifo"
read -r status <"$reply"
exit "$status"

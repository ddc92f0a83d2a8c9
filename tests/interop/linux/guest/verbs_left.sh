#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Prints the resources of uib.ko that are in use, so that scripts can compare them: the objects of each kind, including
# the kernel's objects; the pinned pages, which are 0 while no program runs; and the references to the module.
rdma resource show | tr -s ' '
awk '/nr_foll_pin_acquired/ { a = $2 } /nr_foll_pin_released/ { r = $2 } END { print a - r, "pages" }' /proc/vmstat
echo "$(cat /sys/module/uib/refcnt) references"

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# isolate.sh CMD [ARG...]: as root, run CMD in its own network and mount namespaces, with its own /run. The script
# replaces itself by CMD (exec), so the pid, signals and exit status of the script are those of CMD.
#
# Sockets, names of instances, /run/netns and ports of 127.0.0.1 then belong to this command alone, so that several
# system tests can run at the same time. tests/system/lib.sh starts each script by isolate.sh, even if the script was
# started by hand.
set -eu
[ $# -gt 0 ] || { echo "usage: isolate.sh CMD [ARG...]" >&2; exit 2; }
export TEST_ISOLATED=1
# /var/lock is a link to /run/lock. util-linux makes the mounts of the new namespace private by default.
exec unshare --mount --net --propagation private sh -c '
	mount -t tmpfs -o mode=755 tmpfs /run && mkdir -m 1777 /run/lock && ip link set lo up && exec "$@"' isolate "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: long
#
# With `uipoib vm --systemd`, systemd is the first process, and programs run as its services. One boot has these parts:
#
#	h1 10.4.0.1 --- Switch1 --- ib0 10.4.0.100	networkd and NetworkManager see ib0 and no other interface
#				    uipoib@lab.service: a lab of its own, which works again after its daemon was killed and after
#				    a stop and start
#				    uipoib@hca.service: an interface on the port of ib0, which needs a drop-in
. "$(dirname "$0")/../../system/lib.sh"
need qemu-system-x86_64 systemctl jq
unset UIPOIB_NAME
patience=600 # seconds for the boot and all commands, on a busy machine

vm() { timeout $patience "$UIPOIB" vm "$@"; }

check "a unit that is none" refuse 2 "--systemd 'a b.target': expected a unit, as multi-user.target" vm --systemd='a b.target' -- true
check "a unit without its kind" refuse 2 "--systemd 'basic': expected a unit" vm --systemd=basic -- true

mkdir -p "$work/lab" "$work/root"
make -s O="$(dirname "$UIPOIB")" DESTDIR="$work/root" prefix=/opt/uipoib systemdsystemunitdir=/etc/systemd/system sysconfdir=/etc install
topo_ring 2 1 >"$work/lab/lab.topo"
conf_hosts 2 >"$work/lab/lab.conf"
mark=$work/lab/mark
echo "of the host" >"$mark"

# The program "inside" prints "ok - NAME" or "not ok - NAME" for each of its checks. This script counts
# each such line as a check of its own.
cat >"$work/lab/inside" <<-END
	check() {
		what=\$1; shift
		if out=\$("\$@" 2>&1); then echo "ok - \$what"; else echo "not ok - \$what"; printf '%s\n' "\$out" | sed 's/^/# /'; fi
	}
	equal() { [ "\$1" = "\$2" ] || { echo "expected: \$1"; echo "got: \$2"; return 1; }; }
	soon() { for _ in \$(seq 300); do "\$@" >/dev/null 2>&1 && return; sleep 0.2; done; "\$@"; }
	check "the first process is systemd" equal systemd "\$(cat /proc/1/comm)"
	check "its boot has ended" soon sh -c 'systemctl is-system-running | grep -qE "running|degraded"'
	check "no container is seen, whatever the host is" equal none "\$(systemd-detect-virt --container)"
	check "files of the host's /tmp are there" equal "of the host" "\$(cat $mark)"
	check "ib0 reaches h1" soon ping -n -c 2 -i 0.2 -W 10 10.4.0.1

	cp -r $work/root/. / && mkdir -p /etc/uipoib && cp $work/lab/lab.{conf,topo} /etc/uipoib/
	u="/opt/uipoib/bin/uipoib -n lab"
	systemctl daemon-reload
	check "a lab as a service" systemctl start uipoib@lab
	all_up() { \$u -j link show | jq -e '.link | length == 2 and all(.state == "UP")'; }
	check "the service is up when its interfaces are" all_up
	# fields FIELD=VALUE...: print some fields of the journal entries that have all these values
	fields() { journalctl --no-pager -o json "\$@" | jq -r '[.UIPOIB_INSTANCE, .UIPOIB_HOST, .PRIORITY, .SYSLOG_IDENTIFIER, ._SYSTEMD_UNIT, .MESSAGE] | join("|")'; }
	came_up() { fields UIPOIB_INTERFACE=uib0 UIPOIB_HOST=h2 | grep -qxF "lab|h2|6|uipoib|uipoib@lab.service|uib0@h2: up"; }
	check "the journal has the lines about an interface by its name" soon came_up
	check "and those of the subnet manager, which are about no interface" soon eval 'fields UIPOIB_COMPONENT=sm UIPOIB_FABRIC=lab | grep -q "SUBNET UP"'
	check "its hosts reach each other" soon \$u exec h1 ping -n -c 2 -i 0.2 -W 10 10.4.0.2
	kill -9 "\$(systemctl show -P MainPID uipoib@lab)"
	check "a killed instance comes back" soon \$u wait --timeout 1
	check "and works" soon \$u exec h1 ping -n -c 2 -i 0.2 -W 10 10.4.0.2
	check "the service stops" systemctl stop uipoib@lab
	check "it leaves nothing" equal "" "\$(ls /run/uipoib 2>/dev/null)\$(ip netns list)"

	service=/etc/systemd/system/uipoib@hca.service.d
	printf '%s\\n' '[interface uib0]' 'port = verbs:uib0/1' 'address = 10.4.0.101/16' >/etc/uipoib/hca.conf
	log() { journalctl -u uipoib@hca -o cat --no-pager; }
	check "a service has no port of the kernel's RDMA devices" eval '! systemctl start uipoib@hca && log | grep -q "port verbs:uib0/1: "'
	systemctl stop uipoib@hca
	install -D -m 644 $PWD/examples/service/verbs.conf \$service/verbs.conf
	systemctl daemon-reload
	check "with the drop-in of examples/service it has" systemctl start uipoib@hca
	check "the interface reaches h1" soon ping -n -c 2 -i 0.2 -W 10 -I uib0 10.4.0.1
	of_port() { fields UIPOIB_PORT=uib0/1 | grep -q "^hca||6|uipoib|uipoib@hca.service|sa: port "; }
	check "the journal has the lines about the port by its name" soon of_port
	check "a device that is removed can come back" eval '! log | grep -q "cannot open it again"'
	check "and the service stops" systemctl stop uipoib@hca

	networks() { networkctl --no-legend --no-pager list | awk '{ print \$2, \$5 }' | sort | grep -v ^lo; }
	check "networkd as a service" systemctl start systemd-networkd
	alone() { equal "ib0 unmanaged" "\$(networks)"; }
	check "networkd sees ib0 only, and leaves it alone" soon alone
	systemctl stop systemd-networkd systemd-networkd.socket
	devices() { nmcli -t -f DEVICE,TYPE,STATE device | grep -v ^lo: | sort; }
	check "NetworkManager as a service" systemctl start NetworkManager
	known() { equal "ib0:infiniband:connected (externally)" "\$(devices)"; }
	check "NetworkManager knows ib0 by its type and takes its address over" soon known
	check "ib0 still reaches h1" soon ping -n -c 2 -i 0.2 -W 10 10.4.0.1
	exit 9
END
vm --systemd --memory 768 -- bash "$work/lab/inside" >"$work/out" 2>"$work/err"
check "the status of the command is the VM's" equal 9 $?
cat "$work/out"
grep -q '^not ok' "$work/out" && failed=1
check "every check inside was made" equal 25 "$(grep -cE '^(not )?ok - ' "$work/out")"
check "nothing was said besides" equal "" "$(cat "$work/err")"
finish

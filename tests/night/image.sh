#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# image.sh: run the steps of action.yml, with podman as the engine and Debian 12 from debootstrap as the base. They build the
# image of packaging/image from a clean clone, and run commands in virtual machines from a container that only has podman's default
# privileges. Then the job of examples/ci/gitlab.yml runs in the image. The script needs root.
#
# With KEEP=DIR the base and podman's storage are in DIR (3 GB), and a later run uses them again.
set -u
cd "$(dirname "$0")/../.." || exit 1
mirror=${MIRROR:-http://deb.debian.org/debian}
[ "$(id -u)" = 0 ] || { echo "ok - image.sh # SKIP it needs root"; exit 0; }
# crun needs cgroups of a single version, 1 or 2. If both versions are mounted, the container gets a tree of version 2
# without controllers.
if [ -z "${IMAGE_SH_INSIDE:-}" ]; then
	exec env IMAGE_SH_INSIDE=1 unshare --mount --propagation private bash -c '
		[ -e /sys/fs/cgroup/cgroup.controllers ] || { umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup; } || exit 1
		exec bash "$0"' "$PWD/tests/night/image.sh"
fi
base=${KEEP:-}
[ -n "$base" ] || base=$(mktemp -d "${TMPDIR:-/var/tmp}/uipoib-image.XXXXXX")
mkdir -p "$base"
work=$(mktemp -d)
tree=$work/clone
export CONTAINERS_CONF=$work/containers.conf ENGINE=$work/engine BASE=localhost/debian:12
cleanup() {
	rm -rf "$work"
	[ -n "${KEEP:-}" ] || { "${podman[@]}" rmi -a -f; rm -rf --one-file-system "$base"; }
} >/dev/null 2>&1
trap cleanup EXIT
trap 'exit 130' INT TERM
git clone --no-local -q . "$tree" || exit 1

podman=(podman --storage-driver=vfs --root "$base/store" --runroot "$base/run")
printf '[containers]\ndefault_ulimits = []\ncgroups = "disabled"\npids_limit = 0\n[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n' >"$CONTAINERS_CONF"
# The action calls this program in place of docker. The container that builds the image may use the network of this
# machine, and the container that runs the commands gets the options of the action.
cat >"$ENGINE" <<END
#!/bin/sh
verb=\$1
shift
case \$verb in
build) exec ${podman[@]} build --isolation chroot --network host "\$@" ;;
run) exec ${podman[@]} run --ulimit host "\$@" ;;
esac
END
chmod +x "$ENGINE"

failed=0
check() {
	local what=$1
	shift
	if "$@" >"$work/log" 2>&1; then
		echo "ok - $what"
	else
		echo "not ok - $what"
		tail -20 "$work/log" | sed 's/^/#   /'
		failed=1
	fi
}
equal() { [ "$1" = "$2" ] || { printf 'expected: %s\ngot: %s\n' "$1" "$2"; return 1; }; }

make_base() {
	"${podman[@]}" image exists "$BASE" && return
	debootstrap --variant=minbase --include=ca-certificates bookworm "$base/root" "$mirror" &&
		echo "deb $mirror-security bookworm-security main" >>"$base/root/etc/apt/sources.list" &&
		tar -C "$base/root" --numeric-owner -cf "$base/debian.tar" . && "${podman[@]}" import "$base/debian.tar" "$BASE" &&
		rm -rf --one-file-system "$base/root" "$base/debian.tar"
}
# step NAME [INPUT=VALUE ...]: run a step of action.yml as the runner would, with the defaults of its inputs
step() { python3 - "$tree" "$@" <<'END'; }
import os, re, subprocess, sys, yaml
tree, name, given = sys.argv[1], sys.argv[2], dict(a.split('=', 1) for a in sys.argv[3:])
action = yaml.safe_load(open(tree + '/action.yml'))
values = {'inputs.' + k: str(given.pop(k, v.get('default', ''))) for k, v in action['inputs'].items()}
values['github.action_path'] = tree
assert not given, given
step, = (s for s in action['runs']['steps'] if s['name'] == name)
env = {k: re.sub(r'\$\{\{ *(.*?) *\}\}', lambda m: values[m[1]], v) for k, v in step['env'].items()}
# BASE is the image that this test has made, because the registry of the default image cannot be reached.
env['BASE'] = os.environ['BASE']
sys.exit(subprocess.run(['bash', '-e', '-c', step['run']], env={**os.environ, **env}).returncode)
END

check "the base, Debian 12" make_base
check "the action builds the image" step "Build the image" packages=fping
[ $failed = 0 ] || exit 1
mkdir "$work/job" && cd "$work/job" || exit 1
check "the action runs a command" step "Run the command" "run=ip -d link show ib0 >ib0.txt"
check "ib0 is of type InfiniBand" grep -q 'link/infiniband' ib0.txt
check "the command finds its packages" step "Run the command" "run=fping --version"
step "Run the command" "run=exit 7" >"$work/out" 2>&1
check "its exit status is the command's" equal 7 $?
check "the container may administer neither system nor network" "$ENGINE" run --rm --network none localhost/uipoib sh -c '
	caps=0x$(sed -n "s/^CapBnd:[[:space:]]*//p" /proc/self/status); [ $((caps >> 21 & 1)) = 0 ] && [ $((caps >> 12 & 1)) = 0 ]'
kernels=$("$ENGINE" run --rm --network none localhost/uipoib sh -c 'cd /boot && echo vmlinuz-*')
offered=$("$ENGINE" run --rm --network host localhost/uipoib sh -c \
	"apt-get update >&2 && apt-cache search --names-only '^linux-image-.*amd64$' | grep -cE '^linux-image-([0-9.]+-)?(rt-)?amd64 '")
check "the image has each kernel that apt offers, but those for clouds: $(echo $kernels | wc -w)" equal "$offered" "$(echo $kernels | wc -w)"
for k in $kernels; do
	step "Run the command" "kernel=${k#vmlinuz-}" "run=uname -r >kernel.txt" >"$work/out" 2>&1
	check "${k#vmlinuz-} boots" equal "${k#vmlinuz-}" "$(cat kernel.txt)"
done
check "a user who is not root" "$ENGINE" run --rm --user 1000 --network none localhost/uipoib uipoib vm -c /usr/share/uipoib/ib0.conf -- ip link show ib0
# gitlab: run the script of the job as GitLab's runner does, in a container that has the repository as its working directory
gitlab() {
	local script
	script=$(python3 -c 'import sys, yaml; print("\n".join(yaml.safe_load(open(sys.argv[1]))["ib0"]["script"]))' "$tree/examples/ci/gitlab.yml") &&
		printf '#!/bin/sh\nip -o link show ib0 >tested.txt\n' >tests.sh && chmod +x tests.sh && rm -f ib0.txt &&
		"$ENGINE" run --rm --network none -v "$PWD:$PWD" -w "$PWD" -e CI_PROJECT_DIR="$PWD" localhost/uipoib sh -e -c "$script" &&
		grep -q 'link/infiniband' ib0.txt && grep -q ib0 tested.txt
}
check "the job of examples/ci/gitlab.yml" gitlab
exit $failed

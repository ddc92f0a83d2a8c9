#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# boot.sh [-k KERNEL_RELEASE | -i IMAGE] [-n NETDEV] [-m MB] [-t SECONDS] WORK CMD...
#
# Boots Debian's kernel in QEMU with this machine's root file system (9p, read-only, with a tmpfs over it) and runs CMD in
# this guest by a shell. WORK is a folder that the guest sees as /run/work, where it may write. The folder gets these files:
#
#	boot.cpio	the initramfs		console		the output of the kernel and of CMD
#	out, err	the output of CMD	status		the exit status of CMD; missing if CMD has not ended
#
# IMAGE is a kernel that can boot in this way without modules. NETDEV is the value of QEMU's option -netdev without the
# id. The default is "user", with which the guest has the address 10.0.2.15 and reaches this machine's loopback as
# 10.0.2.2.
set -eu

release= image= netdev=user mem=512 limit=120
while getopts k:i:n:m:t: o; do
	case $o in
	k) release=$OPTARG ;;
	i) image=$OPTARG ;;
	n) netdev=$OPTARG ;;
	m) mem=$OPTARG ;;
	t) limit=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
work=$(realpath "$1")
shift
: "${release:=$(ls /lib/modules | sort -V | tail -n 1)}"
[ -n "$image" ] && modules='' || modules="virtio_pci 9pnet_virtio 9p overlay virtio_net"

# Make the initramfs. Its /init mounts this machine's root read-only, puts a tmpfs over it (overlay), which takes all writes, and
# runs CMD.
initramfs() {
	local root=$work/initramfs m
	rm -rf "$root"
	mkdir -p "$root"/{bin,lib,proc,sys,dev,lower,upper,root}
	cp /bin/busybox "$root/bin/busybox"
	: >"$root/lib/order"
	for m in $modules; do
		modprobe -S "$release" --show-depends "$m"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r m; do
		cp "$m" "$root/lib/"
		echo "${m##*/}" >>"$root/lib/order"
	done
	cat >"$root/init" <<'INIT'
#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs dev /dev
while read -r m; do $b insmod /lib/$m; done </lib/order
nine=trans=virtio,version=9p2000.L,msize=512000
$b mount -t 9p -o ro,cache=loose,$nine root /lower
$b mount -t tmpfs tmpfs /upper
$b mkdir /upper/up /upper/work
$b mount -t overlay -o lowerdir=/lower,upperdir=/upper/up,workdir=/upper/work overlay /root
for d in proc sys dev; do $b mount -o move /$d /root/$d; done
$b mount -t tmpfs tmpfs /root/run
$b mount -t tmpfs tmpfs /root/tmp
$b mkdir -p /root/run/work
$b mount -t 9p -o $nine work /root/run/work
exec $b switch_root /root /bin/bash /run/work/main
INIT
	chmod +x "$root/init"
	(cd "$root" && find . | cpio -o -H newc --quiet) >"$work/boot.cpio"
	rm -rf "$root"
}

main_script() {
	cat <<'MAIN'
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t debugfs debugfs /sys/kernel/debug
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
hostname linux
ip link set lo up
if [ -d /sys/class/net/eth0 ]; then
	ip link set eth0 up
	ip address add 10.0.2.15/24 dev eth0
fi
cd /run/work
bash /run/work/cmd >/run/work/out 2>/run/work/err </dev/null
echo $? >/run/work/status
sync
echo o >/proc/sysrq-trigger
sleep 60
MAIN
}

initramfs
rm -f "$work/status"
main_script >"$work/main"
printf '%s\n' "$*" >"$work/cmd"
accel=tcg
exec timeout "$limit" qemu-system-x86_64 -nodefaults -no-user-config -no-reboot -display none \
	-machine q35,accel=$accel -cpu max -smp 2 -m "$mem" \
	-kernel "${image:-/boot/vmlinuz-$release}" -initrd "$work/boot.cpio" \
	-append "console=ttyS0 quiet panic=-1 oops=panic net.ifnames=0 random.trust_cpu=on ${APPEND:-}" \
	-serial "file:$work/console" \
	-fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap \
	-device virtio-9p-pci,fsdev=root,mount_tag=root \
	-fsdev local,id=work,path="$work",security_model=none \
	-device virtio-9p-pci,fsdev=work,mount_tag=work \
	-netdev "$netdev,id=n" -device virtio-net-pci,netdev=n,romfile= -device virtio-rng-pci

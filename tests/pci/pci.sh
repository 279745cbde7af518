#!/usr/bin/env bash
# pci.sh BIN: stormweir-echo on PCI functions, without such hardware: a virtual machine with emulated NICs behind an
# emulated IOMMU, vfio-pci and hugepages, and stock libenet clients outside it.
#
#   1. what is missing on the way to a bound function is said in a sentence, one thing after the other: hugepages,
#      hugetlbfs, vfio-pci, the IOMMU's part of it, a viable group, the right -a;
#   2. virtio-net, whose RSS spreads flows: two queues, two workers, both have clients, nothing crosses;
#   3. over IPv6 the same;
#   4. its link goes and comes back; the port is reset while a client plays; it goes on;
#   5. e1000e, two queues without RSS in DPDK's driver: flows are dealt in software;
#   6. e1000e with one queue and two workers;
#   7. two ports of different drivers at once, a worker each; and three workers over three queues of the two;
#   8. vmxnet3.
#
# Needs root, and the Debian packages qemu-system-x86 busybox-static cpio kmod; downloads a Debian kernel package once
# (kept in STORMWEIR_PCI_CACHE, a temporary folder otherwise). One to three minutes, most of it emulation. Leaves
# nothing behind but that cache. Exit 77: something of that is missing.
# shellcheck disable=SC2016 # what is in single quotes is for the machine's shell
set -uo pipefail
[[ $# == 1 ]] || {
	echo "usage: $0 FOLDER-OF-PROGRAMS" >&2
	exit 2
}
skip() {
	echo "skipped: $*"
	exit 77
}
((EUID == 0)) || skip "a network namespace needs root"
for tool in qemu-system-x86_64 busybox cpio depmod; do
	command -v "$tool" >/dev/null || skip "$tool is not installed (qemu-system-x86 busybox-static cpio kmod)"
done
bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/pci/vm.sh
. "$here/vm.sh"

ns=swpci$$
dir=${STORMWEIR_PCI_CACHE:-$(mktemp -d)}
mkdir -p "$dir"

finish() {
	vm_stop
	ip netns del $ns 2>/dev/null
	rm -rf "$dir/root" "$dir"/*.in "$dir"/*.out "$dir/initramfs"
	[[ ${STORMWEIR_PCI_CACHE:-} ]] || rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM

step() { printf '%3d s  %s\n' $SECONDS "$*"; }
die() {
	echo "pci: $*" >&2
	[[ ! $vm_pid ]] || vm 'kill -INT $(pidof stormweir-echo); sleep 3; grep -v cycles /tmp/log' >&2
	cat "$dir/qemu.log" >&2
	exit 1
}
in_ns() { nsenter --net=/run/netns/$ns "$@"; }

# tap NAME ADDRESS [multi_queue]
tap() {
	in_ns ip tuntap add dev "$1" mode tap ${3:+"$3"}
	in_ns ip address add "$2" dev "$1"
	in_ns ip link set dev "$1" up
}

virtio=0000:00:03.0 e1000e=0000:00:04.0 vmxnet3=0000:00:05.0

# refused SENTENCE ARGUMENTS...: the program ends with it.
refused() {
	local said
	said=$(vm "stormweir-echo ${*:2} 2>&1") && die "started with ${*:2}"
	[[ $said == *"$1"* ]] || die "expected \"$1\", it said: $said"
}

on_virtio="-l 0 -a $virtio -- --port $virtio --address 10.203.3.1/24"

# serve EAL-ARGUMENTS -- OWN-ARGUMENTS: returns when it is ready.
serve() {
	vm "stormweir-echo -m 128 --log-level=error $* --rxd 256 --txd 256 --idle adaptive --packet-max 32768 --peers 64 --pool 8388608 >/tmp/log 2>&1 &"
	vm_until 'grep -q ready /tmp/log' || die "did not start: $*"
}

stop() {
	vm 'kill -INT $(pidof stormweir-echo)'
	vm_until '! pidof stormweir-echo >/dev/null' || die "did not stop"
	vm 'cat /tmp/log' >"$dir/log"
}

# counter SET WORKER NAME
counter() {
	local value
	value=$(sed -n "s/^$1 $2 $3 //p" "$dir/log")
	echo "${value:-0}"
}

# clients COUNT ADDRESS: at once; each port is another flow.
clients() {
	local pids=() pid
	for ((i = 0; i < $1; i++)); do
		in_ns timeout 60 "$bin/stormweir-echo-client" "$2" 7777 >/dev/null &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || die "a client of $2 was not served"
	done
}

# expect WHAT: an arithmetic condition.
expect() { (($1)) || die "expected $1"; }
said() { grep -q "$1" "$dir/log" || die "it has not said: $1"; }

# bind FUNCTION...: to vfio-pci.
bind() {
	vm "for d in $*; do echo vfio-pci >/sys/bus/pci/devices/\$d/driver_override; echo \$d >/sys/bus/pci/drivers_probe; done"
}

# vm_until CONDITION: at most 30 s.
vm_until() {
	vm "i=0; until $1; do usleep 100000; i=\$((i + 1)); [ \$i -lt 300 ] || break; done; $1"
}

step "the machine is put together"
vm_build "$bin" "$dir" || skip "no machine to put together"
ip netns add $ns || skip "no network namespaces here"
tap v 10.203.3.2/24 multi_queue
in_ns ip -6 address add 2001:db8:3::2/64 dev v nodad
tap e 10.203.4.2/24
tap x 10.203.5.2/24
tap_options=script=no,downscript=no,vhost=off
vm_start "$dir" $ns \
	-netdev tap,id=v,ifname=v,queues=2,$tap_options \
	-device virtio-net-pci,netdev=v,mq=on,rss=on,vectors=6,disable-legacy=on,iommu_platform=on,addr=3 \
	-netdev tap,id=e,ifname=e,$tap_options -device e1000e,netdev=e,addr=4 \
	-netdev tap,id=x,ifname=x,$tap_options -device vmxnet3,netdev=x,addr=5 \
	-device pcie-pci-bridge,id=bridge,addr=6 -device e1000,bus=bridge,addr=1 -device e1000,bus=bridge,addr=2 ||
	die "the machine did not start"

step "what is missing is said"
refused "this machine has no hugepages" "$on_virtio"
vm 'echo 128 >/proc/sys/vm/nr_hugepages'
refused "no hugetlbfs is mounted" "$on_virtio"
vm 'mkdir -p /dev/hugepages; mount -t hugetlbfs none /dev/hugepages'
refused "no PCI function 0000:00:13.0" "${on_virtio//$virtio/0000:00:13.0}"
refused "bound to driver none; modprobe vfio-pci" "$on_virtio"
vm 'modprobe virtio_pci; modprobe virtio_net'
refused "bound to driver virtio-pci" "$on_virtio"
vm "modprobe vfio-pci; echo $virtio >/sys/bus/pci/devices/$virtio/driver/unbind"
bind $virtio $e1000e $vmxnet3
refused "modprobe vfio_iommu_type1" "$on_virtio"
vm 'modprobe vfio_iommu_type1'
refused "allowed with -a" "${on_virtio/-a $virtio/-a $e1000e}"
other=$(vm 'basename $(ls -d /sys/bus/pci/devices/0000:0[1-9]:02.0)')
vm 'modprobe e1000'
vm "echo ${other/02.0/01.0} >/sys/bus/pci/drivers/e1000/unbind"
bind "${other/02.0/01.0}"
refused "not viable: $other is in it and has the driver e1000" "${on_virtio//$virtio/${other/02.0/01.0}}"

step "virtio-net: RSS spreads the flows"
serve "-l 1,2 -a $virtio -- --port $virtio --address 10.203.3.1/24 --address6 2001:db8:3::1/64 --rxq 2"
in_ns ping -q -c 1 -W 5 10.203.3.1 >/dev/null || die "ping is not answered"
clients 8 10.203.3.1
stop
expect "$(counter enet 0 connected) > 0 && $(counter enet 1 connected) > 0"
expect "$(counter dataplane 0 handoff_over) + $(counter dataplane 1 handoff_over) <= 8"
step "        workers had $(counter enet 0 connected) and $(counter enet 1 connected) clients, handed on \
$(counter dataplane 0 handoff_over) and $(counter dataplane 1 handoff_over) frames"

step "virtio-net over IPv6; then the link goes, and the port is reset"
serve "-l 1,2 -a $virtio -- --port $virtio --address 10.203.3.1/24 --address6 2001:db8:3::1/64 --rxq 2"
in_ns ping -6 -q -c 1 -W 5 2001:db8:3::1 >/dev/null || die "ping -6 is not answered"
for i in 1 2 3 4; do
	in_ns "$bin/stormweir-lean6" 2001:db8:3::1 7777 >/dev/null || die "ENet over IPv6"
done
vm_monitor "set_link v off"
vm_until 'grep -q "has no link" /tmp/log' || die "the link's end was not noticed"
vm_monitor "set_link v on"
vm_until 'grep -q "has a link" /tmp/log' || die "the link's return was not noticed"
clients 2 10.203.3.1
vm 'kill -HUP $(pidof stormweir-echo)'
clients 4 10.203.3.1
stop
said "the device asks for a reset"
! grep -q "reset failed" "$dir/log" || die "the reset failed"
expect "$(counter enet 0 connected) + $(counter enet 1 connected) == 10"

step "e1000e: two queues, no RSS: dealt in software"
serve "-l 1,2 -a $e1000e -- --port $e1000e --address 10.203.4.1/24 --rxq 2"
clients 8 10.203.4.1
stop
said "flows are dealt to the 2 dataplane lcores in software"
expect "$(counter enet 0 connected) > 0 && $(counter enet 1 connected) > 0"
expect "$(counter dataplane 0 handoff_over) > 0"

step "e1000e: one queue, two workers; reset"
serve "-l 1,2 -a $e1000e -- --port $e1000e --address 10.203.4.1/24"
clients 4 10.203.4.1
vm 'kill -HUP $(pidof stormweir-echo)'
clients 4 10.203.4.1
stop
said "the device asks for a reset"
expect "$(counter enet 0 connected) + $(counter enet 1 connected) == 8"
expect "$(counter dataplane 1 handoff_back) > 0 && $(counter dataplane 1 rx_packets) == 0"

step "two drivers, a port for each of two workers"
two="-a $virtio -a $e1000e -- --port $virtio --address 10.203.3.1/24 --port $e1000e --address 10.203.4.1/24"
serve "-l 1,2 $two"
clients 2 10.203.3.1
clients 2 10.203.4.1
stop
expect "$(counter enet 0 connected) == 2 && $(counter enet 1 connected) == 2"
expect "$(counter dataplane 0 handoff_over) + $(counter dataplane 1 handoff_over) == 0"

step "two drivers, three workers over four queues"
serve "-l 1,2,3 $two --rxq 2"
clients 6 10.203.3.1
clients 6 10.203.4.1
stop
expect "$(counter enet 0 connected) + $(counter enet 1 connected) + $(counter enet 2 connected) == 12"

step "vmxnet3"
serve "-l 1,2 -a $vmxnet3 -- --port $vmxnet3 --address 10.203.5.1/24 --rxq 2"
clients 4 10.203.5.1
stop
step "        workers had $(counter enet 0 connected) and $(counter enet 1 connected) clients"
step "passed"

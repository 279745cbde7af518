#!/usr/bin/env bash
# vm.sh: a virtual machine with emulated NICs behind an IOMMU, for pci.sh to source. No KVM is needed.
#
#   vm_build BIN DIR     initramfs and kernel into DIR: busybox, BIN/stormweir-echo, DPDK's drivers. The kernel is
#                        Debian's package, downloaded and unpacked, never installed
#   vm_start DIR NS ARGUMENTS...   QEMU in namespace NS, with these devices; waits until it takes commands
#   vm COMMAND           runs it there (busybox sh, one line); its output, and its exit code
#   vm_monitor COMMAND   a line for QEMU's monitor
#   vm_stop
#
# shellcheck shell=bash

vm_pid=
vm_dir=
vm_drivers=(bus_pci bus_vdev mempool_ring net_virtio net_vmxnet3 net_e1000)
vm_modules=(vfio-pci vfio_iommu_type1 virtio_net virtio_pci e1000e e1000 vmxnet3)

# vm_kernel DIR: vmlinuz and lib/modules there.
vm_kernel() {
	local package
	package=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -1)
	[[ $package ]] || {
		echo "pci: apt knows no linux-image-amd64; apt-get update?" >&2
		return 1
	}
	mkdir -p "$1/kernel"
	(cd "$1" && apt-get -q download "$package" >/dev/null 2>&1) || {
		echo "pci: $package could not be downloaded; apt-get update?" >&2
		return 1
	}
	dpkg-deb -x "$1"/linux-image-*.deb "$1/kernel"
	rm "$1"/linux-image-*.deb
	mv "$1"/kernel/boot/vmlinuz-* "$1/vmlinuz"
}

# vm_copy FILE...: with its path, and the libraries that it needs. Links stay links: DPDK takes a driver that is there
# twice for two drivers.
vm_copy() {
	local file
	for file in "$@" $(ldd "$@" | sed -n -e 's/.*=> \(\/[^ ]*\).*/\1/p' -e 's/^\t\(\/[^ ]*\).*/\1/p' | sort -u); do
		while :; do
			file=$(realpath "${file%/*}")/${file##*/}
			mkdir -p "$vm_dir/root/${file%/*}"
			cp -aun "$file" "$vm_dir/root/$file"
			[[ -L $file ]] || break
			file=$(cd "${file%/*}" && realpath -s "$(readlink "$file")")
		done
	done
}

vm_build() {
	local pmds version module driver files=()
	vm_dir=$2
	[[ -e $vm_dir/vmlinuz ]] || vm_kernel "$vm_dir" || return
	version=$(ls "$vm_dir/kernel/lib/modules")
	rm -rf "$vm_dir/root"
	mkdir -p "$vm_dir"/root/{bin,dev,proc,sys,tmp,var/run} "$vm_dir"/root/usr/{lib,lib64}
	ln -s usr/lib usr/lib64 "$vm_dir/root/"
	depmod -b "$vm_dir/kernel" "$version"
	for module in "${vm_modules[@]}"; do
		modprobe -d "$vm_dir/kernel" -S "$version" --show-depends "$module" | sed -n 's/^insmod \([^ ]*\).*/\1/p'
	done | sort -u | while read -r module; do
		install -D -m 644 "$module" "$vm_dir/root/${module#"$vm_dir/kernel"}"
	done
	depmod -b "$vm_dir/root" "$version" 2>/dev/null
	pmds=$(dirname "$(find /usr/lib -path '*/dpdk/pmds-*/librte_bus_pci.so' | head -1)")
	for driver in "${vm_drivers[@]}"; do
		files+=("$pmds/librte_$driver.so")
	done
	# glibc opens libgcc_s when a thread is cancelled, which no ldd shows.
	vm_copy "${files[@]}" "$1/stormweir-echo" /usr/lib/x86_64-linux-gnu/libgcc_s.so.1
	mv "$vm_dir/root/$1/stormweir-echo" "$vm_dir/root/bin/"
	cp /bin/busybox "$vm_dir/root/bin/"
	cp "$(dirname "${BASH_SOURCE[0]}")/guest_init" "$vm_dir/root/init"
	chmod 755 "$vm_dir/root/init"
	(cd "$vm_dir/root" && find . | cpio -o -H newc --quiet | gzip -1) >"$vm_dir/initramfs"
}

# vm_answer SECONDS: what comes until the line that says how a command ended.
vm_answer() {
	local line end=$((SECONDS + $1))
	while kill -0 "$vm_pid" 2>/dev/null && ((SECONDS < end)); do
		IFS= read -r -t 1 line <&8 || continue
		line=${line%$'\r'}
		[[ $line != *@@* ]] || {
			[[ ! ${line%@@*} ]] || printf '%s\n' "${line%@@*}"
			return "${line##*@@}"
		}
		printf '%s\n' "$line"
	done
	echo "pci: the machine does not answer" >&2
	return 124
}

vm_start() {
	local ns=$2
	vm_dir=$1
	shift 2
	mkfifo "$vm_dir"/{serial,monitor}.{in,out}
	nsenter --net="/run/netns/$ns" qemu-system-x86_64 -accel tcg,thread=multi -cpu max \
		-M q35,kernel-irqchip=split -m 1024 -smp 4 -display none -nodefaults -no-reboot \
		-chardev pipe,id=serial,path="$vm_dir/serial" -serial chardev:serial \
		-chardev pipe,id=monitor,path="$vm_dir/monitor" -mon chardev=monitor,mode=readline \
		-kernel "$vm_dir/vmlinuz" -initrd "$vm_dir/initramfs" \
		-append "console=ttyS0 loglevel=1 intel_iommu=on panic=-1" \
		-device intel-iommu,intremap=on "$@" 2>"$vm_dir/qemu.log" &
	vm_pid=$!
	exec 7<>"$vm_dir/serial.in" 8<>"$vm_dir/serial.out" 9<>"$vm_dir/monitor.in" 6<>"$vm_dir/monitor.out"
	vm_answer 120 >/dev/null
}

vm() {
	printf '%s\n' "$*" >&7
	vm_answer 60
}

vm_monitor() {
	printf '%s\n' "$*" >&9
}

vm_stop() {
	[[ ! $vm_pid ]] || {
		kill -KILL "$vm_pid" 2>/dev/null
		wait "$vm_pid" 2>/dev/null
		exec 6>&- 7>&- 8>&- 9>&-
	}
	vm_pid=
}

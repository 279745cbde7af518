# wire.sh: the everyday wire, a veth pair whose client end lives in a network namespace of its own,
# socket buffers and hugepages on loan. Needs root. Sourced by tools/stage.sh.
#
# Clients enter with nsenter and not with ip netns exec or ip -n, which need a / that is a mount point:
# a chroot has none.
#
# The server's end has no address and no IPv6: only DPDK's AF_XDP socket answers on it.
# shellcheck shell=bash

# shellcheck disable=SC2034 # used by who sources this
wire_server_ip=10.77.0.1
wire_client_ip=10.77.0.2

# wire_in NAMESPACE COMMAND...: replaces nothing but the network of the command.
wire_in() {
	local ns=$1
	shift
	nsenter --net="/run/netns/$ns" "$@"
}

# wire_up NAMESPACE SERVER-END CLIENT-END
wire_up() {
	ip netns add "$1" && wire_in "$1" ip link set lo up && wire_add "$@" "$wire_client_ip"
}

# wire_add NAMESPACE SERVER-END CLIENT-END CLIENT-IP: one more wire into it, to another server.
wire_add() {
	local ns=$1 server=$2 client=$3
	ip link add "$server" type veth peer name "$client" netns "$ns" || return 1
	[[ ! -e /proc/sys/net/ipv6/conf/$server ]] ||
		echo 1 >"/proc/sys/net/ipv6/conf/$server/disable_ipv6"
	wire_in "$ns" sh -c "[ ! -e /proc/sys/net/ipv6 ] ||
		echo 1 >/proc/sys/net/ipv6/conf/$client/disable_ipv6"
	# veth leaves transmit checksums to hardware that is not there; the server verifies them.
	wire_in "$ns" ethtool -K "$client" tx off >/dev/null &&
		wire_in "$ns" ip address add "$4/24" dev "$client" &&
		wire_in "$ns" ip link set "$client" up &&
		ip link set "$server" up
}

# wire_down NAMESPACE SERVER-END: removes what is there; nothing there is fine.
wire_down() {
	local ns=$1 server=$2 pid
	if [[ -e /sys/class/net/$server ]]; then
		ip link delete "$server"
	fi
	if [[ -e /run/netns/$ns ]]; then
		# Clients that a person left running in it would keep it alive, nameless.
		for pid in $(ip netns pids "$ns"); do
			kill -TERM "$pid" 2>/dev/null
		done
		ip netns delete "$ns"
	fi
}

# buffers_raise DIR: kernel sockets may have buffers of 16 MiB; what was before is noted in DIR.
buffers_raise() {
	local limit file was
	for limit in rmem_max wmem_max; do
		file=/proc/sys/net/core/$limit
		was=$(<"$file")
		((was >= 16777216)) || { echo "$was" >"$1/$limit" && echo 16777216 >"$file"; } || return 1
	done
}

# buffers_restore DIR: what buffers_raise noted; nothing noted is fine.
buffers_restore() {
	local limit
	for limit in rmem_max wmem_max; do
		[[ -s $1/$limit ]] || continue
		cat "$1/$limit" >"/proc/sys/net/core/$limit"
		rm "$1/$limit"
	done
}

huge_pages=/sys/kernel/mm/hugepages/hugepages-2048kB

# The kernel gives as many as it has.
huge_set() { echo "$1" >$huge_pages/nr_hugepages; }

# Reads and changes the machine's number under a lock: several checkouts borrow side by side. Prints by how much it
# has changed.
huge_change() {
	(
		flock 8
		before=$(cat $huge_pages/nr_hugepages)
		pages=$((before + $1))
		huge_set $((pages > 0 ? pages : 0))
		echo $(($(cat $huge_pages/nr_hugepages) - before))
	) 8>/run/stormweir-hugepages.lock 2>/dev/null
}

# Pages that nobody uses and nobody has been promised.
huge_free() {
	echo $(($(cat $huge_pages/free_hugepages) - $(cat $huge_pages/resv_hugepages)))
}

# huge_borrow DIR PAGES: makes PAGES free 2 MiB pages and mounts them on DIR/huge. Fails, with nothing
# changed, when the machine has none to give. What is to be added is noted in DIR/huge.added first, then what was: to give
# back more would take the machine's own.
huge_borrow() {
	local dir=$1 pages=$2 free boot added
	[[ -w $huge_pages/nr_hugepages ]] || return 1
	free=$(huge_free)
	if ((free < pages)); then
		boot=$(cat /proc/sys/kernel/random/boot_id)
		echo "$((pages - free)) $boot" >"$dir/huge.added"
		added=$(huge_change $((pages - free)))
		echo "${added:-0} $boot" >"$dir/huge.added"
	fi
	free=$(huge_free)
	mkdir -p "$dir/huge"
	if ((free >= pages)) && mount -t hugetlbfs -o pagesize=2M,mode=700 none "$dir/huge" 2>/dev/null; then
		return 0
	fi
	huge_return "$dir"
	return 1
}

# huge_return DIR: unmounts and gives back what huge_borrow added; nothing borrowed is fine.
huge_return() {
	local dir=$1 added boot
	while mountpoint -q "$dir/huge"; do
		rm -f "$dir/huge"/*
		umount "$dir/huge" || umount -l "$dir/huge" || break
	done
	[[ -s $dir/huge.added ]] || return 0
	read -r added boot <"$dir/huge.added"
	# A reboot has given everything back already.
	[[ $boot == "$(cat /proc/sys/kernel/random/boot_id)" ]] || added=0
	# Pages that someone else has taken meanwhile go back when he lets go: the kernel counts them as
	# surplus.
	((added == 0)) || huge_change $((-added)) >/dev/null
	rm -f "$dir/huge.added"
}

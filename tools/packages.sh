#!/usr/bin/env bash
# packages.sh: the Debian 12 packages that Stormweir is built and tested with.
#
#   packages.sh missing [fuzz]    prints those that are not installed; needs no root, takes no time
#   packages.sh install NAME...   installs them, as root
#
# Redis and PostgreSQL come as programs only: no service of theirs is started, enabled or set up by
# us. A service that was there before is not touched.
set -euo pipefail

packages=(
	gcc libc6-dev cmake ninja-build pkgconf
	libdpdk-dev libenet-dev libprotobuf-c-dev protobuf-c-compiler libhiredis-dev libpq-dev
	liblua5.4-dev libuv1-dev libsodium-dev libyaml-dev libmicrohttpd-dev libjansson-dev zlib1g-dev
	libcmocka-dev bats shellcheck jq python3 python3-enet lua5.4 dpdk-dev
	redis-server redis-sentinel postgresql-15 postgresql-client-15
	iproute2 iputils-ping procps ethtool curl strace
)
packages_fuzz=(clang)

policy=/usr/sbin/policy-rc.d
cluster=/etc/postgresql-common/createcluster.conf
mark='added by the set-up of stormweir, removed when it ends'

missing() {
	local installed name
	installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null) || true
	for name in "$@"; do
		grep -qx "installed $name" <<<"$installed" || echo "$name"
	done
}

# Takes back what install put in the way of services, also that of a run that was killed.
unguard() {
	if [[ -e $policy ]] && grep -q "$mark" "$policy"; then
		rm -f "$policy"
	fi
	if [[ -e $cluster ]] && grep -q "$mark" "$cluster"; then
		sed -i "/$mark/d" "$cluster"
	fi
}

apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -y -q -o DPkg::Lock::Timeout=300 \
		-o Dpkg::Use-Pty=0 "$@"
}

install() {
	local names=" $* "
	command -v apt-get >/dev/null || {
		echo "dev: this set-up knows Debian 12 only; install by hand: $*" >&2
		return 1
	}
	# shellcheck source=/dev/null
	(. /etc/os-release && [[ $ID == debian && $VERSION_ID == 12 ]]) ||
		echo "dev: this is not Debian 12, which Stormweir is made for; trying all the same" >&2
	unguard
	trap unguard EXIT
	trap 'exit 130' INT TERM
	apt update
	if [[ ! -e $policy ]]; then
		printf '#!/bin/sh\n# %s\nexit 101\n' "$mark" >"$policy"
		chmod 755 "$policy"
	fi
	if [[ $names == *' postgresql-15 '* && ! -e $cluster ]]; then
		apt install --no-install-recommends postgresql-common
	fi
	if [[ $names == *' postgresql-15 '* ]]; then
		echo "create_main_cluster = false # $mark" >>"$cluster"
	fi
	apt install --no-install-recommends "$@"
	if [[ $names == *' redis-server '* ]]; then
		update-rc.d redis-server disable
	fi
	if [[ $names == *' redis-sentinel '* ]]; then
		update-rc.d redis-sentinel disable
	fi
}

case ${1:-} in
missing)
	[[ ${2:-} != fuzz ]] || packages+=("${packages_fuzz[@]}")
	missing "${packages[@]}"
	;;
install)
	shift
	install "$@"
	;;
*)
	echo "usage: $0 missing [fuzz] | install NAME..." >&2
	exit 2
	;;
esac

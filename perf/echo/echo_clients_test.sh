#!/usr/bin/env bash
# Clients with other settings, and one that is not ours, at stormweir-echo over AF_XDP: libenet with
# checksum, range coder, small MTU, bandwidth limits, 255 channels, several connections of one host and
# several lives; pyenet (Debian: python3-enet).
#   echo_clients_test.sh FOLDER_OF_THE_PROGRAMS.  Exit 77: needs root.
set -euo pipefail
# shellcheck source=perf/echo/echo_wire.sh
. "$(dirname "$0")/echo_wire.sh"
# shellcheck disable=SC2154 # of echo_wire.sh and tools/wire.sh
echo_wire_begin swc
here=$(dirname "$0")

echo_start "net_af_xdp0,iface=$id,busy_budget=0" --address "$wire_server_ip/24" --peers 64 --channels 255 --checksum any --compression any
echo_ready
# frame=5000: waits in one enet_host_service, as ENet's tutorial does.
for settings in 'crc range' 'later frame=5000' 'mtu=576 range' 'in=50000 out=50000 frame=5000' \
	'channels=255 peers=2'; do
	# shellcheck disable=SC2086 # words
	in_ns "$bin/stormweir-echo-client" "$wire_server_ip" 7777 lives=3 large=600 $settings ||
		fail "client with $settings"
done
if /usr/bin/python3 -c 'import enet' 2>/dev/null; then
	for settings in '' 'crc range'; do
		# shellcheck disable=SC2086
		in_ns "$here/echo_python.py" "$wire_server_ip" 7777 $settings || fail "pyenet $settings"
	done
fi
echo_stop INT
echo "other clients hold"

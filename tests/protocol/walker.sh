#!/usr/bin/env bash
# walker.sh BIN: docs/protocol.md is enough to write a client by. A client in another language, written from that page
# alone (walker.py), plays beside stock bots and compares all that it is told with the page: each position of its own
# with its prediction, every sequence of view changes, each message's channel. A second use of its ticket is refused.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/e2e.sh
. "$here/../e2e/e2e.sh"
e2e_begin "$@"
export PYTHONDONTWRITEBYTECODE=1

walker() {
	stage_client timeout 90 python3 "$here/walker.py" "$wire_server_ip" 7777 "$@"
}

stage_server_start || die "the server did not start"
bots_start others 3001 10 --expect-enters 1
stage_tickets 5001 1 walker "$stage_run/walker" || die "no ticket"
walker "$stage_run/walker" --players 3 --walls --click "Old Tom" || die "the walker was told something else than the page says"
walker "$stage_run/walker" --expect-refused TICKET_USED || die "a used ticket was not refused as the page says"
bots_leave others
e2e_passed

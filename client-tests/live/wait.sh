# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# To wait without a process for each look, on either side of a guest's wall. Sourced by guest.sh, host.sh and whoever polls.

# nap [SECONDS]: 20 ms, or so long, without a process: read from a pipe that nobody writes
exec {NAP_FD}<> <(:)
nap() {
	NAPPING=1
	read -r -t "${1:-0.02}" -u "$NAP_FD" _ || true
	NAPPING=''
	[ -z "$STOP" ] || { set -- "$STOP" && STOP='' && exit "$1"; }
}
# signalled STATUS: what a trap does instead of exit, which makes bash 5.2 crash inside read -t
NAPPING='' STOP=''
signalled() { if [ -n "$NAPPING" ]; then STOP=$1; else exit "$1"; fi; }

# wait_for SECONDS COMMAND...: poll until the command succeeds; 1 when the time is over
wait_for() {
	local end=$((SECONDS + $1 + 1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		nap
	done
}

# answers ADDRESS PORT: something listens there
answers() { (: <"/dev/tcp/$1/$2") 2>/dev/null; }

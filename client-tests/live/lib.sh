#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The client's side of a scenario, inside the guest: helpers, then the function client() of the scenario named by the
# first argument. An unexpected failure of any command ends it and names the line.
#
# $EXP is the export's path on the server; /mnt is empty and the client's own; $WORK is shared with the server's side.
# A scenario with work() instead: see client() below.

# mnt [-o OPTIONS] [DIR [MOUNTPOINT]]: mount $HOST:DIR ($EXP) on MOUNTPOINT (/mnt/n)
# shellcheck disable=SC2120 # scenarios pass them
mnt() {
	local more=
	[ -z "${MNT_OPTS:-}" ] || more=,$MNT_OPTS
	[ "${1:-}" != -o ] || { more=$more,$2; shift 2; }
	local dir=${1:-$EXP} at=${2:-/mnt/n}
	mkdir -p "$at"
	mount -t nfs -o "vers=3,proto=tcp,port=$PORT,mountport=$MOUNT_PORT,mountproto=tcp,nolock$more" \
		"${SERVER:-$HOST}:$dir" "$at"
}

fail() {
	echo "FAIL: $*" >&"$OUT_FD"
	exit 1
}
skip() {
	echo "skip: $*" >&"$OUT_FD"
	exit 77
}

# same WHAT EXPECTED ACTUAL
same() { [ "$2" = "$3" ] || fail "$1: expected '$2', got '$3'"; }

# refuses TEXT COMMAND...: the command must fail and say TEXT
refuses() {
	local text=$1 said
	shift
	if said=$("$@" 2>&1 | tr -d '\0'); then fail "'$*' was allowed"; fi
	[[ $said == *$text* ]] || fail "'$*' should say '$text', said '$said'"
}

# as UID GID GROUP,... COMMAND: with these ids and no capabilities
as() {
	local ids=(--reuid "$1" --regid "$2") groups=$3
	shift 3
	if [ -n "$groups" ]; then ids+=(--groups "$groups"); else ids+=(--clear-groups); fi
	setpriv "${ids[@]}" "$@"
}

# nothing of the page cache, the names and the attributes is remembered
forget() { echo 3 >/proc/sys/vm/drop_caches; }

# nothing dirty is left in the client: what it was told to write is on the server
flush() { sync -f "${1:-/mnt/n}"; }

# a number below N
below() { echo $(((RANDOM << 15 | RANDOM) % $1)); }

# What a scenario's client does unless it says otherwise: work DIR does its task in a new directory, which is the
# export's w1, and verifies it. Under fire (KILLS) it is done again and again in w1, w2, ... until the server has been
# killed that often; the moments are random, and no program may see an error.
client() {
	# shellcheck disable=SC2119
	mnt
	if [ "$KILLS" = 0 ]; then in_new_dir 1; else under_fire again_and_again; fi
	umount /mnt/n
}
in_new_dir() {
	D=w$1
	mkdir -m 1777 "/mnt/n/$D"
	work "/mnt/n/$D"
}
again_and_again() {
	local n=0
	DEPTH=$BASH_SUBSHELL
	until [ -e /mnt/ceasefire ] && [ $n -gt 0 ]; do
		in_new_dir $((++n))
		[ $n -lt 2 ] || rm -rf "/mnt/n/w$((n - 1))"
	done
	echo "done $n times"
}

# under_fire COMMAND...: run it while the server is killed and started again; /mnt/ceasefire appears after the last time
under_fire() {
	local k worker
	rm -f /mnt/ceasefire
	"$@" &
	worker=$!
	for ((k = 0; k < KILLS; k++)); do
		wait_for 10 host connected || true # a client that was refused waits some seconds before it tries again
		nap "$(below 2).$(printf %03d "$(below 1000)")" # any moment will do
		still_works "$worker" || break
		host strike
	done
	touch /mnt/ceasefire
	wait "$worker" || fail "the work ended with exit code $? after $k kills"
	[ "$k" = "$KILLS" ] || fail "only $k kills instead of $KILLS"
}
still_works() { [[ $(cat "/proc/$1/stat" 2>/dev/null) == *') '[^Z]' '* ]]; }

PATH=$BUILD/live/bin:$PATH
exec {OUT_FD}>&1 # verdicts reach the log also from a command whose output goes elsewhere
# shellcheck source=host.sh
. "$LIVE/host.sh"
# shellcheck source=/dev/null # written by run
. "$WORK/scenario"
. "$LIVE/tree.sh"
# shellcheck source=/dev/null
. "$1"
set -eE -o pipefail
trap '[ "$BASH_SUBSHELL" -gt "${DEPTH:-0}" ] || echo "FAIL: ${BASH_SOURCE[0]##*/}:$LINENO: $BASH_COMMAND (exit code $?)" >&"$OUT_FD"' ERR
client

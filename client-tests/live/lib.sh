#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The client's side of a scenario, inside the guest: helpers, then the function client() of the scenario named by the
# first argument. An unexpected failure of any command ends it and names the line.
#
# $EXP is the export's path on the server; /mnt is empty and the client's own; $WORK is shared with the server's side.

# mnt [-o OPTIONS] [DIR [MOUNTPOINT]]: mount $HOST:DIR ($EXP) on MOUNTPOINT (/mnt/n)
mnt() {
	local more=
	[ "${1:-}" != -o ] || { more=,$2; shift 2; }
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

exec {OUT_FD}>&1 # verdicts reach the log also from a command whose output goes elsewhere
# shellcheck source=host.sh
. "$LIVE/host.sh"
# shellcheck source=/dev/null # written by run
. "$WORK/scenario"
. "$LIVE/tree.sh"
# shellcheck source=/dev/null
. "$1"
set -eE -o pipefail
trap '[ "$BASH_SUBSHELL" -gt 0 ] || echo "FAIL: ${BASH_SOURCE[0]##*/}:$LINENO: $BASH_COMMAND (exit code $?)" >&"$OUT_FD"' ERR
client

# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# A real Linux NFS client to run scripts in. Sourced by guest, run and demo.
#
#   guest_kind              sets KIND: native (this kernel's own NFS client in a private network and mount
#                           namespace) or uml (Debian's user-mode-linux, a whole kernel as a process)
#   link_up / link_down     the wire between server and client; sets LINK, HOST (server's address), GUEST
#   guest_boot              boots; returns 1 with the console shown when that fails
#   guest_exec OUT LIMIT SCRIPT [ARG...]
#                           runs a bash script in the guest: output appended to OUT (or to our stdout for "-"),
#                           returns its exit code; 124 when it took longer than LIMIT seconds and the guest is
#                           as it was; 125 when the guest itself is lost (hung or dead): boot again to go on
#   guest_halt              powers off; safe to call always
#
# How the two sides talk: a work directory that both see ($WORK). Every message is a file that appears by rename, so
# it is complete when it is seen:
#   job.N  ->  out.N, rc.N    server side asks the guest to run a script
#   req.X  ->  ans.X          a script in the guest asks the server side to do something (`host CMD ARG...`, see
#                             host.sh); guest_exec calls `guest_request CMD ARG...`, a function of whoever
#                             sourced us, and its output and status travel back
# The guest sees the machine's files read-only, but for $WORK; /tmp, /mnt and /run are its own.
#
# Variables read: BUILD, GUEST_MEM (512M), GUEST_MTU (1500), GUEST_OFFLOAD (arguments for ethtool -K on the link's
# server side, such as "tso off sg off"), GUEST_KIND (auto), GUEST_MODULES (more of them for user-mode-linux), GUEST_KEEP (a directory below
# /tmp that stays visible), GUEST_TMP (where the work directory is made),
# GUEST_BOOT_LIMIT (60 s).

LIVE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$LIVE/../.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac
UML_MODULES=/usr/lib/uml/modules

say() { echo "$@" >&2; }

# shellcheck source=wait.sh
. "$LIVE/wait.sh"

alive() { [ -e "/proc/$1/stat" ] && [[ $(<"/proc/$1/stat") != *') Z '* ]]; } 2>/dev/null
gone() { ! alive "$1"; }

guest_kind() {
	case ${GUEST_KIND:-auto} in
	native | uml) KIND=$GUEST_KIND ;;
	auto)
		KIND=uml
		modprobe -q nfsv3 2>/dev/null || true
		grep -qw nfs /proc/filesystems && KIND=native
		;;
	*) say "GUEST_KIND=$GUEST_KIND: must be auto, native or uml"; return 2 ;;
	esac
	[ "$KIND" = native ] || guest_uml_ready
}

guest_uml_ready() {
	local tool
	for tool in linux.uml busybox mount.nfs ip; do
		command -v $tool >/dev/null || {
			say "$tool is missing: make deps (Debian: user-mode-linux busybox-static nfs-common)"
			return 2
		}
	done
	[ -c /dev/net/tun ] || { say "/dev/net/tun is missing: the guest needs a tap device"; return 2; }
	SHIM=$BUILD/live/uml-shim.so
	[ "$SHIM" -nt "$LIVE/uml-shim.c" ] && return
	mkdir -p "$BUILD/live"
	"${CC:-cc}" -O2 -Wall -Wextra -Werror -shared -fPIC -D_GNU_SOURCE -o "$SHIM.$$" "$LIVE/uml-shim.c" &&
		mv "$SHIM.$$" "$SHIM"
}

# The number of a link is held by a lock: two runs never share a tap, and one that a killed run left is known to be
# free and made anew.
link_up() {
	local n
	mkdir -p /run/lock
	for ((n = 1; n < 250; n++)); do
		exec {LINK_FD}>"/run/lock/spliced-live.$n"
		flock -n "$LINK_FD" && break
		exec {LINK_FD}>&-
	done
	[ "$n" -lt 250 ] || { say "no free link number below 250 in /run/lock/spliced-live.*"; return 2; }
	# shellcheck disable=SC2034 # GUEST: env_line
	LINK=spl$n LINK_N=$n HOST=10.99.$n.1 GUEST=10.99.$n.2
	ip link del "$LINK" 2>/dev/null || true
	if [ "$KIND" = uml ]; then
		ip tuntap add dev "$LINK" mode tap
	else
		ip link add "$LINK" type veth peer name "${LINK}g"
	fi || { say "cannot make the network link $LINK"; return 2; }
	ip addr add "$HOST/24" dev "$LINK"
	ip link set "$LINK" up mtu "${GUEST_MTU:-1500}"
	# shellcheck disable=SC2086 # a list of words
	[ -z "${GUEST_OFFLOAD:-}" ] || ethtool -K "$LINK" $GUEST_OFFLOAD
}

link_down() {
	[ -n "${LINK_FD:-}" ] || return 0
	ip link del "$LINK" 2>/dev/null || true
	rm -f "/run/lock/spliced-live.$LINK_N"
	exec {LINK_FD}>&-
	unset LINK LINK_FD
}

guest_boot() {
	WORK=$(mktemp -d "${GUEST_TMP:-/tmp}/spliced-guest.XXXXXX") || return 1
	chmod 755 "$WORK"
	{
		echo '#!/bin/busybox sh'
		env_line WORK HOST GUEST LINK KIND TOP LIVE BUILD
		KEEP=${GUEST_KEEP:-} MTU=${GUEST_MTU:-1500} SIZE=${SIZE:-small} MODULES=$(guest_modules) env_line KEEP MTU SIZE MODULES
		echo ". $(quote "$LIVE/guest-init")"
	} >"$WORK/init"
	chmod +x "$WORK/init"
	"guest_start_$KIND" || { guest_halt; return 1; }
	if ! wait_for "${GUEST_BOOT_LIMIT:-60}" guest_up_or_dead || [ ! -e "$WORK/ready" ]; then
		say "the guest did not boot:"
		guest_console
		guest_halt
		return 1
	fi
}

# quote WORD...: for any shell
quote() {
	local w
	for w; do printf "'%s' " "${w//\'/\'\\\'\'}"; done
}
env_line() {
	local v
	for v; do echo "export $v=$(quote "${!v}")"; done
}

# in the order in which they depend on each other
guest_modules() {
	local m
	[ "$KIND" = uml ] || return 0
	for m in sunrpc grace lockd netfs fscache nfs_acl nfs nfsv3 ${GUEST_MODULES:-}; do
		find $UML_MODULES -name "$m.ko" -print -quit
	done
}

guest_up_or_dead() { [ -e "$WORK/ready" ] || gone "$GUEST_PID"; }
guest_console() { { head -n 20 "$WORK/console"; echo ...; tail -n 10 "$WORK/console"; } | sed "s|^|  console: |" >&2; }

# setsid: one process group for the kernel and the processes it traces, so that they can be ended together
guest_start_uml() {
	local mem_dir=/tmp
	[ ! -w /dev/shm ] || mem_dir=/dev/shm
	TMPDIR=$mem_dir LD_PRELOAD=$SHIM setsid linux.uml mem="${GUEST_MEM:-512M}" uml_dir="$WORK/uml/" umid=guest \
		rootfstype=hostfs root=/dev/root rootflags=/ ro init="$WORK/init" \
		vec0:transport=tap,ifname="$LINK",depth=128,gro=1 con=null con0=null,fd:1 con1=null quiet \
		>"$WORK/console" 2>&1 </dev/null {NAP_FD}<&- &
	GUEST_PID=$!
}

guest_start_native() {
	touch "$WORK/net"
	unshare --net="$WORK/net" true && ip link set "${LINK}g" netns "$WORK/net" || return 1
	setsid nsenter --net="$WORK/net" unshare --mount --pid --fork --kill-child --mount-proc "$WORK/init" \
		>"$WORK/console" 2>&1 </dev/null {NAP_FD}<&- &
	GUEST_PID=$!
}

guest_exec() {
	local out=$1 limit=$2 n=1 end rc fd
	shift 2
	# counted in files, not in a variable: a caller may live in a subshell
	while [ -e "$WORK/job.$n" ]; do n=$((n + 1)); done
	: >"$WORK/out.$n"
	exec {fd}<"$WORK/out.$n"
	echo "exec setsid /usr/bin/timeout -k 2 $limit bash $(quote "$@")" >"$WORK/tmp.job.$n"
	mv "$WORK/tmp.job.$n" "$WORK/job.$n"
	end=$((SECONDS + limit + 15))
	while [ ! -e "$WORK/rc.$n" ]; do
		guest_serve
		guest_copy_out "$fd" "$out"
		if gone "$GUEST_PID" || [ "$SECONDS" -ge "$end" ] || ! guest_worth_waiting; then
			say "the guest is lost ($(gone "$GUEST_PID" && echo died || echo "it hangs or was given up")):"
			guest_console
			exec {fd}<&-
			return 125
		fi
		nap
	done
	guest_copy_out "$fd" "$out"
	exec {fd}<&-
	rc=$(<"$WORK/rc.$n")
	return "$rc"
}

# a caller may define it: false when a job can never end, because the server that it waits for is gone
guest_worth_waiting() { :; }

# what has been added since the last time, without a process
guest_copy_out() {
	local text
	IFS= read -r -d '' -u "$1" text || true
	[ -z "$text" ] || if [ "$2" = - ]; then printf %s "$text"; else printf %s "$text" >>"$2"; fi
}

# answer what scripts in the guest have asked for
guest_serve() {
	local req id args rc
	for req in "$WORK"/req.*; do
		[ -e "$req" ] || return 0
		id=${req##*/req.}
		mapfile -d '' -t args <"$req"
		rm -f "$req"
		rc=0
		guest_request "${args[@]}" >"$WORK/said.$id" 2>&1 </dev/null || rc=$?
		echo "$rc" >"$WORK/tmp.ans.$id"
		mv "$WORK/tmp.ans.$id" "$WORK/ans.$id"
	done
}

guest_halt() {
	[ -n "${WORK:-}" ] || return 0
	if [ -n "${GUEST_PID:-}" ]; then
		touch "$WORK/halt"
		wait_for "${GUEST_HALT_LIMIT:-5}" gone "$GUEST_PID" || true
		kill -KILL -- "-$GUEST_PID" 2>/dev/null || true
		wait "$GUEST_PID" 2>/dev/null || true
	fi
	umount "$WORK/net" 2>/dev/null || true
	rm -rf "$WORK"
	unset WORK GUEST_PID
}

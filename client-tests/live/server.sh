# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # used by run
# The server's side of a scenario: the server under test, its export and whatever a client asks to be done to them
# (`host FUNCTION ARG...` in a guest calls these). Sourced by run after guest.sh.
#
# A scenario may set, before anything starts: OPTS (ro), DIRS ($EXP), SERVER_ENV (VAR=VALUE words), SERVER_FLAGS (-R),
# MNT_OPTS (what mnt adds), LIMIT (seconds), NO_SERVE (1: the scenario has a server of its own). SERVER_CMD replaces
# build/spliced; it must understand the same options. SERVER_MOUNT_PORT says where MOUNT answers when that server cannot
# share one port.

PORT=2049
SERVER_CMD=${SERVER_CMD:-$BUILD/spliced}
MOUNT_PORT=${SERVER_MOUNT_PORT:-$PORT}

scenario_defaults() {
	OPTS=ro MNT_OPTS='' SERVER_ENV='' SERVER_FLAGS=-R NO_SERVE='' SERVER_PID='' KILLS=0
	[[ $NAME != *-killed ]] || KILLS=3
	[[ $SIZE != full || $KILLS = 0 ]] || KILLS=50 LIMIT=$((LIMIT * 2))
	EXP=$RUN/$NAME/export STATE=$RUN/$NAME/state SERVER_LOG=$RUN/$NAME/server.log
	DIRS=("$EXP")
	UNDO=()
	mkdir -p "$EXP" "$STATE"
	chmod 755 "$RUN/$NAME" "$EXP"
	: >"$SERVER_LOG"
}

# undo COMMAND...: done, last first, when the scenario ends, however it ends
undo() { UNDO=("$(quote "$@")" "${UNDO[@]}"); }
undo_all() {
	local c
	for c in "${UNDO[@]}"; do eval "$c" || true; done
	UNDO=()
}

skip() {
	echo "skip: $*"
	exit 77
}
need() {
	local tool
	for tool; do command -v "$tool" >/dev/null || skip "$tool is not installed (make deps)"; done
}

server_start() {
	# shellcheck disable=SC2086 # lists of words
	env $SERVER_ENV $SERVER_CMD -p "$PORT" -a "$HOST" -s "$STATE" $SERVER_FLAGS -o "$OPTS" -c "$GUEST" \
		"${DIRS[@]}" >>"$SERVER_LOG" 2>&1 </dev/null &
	SERVER_PID=$!
	wait_for 20 server_up_or_dead
	if gone "$SERVER_PID" || ! server_answers; then
		echo "the server did not start: $SERVER_CMD -o $OPTS ${DIRS[*]}"
		tail -n 20 "$SERVER_LOG"
		return 1
	fi
}
server_answers() { answers "$HOST" "$PORT"; }
server_up_or_dead() { server_answers || gone "$SERVER_PID"; }

server_kill() {
	kill -KILL "$SERVER_PID"
	wait "$SERVER_PID" 2>/dev/null
	SERVER_PID=''
}

# what under_fire does to the server; a scenario may know worse
strike() { server_kill && server_start; }

# the polite end: SIGTERM, exit code 0, and nothing said by a sanitizer
server_stop() {
	local rc=0
	[ -n "$SERVER_PID" ] || return 0
	if gone "$SERVER_PID"; then
		wait "$SERVER_PID" || rc=$?
		echo "the server died, exit code $rc"
		rc=1
	else
		kill -TERM "$SERVER_PID"
		wait_for 20 gone "$SERVER_PID" || { echo "the server ignores SIGTERM"; kill -KILL "$SERVER_PID"; }
		wait "$SERVER_PID" 2>/dev/null || rc=$?
		[ $rc = 0 ] || echo "the server ended with exit code $rc after SIGTERM"
	fi
	SERVER_PID=''
	if grep -E 'ERROR: [A-Za-z]+Sanitizer|runtime error:' "$SERVER_LOG"; then rc=1; fi
	[ $rc = 0 ] || tail -n 20 "$SERVER_LOG"
	return $rc
}

server_restart() { server_stop && server_start; }
connected() { [ "$(connections)" != 0 ]; }
connections() { ss -Htn state established "sport = :$PORT" | wc -l; }

# everybody may write to the export
writable() {
	OPTS=rw,no_root_squash
	chmod 1777 "$EXP"
}

# helpers_ready: programs that scenarios use in the guest or here, built from helpers/ and found by name
helpers_ready() {
	local c bin
	mkdir -p "$BUILD/live/bin"
	PATH=$BUILD/live/bin:$PATH
	for c in "$LIVE"/helpers/*.c; do
		bin=$BUILD/live/bin/$(basename "$c" .c)
		[ "$bin" -nt "$c" ] && continue
		"${CC:-cc}" -std=gnu17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Wshadow -Wconversion -Werror -o "$bin.$$" "$c" &&
			mv "$bin.$$" "$bin" || return 2
	done
}

# on_fs TYPE [MKFS OPTION...]: the export lies on a file system of this type, on a loop device over a sparse file
on_fs() {
	local type=$1 img=$RUN/$NAME/disk
	shift
	need "mkfs.$type"
	truncate -s "${DISK:-512M}" "$img"
	"mkfs.$type" -q "$@" "$img" >/dev/null 2>&1 || skip "mkfs.$type failed"
	mount -o loop "$img" "$EXP" || skip "this kernel cannot mount $type through a loop device"
	undo umount "$EXP"
	chmod 755 "$EXP"
}

# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# For scripts in a guest (`. "$LIVE/host.sh"`): ask the server's side, and wait. guest.sh tells how they talk.
# Under run, COMMAND is a function of server.sh or of the scenario, or any program; under guest a program.

HOST_CALLS=0
# shellcheck source=wait.sh
. "$LIVE/wait.sh"

# host COMMAND ARG...: done on the server's side; prints and returns what it did
host() {
	local id=$BASHPID.$((++HOST_CALLS)) rc
	printf '%s\0' "$@" >"$WORK/tmp.req.$id"
	mv "$WORK/tmp.req.$id" "$WORK/req.$id"
	until [ -e "$WORK/ans.$id" ]; do nap; done
	cat "$WORK/said.$id"
	rc=$(<"$WORK/ans.$id")
	rm -f "$WORK/ans.$id" "$WORK/said.$id"
	return "$rc"
}

# SPDX-License-Identifier: BSD-2-Clause
# Writing to a server that is an ordinary user, whom everybody becomes: git, under fire.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh
. "$LIVE/70-git.sh"

setup() {
	need git setpriv
	on_fs ext4
	writable
	OPTS=rw,all_squash
	SERVER_CMD="setpriv --reuid 1001 --regid 1001 --clear-groups $SERVER_CMD"
	chown 1001:1001 "$EXP" "$STATE"
	KILLS=2
}

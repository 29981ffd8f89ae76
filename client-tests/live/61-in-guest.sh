# SPDX-License-Identifier: BSD-2-Clause
# The server runs on the guest's own kernel (Debian 12's 6.1 in user-mode-linux), exports its tmpfs, and serves itself.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	NO_SERVE=1
	! grep -q __asan_init "$(command -v "${SERVER_CMD%% *}")" ||
		skip "a sanitizer's shadow memory does not fit into user-mode-linux"
}

client() {
	local pid
	SERVER=127.0.0.1
	EXP=/mnt/srv
	mkdir -p $EXP /tmp/state
	tree_make $EXP
	# shellcheck disable=SC2086 # a list of words
	$SERVER_CMD -p "$PORT" -a 127.0.0.1 -s /tmp/state -R -o ro,no_root_squash -c 127.0.0.1 $EXP >/tmp/log 2>&1 &
	pid=$!
	trap 'tail -n 20 /tmp/log' EXIT
	wait_for 60 answers 127.0.0.1 "$PORT" || fail "the server does not start on $(uname -r)"
	mnt
	tree_list $EXP >/tmp/want
	tree_list /mnt/n >/tmp/have
	cmp /tmp/want /tmp/have
	umount /mnt/n
	kill $pid
	wait $pid || fail "exit code $? after SIGTERM"
	trap - EXIT
}

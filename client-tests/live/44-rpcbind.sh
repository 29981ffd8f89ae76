# SPDX-License-Identifier: BSD-2-Clause
# With rpcbind the server is found without port numbers: showmount -e, -a and -d and a plain mount work.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	need rpcbind rpcinfo showmount
	if ! answers 127.0.0.1 111; then
		mkdir -p /run/rpcbind
		rpcbind -f -w >"$RUN/$NAME/rpcbind.log" 2>&1 &
		undo kill $!
		wait_for 10 answers 127.0.0.1 111
	fi
	SERVER_FLAGS=
	echo found >"$EXP/file"
}

finish() {
	server_stop || return
	! rpcinfo -p 127.0.0.1 | grep -E '100003|100005' || { echo "still registered after the end"; return 1; }
}

client() {
	showmount -e "$HOST" >/mnt/exports
	grep -q "^$EXP " /mnt/exports || fail "showmount does not list $EXP: $(cat /mnt/exports)"
	mkdir /mnt/n
	mount -t nfs -o vers=3,nolock "$HOST:$EXP" /mnt/n
	same "the file" found "$(cat /mnt/n/file)"
	same "showmount -d" "$EXP" "$(showmount -d --no-headers "$HOST")"
	[[ $(showmount -a --no-headers "$HOST") == *":$EXP" ]] || fail "showmount -a does not list $EXP: $(showmount -a "$HOST")"
	umount /mnt/n
	same "showmount -a after umount" "" "$(showmount -a --no-headers "$HOST")"
}

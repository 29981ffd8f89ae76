# SPDX-License-Identifier: BSD-2-Clause
# A file removed or replaced on the server while a client has it open is gone (ESTALE) or still itself, never another file.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	on_fs ext4 # gives a freed inode number to the next file at once
	yes old | head -c 200000 >"$EXP/file"
	yes old | head -c 200000 >"$EXP/replaced"
}
remove() {
	rm "$EXP/file"
	yes new | head -c 200000 >"$EXP/next"
	yes new | head -c 200000 >"$EXP/tmp"
	mv "$EXP/tmp" "$EXP/replaced"
	sync -f "$EXP"
}

client() {
	local fd said
	mnt -o actimeo=0
	exec 3</mnt/n/file 4</mnt/n/replaced
	host remove
	forget
	for fd in 3 4; do
		if said=$(dd bs=4096 count=4 status=none 2>&1 <&$fd | tr -d '\0'); then
			[[ $said == old* && $said != *new* ]] || fail "fd $fd reads what was never in it: ${said:0:40}"
		else
			[[ $said == *"Stale file handle"* ]] || fail "fd $fd: expected a stale handle: ${said:0:80}"
		fi
	done
	refuses "No such file" cat /mnt/n/file
	same "the new content by name" new "$(head -n 1 /mnt/n/replaced)"
	same "the next file" new "$(head -n 1 /mnt/n/next)"
}

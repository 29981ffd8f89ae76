# SPDX-License-Identifier: BSD-2-Clause
# git as an ordinary user: init, add, commit, gc, clone, fsck; the server's copies are whole and hold the same files.
# shellcheck shell=bash disable=SC2016,SC2034,SC2317 # read and called by run and lib.sh

setup() {
	need git
	writable
}
# git does not trust directories of others
git_() { git -c safe.directory='*' -c gc.auto=0 -c user.name=T -c user.email=t@example.org "$@"; }
content() { git_ -C "$EXP/$1" fsck --full --strict && git_ -C "$EXP/$1" archive HEAD | md5sum; }

work() {
	local text
	[ -e /mnt/src ] || tree_many /mnt/src 60
	as 1001 1001 '' cp -r /mnt/src "$1/repo"
	export -f git_
	as 1001 1001 '' bash -ec 'cd "$1/repo"
		git_ init -q -b main
		git_ add . && git_ commit -qm one
		git_ mv d000/file-1 moved && echo more >>d000/file-2 && git_ rm -q d000/file-3
		git_ commit -qam two
		git_ gc -q --prune=now
		git_ clone -q --no-hardlinks . ../clone
		git_ -C ../clone fsck --full --strict' bash "$1"
	text=$(as 1001 1001 '' bash -ec 'cd "$1/repo" && git_ archive HEAD | md5sum && git_ status --short' bash "$1")
	same "what the server's repository has" "$text" "$(host content "$D/repo")"
	same "and the clone" "$text" "$(host content "$D/clone")"
	same "commits" 2 "$(git_ -C "$1/clone" rev-list --count HEAD)"
	TREE_MIN=60 tree_same "$1/clone" "$EXP/$D/clone"
}

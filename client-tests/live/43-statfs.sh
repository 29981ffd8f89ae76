# SPDX-License-Identifier: BSD-2-Clause
# df and df -i tell what the server's file system says.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() { on_fs ext4; }
bytes() { echo $(($(stat -f -c '%b * %S' "$EXP"))); }
inodes() { stat -f -c %c "$EXP"; }

client() {
	mnt
	local bytes blocks size
	bytes=$(host bytes)
	read -r blocks size < <(stat -f -c '%b %S' /mnt/n)
	# the client rounds up to its own block size
	same "blocks of $size" $(((bytes + size - 1) / size)) "$blocks"
	same "inodes" "$(host inodes)" "$(stat -f -c %c /mnt/n)"
	df /mnt/n >/mnt/df
	df -i /mnt/n >/mnt/df
}

# SPDX-License-Identifier: BSD-2-Clause
# The whole tree on ext4, read, and read again after a restart of the server under the mount.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	OPTS=ro,no_root_squash
	on_fs ext4
	tree_make "$EXP"
}

client() {
	mnt
	tree_same /mnt/n
	host server_restart
	forget
	tree_same /mnt/n
}

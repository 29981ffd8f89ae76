# SPDX-License-Identifier: BSD-2-Clause
# The whole tree on tmpfs, read, and read again after a restart of the server under the mount.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	OPTS=ro,no_root_squash
	mount -t tmpfs -o mode=755 tmpfs "$EXP" && undo umount "$EXP"
	tree_make "$EXP"
}

client() {
	mnt
	tree_same /mnt/n
	host server_restart
	forget
	tree_same /mnt/n
}

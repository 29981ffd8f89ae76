# SPDX-License-Identifier: BSD-2-Clause
# The whole tree on overlayfs, half from the lower layer; a copy-up under an open file does not lose it.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	local d=$RUN/$NAME/layers
	OPTS=ro,no_root_squash
	mkdir -p "$d" && mount -t tmpfs -o mode=755 tmpfs "$d" && undo umount "$d"
	mkdir "$d/lower" "$d/upper" "$d/work"
	tree_make "$d/lower"
	mount -t overlay -o "lowerdir=$d/lower,upperdir=$d/upper,workdir=$d/work" overlay "$EXP" ||
		skip "this kernel has no overlayfs"
	undo umount "$EXP"
	cp -a "$EXP/names" "$EXP/upper names"
	rm "$EXP/sizes/4097"
}
copy_up() { touch "$EXP/sizes/1048577"; }

client() {
	mnt -o actimeo=0
	tree_same /mnt/n
	exec 3</mnt/n/sizes/1048577
	host copy_up
	forget
	same "after copy-up" "$(md5sum <"$EXP/sizes/1048577")" "$(md5sum <&3)"
	host server_restart
	forget
	tree_same /mnt/n
}

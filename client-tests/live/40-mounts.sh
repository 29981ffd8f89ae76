# SPDX-License-Identifier: BSD-2-Clause
# Sub-directories mount, what is not exported does not, two mounts live side by side, and all unmount.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	mkdir -p "$EXP/sub/deeper" "$EXP/other name" "$RUN/$NAME/private"
	echo sub >"$EXP/sub/deeper/file"
	echo other >"$EXP/other name/file"
	echo private >"$RUN/$NAME/private/file"
	ln -s ../private "$EXP/escape"
}

client() {
	mnt
	mnt "$EXP/sub/deeper" /mnt/sub
	mnt "$EXP/other name" /mnt/other
	same "a sub-directory" sub "$(cat /mnt/sub/file)"
	same "another" other "$(cat /mnt/other/file)"
	same "through the root" sub "$(cat /mnt/n/sub/deeper/file)"
	same ".. at the top of a mount" "$(stat -c %i /mnt)" "$(stat -c %i /mnt/sub/..)"
	refuses "" mnt "$RUN/$NAME/private" /mnt/p
	refuses "" mnt "$RUN/$NAME" /mnt/p
	refuses "" mnt "$EXP/../private" /mnt/p
	refuses "" mnt "$EXP/missing" /mnt/p
	refuses "" mnt "$EXP/sub/deeper/file/x" /mnt/p
	umount /mnt/sub /mnt/other /mnt/n
	! grep -q ' nfs ' /proc/mounts
}

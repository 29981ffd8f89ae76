# SPDX-License-Identifier: BSD-2-Clause
# A tree of very many small files is packed in and out by tar, by root and by an ordinary user; all copies are equal.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	writable
	LIMIT=$((LIMIT * 3))
}
reference() { [ -e "$RUN/$NAME/src" ] || tree_many "$RUN/$NAME/src" "$1"; }
compare() { diff -r "$RUN/$NAME/src" "$EXP/$1"; }

work() {
	local n=2000
	[ "$SIZE" = small ] || n=20000
	[ "$KILLS" = 0 ] || n=$((n / 10))
	[ -e /mnt/src ] || tree_many /mnt/src $n
	host reference $n
	mkdir "$1/in" && mkdir -m 777 "$1/user"
	tar --format=posix -cf - -C /mnt/src . | tar xpf - -C "$1/in"
	copied /mnt/src "$EXP/$D/in"
	host compare "$D/in"
	rm -rf /mnt/out && mkdir /mnt/out
	forget
	tar --format=posix -cf - -C "$1/in" . | tar xpf - -C /mnt/out
	diff -r /mnt/src /mnt/out
	tar --format=posix -cf - -C /mnt/src d000 d001 | as 1001 1001 '' tar xf - -C "$1/user"
	same "owner of what a user unpacks" "1001 1001" "$(stat -c '%u %g' "$1/user/d000/file-7")"
	diff -r /mnt/src/d001 "$1/user/d001"
}

# SPDX-License-Identifier: BSD-2-Clause
# rm -rf of a deep and wide tree, files removed while open, directories that are not empty: what goes is gone on the server too.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() { writable; }
left() { find "$EXP/$1" -mindepth 1 | wc -l; }

work() {
	local n=600 i
	[ "$SIZE" = small ] || n=6000
	[ "$KILLS" = 0 ] || n=200
	tree_many "$1/wide" $n
	perl -e 'chdir shift or die; for (1 .. 60) { my $d = "d" x $_; mkdir $d or die "$d: $!"; chdir $d or die "$d: $!";
		open F, ">", "f" or die "f: $!"; print F $_ or die; close F or die }' "$1"
	refuses "Directory not empty" rmdir "$1/wide"
	refuses "Not a directory" rmdir "$1/d/f"
	refuses "Is a directory" unlink "$1/d"
	refuses "not permitted" as 1001 1001 '' mv "$1/d" "$1/e" # the directory is sticky and d is another's
	# a file that is removed while it is open lives on until it is closed
	seq 1 50000 >"$1/open"
	# shellcheck disable=SC2094 # on purpose
	exec 3<"$1/open" 4>>"$1/open"
	rm "$1/open"
	[ ! -e "$1/open" ] || fail "the removed file still has its name"
	echo more >&4
	exec 4>&-
	same "the removed file" "$(seq 1 50000; echo more)" "$(cat <&3)"
	# shellcheck disable=SC2094 # on purpose
	exec 3<&-
	# a directory that is somebody's working directory
	mkdir "$1/cwd"
	(cd "$1/cwd" && rmdir ../cwd && refuses "" touch x)
	rm -rf "$1/wide" "$1/d"
	same "what the server has left" 0 "$(host left "$D")"
	same "what the client sees" "" "$(ls -A "$1")"
}

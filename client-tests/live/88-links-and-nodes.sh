# SPDX-License-Identifier: BSD-2-Clause
# Hard links, symbolic links, FIFOs, sockets and devices are made, counted, renamed and removed; loops and wrong kinds are refused.
# shellcheck shell=bash disable=SC2016,SC2034,SC2317 # read and called by run and lib.sh

setup() { writable; }
see() { stat -c "$2" "$EXP/$1"; }

client() {
	local i
	mnt -o actimeo=0
	cd /mnt/n || return
	echo content >file
	mkdir -p dir/sub other
	for i in {1..20}; do ln file dir/link-"$i"; done
	same "links" "21 21" "$(stat -c %h file) $(host see file %h)"
	echo changed >dir/link-7
	same "one file" changed "$(cat dir/link-20)"
	mv dir/link-1 other/moved && rm dir/link-2
	same "links now" 20 "$(host see other/moved %h)"
	perl -e 'rename "dir/link-3", "dir/link-4" or die $!' # two names of one file: nothing happens
	same "links still" 20 "$(host see dir/link-3 %h)"
	refuses "not permitted" link dir other/dirlink
	refuses "No such file" ln nothing other/x
	as 1001 1001 '' ln -s "no file of mine" symlink
	same "symbolic link" "no file of mine 1001" "$(host readlink "$EXP/symlink") $(host see symlink %u)"
	ln -s "$(printf 'd/%.0s' {1..500})end" long
	same "a long one" 1003 "$(host readlink "$EXP/long" | tr -d '\n' | wc -c)"
	mv symlink renamed && same "renamed" "no file of mine" "$(readlink renamed)"

	as 1001 1001 '' mkfifo fifo
	echo through >fifo &
	same "a FIFO is the client's own" through "$(cat fifo)"
	wait $!
	perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "socket", Listen => 1) or die $!'
	mknod char c 1 3 && mknod block b 259 70000
	echo nothing >char
	same kinds "fifo socket character special file block special file" \
		"$(host see fifo %F) $(host see socket %F) $(host see char %F) $(host see block %F)"
	same "device numbers" "1 3 103 11170" "$(host see char '%t %T') $(host see block '%t %T')"
	refuses "not permitted" as 1001 1001 '' mknod mine c 1 3

	refuses "" mv dir dir/sub/self
	refuses "not empty" perl -e 'mkdir "empty"; rename "empty", "dir" or die $!'
	refuses "Is a directory" perl -e 'rename "file", "dir" or die $!'
	refuses "Not a directory" perl -e 'rename "dir", "file" or die $!'
	mkdir empty2 && perl -e 'rename "empty", "empty2" or die $!'
	same "directories" "dir empty2 other" "$(find . -mindepth 1 -maxdepth 1 -type d | sed 's|./||' | sort | xargs)"
	same "links of a directory" "$(host see dir %h)" "$(stat -c %h dir)"
	mv dir/sub other/ && same "moved" other "$(basename "$(cd other/sub/.. && pwd -P)")"
	rm -r dir other empty2 fifo socket char block renamed long file
	same "nothing is left" "" "$(host ls -A "$EXP")"
}

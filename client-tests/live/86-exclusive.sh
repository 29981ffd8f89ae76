# SPDX-License-Identifier: BSD-2-Clause
# O_EXCL: of clients that make one name at once exactly one wins; O_CREAT, O_TRUNC on what exists; never through a link.
# shellcheck shell=bash disable=SC2016,SC2034,SC2317 # read and called by run and lib.sh

setup() {
	writable
	printf 'outside\n' >"$RUN/$NAME/outside"
}

# makes n names with O_EXCL, prints those that it won
race() { perl -MFcntl -MErrno=EEXIST -e 'my ($dir, $n, $who) = @ARGV;
	for my $i (1 .. $n) {
		if (sysopen my $f, "$dir/$i", O_WRONLY | O_CREAT | O_EXCL, 0640) {
			syswrite $f, "$who\n" or die "write: $!"; close $f or die "close: $!"; print "$i\n" }
		elsif ($! != EEXIST) { die "$dir/$i: $!" } }' "$@"; }

client() {
	local n=100 i pids=()
	[ "$SIZE" = small ] || n=3000
	mnt -o nosharecache,lookupcache=none "$EXP" /mnt/a
	mnt -o nosharecache,lookupcache=none "$EXP" /mnt/b
	mkdir /mnt/a/race
	for i in a b; do
		race /mnt/$i/race $n $i >/mnt/won.$i &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i"; done
	same "each name was won once" "$(seq $n | sort)" "$(sort /mnt/won.a /mnt/won.b)"
	for i in a b; do
		same "what $i made" "$(sort /mnt/won.$i)" "$(host grep -lx $i -r "$EXP/race" | sed 's|.*/||' | sort)"
	done
	same "modes" "640" "$(host find "$EXP/race" -type f -printf '%m\n' | sort -u)"

	cd /mnt/a || return
	echo content >file
	refuses "File exists" perl -MFcntl -e 'sysopen F, "file", O_WRONLY | O_CREAT | O_EXCL or die $!'
	perl -MFcntl -e 'sysopen F, "file", O_WRONLY | O_CREAT, 0600 or die $!'
	same "O_CREAT keeps content and mode" "content 644" "$(host cat "$EXP/file") $(host stat -c %a "$EXP/file")"
	perl -MFcntl -e 'sysopen F, "file", O_WRONLY | O_CREAT | O_TRUNC, 0600 or die $!'
	same "O_TRUNC" "0 644" "$(host stat -c '%s %a' "$EXP/file")"
	mkdir dir && mkfifo fifo && ln -s "$RUN/$NAME/outside" link && ln -s nowhere dangling
	refuses "Is a directory" perl -MFcntl -e 'sysopen F, "dir", O_WRONLY | O_CREAT, 0600 or die $!'
	for i in dir fifo link dangling; do
		refuses "File exists" perl -MFcntl -e "sysopen F, '$i', O_WRONLY | O_CREAT | O_EXCL, 0600 or die \$!"
		refuses "File exists" mkdir $i
		refuses "File exists" mknod $i p
		refuses "File exists" perl -e "symlink 'x', '$i' or die \$!"
		refuses "File exists" perl -e "link 'file', '$i' or die \$!"
	done
	same "what is outside" outside "$(host cat "$RUN/$NAME/outside")"
}

# SPDX-License-Identifier: BSD-2-Clause
# rename over an existing name is atomic: while one client replaces a file and a directory again and again, another always finds a whole one.
# shellcheck shell=bash disable=SC2016,SC2034,SC2317 # read and called by run and lib.sh

setup() { writable; }
whole() { md5sum <"$EXP/name"; }

# makes a file that says how long it is and renames it over the name
replace_it() { perl -e 'my ($dir, $n) = @ARGV;
	for my $i (1 .. $n) {
		my $body = "$i\n" x (1 + $i % 3000);
		open my $f, ">", "$dir/new" or die "open: $!";
		print $f length $body, "\n", $body; close $f or die "close: $!";
		rename "$dir/new", "$dir/name" or die "rename: $!";
		mkdir "$dir/dnew" or die "mkdir: $!";
		rename "$dir/dnew", "$dir/dir" or die "rename dir: $!" }' "$@"; }
# ESTALE is what a reader without the state of NFSv4 may meet when its file goes while it reads; it opens again
read_it() { perl -MErrno=ESTALE -e 'my ($dir, $n) = @ARGV; my ($stale, %seen) = 0;
	until (-e "/mnt/done") {
		-d "$dir/dir" or $! == ESTALE or die "the directory is missing: $!";
		my $f;
		unless (open $f, "<", "$dir/name") { die "open: $!" unless $! == ESTALE; $stale++; next }
		my $all = do { local $/; <$f> };
		if (!defined $all || $! == ESTALE) { $stale++; next }
		my ($len, $body) = $all =~ /^(\d+)\n(.*)/s or die "odd start";
		length $body == $len or die "$len bytes promised, " . length $body;
		my ($i) = $body =~ /^(\d+)\n/; $body eq "$i\n" x (1 + $i % 3000) or die "mixed content";
		$seen{$i}++; $! = 0 }
	printf "%d versions seen, %d stale\n", scalar keys %seen, $stale; exit(%seen > 2 ? 0 : 1)' "$@"; }

client() {
	local n=150 reader
	[ "$SIZE" = small ] || n=3000
	mnt -o nosharecache "$EXP" /mnt/a
	mnt -o nosharecache,actimeo=0 "$EXP" /mnt/b
	printf '2\n0\n' >/mnt/a/name
	mkdir /mnt/a/dir
	read_it /mnt/b &
	reader=$!
	replace_it /mnt/a $n
	touch /mnt/done
	wait $reader
	same "the last one" "$(host whole)" "$(md5sum </mnt/b/name)"
	same "names" "dir name" "$(find /mnt/b -mindepth 1 -printf '%f\n' | sort | xargs)"
}

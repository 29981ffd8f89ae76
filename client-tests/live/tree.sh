# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2030,SC2031 # subshells have a locale of their own
# A tree with everything a client can meet in a file system, and its description. tree_make runs where the export
# is, tree_list on both sides; the two lists must be equal byte for byte.

# sizes around what a page, a pipe, common rsizes and the padding of XDR make special
tree_sizes() {
	local n
	echo 0 1 2 3 4 5 7 8 9
	for n in 4096 8192 32768 65536 131072 262144 1048576; do echo $((n - 1)) $n $((n + 1)); done
	[ "${SIZE:-small}" = small ] || for n in 12288 16384 524288 1045504 2097152 8388608; do
		echo $((n - 4)) $((n - 3)) $((n - 2)) $((n - 1)) $n $((n + 1)) $((n + 2)) $((n + 3)) $((n + 4))
	done
}

# tree_make DIR [nodev]: nodev leaves out device files (for file systems that cannot have them)
tree_make() {
	local dir=$1 size long
	long=$(printf 'n%.0s' {1..255})
	mkdir -p "$dir/sizes" "$dir/names/sub dir" "$dir/links" "$dir/kinds" "$dir/empty"
	for size in $(tree_sizes); do
		head -c "$size" /dev/urandom >"$dir/sizes/$size"
	done
	echo data >"$dir/names/sub dir/ leading and trailing "
	echo data >"$dir/names/$long"
	echo data >"$dir/names/$(printf '%.255s' "$(printf 'ü%.0s' {1..127})")x"
	echo data >"$dir/names/"$'two\nlines'
	echo data >"$dir/names/"$'not\xffutf8\x80'
	echo data >"$dir/names/"$'\t*?[a]$(x)`y`"\'\\'
	echo data >"$dir/names/日本語 ファイル"
	echo data >"$dir/names/-rf"
	echo data >"$dir/names/..."
	mkdir "$dir/names/"$'dir \n newline'
	echo data >"$dir/names/"$'dir \n newline/.hidden'
	truncate -s 5M "$dir/kinds/sparse"
	printf x | dd of="$dir/kinds/sparse" bs=1 seek=3000001 conv=notrunc status=none
	truncate -s 1M "$dir/kinds/hole"
	echo linked >"$dir/links/a"
	ln "$dir/links/a" "$dir/links/b"
	ln "$dir/links/a" "$dir/empty/../names/c"
	ln -s a "$dir/links/good"
	ln -s nowhere "$dir/links/dangling"
	ln -s ../links/../links "$dir/links/updown"
	ln -s "$(printf 'd/%.0s' {1..500})end" "$dir/links/long"
	mkfifo "$dir/kinds/fifo"
	perl -MIO::Socket::UNIX -e 'chdir shift; IO::Socket::UNIX->new(Local => "socket", Listen => 1) or die' "$dir/kinds"
	[ "${2:-}" = nodev ] || {
		mknod "$dir/kinds/char" c 1 3
		mknod "$dir/kinds/block" b 259 70000
	}
	chmod 4755 "$dir/sizes/1"
	chmod 2640 "$dir/sizes/2"
	chmod 1777 "$dir/empty"
	chown 12345:54321 "$dir/sizes/3"
	chown 4294967294:4294967294 "$dir/sizes/4"
	touch -d '1970-01-01 00:00:01 UTC' "$dir/sizes/5"
	touch -d '2038-01-20 00:00:00.123456789 UTC' "$dir/sizes/7"
	touch -d '1980-01-01 UTC' "$dir/sizes/8"
}

# type mode owner group links size mtime target name, NUL-ended, sorted; then checksums of what is in the files
tree_list() {
	(
		cd "$1" && export LC_ALL=C &&
			find . -mindepth 1 -printf '%y %m %U %G %n %s %T@ %l %P\0' | sort -z &&
			find . -type f -print0 | sort -z | xargs -0 -r md5sum -z
	)
}

# what an exported device file says, which find cannot print
tree_devices() { stat -c '%n %F %t %T' "$1"/kinds/* | sed 's|^.*/||'; }

# tree_same DIR: in the guest; compare a mount with what the server's side says about its own tree
tree_same() {
	host tree_list "${2:-$EXP}" >"$WORK/want"
	tree_list "$1" >"$WORK/have"
	tree_differ "$WORK/want" "$WORK/have" || fail "the client sees another tree than the server has"
}

# false, and the first differences shown, when two lists differ
tree_differ() {
	if ! cmp -s "$1" "$2"; then
		diff -a <(tr '\0\n' '\n?' <"$1") <(tr '\0\n' '\n?' <"$2") | head -n 20 || true
		return 1
	fi
	[ "$(tr -cd '\0' <"$1" | wc -c)" -gt "${TREE_MIN:-60}" ] || fail "the tree is too small to mean anything"
}

# tree_many DIR N: N small files in directories of 50, the same ones each time
tree_many() {
	mkdir -p "$1" && perl -e '
		my ($dir, $n, $x) = (shift, shift, 12345);
		sub next_number { $x = ($x * 1103515245 + 12345) & 0x7fffffff; return $x >> 8 }
		for my $i (0 .. $n - 1) {
			my $sub = sprintf "%s/d%03d", $dir, $i / 50;
			mkdir $sub or die "$sub: $!" if $i % 50 == 0;
			open my $f, ">", "$sub/file-$i" or die "$sub: $!";
			print $f join "", map { next_number() . "\n" } 1 .. next_number() % 300;
			close $f or die "$sub: $!";
			chmod next_number() % 4 ? 0644 : 0555, "$sub/file-$i";
		}' "$1" "$2"
}

# what a faithful copy has in common with its original: all but the sizes, links and times of directories
tree_copy() {
	(
		cd "$1" && export LC_ALL=C &&
			find . -mindepth 1 \( -type d -printf '%y %m %U %G %P\0' -o -printf '%y %m %U %G %n %s %T@ %l %P\0' \) | sort -z &&
			find . -type f -print0 | sort -z | xargs -0 -r md5sum -z
	)
}

# copied DIR SERVER_DIR: in the guest; a directory of its own and what the server has are the same
copied() {
	tree_copy "$1" >/mnt/want
	host tree_copy "$2" >/mnt/have
	tree_differ /mnt/want /mnt/have || fail "the server's $2 is not the same as $1"
}

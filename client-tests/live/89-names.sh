# SPDX-License-Identifier: BSD-2-Clause
# Names of 1 to 255 bytes, of any bytes, in every call that takes one; 256 bytes are too long; very many names in one directory.
# shellcheck shell=bash disable=SC2016,SC2034,SC2317 # read and called by run and lib.sh

setup() { writable; }
names() { find "$EXP" -mindepth 1 -print0 | sort -z | md5sum; }

client() {
	local long other odd n=500
	[ "$SIZE" = small ] || n=20000
	long=$(printf 'n%.0s' {1..255}) other=$(printf 'ö%.0s' {1..127})x
	mnt -o actimeo=0
	cd /mnt/n || return
	echo file >"$long"
	mv "$long" "$other"
	ln "$other" "$long"
	ln -s "$long" l
	same "through a link" file "$(cat l)"
	same "on the server" file "$(host cat "$EXP/$other")"
	rm "$long" "$other" l
	mkdir "$long" && mkfifo "$long/$other" && mv "$long/$other" "$long/$long" && rm "$long/$long" && rmdir "$long"
	# shellcheck disable=SC1003 # a backslash
	for odd in -rf ' ' $'\n' $'\xff\x80' '\' '*' '...' $'\t"`$(x)' 日本語; do
		echo data >"./$odd"
		same "name '$odd'" data "$(host cat "$EXP/$odd")"
		mv "./$odd" "./$odd$odd" && ln "./$odd$odd" "./$odd" && rm "./$odd$odd" "./$odd"
	done
	for odd in touch mkdir mkfifo; do refuses "File name too long" $odd "${long}x"; done
	echo >f
	refuses "File name too long" mv f "${long}x"
	refuses "File name too long" ln f "${long}x"
	refuses "File name too long" ln -s f "${long}x"
	refuses "File name too long" cat "${long}x"
	rm f
	seq -f 'name-%g' $n | xargs touch
	seq -f 'name-%g' 1 3 $n | xargs rm
	seq -f 'name-%g' 2 3 $n | while read -r odd; do echo "$odd new-$odd"; done | xargs -n 2 mv
	forget
	same "all names" "$(host names)" "$(find /mnt/n -mindepth 1 -printf "$EXP/%P\0" | sort -z | md5sum)"
	same "how many" $((n - (n + 2) / 3)) "$(find /mnt/n -mindepth 1 | wc -l)"
	rm -- *
}

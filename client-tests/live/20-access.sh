# SPDX-License-Identifier: BSD-2-Clause
# The server's kernel decides who reads what: owner, mode, supplementary groups up to the 16th, POSIX ACLs, squashed root.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	need setfacl
	cd "$EXP" || return
	local f
	for f in secret public own group acl denied; do echo "$f" >"$f"; done
	chmod 600 secret own acl
	chmod 644 public denied
	chown 1001:1001 own
	chown 1001:2016 group
	chmod 640 group
	setfacl -m u:1003:r acl || skip "no POSIX ACLs here"
	setfacl -m u:1004:- denied
	mkdir -m 711 through && echo in >through/known
	mkdir -m 700 closed && echo in >closed/file
	echo run >execute-only && chmod 711 execute-only
}

client() {
	local g16
	g16=$(seq -s , 2001 2016)
	mnt
	refuses "Permission denied" cat /mnt/n/secret
	same "root reads 0644" public "$(cat /mnt/n/public)"
	same "owner reads 0600" own "$(as 1001 1001 '' cat /mnt/n/own)"
	refuses "Permission denied" as 1002 1002 '' cat /mnt/n/own
	refuses "Permission denied" as 1002 1001 '' cat /mnt/n/own
	same "16th group" group "$(as 1002 1002 "$g16" cat /mnt/n/group)"
	refuses "Permission denied" as 1002 1002 "$(seq -s , 2001 2015)" cat /mnt/n/group
	same "user named by an ACL" acl "$(as 1003 1003 '' cat /mnt/n/acl)"
	refuses "Permission denied" as 1002 1002 '' cat /mnt/n/acl
	refuses "Permission denied" as 1004 1004 '' cat /mnt/n/denied
	same "others may" denied "$(as 1002 1002 '' cat /mnt/n/denied)"
	same "search without read" in "$(as 1002 1002 '' cat /mnt/n/through/known)"
	refuses "Permission denied" as 1002 1002 '' ls /mnt/n/through
	refuses "Permission denied" as 1002 1002 '' cat /mnt/n/closed/file
	refuses "Permission denied" as 1002 1002 '' cat /mnt/n/execute-only
}

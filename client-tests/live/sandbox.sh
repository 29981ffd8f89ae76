# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# A private world for a test run: network, mounts and processes of its own.
#
# The script that sources this and calls `sandbox_enter "$@"` is started again inside new network, mount and process
# namespaces. Whatever it makes there (taps, loop mounts, servers, guests, FUSE mounts) ends with its first process,
# also when that is killed with -9, because the kernel tears the namespaces down. Ports and addresses cannot collide
# with the machine's, and nothing outside can connect to a server under test.

sandbox_enter() {
	[ -z "${IN_SANDBOX:-}" ] || { sandbox_furnish; return; }
	[ "$(id -u)" = 0 ] || {
		echo "$0: needs root (taps, mounts, a client that is allowed to mount); run it with sudo" >&2
		exit 2
	}
	IN_SANDBOX=1 exec unshare --net --mount --pid --fork --kill-child --mount-proc "$BASH" "$0" "$@"
	echo "$0: cannot make namespaces; a container needs --privileged or CAP_SYS_ADMIN for this" >&2
	exit 2
}

# work_dir NAME: sets WORK_DIR to a new directory /tmp/NAME.XXXXXX, marked as in use by a lock. Those of runs that were
# killed with -9 have a lock that nobody holds; they are removed here.
work_dir() {
	# shellcheck disable=SC2016 # for the inner shell
	find /tmp -maxdepth 2 -path "/tmp/$1.*/lock" -mmin +1 -exec flock -n '{}' \
		sh -c 'exec rm -rf --one-file-system "${1%/lock}"' sh '{}' ';' 2>/dev/null # another run may be faster
	WORK_DIR=$(mktemp -d "/tmp/$1.XXXXXX") || return
	chmod 755 "$WORK_DIR"
	exec {WORK_DIR_FD}>"$WORK_DIR/lock"
	flock "$WORK_DIR_FD"
}

# inside: loopback up, a /run of our own (rpcbind's socket and state live there)
sandbox_furnish() {
	mount --make-rprivate /
	ip link set lo up
	mount -t tmpfs -o mode=755 tmpfs /run
}

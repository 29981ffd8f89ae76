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

# inside: loopback up, a /run of our own (rpcbind's socket and state live there)
sandbox_furnish() {
	mount --make-rprivate /
	ip link set lo up
	mount -t tmpfs -o mode=755 tmpfs /run
}

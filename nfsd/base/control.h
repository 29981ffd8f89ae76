/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONTROL_H
#define CONTROL_H
/*
 * What server and splicectl must agree on: where the control socket is and how one request looks on
 *it.
 *
 *	request  words separated by single spaces, ended by a newline, at most CONTROL_REQUEST_MAX
 *bytes with it; a space, a backslash or anything unprintable inside a word is written \ooo (three
 *octal digits); an empty word is "\" reply    "ok\n" or "error\n", then text up to the end of the
 *stream
 *
 * So `echo stat | socat - UNIX:STATEDIR/control` works too. One request for each connection.
 */
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#define CONTROL_SOCKET "control" /* inside the state directory */
#define CONTROL_REQUEST_MAX 8192
#define CONTROL_WORDS_MAX 16

/*
 * The state directory when -s is not given: /var/lib/spliced for root, else $XDG_STATE_HOME/spliced
 * or $HOME/.local/state/spliced. 0; ENOENT when neither variable is an absolute path, ENAMETOOLONG.
 */
int control_statedir(char *buf, size_t size);

/*
 * The socket's address. A path too long for a sockaddr_un goes through a descriptor of the
 * directory: *dirfd, which the caller closes after bind or connect (-1: nothing to close). 0 or an
 * errno (of opening the directory).
 */
int control_address(const char *statedir, struct sockaddr_un *, int *dirfd);

/* Writes a request line. 0, or E2BIG when there are too many words or bytes. size:
 * CONTROL_REQUEST_MAX + 1 is enough. */
int control_encode(char *line, size_t size, int argc, char *const *argv);
/* Splits a line (without its newline) in place into argv[CONTROL_WORDS_MAX + 1], NULL at the end.
 * The count, or -1 when there are too many words or a \ooo is malformed. */
int control_decode(char *line, char **argv);

#endif

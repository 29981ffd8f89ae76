/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PERMIT_H
#define PERMIT_H
/*
 * The one gate between a peer and an export, passed by every call of NFS and by MNT alike, so that
 * a mount which succeeds is one that works.
 */
#include "call.h"

/*
 * May this call use this export? Finds the peer's rule, checks its source port against `secure`,
 * the caller against the rule of an unprivileged server, and turns the claimed identity in c->cred
 * into the one the file system is asked under; sets c->rule. A call passes once. 0; EACCES: no rule
 * for the peer, or the caller may not act; EPERM: source port; ESLEEP: a name has to be waited for;
 * EAGAIN: the name service has not answered yet, come again. Refusals are said in the log with
 * client, path, rule, reason and remedy.
 */
int permit(struct call *c, const struct export *ex);
/*
 * For what is not asked of this export but may be shown of it: the peer's rule in it, if the same
 * gate would let the call pass. Changes nothing in the call, and says nothing in the log. 0;
 * EACCES; ESLEEP; EAGAIN.
 */
int permit_peer(struct call *c, const struct export *ex, const struct export_client **rule);

#endif

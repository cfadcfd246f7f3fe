/* server/store/lock.h: at most one server on a database. Two would both sweep its leases and number its changes;
 * SQLite's own locks keep single transactions apart, not two servers. Readers and the commands that write one
 * transaction (import, token) need no lock and go on beside a server.
 *
 * The lock is an flock() on "<database>.lock": the kernel lets go of it with the process, however that ends. The
 * file stays, since removing it would let two servers hold locks on two files of one name.
 * Ownership: the caller keeps the descriptor. Threads: any. */
#ifndef DAYBREAK_SERVER_STORE_LOCK_H
#define DAYBREAK_SERVER_STORE_LOCK_H

#include "common/status.h"

/* Never waits. *fd is -1 but on ST_OK. ST_UNAVAILABLE: another server has it; ST_IO. The database itself is not
 * touched and need not be there yet. */
enum status store_lock_acquire(const char *db_path, int *fd, struct error *err);
void store_lock_release(int fd); /* accepts -1 */

#endif

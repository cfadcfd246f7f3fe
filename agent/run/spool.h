/* agent/run/spool.h: the events of an attempt on disk, before the server has them (protocol.md, Events).
 * An append-only file of records: length (4 bytes, little endian), CRC-32 of the bytes, the bytes. Record
 * n, from 1, is the event with seq n. A torn or wrong record and all behind it are cut off at opening:
 * they were never sent, since sending waits for spool_sync().
 * Ownership: the spool owns its file. Threads: all functions but open and close may be called from any
 * thread; a lock inside. */
#ifndef DAYBREAK_AGENT_RUN_SPOOL_H
#define DAYBREAK_AGENT_RUN_SPOOL_H

#include <stdint.h>

#include "common/status.h"
#include "common/str.h"

#define SPOOL_RECORDS_MAX 10000000

struct spool;

/* Opens or creates. *dropped_bytes says how much of a torn tail was cut. */
enum status spool_open(const char *path, struct spool **spool, int64_t *dropped_bytes,
                       struct error *err);
void spool_close(struct spool *spool); /* accepts NULL */

/* Appends record count + 1. On failure nothing is there that a later opening would take. */
enum status spool_append(struct spool *spool, struct str record, struct error *err);
int64_t spool_count(struct spool *spool);
/* Everything appended so far is on disk, and with it what a server may be told. */
enum status spool_sync(struct spool *spool, struct error *err);
/* Appends record `seq` (1..count) to out. */
enum status spool_read(struct spool *spool, int64_t seq, struct buf *out, struct error *err);

#endif

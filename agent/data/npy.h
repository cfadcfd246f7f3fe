/* agent/data/npy.h: one array of NumPy's file format .npy, version 1 or 2 (NumPy Enhancement Proposal 1): magic, length of
 * the header, a Python literal with descr, fortran_order and shape, then the numbers. Read are whole numbers, little-endian
 * or of one byte, in C order.
 * Ownership: borrows the bytes. Threads: pure, any. */
#ifndef DAYBREAK_AGENT_DATA_NPY_H
#define DAYBREAK_AGENT_DATA_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/str.h"

#define NPY_RANK_MAX 4

struct npy {
    int number_bytes; /* 1, 2, 4 or 8 */
    bool is_signed;
    int rank;
    int64_t dim[NPY_RANK_MAX]; /* > 0; beyond rank: 1 */
    int64_t count;             /* their product */
    const unsigned char *data; /* count numbers */
};

/* `bytes` is the whole file, and nothing stands behind its array. ST_INVALID says what is wrong; ST_UNSUPPORTED: another
 * type or order. */
enum status npy_parse(struct str bytes, struct npy *npy, struct error *err);
/* The index-th number; of an unsigned one of 8 bytes above INT64_MAX, INT64_MAX. */
int64_t npy_number(const struct npy *npy, int64_t index);

#endif

/* agent/data/npy.c: see npy.h. */
#include "agent/data/npy.h"

#include <assert.h>
#include <string.h>

#define MAGIC            "\x93NUMPY"
#define MAGIC_BYTES      6
#define HEADER_BYTES_MAX 4096

static enum status find_header(struct str bytes, struct str *header, struct str *data,
                               struct error *err);
static enum status read_type(struct str header, struct npy *npy, struct error *err);
static enum status read_shape(struct str header, struct npy *npy, struct error *err);
static bool find_value(struct str header, const char *key, struct str *rest);

enum status npy_parse(struct str bytes, struct npy *npy, struct error *err)
{
    struct str header = {0}, data = {0}, order = {0};
    enum status status;

    *npy = (struct npy){0};
    status = find_header(bytes, &header, &data, err);
    if (status == ST_OK)
        status = read_type(header, npy, err);
    if (status == ST_OK && !find_value(header, "fortran_order", &order))
        return error_set(err, ST_INVALID, "fortran_order", "the header of the array has no order");
    if (status == ST_OK && !str_starts_with(order, STR("False")))
        return error_set(err, ST_UNSUPPORTED, "fortran_order", "the array is not in C order");
    if (status == ST_OK)
        status = read_shape(header, npy, err);
    if (status != ST_OK)
        return status;
    if ((uint64_t)npy->count * (uint64_t)npy->number_bytes != data.len)
        return error_set(err, ST_INVALID, "shape",
                         "the array should have %lld numbers of %d bytes, and has %zu bytes",
                         (long long)npy->count, npy->number_bytes, data.len);
    npy->data = (const unsigned char *)data.data;
    return ST_OK;
}

static enum status find_header(struct str bytes, struct str *header, struct str *data,
                               struct error *err)
{
    const unsigned char *at = (const unsigned char *)bytes.data;
    const size_t length_bytes = bytes.len > MAGIC_BYTES && at[MAGIC_BYTES] == 1 ? 2 : 4;
    const size_t begin = MAGIC_BYTES + 2 + length_bytes;
    size_t length = 0;

    if (bytes.len < begin || memcmp(at, MAGIC, MAGIC_BYTES) != 0)
        return error_set(err, ST_INVALID, "magic", "this is no array that NumPy has saved");
    if (at[MAGIC_BYTES] != 1 && at[MAGIC_BYTES] != 2)
        return error_set(err, ST_UNSUPPORTED, "version", "version %d of the format is not known",
                         at[MAGIC_BYTES]);
    for (size_t i = length_bytes; i-- > 0;)
        length = length << 8 | at[MAGIC_BYTES + 2 + i];
    if (length > HEADER_BYTES_MAX || length > bytes.len - begin)
        return error_set(err, ST_INVALID, "header", "the header of the array ends behind the file");
    *header = str_slice(bytes, begin, begin + length);
    *data = str_slice(bytes, begin + length, bytes.len);
    return ST_OK;
}

/* '|u1', '<i4': byte order, kind, bytes. */
static enum status read_type(struct str header, struct npy *npy, struct error *err)
{
    struct str type;

    if (!find_value(header, "descr", &type) || type.len < 5 || type.data[0] != '\'' ||
        type.data[4] != '\'')
        return error_set(err, ST_INVALID, "descr", "the header of the array has no plain type");
    npy->is_signed = type.data[2] == 'i';
    npy->number_bytes = type.data[3] - '0';
    if ((type.data[2] != 'i' && type.data[2] != 'u') ||
        (npy->number_bytes != 1 && npy->number_bytes != 2 && npy->number_bytes != 4 &&
         npy->number_bytes != 8) ||
        (type.data[1] != '<' && (type.data[1] != '|' || npy->number_bytes != 1)))
        return error_set(err, ST_UNSUPPORTED, "descr",
                         "the array is of type %.3s; read are whole numbers such as |u1 and <i4",
                         type.data + 1);
    return ST_OK;
}

/* (10, 32, 32, 3) or (10,). */
static enum status read_shape(struct str header, struct npy *npy, struct error *err)
{
    struct str rest;
    size_t i = 1;

    npy->count = 1;
    for (int k = 0; k < NPY_RANK_MAX; k++)
        npy->dim[k] = 1;
    if (!find_value(header, "shape", &rest) || rest.len == 0 || rest.data[0] != '(')
        return error_set(err, ST_INVALID, "shape", "the header of the array has no shape");
    while (i < rest.len && rest.data[i] != ')') {
        const size_t begin = i;
        uint64_t dim;

        while (i < rest.len && rest.data[i] >= '0' && rest.data[i] <= '9')
            i++;
        if (!str_parse_u64(str_slice(rest, begin, i), &dim) || dim == 0 || dim > INT32_MAX ||
            npy->rank == NPY_RANK_MAX ||
            __builtin_mul_overflow(npy->count, (int64_t)dim, &npy->count))
            return error_set(err, ST_INVALID, "shape",
                             "the array's shape is not 1 to %d positive numbers", NPY_RANK_MAX);
        npy->dim[npy->rank++] = (int64_t)dim;
        while (i < rest.len && (rest.data[i] == ',' || rest.data[i] == ' '))
            i++;
    }
    if (i == rest.len || npy->rank == 0 || npy->count > INT64_MAX / 8)
        return error_set(err, ST_INVALID, "shape", "the array's shape has no end, or no number");
    return ST_OK;
}

/* What stands behind 'key': in the header. */
static bool find_value(struct str header, const char *key, struct str *rest)
{
    const size_t len = strlen(key);

    for (size_t i = 0; i + len + 3 <= header.len; i++) {
        size_t at = i + len + 3;

        if (header.data[i] != '\'' || memcmp(header.data + i + 1, key, len) != 0 ||
            header.data[i + len + 1] != '\'' || header.data[i + len + 2] != ':')
            continue;
        while (at < header.len && header.data[at] == ' ')
            at++;
        *rest = str_slice(header, at, header.len);
        return true;
    }
    return false;
}

int64_t npy_number(const struct npy *npy, int64_t index)
{
    const unsigned char *at = npy->data + index * npy->number_bytes;
    const int bits = 8 * npy->number_bytes;
    uint64_t number = 0;

    assert(index >= 0 && index < npy->count);
    for (int i = npy->number_bytes; i-- > 0;)
        number = number << 8 | at[i];
    if (npy->is_signed && bits < 64 && (number >> (bits - 1) & 1) != 0)
        number |= ~UINT64_C(0) << bits;
    if (!npy->is_signed && number > INT64_MAX)
        return INT64_MAX;
    return (int64_t)number;
}

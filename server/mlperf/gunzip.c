/* server/mlperf/gunzip.c: see gunzip.h. */
#include "server/mlperf/gunzip.h"

#include <stdint.h>
#include <stdlib.h>

#define ZLIB_CONST /* it reads from what we only borrow */
#include <zlib.h>

enum { PIECE_BYTES = 65536, WINDOW_BITS_GZIP = 15 + 16 };

static enum status unpack(z_stream *stream, unsigned char *piece, size_t bytes_max,
                          gunzip_sink_fn *sink, void *state, struct error *err);

bool gunzip_is(struct str bytes)
{
    return bytes.len >= 2 && (unsigned char)bytes.data[0] == 0x1F &&
           (unsigned char)bytes.data[1] == 0x8B;
}

enum status gunzip_all(struct str bytes, size_t bytes_max, gunzip_sink_fn *sink, void *state,
                       struct error *err)
{
    unsigned char *piece = malloc(PIECE_BYTES);
    z_stream stream = {0};
    enum status status;

    if (bytes.len > UINT32_MAX) {
        status = error_set_code(err, ST_LIMIT, "too-large", NULL, NULL, "it is above 4 GiB");
        goto done;
    }
    if (piece == NULL || inflateInit2(&stream, WINDOW_BITS_GZIP) != Z_OK) {
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory to unpack gzip");
        goto done;
    }
    stream.next_in = (z_const Bytef *)bytes.data;
    stream.avail_in = (uInt)bytes.len;
    status = unpack(&stream, piece, bytes_max, sink, state, err);
    (void)inflateEnd(&stream);
done:
    free(piece);
    return status;
}

static enum status unpack(z_stream *stream, unsigned char *piece, size_t bytes_max,
                          gunzip_sink_fn *sink, void *state, struct error *err)
{
    enum status status = ST_OK;
    size_t total = 0;

    while (status == ST_OK) {
        size_t produced;
        int rc;

        stream->next_out = piece;
        stream->avail_out = PIECE_BYTES;
        rc = inflate(stream, Z_NO_FLUSH);
        produced = PIECE_BYTES - stream->avail_out;
        if (rc != Z_OK && rc != Z_STREAM_END) /* Z_BUF_ERROR: there is no more of it */
            return error_set_code(
                err, ST_INVALID, "bad_gzip", NULL, "Pack it again, or send the text as it is.",
                rc == Z_BUF_ERROR ? "its gzip ends before its end" : "its gzip is corrupt");
        total += produced;
        if (total > bytes_max)
            return error_set_code(err, ST_LIMIT, "too-large", NULL,
                                  "Leave out what is not an event of the log.",
                                  "it unpacks to more than %zu MiB", bytes_max >> 20);
        status = sink(state, (struct str){(const char *)piece, produced}, err);
        if (rc == Z_STREAM_END) {
            if (stream->avail_in == 0)
                break;
            if (inflateReset(stream) != Z_OK)
                return error_set(err, ST_INTERNAL, NULL, "zlib could not be reset");
        }
    }
    return status;
}

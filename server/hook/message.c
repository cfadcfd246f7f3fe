/* server/hook/message.c: see message.h. */
#include "server/hook/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/status.h"

void message_format_secret(const unsigned char secret[MESSAGE_SECRET_BYTES],
                           char text[MESSAGE_SECRET_CHARS + 1])
{
    char hex[2 * MESSAGE_SECRET_BYTES + 1];

    str_format_hex(secret, MESSAGE_SECRET_BYTES, hex);
    (void)snprintf(text, MESSAGE_SECRET_CHARS + 1, "whs_%s", hex);
    explicit_bzero(hex, sizeof hex);
}

void message_sign(struct str secret_text, int64_t delivery, int64_t timestamp_s, struct str body,
                  char signature[MESSAGE_SIGNATURE_CHARS + 1])
{
    unsigned char digest[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES];
    struct buf signed_text;

    buf_init(&signed_text, body.len + 64);
    buf_appendf(&signed_text, "%" PRId64 ".%" PRId64 ".", delivery, timestamp_s);
    buf_append(&signed_text, body);
    if (signed_text.failed)
        abort(); /* no memory: nothing unsigned may leave */
    crypto_hmac_sha256(secret_text, buf_str(&signed_text), digest);
    str_format_hex(digest, sizeof digest, hex);
    (void)snprintf(signature, MESSAGE_SIGNATURE_CHARS + 1, "v1=%s", hex);
    buf_fini(&signed_text);
}

int64_t message_backoff_ms(int64_t tries, uint64_t random)
{
    const int64_t n = tries < 1 ? 1 : tries > MESSAGE_TRIES_MAX ? MESSAGE_TRIES_MAX : tries;
    const int64_t full = MESSAGE_BACKOFF_MS << (n - 1);

    return full / 2 + (int64_t)(random % (uint64_t)(full / 2 + 1));
}

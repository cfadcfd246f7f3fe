/* server/hook/message.h: how a delivery is signed, and when it is tried again.
 *
 *   Daybreak-Signature: v1=HEX  with HEX = HMAC-SHA256(secret, "ID.TIMESTAMP." + body)
 *
 * ID is the header Daybreak-Delivery and TIMESTAMP the header Daybreak-Timestamp (seconds since 1970), both in decimal;
 * the key is the secret's text as it was shown, the body the bytes as they are sent. Threads: pure, any. */
#ifndef DAYBREAK_SERVER_HOOK_MESSAGE_H
#define DAYBREAK_SERVER_HOOK_MESSAGE_H

#include <stdint.h>

#include "common/crypto.h"
#include "common/str.h"

#define MESSAGE_SECRET_BYTES    32 /* as it is stored */
#define MESSAGE_SECRET_CHARS    68 /* as it is shown: whs_ and 64 hexadecimal digits */
#define MESSAGE_SIGNATURE_CHARS (3 + 2 * SHA256_BYTES)

#define MESSAGE_TRIES_MAX  14 /* the last five to nine hours after the first */
#define MESSAGE_BACKOFF_MS INT64_C(4000)

void message_format_secret(const unsigned char secret[MESSAGE_SECRET_BYTES],
                           char text[MESSAGE_SECRET_CHARS + 1]);
void message_sign(struct str secret_text, int64_t delivery, int64_t timestamp_s, struct str body,
                  char signature[MESSAGE_SIGNATURE_CHARS + 1]);
/* How long to wait after try number `tries`, from 1: doubled with each, then anything between half of that and all of
 * it, so that receivers that came back are not met by everything at once. random: any number. */
int64_t message_backoff_ms(int64_t tries, uint64_t random);

#endif

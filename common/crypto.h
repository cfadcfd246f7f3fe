/* common/crypto.h: hashes, signatures and random bytes; the only user of OpenSSL's headers.
 * Ownership: all memory is the caller's but struct sha256. Threads: pure, any thread.
 * Failure of the library itself (no memory, no entropy) aborts: nobody can go on without it. */
#ifndef DAYBREAK_COMMON_CRYPTO_H
#define DAYBREAK_COMMON_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/str.h"

#define SHA256_BYTES            32
#define SHA256_HEX_BYTES        (2 * SHA256_BYTES + 1)
#define ED25519_KEY_BYTES       32 /* secret seed and public key alike (RFC 8032) */
#define ED25519_SIGNATURE_BYTES 64

void crypto_sha256(struct str data, unsigned char digest[SHA256_BYTES]);
void crypto_sha256_hex(struct str data, char text[SHA256_HEX_BYTES]);
void crypto_hmac_sha256(struct str key, struct str data, unsigned char digest[SHA256_BYTES]);

/* Running hash of data that comes in pieces. create never returns NULL; finish destroys. */
struct sha256;
struct sha256 *sha256_create(void);
void sha256_update(struct sha256 *hash, const void *data, size_t bytes);
void sha256_finish(struct sha256 *hash, unsigned char digest[SHA256_BYTES]);
/* Of a whole file: ST_NOT_FOUND, ST_IO. */
enum status crypto_sha256_file(const char *path, unsigned char digest[SHA256_BYTES],
                               struct error *err);

void crypto_random(void *data, size_t bytes);                  /* for secrets, never for training */
bool crypto_equal(const void *a, const void *b, size_t bytes); /* constant time */
/* base64url without padding (RFC 4648, section 5); text holds 4 * ceil(bytes / 3) + 1 chars. */
void crypto_base64url(const unsigned char *data, size_t bytes, char *text);
/* The reverse, into data[bytes_max]. Only what crypto_base64url() writes is taken: no padding, no blanks, and no bits
 * left over, so that one value has one text. False: anything else, or more than bytes_max. */
bool crypto_base64url_parse(struct str text, unsigned char *data, size_t bytes_max, size_t *bytes);

void ed25519_generate(unsigned char secret[ED25519_KEY_BYTES],
                      unsigned char public_key[ED25519_KEY_BYTES]);
void ed25519_sign(const unsigned char secret[ED25519_KEY_BYTES], struct str message,
                  unsigned char signature[ED25519_SIGNATURE_BYTES]);
bool ed25519_verify(const unsigned char public_key[ED25519_KEY_BYTES], struct str message,
                    const unsigned char signature[ED25519_SIGNATURE_BYTES]);

#endif

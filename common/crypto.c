/* common/crypto.c: see crypto.h. */
#include "common/crypto.h"

#include <errno.h>
#include <stdio.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

enum { FILE_CHUNK_BYTES = 65536 };

static void need(bool ok, const char *what);
static int base64url_digit(char c);
static EVP_PKEY *load_public(const unsigned char public_key[ED25519_KEY_BYTES]);

void crypto_sha256(struct str data, unsigned char digest[SHA256_BYTES])
{
    unsigned int bytes = 0;

    need(EVP_Digest(data.data, data.len, digest, &bytes, EVP_sha256(), NULL) == 1 &&
             bytes == SHA256_BYTES,
         "SHA-256");
}

void crypto_sha256_hex(struct str data, char text[SHA256_HEX_BYTES])
{
    unsigned char digest[SHA256_BYTES];

    crypto_sha256(data, digest);
    str_format_hex(digest, sizeof digest, text);
}

void crypto_hmac_sha256(struct str key, struct str data, unsigned char digest[SHA256_BYTES])
{
    static const unsigned char none[1] = {0}; /* a NULL key would mean "the one before" */
    const void *bytes = key.len == 0 ? (const void *)none : (const void *)key.data;
    unsigned int length = 0;

    need(key.len <= INT32_MAX &&
             HMAC(EVP_sha256(), bytes, (int)key.len, (const unsigned char *)data.data, data.len,
                  digest, &length) != NULL &&
             length == SHA256_BYTES,
         "HMAC");
}

/* The library's context is behind an opaque name of ours: its headers stay in this file. */
struct sha256 *sha256_create(void)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();

    need(context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1, "SHA-256");
    return (struct sha256 *)(void *)context;
}

void sha256_update(struct sha256 *hash, const void *data, size_t bytes)
{
    need(EVP_DigestUpdate((EVP_MD_CTX *)(void *)hash, data, bytes) == 1, "SHA-256");
}

void sha256_finish(struct sha256 *hash, unsigned char digest[SHA256_BYTES])
{
    EVP_MD_CTX *context = (EVP_MD_CTX *)(void *)hash;
    unsigned int bytes = 0;

    need(EVP_DigestFinal_ex(context, digest, &bytes) == 1 && bytes == SHA256_BYTES, "SHA-256");
    EVP_MD_CTX_free(context);
}

enum status crypto_sha256_file(const char *path, unsigned char digest[SHA256_BYTES],
                               struct error *err)
{
    enum status status = ST_OK;
    unsigned char *chunk = NULL;
    struct sha256 *hash = NULL;
    FILE *file = fopen(path, "rb");
    size_t bytes;

    if (file == NULL)
        return error_set(err, errno == ENOENT ? ST_NOT_FOUND : ST_IO, NULL, "cannot open %s: %s",
                         path, strerrordesc_np(errno));
    chunk = malloc(FILE_CHUNK_BYTES);
    if (chunk == NULL) {
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory to read %s", path);
        goto done;
    }
    hash = sha256_create();
    while ((bytes = fread(chunk, 1, FILE_CHUNK_BYTES, file)) > 0)
        sha256_update(hash, chunk, bytes);
    sha256_finish(hash, digest);
    if (ferror(file))
        status = error_set(err, ST_IO, NULL, "cannot read %s", path);
done:
    free(chunk);
    (void)fclose(file); /* read only: nothing can be lost */
    return status;
}

void crypto_random(void *data, size_t bytes)
{
    need(bytes <= INT32_MAX && RAND_bytes(data, (int)bytes) == 1, "the random generator");
}

bool crypto_equal(const void *a, const void *b, size_t bytes)
{
    return CRYPTO_memcmp(a, b, bytes) == 0;
}

void crypto_base64url(const unsigned char *data, size_t bytes, char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t at = 0;

    for (size_t i = 0; i < bytes; i += 3) {
        const size_t left = bytes - i;
        const uint32_t group = (uint32_t)data[i] << 16 |
                               (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                               (left > 2 ? (uint32_t)data[i + 2] : 0);

        text[at++] = digits[group >> 18];
        text[at++] = digits[group >> 12 & 63];
        if (left > 1)
            text[at++] = digits[group >> 6 & 63];
        if (left > 2)
            text[at++] = digits[group & 63];
    }
    text[at] = '\0';
}

bool crypto_base64url_parse(struct str text, unsigned char *data, size_t bytes_max, size_t *bytes)
{
    const size_t left = text.len % 4;
    uint32_t group = 0;

    *bytes = text.len / 4 * 3 + (left > 1 ? left - 1 : 0);
    if (left == 1 || *bytes > bytes_max)
        return false;
    for (size_t i = 0, at = 0; i < text.len; i++) {
        const int digit = base64url_digit(text.data[i]);

        if (digit < 0)
            return false;
        group = group << 6 | (uint32_t)digit;
        if (i % 4 == 0)
            continue;
        data[at++] = (unsigned char)(group >> (6 - 2 * (i % 4)));
        if (i + 1 == text.len && (group & ((1u << (6 - 2 * (i % 4))) - 1)) != 0)
            return false; /* bits that no byte holds */
    }
    return true;
}

void ed25519_generate(unsigned char secret[ED25519_KEY_BYTES],
                      unsigned char public_key[ED25519_KEY_BYTES])
{
    size_t bytes = ED25519_KEY_BYTES;
    EVP_PKEY *key;

    crypto_random(secret, ED25519_KEY_BYTES);
    key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, ED25519_KEY_BYTES);
    need(key != NULL && EVP_PKEY_get_raw_public_key(key, public_key, &bytes) == 1 &&
             bytes == ED25519_KEY_BYTES,
         "Ed25519");
    EVP_PKEY_free(key);
}

void ed25519_sign(const unsigned char secret[ED25519_KEY_BYTES], struct str message,
                  unsigned char signature[ED25519_SIGNATURE_BYTES])
{
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, ED25519_KEY_BYTES);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t bytes = ED25519_SIGNATURE_BYTES;

    need(key != NULL && context != NULL &&
             EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1 &&
             EVP_DigestSign(context, signature, &bytes, (const unsigned char *)message.data,
                            message.len) == 1 &&
             bytes == ED25519_SIGNATURE_BYTES,
         "Ed25519");
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
}

bool ed25519_verify(const unsigned char public_key[ED25519_KEY_BYTES], struct str message,
                    const unsigned char signature[ED25519_SIGNATURE_BYTES])
{
    EVP_PKEY *key = load_public(public_key);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool good;

    need(key != NULL && context != NULL &&
             EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1,
         "Ed25519");
    good = EVP_DigestVerify(context, signature, ED25519_SIGNATURE_BYTES,
                            (const unsigned char *)message.data, message.len) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return good;
}

static void need(bool ok, const char *what)
{
    if (ok)
        return;
    (void)fprintf(stderr, "crypto: %s failed in the library\n", what);
    abort();
}

/* -1: not a digit. */
static int base64url_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

/* Any 32 bytes load: whether they are a point of the curve is seen when a signature is verified. */
static EVP_PKEY *load_public(const unsigned char public_key[ED25519_KEY_BYTES])
{
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public_key, ED25519_KEY_BYTES);
}

/* tests/unit/common/test_crypto.c: common/crypto against published vectors: FIPS 180-4 (examples of NIST),
 * RFC 4231 (HMAC-SHA-256), RFC 8032 section 7.1 (Ed25519), RFC 4648 section 10 (base64). */
#include "common/crypto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

static void sha256_gives_the_values_of_fips_180(void **state)
{
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char hex[SHA256_HEX_BYTES];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        crypto_sha256_hex(str_from_cstr(cases[i].text), hex);
        assert_string_equal(hex, cases[i].hex);
    }
}

static void sha256_in_pieces_equals_the_whole(void **state)
{
    static const char million_a[] =
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
    unsigned char digest[SHA256_BYTES];
    char piece[1000], hex[SHA256_HEX_BYTES];
    struct sha256 *hash = sha256_create();

    (void)state;
    memset(piece, 'a', sizeof piece);
    for (int i = 0; i < 1000; i++)
        sha256_update(hash, piece, sizeof piece);
    sha256_update(hash, piece, 0);
    sha256_finish(hash, digest);
    str_format_hex(digest, sizeof digest, hex);
    assert_string_equal(hex, million_a);
}

static void sha256_of_a_file_reads_it_whole(void **state)
{
    char path[] = P_tmpdir "/daybreak-crypto-XXXXXX";
    unsigned char digest[SHA256_BYTES], want[SHA256_BYTES];
    const size_t bytes = 200000; /* more than one chunk */
    char *data = malloc(bytes);
    struct error err = {0};
    int fd = mkstemp(path);

    (void)state;
    assert_non_null(data);
    assert_true(fd >= 0);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (char)(i * 7 + i / 251);
    assert_int_equal(write(fd, data, bytes), bytes);
    assert_int_equal(close(fd), 0);
    assert_int_equal(crypto_sha256_file(path, digest, &err), ST_OK);
    crypto_sha256((struct str){data, bytes}, want);
    assert_memory_equal(digest, want, sizeof want);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(crypto_sha256_file(path, digest, &err), ST_NOT_FOUND);
    err = (struct error){0};
    assert_int_equal(crypto_sha256_file("/", digest, &err),
                     ST_IO); /* a folder opens, never reads */
    free(data);
}

struct hmac_case {
    struct str key, data;
    const char *hex;
};

static void hmac_gives_the_values_of_rfc_4231(void **state)
{
    char aa[131], dd[50], cd[50], b0[20], counting[25];
    const struct hmac_case cases[] = {
        {{b0, 20},
         STR("Hi There"),
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {STR("Jefe"), STR("what do ya want for nothing?"),
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {{aa, 20}, {dd, 50}, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
        {{counting, 25},
         {cd, 50},
         "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
        {{aa, 131},
         STR("Test Using Larger Than Block-Size Key - Hash Key First"),
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {{aa, 131},
         STR("This is a test using a larger than block-size key and a larger than block-size data. "
             "The key needs to be hashed before being used by the HMAC algorithm."),
         "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
    };
    unsigned char digest[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES];

    (void)state;
    memset(aa, 0xAA, sizeof aa);
    memset(dd, 0xDD, sizeof dd);
    memset(cd, 0xCD, sizeof cd);
    memset(b0, 0x0B, sizeof b0);
    for (size_t i = 0; i < sizeof counting; i++)
        counting[i] = (char)(i + 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        crypto_hmac_sha256(cases[i].key, cases[i].data, digest);
        str_format_hex(digest, sizeof digest, hex);
        assert_string_equal(hex, cases[i].hex);
    }
}

static void hmac_of_an_empty_key_is_not_the_key_before(void **state)
{
    /* Python's hmac.new(b"", b"", "sha256"), an implementation of its own. */
    static const char want[] = "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad";
    unsigned char digest[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES];

    (void)state;
    crypto_hmac_sha256((struct str){NULL, 0}, STR(""), digest);
    str_format_hex(digest, sizeof digest, hex);
    assert_string_equal(hex, want);
}

struct ed25519_case {
    const char *secret, *public_key, *message, *signature;
};

static const struct ed25519_case ed25519_cases[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b"
     "46b"
     "d25bf5f0595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11"
     "d8c"
     "387b2eaeb4302aeeb00d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
     "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc"
     "659"
     "4a7c15e9716ed28dc027beceea1ec40a"},
};

static void ed25519_gives_the_signatures_of_rfc_8032(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ed25519_cases); i++) {
        const struct ed25519_case *c = &ed25519_cases[i];
        unsigned char secret[ED25519_KEY_BYTES], key[ED25519_KEY_BYTES], message[8];
        unsigned char want[ED25519_SIGNATURE_BYTES], got[ED25519_SIGNATURE_BYTES];
        const size_t bytes = strlen(c->message) / 2;
        const struct str text = {(const char *)message, bytes};

        assert_true(str_parse_hex(str_from_cstr(c->secret), secret, sizeof secret));
        assert_true(str_parse_hex(str_from_cstr(c->public_key), key, sizeof key));
        assert_true(str_parse_hex(str_from_cstr(c->message), message, bytes));
        assert_true(str_parse_hex(str_from_cstr(c->signature), want, sizeof want));
        ed25519_sign(secret, text, got);
        assert_memory_equal(got, want, sizeof want);
        assert_true(ed25519_verify(key, text, got));
    }
}

static void ed25519_refuses_what_was_not_signed(void **state)
{
    unsigned char secret[ED25519_KEY_BYTES], key[ED25519_KEY_BYTES];
    unsigned char signature[ED25519_SIGNATURE_BYTES];

    (void)state;
    ed25519_generate(secret, key);
    ed25519_sign(secret, STR("epoch 12"), signature);
    assert_true(ed25519_verify(key, STR("epoch 12"), signature));
    assert_false(ed25519_verify(key, STR("epoch 13"), signature));
    assert_false(ed25519_verify(key, STR("epoch 1"), signature));
    for (size_t i = 0; i < sizeof signature; i += 9) {
        signature[i] ^= 1;
        assert_false(ed25519_verify(key, STR("epoch 12"), signature));
        signature[i] ^= 1;
    }
    key[0] ^= 1;
    assert_false(ed25519_verify(key, STR("epoch 12"), signature));
    memset(key, 0xFF, sizeof key); /* not a point of the curve */
    assert_false(ed25519_verify(key, STR("epoch 12"), signature));
}

static void base64url_gives_the_values_of_rfc_4648(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
        {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xFB\xFF\xBF", "-_-_"}};
    char text[16];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        crypto_base64url((const unsigned char *)cases[i].text, strlen(cases[i].text), text);
        assert_string_equal(text, cases[i].want);
    }
}

static void random_bytes_differ_and_equality_is_by_content(void **state)
{
    unsigned char a[32], b[32];

    (void)state;
    crypto_random(a, sizeof a);
    crypto_random(b, sizeof b);
    assert_false(crypto_equal(a, b, sizeof a)); /* fails once in 2^256 */
    memcpy(b, a, sizeof a);
    assert_true(crypto_equal(a, b, sizeof a));
    b[31] ^= 0x80;
    assert_false(crypto_equal(a, b, sizeof a));
    assert_true(crypto_equal(a, b, 31));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_gives_the_values_of_fips_180),
        cmocka_unit_test(sha256_in_pieces_equals_the_whole),
        cmocka_unit_test(sha256_of_a_file_reads_it_whole),
        cmocka_unit_test(hmac_gives_the_values_of_rfc_4231),
        cmocka_unit_test(hmac_of_an_empty_key_is_not_the_key_before),
        cmocka_unit_test(ed25519_gives_the_signatures_of_rfc_8032),
        cmocka_unit_test(ed25519_refuses_what_was_not_signed),
        cmocka_unit_test(base64url_gives_the_values_of_rfc_4648),
        cmocka_unit_test(random_bytes_differ_and_equality_is_by_content),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

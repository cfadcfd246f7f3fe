/* agent/run/state.c: what an agent remembers over restarts (see state.h). */
#include "agent/run/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/arena.h"
#include "common/json.h"
#include "common/log.h"

#define FOLDER_DEFAULT     "var/agent"
#define FOLDER_MODE        0700
#define FILE_MODE          0600
#define IDENTITY_BYTES_MAX 4096
#define ARENA_BYTES_MAX    ((size_t)256 * 1024)
#define SERVER_HEX_CHARS   16
#define CLAIM_RANDOM_BYTES 16
#define DAY_S              (INT64_C(24) * 3600)

static enum status lock_folder(const char *folder, int *lock_fd, struct error *err)
{
    char path[FILES_PATH_BYTES_MAX];
    const enum status status = files_join(path, folder, "lock", err);

    if (status != ST_OK)
        return status;
    *lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE);
    if (*lock_fd < 0)
        return error_set(err, ST_IO, path, "cannot open %s: %s", path, strerrordesc_np(errno));
    if (flock(*lock_fd, LOCK_EX | LOCK_NB) != 0)
        return error_set_code(err, ST_CONFLICT, "state_in_use", "DAYBREAK_STATE",
                              "give each agent a folder of its own in DAYBREAK_STATE",
                              "another agent uses %s", folder);
    return ST_OK;
}

/* The folder itself may exist with another mode; secrets are in it. */
static enum status make_private(const char *folder, struct error *err)
{
    enum status status = files_make_folder(folder, FOLDER_MODE, err);

    if (status == ST_OK && chmod(folder, FOLDER_MODE) != 0)
        status = error_set(err, ST_IO, folder, "cannot make %s private: %s", folder,
                           strerrordesc_np(errno));
    return status;
}

static void copy_text(char *to, size_t bytes, struct str text)
{
    (void)snprintf(to, bytes, "%.*s", (int)text.len, text.data);
}

enum status state_parse_identity(struct str text, struct state *state, struct error *err)
{
    struct arena arena;
    struct json_doc doc = {0};
    struct json_reader reader;
    struct str token = {0}, instance = {0}, secret = {0}, public_key = {0};
    unsigned char keys[2][ED25519_KEY_BYTES];
    int64_t agent = 0;
    enum status status;

    arena_init(&arena, ARENA_BYTES_MAX);
    status = json_doc_parse(text, &arena, &doc, err);
    if (status == ST_OK) {
        json_reader_init(&reader, doc.root, "", err);
        (void)json_read_i64(&reader, "agent", true, 1, INT64_MAX, &agent);
        (void)json_read_text(&reader, "token", true, STATE_TOKEN_BYTES - 1, &token);
        (void)json_read_text(&reader, "server", true, STATE_NAME_BYTES - 1, &instance);
        (void)json_read_text(&reader, "secret_key", true, 64, &secret);
        (void)json_read_text(&reader, "public_key", true, 64, &public_key);
        status = json_reader_finish(&reader);
    }
    if (status == ST_OK && (!str_parse_hex(secret, keys[0], ED25519_KEY_BYTES) ||
                            !str_parse_hex(public_key, keys[1], ED25519_KEY_BYTES)))
        status = error_set(err, ST_INVALID, "secret_key", "the keys are not 64 hexadecimal digits");
    if (status == ST_OK) {
        state->agent = agent;
        memcpy(state->secret, keys[0], ED25519_KEY_BYTES);
        memcpy(state->public_key, keys[1], ED25519_KEY_BYTES);
        copy_text(state->token, sizeof state->token, token);
        copy_text(state->instance, sizeof state->instance, instance);
        state->has_identity = true;
    }
    explicit_bzero(keys, sizeof keys);
    json_doc_fini(&doc);
    arena_fini(&arena);
    return status;
}

static enum status read_file_of(const struct state *state, const char *name, struct buf *out,
                                struct error *err)
{
    char path[FILES_PATH_BYTES_MAX];
    enum status status = files_join(path, state->dir, name, err);

    if (status == ST_OK && files_exists(path))
        status = files_read(path, out, err);
    return status;
}

static enum status write_file_of(const struct state *state, const char *name,
                                 const struct buf *content, struct error *err)
{
    char path[FILES_PATH_BYTES_MAX];
    enum status status = buf_check(content, err);

    if (status == ST_OK)
        status = files_join(path, state->dir, name, err);
    return status == ST_OK ? files_write(path, buf_str(content), FILE_MODE, err) : status;
}

static enum status read_identity(struct state *state, struct error *err)
{
    struct error fault = {0};
    struct buf text;
    enum status status;

    buf_init(&text, IDENTITY_BYTES_MAX);
    status = read_file_of(state, "identity.json", &text, err);
    if (status == ST_OK && text.len > 0 &&
        state_parse_identity(buf_str(&text), state, &fault) != ST_OK)
        status = error_set_code(err, ST_INVALID, "identity", "identity.json",
                                "remove the file, and the agent registers afresh",
                                "%s/identity.json is damaged: %.150s", state->dir, fault.detail);
    buf_fini(&text);
    return status;
}

static enum status read_claim(struct state *state, struct error *err)
{
    struct buf text;
    enum status status;
    bool plain = true;

    buf_init(&text, STATE_NAME_BYTES);
    status = read_file_of(state, "claim", &text, err);
    for (size_t i = 0; i < text.len; i++)
        plain = plain && text.data[i] > ' ' && text.data[i] <= '~';
    if (status == ST_OK && text.len > 0 && text.len < STATE_NAME_BYTES && plain)
        copy_text(state->claim_id, sizeof state->claim_id, buf_str(&text));
    buf_fini(&text);
    if (status == ST_OK && state->claim_id[0] == '\0')
        status = state_renew_claim(state, err);
    return status;
}

enum status state_open(const char *server, struct state *state, struct error *err)
{
    const char *folder = getenv("DAYBREAK_STATE");
    char digest[SHA256_HEX_BYTES];
    enum status status;

    *state = (struct state){.lock_fd = -1};
    if (folder == NULL || folder[0] == '\0')
        folder = FOLDER_DEFAULT;
    crypto_sha256_hex(str_from_cstr(server), digest);
    digest[SERVER_HEX_CHARS] = '\0';
    status = make_private(folder, err);
    if (status == ST_OK)
        status = lock_folder(folder, &state->lock_fd, err);
    if (status == ST_OK)
        status = files_join(state->dir, folder, digest, err);
    if (status == ST_OK)
        status = make_private(state->dir, err);
    if (status == ST_OK)
        status = read_identity(state, err);
    if (status == ST_OK)
        status = read_claim(state, err);
    if (status != ST_OK)
        state_close(state);
    return status;
}

void state_close(struct state *state)
{
    if (state->lock_fd >= 0)
        close(state->lock_fd); /* and with it the lock */
    explicit_bzero(state, sizeof *state);
    state->lock_fd = -1;
}

void state_renew_key(struct state *state)
{
    state->has_identity = false;
    state->agent = 0;
    state->token[0] = '\0';
    ed25519_generate(state->secret, state->public_key);
}

enum status state_save_identity(struct state *state, struct error *err)
{
    char secret[2 * ED25519_KEY_BYTES + 1], public_key[2 * ED25519_KEY_BYTES + 1];
    struct buf text;
    enum status status;

    str_format_hex(state->secret, ED25519_KEY_BYTES, secret);
    str_format_hex(state->public_key, ED25519_KEY_BYTES, public_key);
    buf_init(&text, IDENTITY_BYTES_MAX);
    buf_appendf(&text, "{\"agent\":%lld,\"token\":", (long long)state->agent);
    buf_append_json(&text, str_from_cstr(state->token));
    buf_append_cstr(&text, ",\"server\":");
    buf_append_json(&text, str_from_cstr(state->instance));
    buf_appendf(&text, ",\"secret_key\":\"%s\",\"public_key\":\"%s\"}\n", secret, public_key);
    explicit_bzero(secret, sizeof secret);
    status = write_file_of(state, "identity.json", &text, err);
    buf_fini(&text);
    state->has_identity = status == ST_OK;
    return status;
}

enum status state_renew_claim(struct state *state, struct error *err)
{
    unsigned char bytes[CLAIM_RANDOM_BYTES];
    struct buf text;
    enum status status;

    crypto_random(bytes, sizeof bytes);
    crypto_base64url(bytes, sizeof bytes, state->claim_id);
    buf_init(&text, STATE_NAME_BYTES);
    buf_append_cstr(&text, state->claim_id);
    status = write_file_of(state, "claim", &text, err);
    buf_fini(&text);
    return status;
}

enum status state_attempt_folder(const struct state *state, const char *attempt,
                                 char path[FILES_PATH_BYTES_MAX], struct error *err)
{
    char attempts[FILES_PATH_BYTES_MAX];
    enum status status = files_join(attempts, state->dir, "attempts", err);

    if (status == ST_OK)
        status = files_join(path, attempts, attempt, err);
    return status == ST_OK ? files_make_folder(path, FOLDER_MODE, err) : status;
}

/* When the attempt's last event was spooled; of one without a spool, when its folder was made. */
static bool read_age(const char *folder, int64_t *changed_s)
{
    char spool[FILES_PATH_BYTES_MAX];
    struct stat info, last;

    if (lstat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
        return false;
    if (files_join(spool, folder, "spool", NULL) == ST_OK && lstat(spool, &last) == 0)
        info = last;
    *changed_s = (int64_t)info.st_mtime;
    return true;
}

/* The oldest attempt but `live`; returns how many there are. */
static int find_oldest(const char *attempts, const char *live, char oldest[FILES_PATH_BYTES_MAX],
                       int64_t *oldest_s)
{
    DIR *list = opendir(attempts);
    const struct dirent *each;
    int count = 0;

    if (list == NULL)
        return 0;                            /* no attempt yet */
    while ((each = readdir(list)) != NULL) { /* NOLINT(concurrency-mt-unsafe): a list of our own */
        char folder[FILES_PATH_BYTES_MAX];
        int64_t changed_s;

        if (each->d_name[0] == '.' || (live != NULL && strcmp(each->d_name, live) == 0) ||
            files_join(folder, attempts, each->d_name, NULL) != ST_OK ||
            !read_age(folder, &changed_s))
            continue;
        if (count++ == 0 || changed_s < *oldest_s) {
            *oldest_s = changed_s;
            memcpy(oldest, folder, sizeof folder);
        }
    }
    (void)closedir(list);
    return count;
}

/* One look at all of them for each that goes: they are few, for this is called before every job. */
void state_prune_attempts(const struct state *state, const char *live, int64_t now_ms)
{
    const int64_t expired_s = now_ms / 1000 - STATE_ATTEMPT_DAYS * DAY_S;
    char attempts[FILES_PATH_BYTES_MAX], oldest[FILES_PATH_BYTES_MAX];
    int64_t oldest_s = 0;
    int count, removed = 0;

    if (files_join(attempts, state->dir, "attempts", NULL) != ST_OK)
        return;
    while ((count = find_oldest(attempts, live, oldest, &oldest_s)) > STATE_ATTEMPTS_MAX ||
           (count > 0 && oldest_s < expired_s)) {
        files_remove_tree(oldest);
        if (files_exists(oldest))
            break; /* it was logged */
        removed++;
    }
    if (removed > 0)
        log_event(LOG_INFO, "spools_removed", "count=%d", removed);
}

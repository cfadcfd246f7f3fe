/* server/hook/sender.c: see sender.h. */
#include "server/hook/sender.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/build.h"
#include "common/clock.h"
#include "common/log.h"
#include "server/hook/address.h"
#include "server/hook/message.h"
#include "server/store/read.h"
#include "server/store/verbs.h"

enum {
    TRANSFERS_MAX = 8,
    CONNECT_MS = 5000,
    IDLE_MS = 10000, /* without anything due; a commit wakes earlier */
    RETRY_MS = 1000, /* after a store that could not be asked */
    GRACE_MS = 1000, /* for what is under way at the end */
    ANSWER_BYTES_MAX = 64 * 1024,
    HEADER_BYTES_MAX = 16 * 1024,
    ARENA_BYTES = 16 << 20,
    ERROR_BYTES = 160
};

enum transfer_state { TRANSFER_FREE, TRANSFER_BUSY, TRANSFER_ENDED };

struct transfer {
    enum transfer_state state;
    const struct sender *sender;
    CURL *curl;
    struct curl_slist *headers;
    char *body;
    size_t read_bytes;   /* of the answer: thrown away */
    const char *special; /* why an address was refused */
    int64_t tries, begun_ns;
    struct end_delivery end; /* TRANSFER_ENDED: not written down yet */
    char error[ERROR_BYTES];
};

struct sender {
    struct sender_options options;
    CURLM *multi;
    struct store_reader *reader;
    pthread_t thread;
    bool has_thread;
    _Atomic bool stop;
    struct transfer transfers[TRANSFERS_MAX]; /* the thread's own */
};

static void *run(void *arg);
static int64_t begin_due(struct sender *sender);
static int count_free(const struct sender *sender);
static enum status begin(struct sender *sender, int count, struct error *err);
static void begin_one(struct sender *sender, const struct begun_delivery *delivery);
static bool prepare(struct transfer *transfer, const struct begun_delivery *delivery);
static bool set_options(struct transfer *transfer, const struct begun_delivery *delivery);
static struct curl_slist *build_headers(const struct begun_delivery *delivery);
static bool add_header(struct curl_slist **list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static curl_socket_t open_socket(void *context, curlsocktype purpose,
                                 struct curl_sockaddr *address);
static size_t discard(char *data, size_t size, size_t count, void *context);
static void collect(struct sender *sender);
static void end_transfer(struct sender *sender, struct transfer *transfer, CURLcode code);
static void judge(struct transfer *transfer, CURLcode code, long http_status);
static void free_parts(struct sender *sender, struct transfer *transfer);
static bool write_down(struct sender *sender);
static void give_back(struct sender *sender);

enum status sender_create(const struct sender_options *options, struct sender **sender,
                          struct error *err)
{
    struct sender *created = calloc(1, sizeof *created);
    enum status status = ST_OK;
    struct arena arena;

    if (created == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the webhooks");
    created->options = *options;
    if (created->options.timeout_ms <= 0)
        created->options.timeout_ms = SENDER_TIMEOUT_MS;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        status = error_set(err, ST_INTERNAL, "curl", "the network library does not start");
    else
        created->multi = curl_multi_init();
    if (status == ST_OK && created->multi == NULL)
        status = error_set(err, ST_NO_MEMORY, NULL, "no memory for the webhooks");
    if (status == ST_OK)
        status = store_reader_open(options->db_path, &created->reader, err);
    if (status == ST_OK) {
        arena_init(&arena, 65536);
        status = store_run_verb(options->store, verb_release_deliveries, NULL, &arena, err);
        arena_fini(&arena);
    }
    if (status == ST_OK && pthread_create(&created->thread, NULL, run, created) != 0)
        status = error_set(err, ST_NO_MEMORY, NULL, "no further thread could be started");
    if (status != ST_OK) {
        sender_destroy(created);
        return status;
    }
    created->has_thread = true;
    *sender = created;
    return ST_OK;
}

void sender_wake(struct sender *sender)
{
    if (sender != NULL)
        (void)curl_multi_wakeup(sender->multi);
}

void sender_destroy(struct sender *sender)
{
    if (sender == NULL)
        return;
    if (sender->has_thread) {
        atomic_store(&sender->stop, true);
        sender_wake(sender);
        (void)pthread_join(sender->thread, NULL);
    }
    store_reader_close(sender->reader);
    (void)curl_multi_cleanup(sender->multi);
    free(sender);
}

static void *run(void *arg)
{
    struct sender *sender = arg;
    int64_t stop_ns = 0;

    for (;;) {
        int64_t wait_ms = IDLE_MS;
        int busy = 0;

        if (!atomic_load(&sender->stop)) {
            wait_ms = begin_due(sender);
        } else if (stop_ns == 0) {
            stop_ns = clock_mono_ns() + GRACE_MS * NS_PER_MS;
        }
        (void)curl_multi_perform(sender->multi, &busy);
        collect(sender);
        if (!write_down(sender) && wait_ms > RETRY_MS)
            wait_ms = RETRY_MS;
        if (stop_ns != 0) {
            wait_ms = (stop_ns - clock_mono_ns()) / NS_PER_MS;
            if (count_free(sender) == TRANSFERS_MAX || wait_ms <= 0)
                break;
        } else if (atomic_load(&sender->stop)) {
            continue;
        }
        (void)curl_multi_poll(sender->multi, NULL, 0, (int)wait_ms, NULL);
    }
    give_back(sender);
    return NULL;
}

/* Begins what is due as far as there is room; returns how long to wait for the next. */
static int64_t begin_due(struct sender *sender)
{
    const int room = count_free(sender);
    struct opt_i64 next_ms = {0};
    struct error err = {0};
    enum status status = ST_OK;
    int64_t now_ms;

    if (room == 0)
        return IDLE_MS; /* the end of a transfer ends the wait */
    status = store_get_next_delivery(sender->reader, &next_ms, &err);
    now_ms = clock_real_ms();
    if (status == ST_OK && next_ms.has && next_ms.value <= now_ms) {
        status = begin(sender, room, &err);
        if (status == ST_OK) /* whether more is due is seen at once when one of these has ended */
            return count_free(sender) == room ? RETRY_MS : 0;
    }
    if (status != ST_OK) {
        log_event(LOG_WARN, "webhooks_unread", "status=%s", status_name(status));
        return RETRY_MS;
    }
    if (!next_ms.has || next_ms.value - now_ms > IDLE_MS)
        return IDLE_MS;
    return next_ms.value - now_ms;
}

static int count_free(const struct sender *sender)
{
    int count = 0;

    for (size_t i = 0; i < TRANSFERS_MAX; i++)
        count += sender->transfers[i].state == TRANSFER_FREE;
    return count;
}

static enum status begin(struct sender *sender, int count, struct error *err)
{
    struct begin_deliveries args = {.max = count};
    struct arena arena;
    enum status status;

    arena_init(&arena, ARENA_BYTES);
    status = store_run_verb(sender->options.store, verb_begin_deliveries, &args, &arena, err);
    for (size_t i = 0; status == ST_OK && i < args.count; i++)
        begin_one(sender, &args.items[i]);
    arena_fini(&arena);
    return status;
}

static void begin_one(struct sender *sender, const struct begun_delivery *delivery)
{
    struct transfer *transfer = sender->transfers;

    while (transfer->state != TRANSFER_FREE) /* no more were begun than there are free */
        transfer++;
    *transfer = (struct transfer){
        .state = TRANSFER_BUSY,
        .sender = sender,
        .tries = delivery->tries,
        .begun_ns = clock_mono_ns(),
        .end = {.delivery_id = delivery->id, .tries_max = MESSAGE_TRIES_MAX},
    };
    if (!prepare(transfer, delivery) ||
        curl_multi_add_handle(sender->multi, transfer->curl) != CURLM_OK)
        end_transfer(sender, transfer, CURLE_OUT_OF_MEMORY);
}

static bool prepare(struct transfer *transfer, const struct begun_delivery *delivery)
{
    transfer->body = malloc(delivery->body.len + 1);
    transfer->curl = curl_easy_init();
    if (transfer->body == NULL || transfer->curl == NULL)
        return false;
    memcpy(transfer->body, delivery->body.data, delivery->body.len);
    transfer->headers = build_headers(delivery);
    return transfer->headers != NULL && set_options(transfer, delivery);
}

/* One row for each option. NOLINTNEXTLINE(readability-function-cognitive-complexity): of the macro */
static bool set_options(struct transfer *transfer, const struct begun_delivery *delivery)
{
    const struct sender_options *options = &transfer->sender->options;
    CURL *curl = transfer->curl;
    bool good = true;

#define SET(option, value) good = good && curl_easy_setopt(curl, option, value) == CURLE_OK
    SET(CURLOPT_URL, delivery->url);
    SET(CURLOPT_PROTOCOLS_STR, options->allow_private ? "http,https" : "https");
    SET(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_PROXY, ""); /* not the environment's */
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_QUICK_EXIT, 1L); /* no wait for a resolver when the server stops */
    SET(CURLOPT_FRESH_CONNECT, 1L);
    SET(CURLOPT_FORBID_REUSE, 1L);
    SET(CURLOPT_DNS_CACHE_TIMEOUT, 0L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    SET(CURLOPT_TIMEOUT_MS, (long)options->timeout_ms);
    SET(CURLOPT_CONNECTTIMEOUT_MS,
        (long)(options->timeout_ms < CONNECT_MS ? options->timeout_ms : CONNECT_MS));
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_OPENSOCKETDATA, transfer);
    SET(CURLOPT_WRITEFUNCTION, discard);
    SET(CURLOPT_WRITEDATA, transfer);
    SET(CURLOPT_HEADERFUNCTION, discard);
    SET(CURLOPT_HEADERDATA, transfer);
    SET(CURLOPT_PRIVATE, transfer);
    SET(CURLOPT_HTTPHEADER, transfer->headers);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)delivery->body.len);
    SET(CURLOPT_POSTFIELDS, transfer->body);
#undef SET
    return good;
}

static struct curl_slist *build_headers(const struct begun_delivery *delivery)
{
    const int64_t now_s = clock_real_ms() / 1000;
    char signature[MESSAGE_SIGNATURE_CHARS + 1], secret[MESSAGE_SECRET_CHARS + 1];
    struct curl_slist *list = NULL;
    bool good = delivery->secret.len == MESSAGE_SECRET_BYTES;

    if (!good)
        return NULL;
    message_format_secret((const unsigned char *)delivery->secret.data, secret);
    message_sign(str_from_cstr(secret), delivery->id, now_s, delivery->body, signature);
    explicit_bzero(secret, sizeof secret);
    good = add_header(&list, "Content-Type: application/json") &&
           add_header(&list, "User-Agent: daybreakd/%s", build_id()) &&
           add_header(&list, "Accept:") && add_header(&list, "Expect:") &&
           add_header(&list, "Daybreak-Kind: %s", delivery->kind) &&
           add_header(&list, "Daybreak-Delivery: %" PRId64, delivery->id) &&
           add_header(&list, "Daybreak-Try: %" PRId64, delivery->tries) &&
           add_header(&list, "Daybreak-Timestamp: %" PRId64, now_s) &&
           add_header(&list, "Daybreak-Signature: %s", signature);
    if (good)
        return list;
    curl_slist_free_all(list);
    return NULL;
}

static bool add_header(struct curl_slist **list, const char *format, ...)
{
    struct curl_slist *longer;
    char line[256];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof line)
        return false;
    longer = curl_slist_append(*list, line);
    if (longer != NULL)
        *list = longer;
    return longer != NULL;
}

/* The one place where a connection begins: what the name resolved to is seen here and nowhere before, so that an
 * answer of the name server that changes between a check and its use changes nothing. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct transfer *transfer = context;
    const char *special = address_find_special(&address->addr, address->addrlen);

    if (purpose != CURLSOCKTYPE_IPCXN)
        return CURL_SOCKET_BAD;
    if (special != NULL && !transfer->sender->options.allow_private) {
        transfer->special = special;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* libcurl's type, without const. NOLINTNEXTLINE(readability-non-const-parameter) */
static size_t discard(char *data, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;

    (void)data;
    transfer->read_bytes += size * count;
    return transfer->read_bytes > ANSWER_BYTES_MAX ? 0 : size * count; /* 0 ends the transfer */
}

static void collect(struct sender *sender)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(sender->multi, &left)) != NULL) {
        const CURLcode code = message->data.result;
        struct transfer *transfer = NULL;

        if (message->msg != CURLMSG_DONE ||
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer) != CURLE_OK)
            continue;
        end_transfer(sender, transfer, code);
    }
}

static void end_transfer(struct sender *sender, struct transfer *transfer, CURLcode code)
{
    const int64_t took_ms = (clock_mono_ns() - transfer->begun_ns) / NS_PER_MS;
    uint64_t random;
    long http_status = 0;

    if (transfer->curl != NULL)
        (void)curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &http_status);
    judge(transfer, code, http_status);
    crypto_random(&random, sizeof random);
    transfer->end.http_status = (struct opt_i64){http_status > 0, http_status};
    transfer->end.error = transfer->error;
    transfer->end.delay_ms = message_backoff_ms(transfer->tries, random);
    transfer->state = TRANSFER_ENDED;
    free_parts(sender, transfer);
    log_event(LOG_INFO, "webhook_told",
              "delivery=%" PRId64 " try=%" PRId64 " http=%ld took_ms=%" PRId64 " fault=\"%s\"",
              transfer->end.delivery_id, transfer->tries, http_status, took_ms, transfer->error);
}

/* What is said of a try tells nothing of a network that its owner cannot see anyhow: no address, no banner. */
static void judge(struct transfer *transfer, CURLcode code, long http_status)
{
    struct end_delivery *end = &transfer->end;

    end->end = DELIVERY_LATER;
    /* An answer that is too long was cut by us: its status had come. */
    if ((code == CURLE_OK || (code == CURLE_WRITE_ERROR && http_status > 0))) {
        if (http_status >= 200 && http_status < 300)
            end->end = DELIVERY_DONE;
        else if (http_status == 410)
            end->end = DELIVERY_GONE;
        if (http_status >= 300 && http_status < 400)
            (void)snprintf(transfer->error, sizeof transfer->error,
                           "it answered %ld; redirects are not followed", http_status);
        else if (end->end != DELIVERY_DONE)
            (void)snprintf(transfer->error, sizeof transfer->error, "it answered %ld", http_status);
    } else if (transfer->special != NULL) {
        (void)snprintf(transfer->error, sizeof transfer->error, "its address is not public: %s",
                       transfer->special);
    } else {
        (void)snprintf(transfer->error, sizeof transfer->error, "no answer: %s",
                       curl_easy_strerror(code));
    }
}

static void free_parts(struct sender *sender, struct transfer *transfer)
{
    if (transfer->curl != NULL)
        (void)curl_multi_remove_handle(sender->multi, transfer->curl);
    curl_easy_cleanup(transfer->curl);
    curl_slist_free_all(transfer->headers);
    free(transfer->body);
    transfer->curl = NULL;
    transfer->headers = NULL;
    transfer->body = NULL;
}

/* false: the store did not take it; it is told again. */
static bool write_down(struct sender *sender)
{
    bool all = true;

    for (size_t i = 0; i < TRANSFERS_MAX; i++) {
        struct transfer *transfer = &sender->transfers[i];
        struct error err = {0};
        struct arena arena;

        if (transfer->state != TRANSFER_ENDED)
            continue;
        arena_init(&arena, 65536);
        if (store_run_verb(sender->options.store, verb_end_delivery, &transfer->end, &arena,
                           &err) == ST_OK) {
            transfer->state = TRANSFER_FREE;
            (void)curl_multi_wakeup(sender->multi); /* the next of that webhook may be due */
        } else {
            all = false;
            log_event(LOG_WARN, "webhook_unwritten", "delivery=%" PRId64 " status=%s",
                      transfer->end.delivery_id, status_name(err.status));
        }
        arena_fini(&arena);
    }
    return all;
}

/* What is still under way may have arrived; it comes again after the next start. */
static void give_back(struct sender *sender)
{
    for (size_t i = 0; i < TRANSFERS_MAX; i++) {
        struct transfer *transfer = &sender->transfers[i];

        if (transfer->state != TRANSFER_BUSY)
            continue;
        free_parts(sender, transfer);
        transfer->end.end = DELIVERY_INTERRUPTED;
        transfer->end.error = "the server stopped";
        transfer->state = TRANSFER_ENDED;
    }
    (void)write_down(sender);
}

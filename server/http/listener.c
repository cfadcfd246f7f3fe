/* server/http/listener.c: see listener.h. */
#include "server/http/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/crypto.h"
#include "common/log.h"
#include "server/http/exchange_internal.h"

enum { BACKLOG = 1024, CONNECTION_BYTES = 32768, SWEEP_MS = 1000 };

static enum status open_socket(struct listener *listener, struct error *err);
static enum status open_unix(struct listener *listener, const char *path, struct error *err);
static bool is_stale_socket(const struct sockaddr_un *address);
static enum status open_tcp(struct listener *listener, struct str host, struct str port,
                            struct error *err);
static enum status name_tcp(struct listener *listener, struct error *err);
static void on_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
                          enum MHD_ConnectionNotificationCode what);
static void add_connection(struct listener *listener, struct MHD_Connection *mhd,
                           void **socket_context);
static void drop_connection(struct listener *listener, struct connection *connection);
static void *run_pulse(void *arg);
static int64_t reap_connections(struct listener *listener, int64_t now_ns);
static void log_library(void *cls, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

enum status listener_create(const struct listener_options *options, struct listener **listener,
                            struct error *err)
{
    struct listener *made = calloc(1, sizeof *made);
    unsigned char random[4];
    pthread_condattr_t attributes;
    enum status status;

    if (made == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the listener");
    made->options = *options;
    made->fd = -1;
    if (made->options.header_ms == 0)
        made->options.header_ms = LISTENER_HEADER_MS;
    if (made->options.body_ms == 0)
        made->options.body_ms = LISTENER_BODY_MS;
    if (made->options.idle_ms == 0)
        made->options.idle_ms = LISTENER_IDLE_MS;
    crypto_random(random, sizeof random);
    str_format_hex(random, sizeof random, made->id_prefix);
    (void)pthread_mutex_init(&made->connections_lock, NULL);
    (void)pthread_mutex_init(&made->park_lock, NULL);
    (void)pthread_mutex_init(&made->stream_lock, NULL);
    (void)pthread_mutex_init(&made->pulse_lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&made->pulse_cond, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    status = rate_create(&options->limits, &made->rate, err);
    if (status == ST_OK)
        status = open_socket(made, err);
    if (status != ST_OK) {
        listener_destroy(made);
        return status;
    }
    *listener = made;
    return ST_OK;
}

enum status listener_start(struct listener *listener, struct error *err)
{
    const int workers = listener->options.workers;
    struct MHD_OptionItem pool[] = {{MHD_OPTION_END, 0, NULL}, {MHD_OPTION_END, 0, NULL}};

    if (workers > 1)
        pool[0] = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, workers, NULL};
    listener->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
        0, NULL, NULL, exchange_handle, listener, MHD_OPTION_EXTERNAL_LOGGER, log_library, listener,
        MHD_OPTION_LISTEN_SOCKET, listener->fd, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)LISTENER_CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)LISTENER_SEND_S, MHD_OPTION_NOTIFY_CONNECTION, on_connection, listener,
        MHD_OPTION_URI_LOG_CALLBACK, exchange_note_target, listener, MHD_OPTION_NOTIFY_COMPLETED,
        exchange_complete, listener, MHD_OPTION_ARRAY, pool, MHD_OPTION_END);
    if (listener->daemon == NULL)
        return error_set(err, ST_IO, NULL, "the HTTP library could not start");
    if (pthread_create(&listener->pulse, NULL, run_pulse, listener) != 0)
        return error_set(err, ST_NO_MEMORY, NULL, "no further thread could be started");
    listener->has_pulse = true;
    return ST_OK;
}

const char *listener_address(const struct listener *listener)
{
    return listener->address;
}

void listener_quiesce(struct listener *listener, int64_t wait_ms)
{
    const int64_t until_ns = clock_mono_ns() + wait_ms * (NS_PER_S / 1000);
    const struct timespec pause = {0, 2000000};

    atomic_store(&listener->stopping, true);
    if (listener->daemon != NULL && !listener->is_quiet) {
        (void)MHD_quiesce_daemon(listener->daemon); /* gives our socket back */
        listener->is_quiet = true;
    }
    if (listener->fd >= 0)
        (void)close(listener->fd);
    listener->fd = -1;
    park_wake_all(listener);
    stream_end_all(listener);
    while (atomic_load(&listener->active) > 0 && clock_mono_ns() < until_ns)
        (void)nanosleep(&pause, NULL); /* nothing signals the last reply's end */
}

void listener_destroy(struct listener *listener)
{
    if (listener == NULL)
        return;
    if (listener->has_pulse) {
        (void)pthread_mutex_lock(&listener->pulse_lock);
        listener->pulse_stop = true;
        (void)pthread_cond_signal(&listener->pulse_cond);
        (void)pthread_mutex_unlock(&listener->pulse_lock);
        (void)pthread_join(listener->pulse, NULL);
    }
    if (listener->daemon != NULL)
        MHD_stop_daemon(listener->daemon);
    if (listener->fd >= 0)
        (void)close(listener->fd);
    if (listener->unix_path[0] != '\0')
        (void)unlink(listener->unix_path);
    (void)pthread_cond_destroy(&listener->pulse_cond);
    (void)pthread_mutex_destroy(&listener->pulse_lock);
    (void)pthread_mutex_destroy(&listener->stream_lock);
    (void)pthread_mutex_destroy(&listener->park_lock);
    (void)pthread_mutex_destroy(&listener->connections_lock);
    rate_destroy(listener->rate);
    free(listener);
}

void listener_wake_topic(struct listener *listener, struct str topic)
{
    park_wake_topic(listener, topic);
    stream_wake_topic(listener, topic);
}

static enum status open_socket(struct listener *listener, struct error *err)
{
    const struct str address = str_from_cstr(listener->options.listen);
    size_t colon = 0;
    struct str host;

    if (str_starts_with(address, STR("unix:")))
        return open_unix(listener, listener->options.listen + 5, err);
    for (size_t i = address.len; i > 0 && colon == 0; i--)
        if (address.data[i - 1] == ':')
            colon = i - 1;
    host = str_slice(address, 0, colon);
    if (host.len > 2 && host.data[0] == '[' && host.data[host.len - 1] == ']')
        host = str_slice(host, 1, host.len - 1);
    if (colon == 0 || host.len == 0 || colon + 1 == address.len)
        return error_set(err, ST_USAGE, "listen",
                         "--listen needs HOST:PORT or unix:PATH, not \"%.100s\"", address.data);
    return open_tcp(listener, host, str_slice(address, colon + 1, address.len), err);
}

static enum status open_unix(struct listener *listener, const char *path, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (path[0] == '\0' || strlen(path) >= sizeof address.sun_path)
        return error_set(err, ST_USAGE, "listen", "the path of a socket has 1 to %zu bytes",
                         sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path));
    if (is_stale_socket(&address))
        (void)unlink(path);
    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0 ||
        bind(listener->fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        chmod(path, 0660) != 0 || listen(listener->fd, BACKLOG) != 0)
        return error_set(err, ST_IO, "listen", "cannot listen on %.90s: %s", path,
                         strerrordesc_np(errno));
    memcpy(listener->unix_path, path, strlen(path));
    (void)snprintf(listener->address, sizeof listener->address, "unix:%s", path);
    return ST_OK;
}

/* A socket file that nobody listens on was left by a server that was killed. */
static bool is_stale_socket(const struct sockaddr_un *address)
{
    struct stat info;
    bool stale;
    int fd;

    if (lstat(address->sun_path, &info) != 0 || !S_ISSOCK(info.st_mode))
        return false;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    stale = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
            errno == ECONNREFUSED;
    if (fd >= 0)
        (void)close(fd);
    return stale;
}

static enum status open_tcp(struct listener *listener, struct str host, struct str port,
                            struct error *err)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char host_text[128], port_text[8];
    const int on = 1;
    uint64_t number;
    enum status status = ST_OK;

    if (host.len >= sizeof host_text || !str_parse_u64(port, &number) || number > 65535)
        return error_set(err, ST_USAGE, "listen", "\"%.*s\" is not a port", STR_ARG(port));
    (void)snprintf(host_text, sizeof host_text, "%.*s", STR_ARG(host));
    (void)snprintf(port_text, sizeof port_text, "%u", (unsigned)number);
    if (getaddrinfo(host_text, port_text, &hints, &found) != 0)
        return error_set(err, ST_IO, "listen", "there is no host \"%s\"", host_text);
    listener->fd =
        socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, found->ai_protocol);
    if (listener->fd < 0 ||
        setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(listener->fd, found->ai_addr, found->ai_addrlen) != 0 ||
        listen(listener->fd, BACKLOG) != 0)
        status = error_set(err, ST_IO, "listen", "cannot listen on %s:%s: %s", host_text, port_text,
                           strerrordesc_np(errno));
    freeaddrinfo(found);
    return status == ST_OK ? name_tcp(listener, err) : status;
}

static enum status name_tcp(struct listener *listener, struct error *err)
{
    struct sockaddr_storage bound = {0};
    socklen_t bytes = sizeof bound;
    char host[64], port[8];
    const bool ok = getsockname(listener->fd, (struct sockaddr *)&bound, &bytes) == 0 &&
                    getnameinfo((const struct sockaddr *)&bound, bytes, host, sizeof host, port,
                                sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0;

    if (!ok)
        return error_set(err, ST_IO, "listen", "the socket has no name");
    (void)snprintf(listener->address, sizeof listener->address,
                   bound.ss_family == AF_INET6 ? "http://[%s]:%s" : "http://%s:%s", host, port);
    return ST_OK;
}

static void on_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        add_connection(cls, mhd, socket_context);
    else if (*socket_context != NULL)
        drop_connection(cls, *socket_context);
}

static void add_connection(struct listener *listener, struct MHD_Connection *mhd,
                           void **socket_context)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct connection *connection = calloc(1, sizeof *connection);
    const unsigned timeout_ms = LISTENER_SEND_S * 1000;
    const int on = 1;

    if (info == NULL || connection == NULL) {
        free(connection); /* without a record it has the library's deadlines alone */
        return;
    }
    connection->fd = info->connect_fd;
    info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    client_address_from_socket(info == NULL ? NULL : info->client_addr, &connection->peer);
    atomic_init(&connection->deadline_ns,
                clock_mono_ns() + listener->options.header_ms * (NS_PER_S / 1000));
    if (listener->unix_path[0] == '\0') {
        (void)setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        /* A peer that vanished without a word is found by the heartbeats that it does not acknowledge. */
        (void)setsockopt(connection->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms,
                         sizeof timeout_ms);
    }
    (void)pthread_mutex_lock(&listener->connections_lock);
    connection->next = listener->connections;
    if (connection->next != NULL)
        connection->next->previous = connection;
    listener->connections = connection;
    (void)pthread_mutex_unlock(&listener->connections_lock);
    *socket_context = connection;
}

/* The library closes the socket after this: while the lock is held, its number is still ours. */
static void drop_connection(struct listener *listener, struct connection *connection)
{
    (void)pthread_mutex_lock(&listener->connections_lock);
    if (connection->previous != NULL)
        connection->previous->next = connection->next;
    else
        listener->connections = connection->next;
    if (connection->next != NULL)
        connection->next->previous = connection->previous;
    (void)pthread_mutex_unlock(&listener->connections_lock);
    free(connection);
}

static void *run_pulse(void *arg)
{
    struct listener *listener = arg;

    (void)pthread_mutex_lock(&listener->pulse_lock);
    while (!listener->pulse_stop) {
        const int64_t now_ns = clock_mono_ns();
        int64_t until_ns = now_ns + SWEEP_MS * (NS_PER_S / 1000), next_ns[3];
        struct timespec until;

        (void)pthread_mutex_unlock(&listener->pulse_lock);
        next_ns[0] = reap_connections(listener, now_ns);
        next_ns[1] = park_expire(listener, now_ns);
        next_ns[2] = stream_beat(listener, now_ns);
        for (size_t i = 0; i < ARRAY_LEN(next_ns); i++)
            if (next_ns[i] != 0 && next_ns[i] < until_ns)
                until_ns = next_ns[i];
        until = (struct timespec){until_ns / NS_PER_S, until_ns % NS_PER_S};
        (void)pthread_mutex_lock(&listener->pulse_lock);
        if (!listener->pulse_stop)
            (void)pthread_cond_timedwait(&listener->pulse_cond, &listener->pulse_lock, &until);
    }
    (void)pthread_mutex_unlock(&listener->pulse_lock);
    return NULL;
}

static int64_t reap_connections(struct listener *listener, int64_t now_ns)
{
    int64_t next_ns = 0;

    (void)pthread_mutex_lock(&listener->connections_lock);
    for (struct connection *c = listener->connections; c != NULL; c = c->next) {
        const int64_t deadline_ns = atomic_load(&c->deadline_ns);

        if (deadline_ns == 0)
            continue;
        if (deadline_ns <= now_ns) {
            atomic_store(&c->deadline_ns, 0);
            (void)shutdown(c->fd, SHUT_RDWR);
        } else if (next_ns == 0 || deadline_ns < next_ns) {
            next_ns = deadline_ns;
        }
    }
    (void)pthread_mutex_unlock(&listener->connections_lock);
    return next_ns;
}

/* Of interest to whoever debugs the library: a client that breaks HTTP is no fault of ours. */
static void log_library(void *cls, const char *format, va_list args)
{
    char text[256], quoted[300];

    (void)cls;
    (void)vsnprintf(text, sizeof text, format, args);
    log_event(LOG_DEBUG, "http_library", "text=%s", log_quote(text, quoted, sizeof quoted));
}

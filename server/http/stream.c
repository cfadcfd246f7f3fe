/* server/http/stream.c: Server-Sent Events. A stream's connection sleeps (suspended) while there is nothing to
 * send; a wake between "nothing there" and the suspension is kept in `woken`, so that none is lost.
 * Lock order: listener's stream_lock, then a stream's lock, then whatever the library takes to resume. */
#include "common/clock.h"
#include "server/http/exchange_internal.h"

enum { STREAM_BLOCK_BYTES = 16384, STREAM_PENDING_BYTES_MAX = 1 << 20 };

static ssize_t read_stream(void *cls, uint64_t at, char *out, size_t bytes_max);
static bool fill_pending(struct stream *stream);
static void free_stream(void *cls);
static bool enlist(struct stream *stream);
static void wake(struct stream *stream);

struct MHD_Response *stream_create(struct exchange *exchange)
{
    const struct stream_source *source = &exchange->response.stream;
    struct stream *stream = calloc(1, sizeof *stream);
    struct MHD_Response *reply = NULL;

    exchange->response.has_stream = false; /* the source is the stream's now */
    if (stream == NULL ||
        (stream->topics = calloc(source->topic_count + 1, sizeof *stream->topics)) == NULL) {
        free(stream);
        source->destroy(source->state);
        return NULL;
    }
    for (size_t i = 0; i < source->topic_count; i++)
        (void)snprintf(stream->topics[i], TOPIC_BYTES_MAX, "%s", source->topics[i]);
    stream->topic_count = source->topic_count;
    stream->listener = exchange->listener;
    stream->mhd = exchange->mhd;
    stream->source = *source;
    stream->beat_ns = clock_mono_ns() + STREAM_HEARTBEAT_MS * (NS_PER_S / 1000);
    buf_init(&stream->pending, STREAM_PENDING_BYTES_MAX);
    buf_append_cstr(&stream->pending,
                    "retry: 2000\n\n"); /* brings the headers to the client, too */
    (void)pthread_mutex_init(&stream->lock, NULL);
    if (enlist(stream))
        reply = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK_BYTES, read_stream,
                                                  stream, free_stream);
    if (reply == NULL)
        free_stream(stream);
    return reply;
}

bool request_stream_has_room(const struct request *request)
{
    struct listener *listener = exchange_of(request)->listener;
    bool room;

    (void)pthread_mutex_lock(&listener->stream_lock);
    room = listener->stream_count < LISTENER_STREAMS_MAX && !atomic_load(&listener->stopping);
    (void)pthread_mutex_unlock(&listener->stream_lock);
    return room;
}

void stream_wake_topic(struct listener *listener, struct str topic)
{
    (void)pthread_mutex_lock(&listener->stream_lock);
    for (struct stream *stream = listener->streams; stream != NULL; stream = stream->next)
        for (size_t i = 0; i < stream->topic_count; i++)
            if (str_eq_cstr(topic, stream->topics[i])) {
                wake(stream);
                break;
            }
    (void)pthread_mutex_unlock(&listener->stream_lock);
}

void stream_end_all(struct listener *listener)
{
    (void)pthread_mutex_lock(&listener->stream_lock);
    for (struct stream *stream = listener->streams; stream != NULL; stream = stream->next)
        wake(stream); /* listener->stopping is set: read_stream() ends it */
    (void)pthread_mutex_unlock(&listener->stream_lock);
}

int64_t stream_beat(struct listener *listener, int64_t now_ns)
{
    int64_t next_ns = 0;

    (void)pthread_mutex_lock(&listener->stream_lock);
    for (struct stream *stream = listener->streams; stream != NULL; stream = stream->next) {
        if (stream->beat_ns <= now_ns) {
            stream->beat_ns = now_ns + STREAM_HEARTBEAT_MS * (NS_PER_S / 1000);
            (void)pthread_mutex_lock(&stream->lock);
            stream->beat = true;
            (void)pthread_mutex_unlock(&stream->lock);
            wake(stream);
        }
        if (next_ns == 0 || stream->beat_ns < next_ns)
            next_ns = stream->beat_ns;
    }
    (void)pthread_mutex_unlock(&listener->stream_lock);
    return next_ns;
}

/* The library's call for more bytes, on the worker. 0 bytes only after the connection was suspended: anything
 * else would have it ask again without end. */
static ssize_t read_stream(void *cls, uint64_t at, char *out, size_t bytes_max)
{
    struct stream *stream = cls;

    (void)at;
    for (;;) {
        const size_t left = stream->pending.len - stream->sent;

        if (left > 0) {
            const size_t bytes = left < bytes_max ? left : bytes_max;

            memcpy(out, stream->pending.data + stream->sent, bytes);
            stream->sent += bytes;
            return (ssize_t)bytes;
        }
        buf_clear(&stream->pending);
        stream->sent = 0;
        if (atomic_load(&stream->listener->stopping) || !fill_pending(stream))
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (stream->pending.len > 0)
            continue;
        (void)pthread_mutex_lock(&stream->lock);
        if (!stream->woken) {
            stream->asleep = true;
            MHD_suspend_connection(stream->mhd);
            (void)pthread_mutex_unlock(&stream->lock);
            return 0;
        }
        stream->woken = false;
        (void)pthread_mutex_unlock(&stream->lock);
    }
}

static bool fill_pending(struct stream *stream)
{
    bool beat;

    (void)pthread_mutex_lock(&stream->lock);
    beat = stream->beat;
    stream->beat = false;
    stream->woken = false;
    (void)pthread_mutex_unlock(&stream->lock);
    if (beat)
        buf_append_cstr(&stream->pending, ": beat\n\n");
    return stream->source.fill(stream->source.state, &stream->pending) && !stream->pending.failed;
}

/* Also the library's callback when the reply is done with. */
static void free_stream(void *cls)
{
    struct stream *stream = cls;
    struct listener *listener = stream->listener;

    (void)pthread_mutex_lock(&listener->stream_lock);
    if (stream->previous != NULL || listener->streams == stream) {
        if (stream->previous != NULL)
            stream->previous->next = stream->next;
        else
            listener->streams = stream->next;
        if (stream->next != NULL)
            stream->next->previous = stream->previous;
        listener->stream_count--;
    }
    (void)pthread_mutex_unlock(&listener->stream_lock);
    stream->source.destroy(stream->source.state);
    (void)pthread_mutex_destroy(&stream->lock);
    buf_fini(&stream->pending);
    free(stream->topics);
    free(stream);
}

static bool enlist(struct stream *stream)
{
    struct listener *listener = stream->listener;
    bool room;

    (void)pthread_mutex_lock(&listener->stream_lock);
    room = listener->stream_count < LISTENER_STREAMS_MAX;
    if (room) {
        stream->next = listener->streams;
        if (stream->next != NULL)
            stream->next->previous = stream;
        listener->streams = stream;
        listener->stream_count++;
    }
    (void)pthread_mutex_unlock(&listener->stream_lock);
    return room;
}

static void wake(struct stream *stream)
{
    (void)pthread_mutex_lock(&stream->lock);
    stream->woken = true;
    if (stream->asleep) {
        stream->asleep = false;
        MHD_resume_connection(stream->mhd);
    }
    (void)pthread_mutex_unlock(&stream->lock);
}

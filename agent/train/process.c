/* agent/train/process.c: a child process as its parent sees it (see process.h). */
#include "agent/train/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

#define READ_BYTES       4096
#define PIPE_FD_MIN      10 /* clear of 0 to 3, which the child's ends become */
#define LINE_BYTES_MAX   65536
#define WAITING_LINE_MAX 65536 /* then the reader waits, and with it the child */

extern char **environ;

struct heard_line {
    struct heard_line *next;
    int64_t mono_ns, real_ms;
    size_t len;
    char text[];
};

struct process {
    pid_t pid;
    int tell_fd, hear_fd;
    pthread_t reader;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct heard_line *first, **last; /* guarded by lock */
    size_t waiting;                   /* guarded by lock */
    bool ended;                       /* guarded by lock: end of file, or a line too long */
    bool over;                        /* guarded by lock: nobody hears any more */
    struct heard_line *current;       /* the one handed out */
};

static void *read_lines(void *argument);

/* A pair whose ends are both closed on exec; the spawn actions open again what the child needs. Both lie above the
 * numbers that those actions write, whatever was open before: else the one would close the other's source. */
static enum status open_pipe(int ends[2], struct error *err)
{
    int low[2];
    enum status status = ST_OK;

    if (pipe2(low, O_CLOEXEC) != 0)
        return error_set(err, ST_IO, "child", "cannot make a pipe: %s", strerrordesc_np(errno));
    for (int i = 0; i < 2 && status == ST_OK; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, PIPE_FD_MIN);
        if (ends[i] < 0)
            status =
                error_set(err, ST_IO, "child", "cannot make a pipe: %s", strerrordesc_np(errno));
    }
    close(low[0]);
    close(low[1]);
    return status;
}

static void close_both(int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

static enum status spawn(const char **argv, int stdin_fd, int say_fd, pid_t *pid, struct error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    int code;

    argv[0] = "/proc/self/exe";
    (void)sigemptyset(&none);
    (void)sigemptyset(&defaults);
    (void)sigaddset(&defaults, SIGINT);
    (void)sigaddset(&defaults, SIGTERM);
    (void)sigaddset(&defaults, SIGPIPE);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return error_set(err, ST_NO_MEMORY, "child", "no memory to start a process");
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return error_set(err, ST_NO_MEMORY, "child", "no memory to start a process");
    }
    /* Results of the child belong on the pipe alone: what it prints goes with the events to stderr. */
    code = posix_spawn_file_actions_adddup2(&actions, say_fd, PROCESS_SAY_FD);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(&actions, stdin_fd, STDIN_FILENO);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    if (code == 0)
        code = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                         POSIX_SPAWN_SETSIGDEF);
    if (code == 0)
        code = posix_spawnattr_setsigmask(&attributes, &none);
    if (code == 0)
        code = posix_spawnattr_setsigdefault(&attributes, &defaults);
    if (code == 0)
        code = posix_spawn(
            pid, argv[0], &actions, &attributes,
            (char *const *)(uintptr_t)argv, /* NOLINT(performance-no-int-to-ptr): sheds const */
            environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0)
        return error_set(err, ST_IO, "child", "cannot start the training process: %s",
                         strerrordesc_np(code));
    return ST_OK;
}

static void init_queue(struct process *process)
{
    pthread_condattr_t attributes;

    process->last = &process->first;
    (void)pthread_mutex_init(&process->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&process->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

/* The reader must not be the one that signals interrupt: the main thread polls their flags. */
static int start_reader(struct process *process)
{
    sigset_t all, before;
    int code;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(&process->reader, NULL, read_lines, process);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

enum status process_start(const char **argv, struct process **process, struct error *err)
{
    int tell[2] = {-1, -1}, hear[2] = {-1, -1};
    struct process *started = calloc(1, sizeof *started);
    enum status status;

    if (started == NULL)
        return error_set(err, ST_NO_MEMORY, "child", "no memory to start a process");
    status = open_pipe(tell, err);
    if (status == ST_OK)
        status = open_pipe(hear, err);
    if (status == ST_OK)
        status = spawn(argv, tell[0], hear[1], &started->pid, err);
    if (status != ST_OK) {
        close_both(tell);
        close_both(hear);
        free(started);
        return status;
    }
    close(tell[0]);
    close(hear[1]);
    started->tell_fd = tell[1];
    started->hear_fd = hear[0];
    init_queue(started);
    if (start_reader(started) != 0) {
        (void)kill(-started->pid, SIGKILL);
        (void)waitpid(started->pid, NULL, 0);
        close(started->tell_fd);
        close(started->hear_fd);
        free(started);
        return error_set(err, ST_NO_MEMORY, "child", "cannot start a thread");
    }
    *process = started;
    return ST_OK;
}

enum status process_tell(struct process *process, struct str text, struct error *err)
{
    while (text.len > 0) {
        const ssize_t done = write(process->tell_fd, text.data, text.len);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return error_set(err, ST_IO, "child", "the training process does not listen: %s",
                             strerrordesc_np(errno));
        text = str_slice(text, (size_t)done, text.len);
    }
    return ST_OK;
}

enum process_heard process_hear(struct process *process, int timeout_ms, struct process_line *line)
{
    const int64_t until_ns = clock_mono_ns() + timeout_ms * (NS_PER_S / 1000);
    const struct timespec until = {until_ns / NS_PER_S, (long)(until_ns % NS_PER_S)};
    enum process_heard heard = PROCESS_NOTHING;
    int code = 0;

    free(process->current);
    process->current = NULL;
    (void)pthread_mutex_lock(&process->lock);
    while (process->first == NULL && !process->ended && code == 0)
        code = pthread_cond_timedwait(&process->changed, &process->lock, &until);
    if (process->first != NULL) {
        process->current = process->first;
        process->first = process->current->next;
        if (process->first == NULL)
            process->last = &process->first;
        process->waiting--;
        (void)pthread_cond_broadcast(&process->changed);
        heard = PROCESS_LINE;
    } else if (process->ended) {
        heard = PROCESS_EOF;
    }
    (void)pthread_mutex_unlock(&process->lock);
    if (heard == PROCESS_LINE)
        *line = (struct process_line){process->current->mono_ns,
                                      process->current->real_ms,
                                      {process->current->text, process->current->len}};
    return heard;
}

void process_kill(struct process *process)
{
    (void)kill(-process->pid, SIGKILL);
}

void process_end(struct process *process, char how[96], bool *clean)
{
    int status = 0;

    /* End of file on its input ends a child that is alive; what is left of its session is killed. */
    close(process->tell_fd);
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
        ;
    (void)kill(-process->pid, SIGKILL);
    (void)pthread_mutex_lock(&process->lock);
    process->over = true; /* lets a reader that waits for room go on to the end of file */
    (void)pthread_cond_broadcast(&process->changed);
    (void)pthread_mutex_unlock(&process->lock);
    (void)pthread_join(process->reader, NULL);
    close(process->hear_fd);
    *clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (WIFSIGNALED(status))
        (void)snprintf(how, 96, "signal %d", WTERMSIG(status));
    else
        (void)snprintf(how, 96, "code %d", WEXITSTATUS(status));
    while (process->first != NULL) {
        struct heard_line *next = process->first->next;

        free(process->first);
        process->first = next;
    }
    free(process->current);
    (void)pthread_cond_destroy(&process->changed);
    (void)pthread_mutex_destroy(&process->lock);
    free(process);
}

static void set_ended(struct process *process)
{
    (void)pthread_mutex_lock(&process->lock);
    process->ended = true;
    (void)pthread_cond_broadcast(&process->changed);
    (void)pthread_mutex_unlock(&process->lock);
}

static bool push_line(struct process *process, const char *text, size_t len, int64_t mono_ns)
{
    struct heard_line *line = malloc(sizeof *line + len);

    if (line == NULL)
        return false;
    line->next = NULL;
    line->mono_ns = mono_ns;
    line->real_ms = clock_real_ms();
    line->len = len;
    memcpy(line->text, text, len);
    (void)pthread_mutex_lock(&process->lock);
    while (process->waiting >= WAITING_LINE_MAX && !process->over)
        (void)pthread_cond_wait(&process->changed, &process->lock);
    *process->last = line;
    process->last = &line->next;
    process->waiting++;
    (void)pthread_cond_broadcast(&process->changed);
    (void)pthread_mutex_unlock(&process->lock);
    return true;
}

static void *read_lines(void *argument)
{
    struct process *process = argument;
    char *pending = malloc(LINE_BYTES_MAX);
    size_t len = 0;

    while (pending != NULL && len < LINE_BYTES_MAX) {
        const size_t room = LINE_BYTES_MAX - len < READ_BYTES ? LINE_BYTES_MAX - len : READ_BYTES;
        const ssize_t got = read(process->hear_fd, pending + len, room);
        const int64_t now_ns = clock_mono_ns();
        size_t begin = 0;

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        for (size_t i = len; i < len + (size_t)got; i++)
            if (pending[i] == '\n') {
                if (!push_line(process, pending + begin, i - begin, now_ns))
                    goto done;
                begin = i + 1;
            }
        len += (size_t)got;
        memmove(pending, pending + begin, len - begin);
        len -= begin;
    }
done:
    free(pending);
    set_ended(process);
    return NULL;
}

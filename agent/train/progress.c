/* agent/train/progress.c: how a training goes (see progress.h). */
#include "agent/train/progress.h"

#include <inttypes.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/str.h"

#define CLEAR_LINE "\r\033[K"

void progress_init(struct progress *progress, const char *label)
{
    *progress = (struct progress){.terminal = isatty(STDERR_FILENO) == 1, .accuracy = -1.0};
    (void)snprintf(progress->label, sizeof progress->label, "%s", label);
}

void progress_start(struct progress *progress)
{
    progress->start_ns = clock_mono_ns();
}

static double elapsed_s(const struct progress *progress)
{
    return progress->start_ns == 0
               ? 0.0
               : (double)(clock_mono_ns() - progress->start_ns) / (double)NS_PER_S;
}

static void write_line(struct progress *progress, const char *what)
{
    char accuracy[32] = "";

    if (progress->accuracy >= 0.0)
        (void)snprintf(accuracy, sizeof accuracy, "  %.2f %%", progress->accuracy);
    (void)fprintf(stderr, CLEAR_LINE "%s  %s%s  %.0f s", progress->label, what, accuracy,
                  elapsed_s(progress));
    (void)fflush(stderr);
    progress->line_open = true;
}

void progress_phase(struct progress *progress, const char *phase)
{
    if (progress->terminal)
        write_line(progress, phase);
    else
        log_event(LOG_DEBUG, "phase", "name=%s", phase);
}

void progress_step(struct progress *progress, int64_t step, int64_t step_count)
{
    char what[64];

    if (!progress->terminal)
        return;
    (void)snprintf(what, sizeof what, "step %" PRId64 " of %" PRId64, step, step_count);
    write_line(progress, what);
}

void progress_eval(struct progress *progress, const struct event *event, bool crossing)
{
    const double percent = 100.0 * (double)event->correct / (double)event->total;
    const double official_s = (double)event->official_ns / (double)NS_PER_S;
    const double wall_s = (double)event->wall_ns / (double)NS_PER_S;
    char loss[32] = "";

    progress->accuracy = percent;
    if (event->has_loss)
        (void)snprintf(loss, sizeof loss, "%.4f", event->loss);
    if (!progress->terminal) {
        log_event(LOG_INFO, "eval",
                  "epoch=%.4g correct=%" PRId64 " total=%" PRId64
                  " percent=%.2f loss=%s official_s=%.3f wall_s=%.3f crossing=%s",
                  event->epoch, event->correct, event->total, percent, loss, official_s, wall_s,
                  crossing ? "yes" : "no");
        return;
    }
    progress_end(progress);
    (void)fprintf(stderr, "%s  epoch %-5.4g  %.2f %%  loss %s  %.1f s%s\n", progress->label,
                  event->epoch, percent, loss, official_s, crossing ? "  target reached" : "");
}

void progress_end(struct progress *progress)
{
    if (progress->line_open)
        (void)fputs(CLEAR_LINE, stderr);
    progress->line_open = false;
}

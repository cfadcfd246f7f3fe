/* agent/profile/figures.c: see figures.h. */
#include "agent/profile/figures.h"

#include <stdio.h>
#include <stdlib.h>

#define JSON_BYTES_MAX 1048576

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

void figures_sort(double *numbers, int64_t count)
{
    qsort(numbers, (size_t)count, sizeof *numbers, compare_doubles);
}

double figures_median(const double *sorted, int64_t count)
{
    return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2.0;
}

double figures_spread(const double *sorted, int64_t count, double median)
{
    return (sorted[count - 1] - sorted[0]) / median;
}

enum status figures_write_json(json_t *root, const char *path, struct error *err)
{
    struct buf text = {0};
    FILE *file = NULL;
    enum status status;

    buf_init(&text, JSON_BYTES_MAX);
    if (root == NULL)
        return error_set(err, ST_NO_MEMORY, NULL, "no memory for the JSON text");
    status = json_write(root, &text, err);
    if (status == ST_OK) {
        file = fopen(path, "w");
        if (file == NULL || fprintf(file, "%s\n", text.data) < 0 || fclose(file) != 0)
            status = error_set(err, ST_IO, "json", "cannot write %s", path);
    }
    buf_fini(&text);
    json_decref(root);
    return status;
}

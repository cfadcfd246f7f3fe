/* agent/workload/workload.c: the list of workloads (see workload.h). */
#include "agent/workload/workload.h"

#include <stdlib.h>
#include <string.h>

#include "agent/workload/cifar10.h"
#include "agent/workload/synthetic.h"

static const struct workload_ops *const workloads[] = {&workload_cifar10, &workload_cifar10_tiny,
                                                       &workload_synthetic};

const char *workload_exposure_name(enum workload_exposure exposure)
{
    static const char *const names[] = {"trained", "tuned", "unseen"};

    return names[exposure];
}

static bool is_shown(const struct workload_ops *ops)
{
    const char *test = getenv("DAYBREAK_TEST_WORKLOAD");

    return !ops->hidden || (test != NULL && strcmp(test, "1") == 0);
}

const struct workload_ops *workload_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(workloads); i++)
        if (strcmp(workloads[i]->name, name) == 0 && is_shown(workloads[i]))
            return workloads[i];
    return NULL;
}

const struct workload_ops *workload_at(size_t index)
{
    for (size_t i = 0; i < ARRAY_LEN(workloads); i++)
        if (!workloads[i]->hidden && index-- == 0)
            return workloads[i];
    return NULL;
}

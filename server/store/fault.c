/* server/store/fault.c: kill points for fault tests (store_internal.h). They are in every build, so that what is
 * tested is what runs. */
#include <signal.h>

#include "server/store/store_internal.h"

void fault_init(struct fault *fault, const char *setting)
{
    struct str rest = str_from_cstr(setting), name;
    bool more = true;
    int64_t count = 1;

    *fault = (struct fault){0};
    if (rest.len == 0 || !str_split_next(&rest, &more, ':', &name) ||
        name.len >= sizeof fault->name || (more && (!str_parse_i64(rest, &count) || count < 1)))
        return;
    memcpy(fault->name, name.data, name.len);
    fault->left = count;
}

void fault_reach(struct fault *fault, const char *name)
{
    if (fault->left == 0 || strcmp(fault->name, name) != 0)
        return;
    if (--fault->left == 0)
        (void)raise(SIGKILL);
}

/* common/build.c: see build.h. */
#include "common/build.h"

#ifndef BUILD_COMMIT
#define BUILD_COMMIT "unknown"
#endif

const char *build_id(void)
{
    return DAYBREAK_VERSION "+" BUILD_COMMIT;
}

const char *build_compiler(void)
{
#ifdef __clang__
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

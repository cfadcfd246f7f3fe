/* common/build.h: which build this is. The values come from the Makefile (git commit, compiler). */
#ifndef DAYBREAK_COMMON_BUILD_H
#define DAYBREAK_COMMON_BUILD_H

#define DAYBREAK_VERSION  "0.1.0"
#define DAYBREAK_PROTOCOL 1 /* of the agent's protocol; a server answers 426 to older agents */

/* "0.1.0+1a2b3c4d5e6f" or "...-dirty"; "0.1.0+unknown" outside a checkout. */
const char *build_id(void);
const char *build_compiler(void); /* "gcc 12.2.0" */

#endif

/* common/banned.h: turns calls that no code here may make into compile errors.
 * It includes the headers that declare them first, so that their own declarations stay whole; every
 * module gets it through common/str.h. */
#ifndef DAYBREAK_COMMON_BANNED_H
#define DAYBREAK_COMMON_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BANNED(function) use_of_banned_function_##function

/* No bound on what they write. */
#undef strcpy
#define strcpy(a, b) BANNED(strcpy)
#undef strcat
#define strcat(a, b) BANNED(strcat)
#undef strncpy
#define strncpy(a, b, n) BANNED(strncpy)
#undef strncat
#define strncat(a, b, n) BANNED(strncat)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf)

/* No report of bad input. */
#undef atoi
#define atoi(a) BANNED(atoi)
#undef atol
#define atol(a) BANNED(atol)
#undef atof
#define atof(a) BANNED(atof)
#undef sscanf
#define sscanf(...) BANNED(sscanf)

/* Hidden shared state. */
#undef strtok
#define strtok(a, b) BANNED(strtok)
#undef gmtime
#define gmtime(t) BANNED(gmtime)
#undef localtime
#define localtime(t) BANNED(localtime)
#undef ctime
#define ctime(t) BANNED(ctime)
#undef asctime
#define asctime(t) BANNED(asctime)
#undef rand
#define rand() BANNED(rand)
#undef srand
#define srand(s) BANNED(srand)

#endif

/* common/text.h: what a person cannot see in a text: characters that are blank, and those that hide or turn around what
 * stands beside them (Unicode's Cc and Cf, and code points that are no characters).
 * Ownership: borrows. Threads: pure, any. */
#ifndef DAYBREAK_COMMON_TEXT_H
#define DAYBREAK_COMMON_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/str.h"

#define TEXT_HIDDEN_HINT "write it again without that character; it came along with a copy"

/* Nothing of it leaves ink: blanks of every width, fillers, joiners, and whatever is hidden. */
bool text_is_blank(struct str text);
/* The first character that nobody sees: a control but tab, CR and LF, one that turns the direction of writing, a mark of
 * format. The two joiners (U+200C, U+200D) are letters' business and pass. false: there is none. Text must be UTF-8. */
bool text_find_hidden(struct str text, uint32_t *code_point);

#endif

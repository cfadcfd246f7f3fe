/* agent/train/wish.h: what signals ask for: SIGTERM drains, SIGINT or a second SIGTERM cancels
 * (design.md, Programs). The handlers only set a flag. Threads: install once, before threads start;
 * asking is any thread's. */
#ifndef DAYBREAK_AGENT_TRAIN_WISH_H
#define DAYBREAK_AGENT_TRAIN_WISH_H

#include "agent/train/parent.h"

void wish_install(void); /* SIGPIPE is ignored, too: a closed pipe is an error of its write */
enum parent_wish wish_of_signals(void);

#endif

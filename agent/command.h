/* agent/command.h: the agent's commands, one function each, listed in main.c's table.
 * Each gets the words behind its own name, prints results on stdout and events on stderr, and returns
 * the program's exit code (design.md, Programs). Threads: called once, on the main thread. */
#ifndef DAYBREAK_AGENT_COMMAND_H
#define DAYBREAK_AGENT_COMMAND_H

#define AGENT_PROGRAM "daybreak-agent"

int command_bench(int argc, char *const *argv);    /* agent/profile */
int command_devices(int argc, char *const *argv);  /* agent/profile */
int command_infer(int argc, char *const *argv);    /* agent/train */
int command_evaluate(int argc, char *const *argv); /* agent/train */
int command_train(int argc, char *const *argv);    /* agent/train */
int command_child(int argc,
                  char *const *argv); /* agent/train; hidden: one training, for its parent */
int command_run(int argc, char *const *argv);    /* agent/run */
int command_submit(int argc, char *const *argv); /* agent/run */
int command_data(int argc, char *const *argv);   /* agent/run: fetching needs the network client */

#endif

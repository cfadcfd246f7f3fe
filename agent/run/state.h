/* agent/run/state.h: what an agent remembers over restarts, in DAYBREAK_STATE (default var/agent, mode
 * 0700): for each server its identity (id, token, signing key) and the claim it holds.
 *
 *   lock                          held by the one agent that uses the folder
 *   <16 hex of the server's URL>/identity.json, claim, attempts/<attempt>/spool
 *
 * Ownership: the state owns its text. Threads: one owner; read-only for others while they run. */
#ifndef DAYBREAK_AGENT_RUN_STATE_H
#define DAYBREAK_AGENT_RUN_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/data/files.h"
#include "common/crypto.h"
#include "common/status.h"
#include "common/str.h"

#define STATE_TOKEN_BYTES  256
#define STATE_NAME_BYTES   65
#define STATE_ATTEMPT_DAYS 7
#define STATE_ATTEMPTS_MAX 20

struct state {
    char dir[FILES_PATH_BYTES_MAX]; /* of this server */
    int lock_fd;
    bool has_identity;
    int64_t agent;
    char token[STATE_TOKEN_BYTES];   /* secret */
    char instance[STATE_NAME_BYTES]; /* of the server, as it named itself at registration */
    unsigned char secret[ED25519_KEY_BYTES], public_key[ED25519_KEY_BYTES];
    char claim_id[STATE_NAME_BYTES]; /* of the claim that may be out */
};

/* Reads what is there for this server. ST_CONFLICT: another agent uses the folder. */
enum status state_open(const char *server, struct state *state, struct error *err);
void state_close(struct state *state); /* accepts zeroed after a failed open */

/* What identity.json holds; the state stays as it was unless all of it is good. */
enum status state_parse_identity(struct str text, struct state *state, struct error *err);

/* Draws a new signing key and forgets agent and token. */
void state_renew_key(struct state *state);
enum status state_save_identity(struct state *state, struct error *err);
/* Draws the name of the next claim and saves it before it is used: an answer that is lost on the wire
 * can be asked for again, even after a restart. */
enum status state_renew_claim(struct state *state, struct error *err);
/* The folder of an attempt, made if need be. */
enum status state_attempt_folder(const struct state *state, const char *attempt,
                                 char path[FILES_PATH_BYTES_MAX], struct error *err);
/* Attempts that are over for the server (superseded, refused, ended while this agent was away) are kept for whoever
 * wants to know why, but not for ever: those without an event since STATE_ATTEMPT_DAYS before now_ms go, and the
 * oldest beyond STATE_ATTEMPTS_MAX. `live` is the one that the server still leases to this agent, which stays
 * whatever its age; NULL: none. What cannot be removed is logged. */
void state_prune_attempts(const struct state *state, const char *live, int64_t now_ms);

#endif

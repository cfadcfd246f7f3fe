-- 0001: the whole record of Daybreak: who may write, what was sent, what is ranked, who trains what.
--
-- Units: *_ns nanoseconds, *_pico pico-dollars (1e-12 USD), *_ms milliseconds since 1970 UTC, *_text the
-- exact decimal text that an integer beside it was rounded from (half to even).
-- Nothing of the record is deleted: triggers at the end refuse it. Only `change` and `idempotency` age out.

CREATE TABLE migration (
    version    INTEGER PRIMARY KEY CHECK (version > 0), -- equals PRAGMA user_version after it ran
    path       TEXT NOT NULL UNIQUE,                    -- schema/migrations/NNNN_what.sql
    sha256     TEXT NOT NULL CHECK (length(sha256) = 64), -- of the file: edited history is refused
    applied_ms INTEGER NOT NULL                         -- when it ran here
) STRICT;

CREATE TABLE setting (
    name  TEXT PRIMARY KEY,   -- instance: this database's identity; alive_ms: server last seen alive
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE token (
    id            INTEGER PRIMARY KEY AUTOINCREMENT, -- stands in the token's text
    role          TEXT NOT NULL CHECK (role IN ('submitter', 'reviewer', 'operator', 'admin',
                      'agent-registration', 'agent')),  -- decides the scopes
    name          TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 128), -- whom it was given to
    secret_sha256 BLOB NOT NULL CHECK (length(secret_sha256) = 32),     -- the secret itself is kept nowhere
    created_ms    INTEGER NOT NULL,
    expires_ms    INTEGER CHECK (expires_ms > created_ms), -- NULL: never
    revoked_ms    INTEGER,                                 -- NULL: in force
    used_ms       INTEGER                                  -- last use, to the minute; NULL: never
) STRICT;

CREATE TABLE submission_state (
    name        TEXT PRIMARY KEY,
    is_final    INTEGER NOT NULL CHECK (is_final IN (0, 1)), -- nothing happens by itself any more
    owner       TEXT NOT NULL,  -- who has to act: server, agent, submitter, reviewer, nobody
    next        TEXT NOT NULL,  -- for people: what happens next
    deadline_ms INTEGER CHECK (deadline_ms > 0) -- after entering the state; NULL: none
) STRICT, WITHOUT ROWID;

INSERT INTO submission_state (name, is_final, owner, next, deadline_ms) VALUES
    ('received', 0, 'server', 'the files are being checked', 60000),
    ('checked', 0, 'server', 'the checks passed; it is accepted or goes to review', 60000),
    ('in_review', 0, 'reviewer', 'a reviewer decides', 1209600000),
    ('changes_requested', 0, 'submitter', 'the submitter sends a revision', 1209600000),
    ('accepted', 1, 'nobody', 'it is ranked', NULL),
    ('rejected', 1, 'nobody', 'a corrected submission can be sent', NULL),
    ('not_eligible', 1, 'nobody', 'it is listed below the board with the reason', NULL),
    ('superseded', 1, 'nobody', 'a later revision stands in its place', NULL),
    ('withdrawn', 1, 'nobody', 'the submitter took it back', NULL),
    ('disqualified', 1, 'nobody', 'it broke a rule', NULL),
    ('queued', 0, 'server', 'an agent that can take it claims it', 604800000),
    ('running', 0, 'agent', 'the agent trains and reports each epoch', 604800000),
    ('scored', 0, 'server', 'all runs ended; it is accepted or goes to review', 60000);

CREATE TABLE submission (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    task           TEXT NOT NULL,
    name           TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 128), -- stem of the entry's file
    source         TEXT NOT NULL CHECK (source IN ('history', 'submission')),
    entry_bytes    BLOB NOT NULL,  -- NAME.json as it was sent
    progress_bytes BLOB,           -- NAME.tsv as it was sent; NULL: inference
    content_sha256 BLOB NOT NULL CHECK (length(content_sha256) = 32), -- of task and both files
    state          TEXT NOT NULL REFERENCES submission_state (name),
    reason         TEXT NOT NULL DEFAULT '', -- of the state, for people
    since_ms       INTEGER NOT NULL,         -- in this state since
    received_ms    INTEGER NOT NULL,
    claimed_date   TEXT,                     -- yyyy-mm-dd as the entry says; NULL: it says none
    token_id       INTEGER REFERENCES token (id) -- who sent it; NULL: imported on this machine
) STRICT;
CREATE UNIQUE INDEX submission_content ON submission (content_sha256)
    WHERE state NOT IN ('withdrawn', 'rejected');
CREATE INDEX submission_by_task ON submission (task, state, id);

CREATE TABLE submission_event (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    submission_id INTEGER NOT NULL REFERENCES submission (id),
    at_ms         INTEGER NOT NULL,
    token_id      INTEGER REFERENCES token (id), -- who; NULL: the server itself or an import
    from_state    TEXT REFERENCES submission_state (name), -- NULL: the first
    to_state      TEXT NOT NULL REFERENCES submission_state (name),
    reason        TEXT NOT NULL  -- why, for people
) STRICT;
CREATE INDEX submission_event_by_submission ON submission_event (submission_id, id);

CREATE TABLE entry (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    task                TEXT NOT NULL,
    task_version        INTEGER NOT NULL CHECK (task_version > 0), -- the rules it was judged by
    name                TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
    source              TEXT NOT NULL CHECK (source IN ('history', 'submission', 'job')),
    submission_id       INTEGER UNIQUE REFERENCES submission (id), -- NULL: from jobs
    token_id            INTEGER REFERENCES token (id), -- whose it is; NULL: history
    state               TEXT NOT NULL REFERENCES submission_state (name),
    reason              TEXT NOT NULL DEFAULT '', -- why it is not ranked, for people; '': it is
    tier                TEXT NOT NULL CHECK (tier IN ('reported', 'witnessed', 'reproduced')),
    model               TEXT NOT NULL,
    author              TEXT NOT NULL,
    hardware            TEXT NOT NULL,
    framework           TEXT NOT NULL,
    code_url            TEXT,
    claimed_date        TEXT,              -- yyyy-mm-dd as the entry says
    entry_date          TEXT,              -- decides ties and as_of: of acceptance, history: as claimed
    accepted_ms         INTEGER,           -- NULL: not yet
    created_ms          INTEGER NOT NULL,
    run_count           INTEGER NOT NULL CHECK (run_count >= 0), -- runs it is made of; inference: 0
    run_id              INTEGER,           -- the run whose figures it carries (the median one)
    tta_ns              INTEGER CHECK (tta_ns >= 0),  -- NULL: target not reached, or not a training task
    tta_hours_text      TEXT,              -- as the progress file has it
    wall_ns             INTEGER CHECK (wall_ns >= 0), -- wall time at the crossing, where known
    epoch_text          TEXT,              -- label of the crossing epoch
    epoch_count_text    TEXT,              -- the label, plus one where labels start at 0
    accuracy_text       TEXT,              -- at the crossing; inference: of the model
    views               INTEGER CHECK (views > 0), -- test-time augmentation; NULL: unknown
    cost_per_hour_text  TEXT,              -- USD an hour for the whole cluster
    cost_pico           INTEGER CHECK (cost_pico >= 0), -- of training to the target
    latency_ns          INTEGER CHECK (latency_ns >= 0), -- inference, one item
    latency_ms_text     TEXT,
    inference_cost_pico INTEGER CHECK (inference_cost_pico >= 0), -- USD for one item
    inference_cost_text TEXT,
    device_kind         TEXT,              -- cpu, gpu, cuda, tpu, other; NULL: unknown
    device_model        TEXT,
    devices             INTEGER CHECK (devices > 0), -- of the whole cluster
    nodes               INTEGER CHECK (nodes > 0),
    cloud               TEXT,              -- provider, 'none' for own machines; NULL: unknown
    misc_json           TEXT,              -- the entry's misc member
    extra_json          TEXT               -- its other members, usedBlacklist and the like
) STRICT;
CREATE UNIQUE INDEX entry_name ON entry (task, name)
    WHERE state NOT IN ('withdrawn', 'rejected', 'superseded');
CREATE INDEX entry_by_task ON entry (task, state);

CREATE TABLE run (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    entry_id       INTEGER NOT NULL REFERENCES entry (id),
    ordinal        INTEGER NOT NULL CHECK (ordinal > 0), -- of the entry, from 1
    state          TEXT NOT NULL CHECK (state IN ('queued', 'running', 'unreachable',
                       'reached', 'missed', 'failed', 'cancelled')),
    reason         TEXT NOT NULL DEFAULT '',
    seed           INTEGER,           -- disclosed by the answer to run_start alone; NULL: uploaded
    attempt_id     INTEGER,           -- whose epochs it shows; NULL: uploaded or not begun
    started_ms     INTEGER,
    ended_ms       INTEGER,
    tta_ns         INTEGER CHECK (tta_ns >= 0),  -- official time of the first crossing
    tta_epoch_text TEXT,              -- its label
    tta_seq        INTEGER,           -- its seq in `epoch`
    tta_value_text TEXT,              -- the metric there
    tta_views      INTEGER,           -- the views there
    wall_ns        INTEGER CHECK (wall_ns >= 0), -- wall time at the crossing
    UNIQUE (entry_id, ordinal)
) STRICT;

CREATE INDEX run_live ON run (state) WHERE state IN ('running', 'unreachable');

CREATE TABLE epoch (
    id          INTEGER PRIMARY KEY,
    run_id      INTEGER NOT NULL REFERENCES run (id),
    attempt_id  INTEGER REFERENCES attempt (id), -- NULL: uploaded
    seq         INTEGER NOT NULL CHECK (seq > 0), -- of its event; uploaded: the row's place, from 1
    label       TEXT NOT NULL,        -- epochs trained, as the sender wrote it
    official_ns INTEGER NOT NULL CHECK (official_ns >= 0),
    wall_ns     INTEGER CHECK (wall_ns >= 0),
    value_text  TEXT NOT NULL,        -- the task's metric in the task's unit
    correct     INTEGER CHECK (correct >= 0),
    total       INTEGER CHECK (total >= correct),
    loss        REAL,
    views       INTEGER CHECK (views > 0),
    extra_json  TEXT                  -- further columns of the progress file
) STRICT;
CREATE UNIQUE INDEX epoch_key ON epoch (run_id, ifnull(attempt_id, 0), seq); -- an expression: NULLs never clash

CREATE TABLE agent (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    name               TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
    public_key         BLOB NOT NULL CHECK (length(public_key) = 32), -- Ed25519
    protocol           INTEGER NOT NULL,     -- version it speaks
    build              TEXT NOT NULL,        -- of the program
    capabilities_json  TEXT NOT NULL,        -- as it said
    device_kind        TEXT NOT NULL,        -- of its devices: cpu, cuda, tpu
    device_model       TEXT NOT NULL,
    devices            INTEGER NOT NULL CHECK (devices > 0),
    tags_json          TEXT NOT NULL,        -- array of text: what jobs may ask for
    hardware           TEXT NOT NULL,        -- one line for boards
    framework          TEXT NOT NULL,        -- program and version
    instance           TEXT,                 -- type of the rented machine, or NULL
    cloud              TEXT,                 -- provider, or NULL
    cost_per_hour_text TEXT,                 -- USD; NULL: no price, no cost board
    token_id           INTEGER NOT NULL UNIQUE REFERENCES token (id), -- its own
    owner_token_id     INTEGER NOT NULL REFERENCES token (id), -- the registration token it came with
    state              TEXT NOT NULL CHECK (state IN ('active', 'draining', 'revoked')),
    registered_ms      INTEGER NOT NULL,
    heartbeat_ms       INTEGER NOT NULL      -- last sign of life: register, claim, heartbeat, events
) STRICT;

CREATE TABLE job (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    entry_id         INTEGER NOT NULL REFERENCES entry (id),
    run_id           INTEGER NOT NULL UNIQUE REFERENCES run (id),
    task             TEXT NOT NULL,
    task_version     INTEGER NOT NULL,
    workload         TEXT NOT NULL,
    recipe           TEXT NOT NULL,
    device_kind      TEXT,                   -- wanted; NULL: any
    tags_json        TEXT NOT NULL,          -- array of text: an agent must have all
    reclaim_after_ms INTEGER NOT NULL,       -- the task's setting when it was made
    state            TEXT NOT NULL CHECK (state IN ('queued', 'leased', 'done', 'failed', 'cancelled')),
    reason           TEXT NOT NULL DEFAULT '',
    attempt_id       INTEGER REFERENCES attempt (id), -- the current one; NULL while queued
    token_id         INTEGER REFERENCES token (id),   -- who wanted it
    created_ms       INTEGER NOT NULL,
    queued_ms        INTEGER NOT NULL,       -- last entered the queue
    tries            INTEGER NOT NULL DEFAULT 0,      -- attempts so far
    cancel           INTEGER NOT NULL DEFAULT 0 CHECK (cancel IN (0, 1)), -- the agent is to stop it
    ended_ms         INTEGER
) STRICT;
CREATE INDEX job_queue ON job (state, id);
CREATE INDEX job_by_entry ON job (entry_id);

CREATE TABLE attempt (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    fence          TEXT NOT NULL UNIQUE,     -- what the wire calls the attempt; random, never reused
    job_id         INTEGER NOT NULL REFERENCES job (id),
    run_id         INTEGER NOT NULL REFERENCES run (id),
    agent_id       INTEGER NOT NULL REFERENCES agent (id),
    claim_id       TEXT NOT NULL CHECK (length(claim_id) BETWEEN 1 AND 64),
    state          TEXT NOT NULL CHECK (state IN ('leased', 'unreachable', 'finished', 'released',
                       'superseded', 'cancelled')),
    reason         TEXT NOT NULL DEFAULT '',
    phase          TEXT NOT NULL DEFAULT '', -- what the agent last said it is doing
    plan           TEXT NOT NULL DEFAULT '', -- kernels and threads it used, from finish
    created_ms     INTEGER NOT NULL,
    lease_until_ms INTEGER NOT NULL,
    heartbeat_ms   INTEGER NOT NULL,
    last_seq       INTEGER NOT NULL DEFAULT 0 CHECK (last_seq >= 0), -- all up to it are in `event`
    started_ms     INTEGER,                  -- run_start was stored
    ended_ms       INTEGER,
    result         TEXT CHECK (result IN ('reached', 'missed', 'failed', 'cancelled')), -- of finish
    finish_sha256  BLOB CHECK (length(finish_sha256) = 32), -- of the finish request: its repeat is known
    chain_end      BLOB CHECK (length(chain_end) = 32),     -- h_n as the agent says
    signature      BLOB CHECK (length(signature) = 64),     -- Ed25519
    UNIQUE (agent_id, claim_id)              -- the same claim gets the same lease again
) STRICT;
CREATE INDEX attempt_open ON attempt (lease_until_ms) WHERE state IN ('leased', 'unreachable');
CREATE INDEX attempt_by_job ON attempt (job_id);

CREATE TABLE event (
    id          INTEGER PRIMARY KEY,
    attempt_id  INTEGER NOT NULL REFERENCES attempt (id),
    seq         INTEGER NOT NULL CHECK (seq > 0), -- dense from 1
    kind        TEXT NOT NULL,
    bytes       BLOB NOT NULL,                    -- the line as received, without its line feed
    sha256      BLOB NOT NULL CHECK (length(sha256) = 32), -- of bytes
    received_ms INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_key ON event (attempt_id, seq); -- each event exactly once

CREATE TABLE idempotency (
    token_id    INTEGER NOT NULL REFERENCES token (id),
    key         TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 128),
    body_sha256 BLOB NOT NULL CHECK (length(body_sha256) = 32), -- of method, path and body
    status      INTEGER NOT NULL,                               -- HTTP status of the answer
    location    TEXT,                                           -- its Location header
    etag        TEXT,                                           -- its ETag header
    body        BLOB NOT NULL,
    created_ms  INTEGER NOT NULL,                               -- kept 48 hours
    PRIMARY KEY (token_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (created_ms);

CREATE TABLE change (
    id    INTEGER PRIMARY KEY AUTOINCREMENT, -- the stream's event id
    topic TEXT NOT NULL,                     -- run:ID, board:TASK, queue
    kind  TEXT NOT NULL,                     -- run: epoch, run; board: board; queue: job, agent
    ref   INTEGER NOT NULL,                  -- epoch: its seq; run: run; board: entry; job; agent: their ids
    at_ms INTEGER NOT NULL                   -- kept 7 days
) STRICT;

CREATE TABLE version (
    topic TEXT PRIMARY KEY,                  -- run:ID, board:TASK, queue, entry:ID, submission:ID
    value INTEGER NOT NULL CHECK (value > 0) -- raised in the writing transaction; stands in ETags
) STRICT, WITHOUT ROWID;

-- What readers see, in the order of the structs in server/store/records.h.

CREATE VIEW entry_row AS
SELECT id, task, task_version, name, source, submission_id, token_id, run_id, state, reason, tier, model,
       author, hardware, framework, code_url, claimed_date, entry_date, accepted_ms, created_ms,
       run_count, tta_ns, wall_ns, cost_pico, latency_ns, inference_cost_pico, tta_hours_text,
       latency_ms_text, inference_cost_text, cost_per_hour_text, epoch_text, epoch_count_text,
       accuracy_text, views, devices, nodes, device_kind, device_model, cloud, misc_json, extra_json
FROM entry;

CREATE VIEW run_row AS
SELECT run.id, run.entry_id, run.ordinal, entry.name AS entry_name, entry.task, entry.tier,
       entry.task_version, run.state, run.reason,
       iif(run.started_ms IS NULL, NULL, run.seed) AS seed, -- a secret until the clock runs
       run.started_ms, run.ended_ms, run.tta_ns, run.wall_ns, run.tta_seq, run.tta_epoch_text,
       job.id AS job_id, attempt.agent_id, attempt.fence, attempt.phase, attempt.plan, job.workload,
       job.recipe, ifnull(agent.hardware, entry.hardware) AS hardware,
       iif(agent.id IS NULL, entry.cost_per_hour_text, agent.cost_per_hour_text) AS cost_per_hour_text,
       ifnull(attempt.last_seq, 0) AS last_seq,
       (SELECT count(*) FROM epoch
        WHERE epoch.run_id = run.id
          AND ifnull(epoch.attempt_id, 0) = ifnull(run.attempt_id, 0)) AS epoch_count,
       (SELECT value_text FROM epoch
        WHERE epoch.run_id = run.id AND ifnull(epoch.attempt_id, 0) = ifnull(run.attempt_id, 0)
        ORDER BY seq DESC LIMIT 1) AS last_value_text
FROM run
JOIN entry ON entry.id = run.entry_id
LEFT JOIN job ON job.run_id = run.id
LEFT JOIN attempt ON attempt.id = run.attempt_id
LEFT JOIN agent ON agent.id = attempt.agent_id;

-- Which agent may take which job; whether it waits is not asked here. An agent that gave a job back because it
-- cannot run it is not asked again.
CREATE VIEW capable AS
SELECT job.id AS job_id, agent.id AS agent_id, agent.heartbeat_ms
FROM job
JOIN agent ON agent.state = 'active' AND (job.device_kind IS NULL OR job.device_kind = agent.device_kind)
WHERE NOT EXISTS (SELECT 1 FROM json_each(job.tags_json) AS want
                  WHERE want.value NOT IN (SELECT have.value FROM json_each(agent.tags_json) AS have))
  AND NOT EXISTS (SELECT 1 FROM attempt
                  WHERE attempt.job_id = job.id AND attempt.agent_id = agent.id
                    AND attempt.state = 'released' AND attempt.reason IN ('unsupported', 'error'));

CREATE VIEW job_row AS
SELECT job.id, job.entry_id, job.run_id, job.task, job.workload, job.recipe, entry.name AS entry_name,
       CASE WHEN job.state <> 'leased' THEN job.state
            WHEN attempt.state = 'unreachable' THEN 'unreachable'
            WHEN attempt.started_ms IS NOT NULL THEN 'running'
            ELSE 'leased' END AS state,
       job.reason, job.device_kind, job.tags_json, job.created_ms, job.queued_ms, job.tries, job.ended_ms,
       attempt.agent_id,
       iif(job.state = 'queued', (SELECT count(*) FROM job AS before
                                  WHERE before.state = 'queued' AND before.id <= job.id), NULL) AS position,
       agent.name AS agent_name, attempt.fence
FROM job
JOIN entry ON entry.id = job.entry_id
LEFT JOIN attempt ON attempt.id = job.attempt_id
LEFT JOIN agent ON agent.id = attempt.agent_id;

CREATE VIEW agent_row AS
SELECT agent.id, agent.name, agent.build, agent.device_kind, agent.device_model, agent.hardware,
       agent.framework, agent.instance, agent.cloud, agent.cost_per_hour_text, agent.capabilities_json,
       agent.tags_json, agent.devices, agent.protocol, agent.registered_ms, agent.heartbeat_ms,
       agent.state, attempt.job_id, attempt.run_id, attempt.fence, agent.public_key
FROM agent
LEFT JOIN attempt ON attempt.id = (SELECT max(open.id) FROM attempt AS open
                                   WHERE open.agent_id = agent.id
                                     AND open.state IN ('leased', 'unreachable'));

CREATE VIEW submission_row AS
SELECT submission.id, submission.task, submission.name, submission.source, submission.state,
       submission.reason, submission_state.next, submission_state.owner, submission_state.is_final,
       submission.since_ms, submission.received_ms,
       submission.since_ms + submission_state.deadline_ms AS deadline_ms, submission.claimed_date,
       submission.token_id, entry.id AS entry_id, entry.author,
       length(submission.entry_bytes) AS entry_bytes,
       ifnull(length(submission.progress_bytes), 0) AS progress_bytes,
       submission.progress_bytes IS NOT NULL AS has_progress
FROM submission
JOIN submission_state ON submission_state.name = submission.state
LEFT JOIN entry ON entry.submission_id = submission.id;

CREATE TRIGGER submission_is_kept BEFORE DELETE ON submission BEGIN
    SELECT RAISE(ABORT, 'submissions are never deleted');
END;
CREATE TRIGGER submission_bytes_are_kept
    BEFORE UPDATE OF task, name, entry_bytes, progress_bytes, content_sha256 ON submission BEGIN
    SELECT RAISE(ABORT, 'what was sent is never changed');
END;
CREATE TRIGGER submission_event_is_kept BEFORE DELETE ON submission_event BEGIN
    SELECT RAISE(ABORT, 'the audit trail is never deleted');
END;
CREATE TRIGGER submission_event_is_final BEFORE UPDATE ON submission_event BEGIN
    SELECT RAISE(ABORT, 'the audit trail is never changed');
END;
CREATE TRIGGER entry_is_kept BEFORE DELETE ON entry BEGIN
    SELECT RAISE(ABORT, 'entries are never deleted');
END;
CREATE TRIGGER run_is_kept BEFORE DELETE ON run BEGIN
    SELECT RAISE(ABORT, 'runs are never deleted');
END;
CREATE TRIGGER attempt_is_kept BEFORE DELETE ON attempt BEGIN
    SELECT RAISE(ABORT, 'attempts are never deleted');
END;
CREATE TRIGGER event_is_kept BEFORE DELETE ON event BEGIN
    SELECT RAISE(ABORT, 'events are never deleted');
END;
CREATE TRIGGER event_is_final BEFORE UPDATE ON event BEGIN
    SELECT RAISE(ABORT, 'events are never changed');
END;

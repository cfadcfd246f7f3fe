-- 0002: the service around the record: review and revisions, trials, prices, sign-in, webhooks, MLPerf logs.
--
-- Units as in 0001. What a person did is appended (submission_event, entry_edit, comment, standing); what may age
-- out is named: session, delivery.

-- Who may do what. A token's scopes narrow those of its role; quotas are checked when something is stored.
ALTER TABLE token ADD COLUMN scopes TEXT;              -- space-separated; NULL: all of its role
ALTER TABLE token ADD COLUMN submissions_per_day INTEGER CHECK (submissions_per_day >= 0); -- NULL: the role's
ALTER TABLE token ADD COLUMN bytes_max INTEGER CHECK (bytes_max >= 0); -- of all it may have stored; NULL: the role's
ALTER TABLE token ADD COLUMN created_by INTEGER REFERENCES token (id); -- NULL: on the server's own command line
ALTER TABLE token ADD COLUMN quota_day INTEGER;        -- days since 1970 UTC, of the last submission; NULL: none yet
ALTER TABLE token ADD COLUMN quota_day_count INTEGER NOT NULL DEFAULT 0; -- submissions on that day
ALTER TABLE token ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0;    -- of all that it has stored
UPDATE token SET stored_bytes = (SELECT ifnull(sum(length(entry_bytes) + ifnull(length(progress_bytes), 0)), 0)
                                 FROM submission WHERE submission.token_id = token.id);

CREATE TABLE session (
    secret_sha256 BLOB PRIMARY KEY CHECK (length(secret_sha256) = 32), -- the cookie is kept nowhere
    token_id      INTEGER NOT NULL REFERENCES token (id),
    created_ms    INTEGER NOT NULL,
    expires_ms    INTEGER NOT NULL CHECK (expires_ms > created_ms),
    ended_ms      INTEGER                -- logged out; rows are deleted a day after they expire
) STRICT, WITHOUT ROWID;
CREATE INDEX session_by_age ON session (expires_ms);

-- Settings of a task that an operator changes while the server runs; the newest row of a task stands, and without
-- one what its file in schema/tasks says.
CREATE TABLE task_setting (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    task     TEXT NOT NULL,
    policy   TEXT NOT NULL CHECK (policy IN ('open', 'metadata-only', 'closed')),
    review   TEXT NOT NULL CHECK (review IN ('none', 'top5', 'all')),
    reason   TEXT NOT NULL CHECK (length(reason) BETWEEN 1 AND 1000),
    token_id INTEGER REFERENCES token (id),
    at_ms    INTEGER NOT NULL
) STRICT;
CREATE INDEX task_setting_by_task ON task_setting (task, id);

-- Review. Every change of a submission's state is one row of this table; anything else is refused.
CREATE TABLE submission_transition (
    from_state TEXT NOT NULL REFERENCES submission_state (name),
    action     TEXT NOT NULL, -- as the API names it; server: not asked for by anybody
    to_state   TEXT NOT NULL REFERENCES submission_state (name),
    scope      TEXT NOT NULL, -- what the caller's token needs; own: that of the submission; server: none
    PRIMARY KEY (from_state, action, to_state)
) STRICT, WITHOUT ROWID;

INSERT INTO submission_transition (from_state, action, to_state, scope) VALUES
    ('received', 'check', 'checked', 'server'),
    ('checked', 'admit', 'accepted', 'server'),
    ('checked', 'admit', 'in_review', 'server'),
    ('checked', 'admit', 'not_eligible', 'server'),
    ('queued', 'begin', 'running', 'server'),
    ('queued', 'end', 'not_eligible', 'server'),
    ('running', 'requeue', 'queued', 'server'),
    ('running', 'end', 'scored', 'server'),
    ('running', 'end', 'not_eligible', 'server'),
    ('scored', 'admit', 'accepted', 'server'),
    ('scored', 'admit', 'in_review', 'server'),
    ('scored', 'admit', 'not_eligible', 'server'),
    ('in_review', 'accept', 'accepted', 'review'),
    ('in_review', 'request-changes', 'changes_requested', 'review'),
    ('in_review', 'reject', 'rejected', 'review'),
    ('in_review', 'disqualify', 'disqualified', 'review'),
    ('changes_requested', 'accept', 'accepted', 'review'),
    ('changes_requested', 'reject', 'rejected', 'review'),
    ('changes_requested', 'expire', 'withdrawn', 'server'),
    ('accepted', 'disqualify', 'disqualified', 'review'),
    ('accepted', 'revert', 'in_review', 'review'),
    ('rejected', 'revert', 'in_review', 'review'),
    ('disqualified', 'revert', 'in_review', 'review'),
    ('not_eligible', 'revert', 'in_review', 'review'),
    ('in_review', 'revise', 'superseded', 'own'),
    ('changes_requested', 'revise', 'superseded', 'own'),
    ('not_eligible', 'revise', 'superseded', 'own'),
    ('accepted', 'supersede', 'superseded', 'server'), -- when what takes its place is accepted
    ('superseded', 'restore', 'accepted', 'server'),   -- when that leaves its place
    ('in_review', 'withdraw', 'withdrawn', 'own'),
    ('changes_requested', 'withdraw', 'withdrawn', 'own'),
    ('accepted', 'withdraw', 'withdrawn', 'own'),
    ('superseded', 'withdraw', 'withdrawn', 'own'),
    ('not_eligible', 'withdraw', 'withdrawn', 'own'),
    ('queued', 'withdraw', 'withdrawn', 'own'),
    ('running', 'withdraw', 'withdrawn', 'own');

ALTER TABLE submission ADD COLUMN kind TEXT NOT NULL DEFAULT 'dawnbench'
    CHECK (kind IN ('dawnbench', 'mlperf', 'job')); -- what its files are; job: entry_bytes is the request for runs
ALTER TABLE submission ADD COLUMN lineage_id INTEGER REFERENCES submission (id); -- its first revision; NULL: itself
ALTER TABLE submission ADD COLUMN revision INTEGER NOT NULL DEFAULT 1 CHECK (revision > 0);
ALTER TABLE submission ADD COLUMN overdue_ms INTEGER; -- its deadline passed and this was said; NULL: not in this state
CREATE INDEX submission_by_lineage ON submission (lineage_id, revision) WHERE lineage_id IS NOT NULL;
CREATE INDEX submission_by_token ON submission (token_id, received_ms);
CREATE INDEX submission_open ON submission (since_ms)
    WHERE state IN ('received', 'checked', 'in_review', 'changes_requested', 'queued', 'running', 'scored');

ALTER TABLE submission_event ADD COLUMN action TEXT NOT NULL DEFAULT ''; -- of submission_transition; '': before 0002

-- Files beyond the first two: the progress files of an entry of several runs (all of them), MLPerf logs.
CREATE TABLE submission_file (
    submission_id INTEGER NOT NULL REFERENCES submission (id),
    ordinal       INTEGER NOT NULL CHECK (ordinal > 0), -- of the run it is of, from 1
    name          TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    bytes         BLOB NOT NULL,      -- as they were sent
    sha256        BLOB NOT NULL CHECK (length(sha256) = 32),
    PRIMARY KEY (submission_id, ordinal),
    UNIQUE (submission_id, name)
) STRICT;

CREATE TABLE comment (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    submission_id INTEGER NOT NULL REFERENCES submission (id), -- the revision that it speaks of
    thread_id     INTEGER REFERENCES comment (id), -- the comment that it answers; NULL: it begins a thread
    token_id      INTEGER NOT NULL REFERENCES token (id),
    at_ms         INTEGER NOT NULL,
    file          TEXT,               -- name of a file of the submission; NULL: the whole
    line          INTEGER CHECK (line > 0), -- of the file; NULL: all of it
    text          TEXT NOT NULL CHECK (length(text) BETWEEN 1 AND 4000),
    resolved_ms   INTEGER,            -- of the thread's first comment; NULL: open
    resolved_by   INTEGER REFERENCES token (id),
    CHECK (file IS NOT NULL OR line IS NULL)
) STRICT;
CREATE INDEX comment_by_submission ON comment (submission_id, id);

-- Entries: lineage, trials, price.
ALTER TABLE entry ADD COLUMN lineage_id INTEGER REFERENCES entry (id); -- first entry of its revisions and successors; NULL: itself
ALTER TABLE entry ADD COLUMN supersedes_id INTEGER REFERENCES entry (id);    -- whose place it takes once accepted
ALTER TABLE entry ADD COLUMN superseded_by_id INTEGER REFERENCES entry (id); -- who stands in its place now
ALTER TABLE entry ADD COLUMN score_rule TEXT NOT NULL DEFAULT 'median'
    CHECK (score_rule IN ('median', 'mean', 'olympic')); -- how its runs make its time (common/task.h)
ALTER TABLE entry ADD COLUMN energy_uj INTEGER CHECK (energy_uj >= 0); -- microjoules to the target
ALTER TABLE entry ADD COLUMN instance TEXT;            -- type of the rented machine, as stated
ALTER TABLE entry ADD COLUMN region TEXT;              -- where it was rented
-- The list price of that machine at the run's date. A witnessed run's cost comes from it, an uploaded one's is held
-- against it.
ALTER TABLE entry ADD COLUMN price_id INTEGER REFERENCES price (id);
ALTER TABLE entry ADD COLUMN accelerator_price_id INTEGER REFERENCES price (id); -- GCP: of what is added to that host
ALTER TABLE entry ADD COLUMN list_price_pico INTEGER CHECK (list_price_pico >= 0); -- of the whole cluster by those, USD an hour
ALTER TABLE entry ADD COLUMN cost_reason TEXT;         -- why it has no place by cost although it has a price
CREATE INDEX entry_by_lineage ON entry (lineage_id) WHERE lineage_id IS NOT NULL;
CREATE INDEX entry_superseded ON entry (superseded_by_id) WHERE superseded_by_id IS NOT NULL;
CREATE INDEX entry_by_author ON entry (author, task);
CREATE INDEX entry_by_acceptance ON entry (accepted_ms, id) WHERE state = 'accepted' AND accepted_ms IS NOT NULL; -- the feed
-- The first places of a board, for the rolling rule (get_fifth).
CREATE INDEX entry_top_time ON entry (task, tta_ns, lineage_id)
    WHERE state = 'accepted' AND tta_ns IS NOT NULL;
CREATE INDEX entry_top_cost ON entry (task, cost_pico, lineage_id)
    WHERE state = 'accepted' AND cost_pico IS NOT NULL AND cost_reason IS NULL;
CREATE INDEX entry_top_energy ON entry (task, energy_uj, lineage_id)
    WHERE state = 'accepted' AND energy_uj IS NOT NULL;
CREATE INDEX entry_top_latency ON entry (task, latency_ns, lineage_id)
    WHERE state = 'accepted' AND latency_ns IS NOT NULL;
CREATE INDEX entry_top_inference_cost ON entry (task, inference_cost_pico, lineage_id)
    WHERE state = 'accepted' AND inference_cost_pico IS NOT NULL;

-- A name belongs to the entries of one lineage, those superseded included: they may come back under it.
DROP INDEX entry_name;
CREATE INDEX entry_by_name ON entry (task, name);
CREATE TRIGGER entry_name_is_free BEFORE INSERT ON entry
    WHEN EXISTS (SELECT 1 FROM entry AS other
                 WHERE other.task = NEW.task AND other.name = NEW.name
                   AND other.state NOT IN ('withdrawn', 'rejected')
                   AND ifnull(other.lineage_id, other.id) <> ifnull(NEW.lineage_id, 0)) BEGIN
    SELECT RAISE(ABORT, 'the task has an entry of that name');
END;
CREATE TRIGGER entry_name_stays_free BEFORE UPDATE OF name, state, lineage_id ON entry
    WHEN NEW.state NOT IN ('withdrawn', 'rejected')
     AND EXISTS (SELECT 1 FROM entry AS other
                 WHERE other.task = NEW.task AND other.name = NEW.name AND other.id <> NEW.id
                   AND other.state NOT IN ('withdrawn', 'rejected')
                   AND ifnull(other.lineage_id, other.id) <> ifnull(NEW.lineage_id, NEW.id)) BEGIN
    SELECT RAISE(ABORT, 'the task has an entry of that name');
END;

-- Every entry is of a submission, those of jobs, too.
INSERT INTO submission (task, name, source, entry_bytes, content_sha256, state, reason, since_ms, received_ms,
                        token_id, kind)
SELECT task, name, 'submission', CAST('{}' AS BLOB), randomblob(32), state, reason,
       ifnull(accepted_ms, created_ms), created_ms, token_id, 'job'
FROM entry WHERE submission_id IS NULL ORDER BY id;
INSERT INTO submission_event (submission_id, at_ms, token_id, from_state, to_state, reason)
SELECT id, since_ms, token_id, NULL, state, 'queued before such steps were kept' FROM submission WHERE kind = 'job';
UPDATE entry SET submission_id = (SELECT id FROM submission
                                  WHERE submission.kind = 'job' AND submission.task = entry.task
                                    AND submission.name = entry.name)
WHERE submission_id IS NULL;

-- When an entry stood on its boards; as_of reads it. A row ends when the entry is superseded, withdrawn, reverted
-- or disqualified; a new one begins when it comes back.
CREATE TABLE standing (
    entry_id  INTEGER NOT NULL REFERENCES entry (id),
    from_ms   INTEGER NOT NULL,
    from_date TEXT NOT NULL,          -- yyyy-mm-dd: of acceptance; history: as claimed
    to_ms     INTEGER CHECK (to_ms >= from_ms), -- NULL: it still stands
    PRIMARY KEY (entry_id, from_ms)
) STRICT, WITHOUT ROWID;
INSERT INTO standing (entry_id, from_ms, from_date)
SELECT id, ifnull(accepted_ms, created_ms), entry_date FROM entry
WHERE state = 'accepted' AND entry_date IS NOT NULL;

-- Corrections and renames after acceptance: what a field said before.
CREATE TABLE entry_edit (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    entry_id   INTEGER NOT NULL REFERENCES entry (id),
    at_ms      INTEGER NOT NULL,
    token_id   INTEGER REFERENCES token (id),
    field      TEXT NOT NULL,         -- as the API names it
    old_value  TEXT,                  -- NULL: it had none
    new_value  TEXT,
    reason     TEXT NOT NULL
) STRICT;
CREATE INDEX entry_edit_by_entry ON entry_edit (entry_id, id);

ALTER TABLE run ADD COLUMN progress_sha256 BLOB CHECK (length(progress_sha256) = 32); -- of the uploaded file
ALTER TABLE run ADD COLUMN rows_sha256 BLOB CHECK (length(rows_sha256) = 32); -- of its values, however written
ALTER TABLE run ADD COLUMN seed_text TEXT;             -- as an uploader states it; ours: seed
ALTER TABLE run ADD COLUMN file_name TEXT;             -- of submission_file; NULL: the submission's own progress file
CREATE INDEX run_by_rows ON run (rows_sha256) WHERE rows_sha256 IS NOT NULL;
CREATE INDEX run_by_seed ON run (seed_text) WHERE seed_text IS NOT NULL;

-- What looks wrong about an entry although no rule forbids it: equal logs or seeds in two runs.
CREATE TABLE flag (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    entry_id       INTEGER NOT NULL REFERENCES entry (id),
    code           TEXT NOT NULL,     -- equal-logs, equal-seeds, ...
    detail         TEXT NOT NULL,     -- one sentence for people
    run_id         INTEGER REFERENCES run (id),
    other_entry_id INTEGER REFERENCES entry (id),
    other_run_id   INTEGER REFERENCES run (id),
    at_ms          INTEGER NOT NULL
) STRICT;
CREATE INDEX flag_by_entry ON flag (entry_id, id);

-- The verdict of every rule that was checked, in words, with where in which file.
CREATE TABLE entry_check (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    entry_id INTEGER NOT NULL REFERENCES entry (id),
    run_id   INTEGER REFERENCES run (id), -- NULL: of the whole entry
    rule     TEXT NOT NULL,
    verdict  TEXT NOT NULL CHECK (verdict IN ('pass', 'warning', 'fail', 'not-applicable')),
    file     TEXT,
    line     INTEGER,              -- of the file, from 1
    detail   TEXT NOT NULL,        -- one sentence for people
    hint     TEXT NOT NULL         -- how to mend it; '': nothing to mend
) STRICT;
CREATE INDEX entry_check_by_entry ON entry_check (entry_id, id);

-- List prices of rented machines. Appended; of rows for one instance type and region the newest that is valid at a
-- run's date counts.
CREATE TABLE price_catalog (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    source      TEXT NOT NULL,        -- file or address, as the importer was told
    sha256      BLOB NOT NULL UNIQUE CHECK (length(sha256) = 32), -- of the file: twice is once
    provider    TEXT,                 -- of all its rows; NULL: of several
    valid_from  TEXT NOT NULL,        -- yyyy-mm-dd
    imported_ms INTEGER NOT NULL,
    row_count   INTEGER NOT NULL
) STRICT;
CREATE TABLE price (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    catalog_id        INTEGER NOT NULL REFERENCES price_catalog (id),
    line              INTEGER NOT NULL,  -- of the file
    provider          TEXT NOT NULL,     -- aws, azure, gcp, lambda
    instance          TEXT NOT NULL,     -- '': an accelerator that is added to a host (GCP)
    accelerator       TEXT NOT NULL,     -- as the catalog names it; '': none
    accelerator_key   TEXT NOT NULL,     -- the device under one name in all catalogs (server/price/catalog.h)
    accelerator_count_text TEXT NOT NULL,
    chips             INTEGER CHECK (chips > 0), -- of a TPU slice, whose name counts chips or cores; NULL: none
    vcpus_text        TEXT,
    memory_gib_text   TEXT,
    region            TEXT NOT NULL,
    zone              TEXT,              -- NULL: unknown
    on_demand_pico    INTEGER CHECK (on_demand_pico >= 0), -- USD an hour; NULL: unknown, never 0
    on_demand_text    TEXT,              -- as the file has it; 0 is unknown as well
    spot_pico         INTEGER CHECK (spot_pico >= 0),
    spot_text         TEXT,
    valid_from        TEXT NOT NULL,
    flag              TEXT               -- spot-above-on-demand, price-zero; NULL: nothing odd
) STRICT;
CREATE INDEX price_by_instance ON price (instance, region, valid_from);
CREATE INDEX price_by_accelerator ON price (accelerator_key, accelerator_count_text) WHERE instance = '';

-- Webhooks: what is to be told to whom, and whether it was.
CREATE TABLE webhook (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    token_id    INTEGER NOT NULL REFERENCES token (id), -- whose it is
    url         TEXT NOT NULL CHECK (length(url) BETWEEN 1 AND 2000),
    kinds_json  TEXT NOT NULL,        -- array of text: which events
    task        TEXT,                 -- of one task alone; NULL: of all
    secret      BLOB NOT NULL CHECK (length(secret) = 32), -- key of the HMAC; shown once
    created_ms  INTEGER NOT NULL,
    ended_ms    INTEGER,              -- deleted by its owner, or given up
    reason      TEXT NOT NULL DEFAULT '' -- why it was given up
) STRICT;
CREATE TABLE delivery (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook_id  INTEGER NOT NULL REFERENCES webhook (id),
    kind        TEXT NOT NULL,
    body        BLOB NOT NULL,        -- JSON, the bytes that are signed
    state       TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
    tries       INTEGER NOT NULL DEFAULT 0, -- that were begun
    next_ms     INTEGER NOT NULL,     -- not before
    begun_ms    INTEGER,              -- a try is under way since; NULL: none
    http_status INTEGER,              -- of the last try; NULL: no answer
    error       TEXT NOT NULL DEFAULT '', -- of the last try
    created_ms  INTEGER NOT NULL,
    ended_ms    INTEGER               -- rows are deleted 30 days after
) STRICT;
CREATE INDEX delivery_waiting ON delivery (next_ms) WHERE state = 'waiting';
CREATE INDEX delivery_by_webhook ON delivery (webhook_id, id);
CREATE INDEX delivery_begun ON delivery (webhook_id) WHERE begun_ms IS NOT NULL;
CREATE INDEX delivery_ended ON delivery (ended_ms) WHERE ended_ms IS NOT NULL;
CREATE INDEX webhook_live ON webhook (token_id) WHERE ended_ms IS NULL;

-- What happens is told by triggers, in the transaction that makes it happen: no writer can forget it. They write to
-- the view notice, which hands each webhook that wants it a delivery. schema/openapi.yaml (Notice) has the bodies.
CREATE VIEW notice AS SELECT '' AS kind, '' AS task, 0 AS at_ms, '' AS data WHERE 0;
CREATE TRIGGER notice_becomes_deliveries INSTEAD OF INSERT ON notice BEGIN
    INSERT INTO delivery (webhook_id, kind, body, state, next_ms, created_ms)
    SELECT webhook.id, NEW.kind,
           CAST(json_patch('{}', json_object( -- leaves out what is null
               'kind', NEW.kind, 'task', NEW.task,
               'at', strftime('%Y-%m-%dT%H:%M:%S', NEW.at_ms / 1000, 'unixepoch') ||
                     printf('.%03dZ', NEW.at_ms % 1000),
               'data', json(NEW.data))) AS BLOB),
           'waiting', NEW.at_ms, NEW.at_ms
    FROM webhook JOIN token ON token.id = webhook.token_id
    WHERE webhook.ended_ms IS NULL AND instr(webhook.kinds_json, json_quote(NEW.kind)) > 0
      AND (webhook.task IS NULL OR webhook.task = NEW.task)
      AND token.revoked_ms IS NULL AND (token.expires_ms IS NULL OR token.expires_ms > NEW.at_ms);
END;

-- What boards order by; smaller is better.
CREATE VIEW board_value AS
SELECT id AS entry_id, task, 'time' AS board, tta_ns AS value, 's' AS unit, 9 AS places
FROM entry WHERE tta_ns IS NOT NULL UNION ALL
SELECT id, task, 'cost', cost_pico, 'USD', 12 FROM entry WHERE cost_pico IS NOT NULL AND cost_reason IS NULL UNION ALL
SELECT id, task, 'latency', latency_ns, 'ms', 6 FROM entry WHERE latency_ns IS NOT NULL UNION ALL
SELECT id, task, 'inference-cost', inference_cost_pico, 'USD', 12
FROM entry WHERE inference_cost_pico IS NOT NULL UNION ALL
SELECT id, task, 'energy', energy_uj, 'J', 6 FROM entry WHERE energy_uj IS NOT NULL;

CREATE TRIGGER notice_of_submission AFTER INSERT ON submission_event
    WHEN EXISTS (SELECT 1 FROM webhook WHERE ended_ms IS NULL) BEGIN
    INSERT INTO notice (kind, task, at_ms, data)
    SELECT 'submission', submission.task, NEW.at_ms,
           json_object('submission', submission.id, 'name', submission.name, 'action', nullif(NEW.action, ''),
                       'from', NEW.from_state, 'state', NEW.to_state, 'reason', nullif(NEW.reason, ''),
                       'entry', (SELECT id FROM entry WHERE submission_id = submission.id))
    FROM submission WHERE submission.id = NEW.submission_id AND submission.source <> 'history';
END;
CREATE TRIGGER notice_of_comment AFTER INSERT ON comment
    WHEN EXISTS (SELECT 1 FROM webhook WHERE ended_ms IS NULL) BEGIN
    INSERT INTO notice (kind, task, at_ms, data)
    SELECT 'comment', submission.task, NEW.at_ms,
           json_object('comment', NEW.id, 'submission', NEW.submission_id, 'thread', NEW.thread_id,
                       'file', NEW.file, 'line', NEW.line)
    FROM submission WHERE submission.id = NEW.submission_id;
END;
CREATE TRIGGER notice_of_standing AFTER INSERT ON standing
    WHEN EXISTS (SELECT 1 FROM webhook WHERE ended_ms IS NULL) BEGIN
    INSERT INTO notice (kind, task, at_ms, data)
    SELECT 'entry', task, NEW.from_ms,
           json_object('entry', id, 'name', name, 'author', author, 'state', state, 'submission', submission_id)
    FROM entry WHERE id = NEW.entry_id AND source <> 'history';
    -- A record: better than all that stand beside it.
    INSERT INTO notice (kind, task, at_ms, data)
    SELECT 'record', mine.task, NEW.from_ms,
           json_object('entry', entry.id, 'name', entry.name, 'author', entry.author, 'by', mine.board,
                       'unit', mine.unit,
                       'value', json(rtrim(rtrim(printf('%d.%0*d', mine.value / power.ten, mine.places,
                                                        mine.value % power.ten), '0'), '.')))
    FROM board_value AS mine
    JOIN (SELECT 6 AS places, 1000000 AS ten UNION ALL SELECT 9, 1000000000 UNION ALL SELECT 12, 1000000000000)
        AS power ON power.places = mine.places
    JOIN entry ON entry.id = mine.entry_id
    WHERE mine.entry_id = NEW.entry_id AND entry.source <> 'history'
      AND EXISTS (SELECT 1 FROM webhook WHERE ended_ms IS NULL AND instr(kinds_json, '"record"') > 0)
      AND NOT EXISTS (SELECT 1 FROM board_value AS other
                      JOIN standing ON standing.entry_id = other.entry_id AND standing.to_ms IS NULL
                      WHERE other.task = mine.task AND other.board = mine.board
                        AND other.entry_id <> mine.entry_id AND other.value <= mine.value);
END;
CREATE TRIGGER notice_of_standing_end AFTER UPDATE OF to_ms ON standing
    WHEN NEW.to_ms IS NOT NULL AND EXISTS (SELECT 1 FROM webhook WHERE ended_ms IS NULL) BEGIN
    INSERT INTO notice (kind, task, at_ms, data)
    SELECT 'entry', task, NEW.to_ms,
           json_object('entry', id, 'name', name, 'author', author, 'state', state, 'submission', submission_id,
                       'reason', nullif(reason, ''))
    FROM entry WHERE id = NEW.entry_id;
END;
CREATE TRIGGER notice_of_run AFTER UPDATE OF state ON run
    WHEN NEW.state IN ('reached', 'missed', 'failed', 'cancelled')
     AND OLD.state NOT IN ('reached', 'missed', 'failed', 'cancelled')
     AND EXISTS (SELECT 1 FROM webhook WHERE ended_ms IS NULL) BEGIN
    INSERT INTO notice (kind, task, at_ms, data)
    SELECT 'run', task, ifnull(NEW.ended_ms, created_ms),
           json_object('run', NEW.id, 'entry', id, 'name', name, 'state', NEW.state, 'reason', nullif(NEW.reason, ''))
    FROM entry WHERE id = NEW.entry_id;
END;
CREATE TRIGGER notice_of_board AFTER INSERT ON change
    WHEN NEW.kind = 'board' AND EXISTS (SELECT 1 FROM webhook WHERE ended_ms IS NULL) BEGIN
    INSERT INTO notice (kind, task, at_ms, data)
    VALUES ('board', substr(NEW.topic, length('board:') + 1), NEW.at_ms, json_object('entry', NEW.ref));
END;

-- What readers see, in the order of the structs in server/store/records.h.
DROP VIEW entry_row;
CREATE VIEW entry_row AS
SELECT id, task, task_version, name, source, submission_id, token_id, run_id, state, reason, tier, model,
       author, hardware, framework, code_url, claimed_date, entry_date, accepted_ms, created_ms,
       run_count, tta_ns, wall_ns, cost_pico, latency_ns, inference_cost_pico, tta_hours_text,
       latency_ms_text, inference_cost_text, cost_per_hour_text, epoch_text, epoch_count_text,
       accuracy_text, views, devices, nodes, device_kind, device_model, cloud, misc_json, extra_json,
       ifnull(lineage_id, id) AS lineage_id, supersedes_id, superseded_by_id, score_rule, energy_uj, instance,
       region, price_id, cost_reason, accelerator_price_id, list_price_pico
FROM entry;

DROP VIEW run_row; -- with the catalog's price, once the entry has one
CREATE VIEW run_row AS
SELECT run.id, run.entry_id, run.ordinal, entry.name AS entry_name, entry.task, entry.tier,
       entry.task_version, run.state, run.reason,
       iif(run.started_ms IS NULL, NULL, run.seed) AS seed, -- a secret until the clock runs
       run.started_ms, run.ended_ms, run.tta_ns, run.wall_ns, run.tta_seq, run.tta_epoch_text,
       job.id AS job_id, attempt.agent_id, attempt.fence, attempt.phase, attempt.plan, job.workload,
       job.recipe, ifnull(agent.hardware, entry.hardware) AS hardware,
       iif(agent.id IS NULL OR entry.price_id IS NOT NULL, entry.cost_per_hour_text,
           agent.cost_per_hour_text) AS cost_per_hour_text,
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

CREATE VIEW price_row AS
SELECT price.id, price.catalog_id, price.line, price.provider, price.instance, price.accelerator,
       price.accelerator_key, price.accelerator_count_text, price.chips, price.vcpus_text,
       price.memory_gib_text, price.region, price.zone, price.on_demand_pico, price.on_demand_text,
       price.spot_pico, price.spot_text, price.valid_from, price.flag, price_catalog.source,
       price_catalog.imported_ms
FROM price JOIN price_catalog ON price_catalog.id = price.catalog_id;

DROP VIEW submission_row;
CREATE VIEW submission_row AS
SELECT submission.id, submission.task, submission.name, submission.source, submission.state,
       submission.reason, submission_state.next, submission_state.owner, submission_state.is_final,
       submission.since_ms, submission.received_ms,
       submission.since_ms + submission_state.deadline_ms AS deadline_ms, submission.claimed_date,
       submission.token_id, entry.id AS entry_id, entry.author,
       length(submission.entry_bytes) AS entry_bytes,
       ifnull(length(submission.progress_bytes), 0) AS progress_bytes,
       submission.progress_bytes IS NOT NULL AS has_progress,
       submission.kind, ifnull(submission.lineage_id, submission.id) AS lineage_id, submission.revision,
       submission.overdue_ms
FROM submission
JOIN submission_state ON submission_state.name = submission.state
LEFT JOIN entry ON entry.submission_id = submission.id;

CREATE TRIGGER submission_file_is_kept BEFORE DELETE ON submission_file BEGIN
    SELECT RAISE(ABORT, 'what was sent is never deleted');
END;
CREATE TRIGGER submission_file_is_final BEFORE UPDATE ON submission_file BEGIN
    SELECT RAISE(ABORT, 'what was sent is never changed');
END;
CREATE TRIGGER comment_is_kept BEFORE DELETE ON comment BEGIN
    SELECT RAISE(ABORT, 'comments are never deleted');
END;
CREATE TRIGGER comment_is_final BEFORE UPDATE OF submission_id, thread_id, token_id, at_ms, file, line, text ON comment BEGIN
    SELECT RAISE(ABORT, 'comments are never changed');
END;
CREATE TRIGGER standing_is_kept BEFORE DELETE ON standing BEGIN
    SELECT RAISE(ABORT, 'when an entry stood is never deleted');
END;
CREATE TRIGGER standing_ends_once BEFORE UPDATE ON standing
    WHEN OLD.to_ms IS NOT NULL OR NEW.from_ms <> OLD.from_ms OR NEW.from_date <> OLD.from_date BEGIN
    SELECT RAISE(ABORT, 'when an entry stood is never changed');
END;
CREATE TRIGGER entry_edit_is_kept BEFORE DELETE ON entry_edit BEGIN
    SELECT RAISE(ABORT, 'the audit trail is never deleted');
END;
CREATE TRIGGER entry_edit_is_final BEFORE UPDATE ON entry_edit BEGIN
    SELECT RAISE(ABORT, 'the audit trail is never changed');
END;
CREATE TRIGGER task_setting_is_kept BEFORE DELETE ON task_setting BEGIN
    SELECT RAISE(ABORT, 'settings are never deleted');
END;
CREATE TRIGGER task_setting_is_final BEFORE UPDATE ON task_setting BEGIN
    SELECT RAISE(ABORT, 'settings are never changed');
END;
CREATE TRIGGER price_is_kept BEFORE DELETE ON price BEGIN
    SELECT RAISE(ABORT, 'prices are never deleted');
END;
CREATE TRIGGER price_is_final BEFORE UPDATE ON price BEGIN
    SELECT RAISE(ABORT, 'prices are never changed');
END;
CREATE TRIGGER price_catalog_is_kept BEFORE DELETE ON price_catalog BEGIN
    SELECT RAISE(ABORT, 'catalogs are never deleted');
END;
CREATE TRIGGER price_catalog_is_final BEFORE UPDATE ON price_catalog BEGIN
    SELECT RAISE(ABORT, 'catalogs are never changed');
END;

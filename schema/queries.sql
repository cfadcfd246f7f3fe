-- Every statement of the server. server/tools/queries.c makes an enum and a table of them, and all are prepared
-- at start-up: "read" by each reader, "write" by the writer, "both" by both. Parameters are bound in order.

-- Transactions: a group of commands is one, each command a savepoint in it (server/store/writer.c).

-- name: begin_group write
BEGIN IMMEDIATE;

-- name: commit_group write
COMMIT;

-- name: rollback_group write
ROLLBACK;

-- name: begin_command write
SAVEPOINT command;

-- name: release_command write
RELEASE command;

-- name: rollback_command write
ROLLBACK TO command;

-- name: begin_read read
BEGIN;

-- name: end_read read
COMMIT;

-- Settings and migrations.

-- name: get_setting both
SELECT value FROM setting WHERE name = ?1;

-- name: put_setting write
INSERT INTO setting (name, value) VALUES (?1, ?2)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: insert_migration write
INSERT INTO migration (version, path, sha256, applied_ms) VALUES (?1, ?2, ?3, ?4);

-- name: list_migrations both
SELECT version, path, sha256 FROM migration ORDER BY version;

-- Changes and versions.

-- name: append_change write
INSERT INTO change (topic, kind, ref, at_ms) VALUES (?1, ?2, ?3, ?4);

-- name: raise_version write
INSERT INTO version (topic, value) VALUES (?1, 1)
ON CONFLICT (topic) DO UPDATE SET value = value + 1;

-- name: get_last_change both
SELECT ifnull(max(id), 0) FROM change;

-- name: delete_old_changes write
DELETE FROM change WHERE at_ms < ?1 AND id < (SELECT max(id) FROM change);

-- Whose boards changed: the entry and its topic, each once.
-- name: list_board_changes read
SELECT DISTINCT topic, ref FROM change WHERE id > ?1 AND kind = 'board' LIMIT ?2;

-- name: list_changes read
SELECT id, topic, kind, ref, at_ms FROM change WHERE id > ?1 ORDER BY id LIMIT ?2;

-- name: get_change_range read
SELECT ifnull((SELECT min(id) FROM change), 0),
       ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'change'), 0);

-- name: get_version both
SELECT value FROM version WHERE topic = ?1;

-- Idempotency.

-- name: find_answer write
SELECT body_sha256, status, location, etag, body FROM idempotency
WHERE token_id = ?1 AND key = ?2 AND created_ms >= ?3;

-- name: put_answer write
INSERT INTO idempotency (token_id, key, body_sha256, status, location, etag, body, created_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (token_id, key) DO UPDATE
SET body_sha256 = excluded.body_sha256, status = excluded.status, location = excluded.location,
    etag = excluded.etag, body = excluded.body, created_ms = excluded.created_ms;

-- name: delete_old_answers write
DELETE FROM idempotency WHERE created_ms < ?1;

-- Tokens.

-- Webhooks and what is to be delivered. The rows of delivery are made by triggers (0002_service.sql, notice).

-- name: insert_webhook write
INSERT INTO webhook (token_id, url, kinds_json, task, secret, created_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: count_live_webhooks write
SELECT count(*) FROM webhook WHERE token_id = ?1 AND ended_ms IS NULL;

-- name: list_webhooks read
SELECT id, url, kinds_json, task, created_ms, ended_ms, reason,
       (SELECT count(*) FROM delivery WHERE webhook_id = webhook.id AND state = 'waiting') AS waiting
FROM webhook WHERE token_id = ?1 AND (?2 = 0 OR id = ?2) AND (ended_ms IS NULL OR reason <> '') ORDER BY id;

-- Deleted by its owner: one that had been given up forgets why, and with that is not shown again.
-- name: delete_webhook write
UPDATE webhook SET ended_ms = ifnull(ended_ms, ?3), reason = ''
WHERE id = ?1 AND token_id = ?2 AND (ended_ms IS NULL OR reason <> '');

-- name: give_webhook_up write
UPDATE webhook SET ended_ms = ?2, reason = ?3 WHERE id = ?1 AND ended_ms IS NULL;

-- name: drop_deliveries write
UPDATE delivery SET state = 'failed', ended_ms = ?2, begun_ms = NULL, error = ?3 WHERE webhook_id = ?1 AND state = 'waiting';

-- Those that would never be told of anything again, or are told of nothing any more.
-- name: list_hopeless_webhooks write
SELECT webhook.id,
       CASE WHEN token.revoked_ms IS NOT NULL THEN 'its token was revoked'
            WHEN token.expires_ms <= ?1 THEN 'its token expired'
            ELSE 'too many deliveries waited' END AS reason
FROM webhook JOIN token ON token.id = webhook.token_id
WHERE webhook.ended_ms IS NULL
  AND (token.revoked_ms IS NOT NULL OR token.expires_ms <= ?1
       OR (SELECT count(*) FROM delivery WHERE webhook_id = webhook.id AND state = 'waiting') >= ?2);

-- name: list_deliveries read
SELECT id, kind, body, state, tries, next_ms, http_status, error, created_ms, ended_ms FROM delivery
WHERE webhook_id = ?1 AND (?2 = 0 OR id < ?2) ORDER BY id DESC LIMIT ?3;

-- name: get_delivery write
SELECT delivery.id, kind, body, state, tries, next_ms, http_status, error, delivery.created_ms, delivery.ended_ms
FROM delivery JOIN webhook ON webhook.id = delivery.webhook_id
WHERE webhook.id = ?1 AND webhook.token_id = ?2 AND delivery.id = ?3
  AND (webhook.ended_ms IS NULL OR webhook.reason <> '');

-- When the next is due; none of a webhook that is being told something already.
-- name: get_next_delivery read
SELECT min(next_ms) FROM delivery
WHERE state = 'waiting' AND webhook_id NOT IN (SELECT webhook_id FROM delivery WHERE begun_ms IS NOT NULL);

-- One of each webhook at a time: what happened first is told first, and a slow receiver takes nobody else's place.
-- name: list_due_deliveries write
SELECT delivery.id, webhook.url, webhook.secret, delivery.kind, delivery.body, delivery.tries
FROM delivery JOIN webhook ON webhook.id = delivery.webhook_id
WHERE delivery.id IN (
    SELECT min(id) FROM delivery
    WHERE state = 'waiting' AND next_ms <= ?1
      AND webhook_id NOT IN (SELECT webhook_id FROM delivery WHERE begun_ms IS NOT NULL)
    GROUP BY webhook_id)
ORDER BY delivery.id LIMIT ?2;

-- name: begin_delivery write
UPDATE delivery SET tries = tries + 1, begun_ms = ?2 WHERE id = ?1;

-- name: end_delivery write
UPDATE delivery SET state = ?2, next_ms = ?3, http_status = ?4, error = ?5, ended_ms = ?6, begun_ms = NULL
WHERE id = ?1 AND state = 'waiting';

-- name: get_delivery_tries write
SELECT tries, webhook_id FROM delivery WHERE id = ?1 AND state = 'waiting';

-- Tries that a server had under way when it died, or when it stopped.
-- name: release_deliveries write
UPDATE delivery SET begun_ms = NULL, next_ms = min(next_ms, ?1) WHERE begun_ms IS NOT NULL;

-- name: redeliver write
UPDATE delivery SET state = 'waiting', tries = 0, next_ms = ?2, http_status = NULL, error = '', ended_ms = NULL
WHERE id = ?1 AND begun_ms IS NULL AND EXISTS (SELECT 1 FROM webhook WHERE id = delivery.webhook_id AND ended_ms IS NULL);

-- name: delete_old_deliveries write
DELETE FROM delivery WHERE ended_ms < ?1;

-- name: insert_token write
INSERT INTO token (role, name, secret_sha256, created_ms, expires_ms, scopes, submissions_per_day, bytes_max,
                   created_by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: revoke_token write
UPDATE token SET revoked_ms = ifnull(revoked_ms, ?2) WHERE id = ?1;

-- name: touch_token write
UPDATE token SET used_ms = max(ifnull(used_ms, 0), ?2) WHERE id = ?1;

-- One submission more, of so many bytes, on day ?3; or, without one (?4 is 0), bytes alone.
-- name: charge_token write
UPDATE token
SET stored_bytes = stored_bytes + ?2, quota_day_count = iif(quota_day = ?3, quota_day_count, 0) + ?4,
    quota_day = ?3
WHERE id = ?1
RETURNING role, submissions_per_day, bytes_max, quota_day_count, stored_bytes;

-- name: get_token both
SELECT token.id, token.role, token.name, token.secret_sha256, token.expires_ms, token.revoked_ms, agent.id,
       agent.state, token.scopes
FROM token LEFT JOIN agent ON agent.token_id = token.id
WHERE token.id = ?1;

-- name: list_tokens read
SELECT id, role, name, created_ms, expires_ms, revoked_ms, used_ms, scopes, submissions_per_day, bytes_max,
       created_by, stored_bytes
FROM token WHERE id > ?1 ORDER BY id LIMIT ?2;

-- name: insert_session write
INSERT INTO session (secret_sha256, token_id, created_ms, expires_ms) VALUES (?1, ?2, ?3, ?4);

-- name: end_session write
UPDATE session SET ended_ms = ifnull(ended_ms, ?2) WHERE secret_sha256 = ?1;

-- name: delete_old_sessions write
DELETE FROM session WHERE expires_ms < ?1;

-- name: get_session read
SELECT token_id, expires_ms, ended_ms FROM session WHERE secret_sha256 = ?1;

-- Submissions and entries.

-- name: find_content write
SELECT id FROM submission WHERE content_sha256 = ?1 AND state NOT IN ('withdrawn', 'rejected');

-- ?3: a lineage whose own name it may be; 0: none.
-- name: find_name write
SELECT id, submission_id FROM entry
WHERE task = ?1 AND name = ?2 AND state NOT IN ('withdrawn', 'rejected') AND ifnull(lineage_id, id) <> ?3
ORDER BY state = 'accepted' DESC, id DESC LIMIT 1;

-- name: insert_submission write
INSERT INTO submission (task, name, source, entry_bytes, progress_bytes, content_sha256, state, reason,
                        since_ms, received_ms, claimed_date, token_id, kind, lineage_id, revision)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15);

-- name: get_submission_next write
SELECT next, owner, deadline_ms FROM submission_state WHERE name = ?1;

-- name: insert_submission_event write
INSERT INTO submission_event (submission_id, at_ms, token_id, from_state, to_state, reason, action)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- Review: what a submission may become, and what that does to its entry.

-- name: list_transitions both
SELECT action, to_state, scope FROM submission_transition WHERE from_state = ?1 ORDER BY action, to_state;

-- name: find_subject write
SELECT submission.id, submission.task, submission.state, submission.token_id, submission.kind,
       ifnull(submission.lineage_id, submission.id), submission.revision, submission.content_sha256, entry.id,
       entry.name, ifnull(entry.lineage_id, entry.id), entry.supersedes_id, entry.tta_ns, entry.cost_pico,
       entry.latency_ns, entry.inference_cost_pico, entry.energy_uj
FROM submission JOIN entry ON entry.submission_id = submission.id WHERE submission.id = ?1;

-- name: set_submission_state write
UPDATE submission SET state = ?2, reason = ?3, since_ms = ?4, overdue_ms = NULL WHERE id = ?1;

-- name: set_entry_state write
UPDATE entry SET state = ?2, reason = ?3 WHERE id = ?1;

-- The entry's date, which decides ties, is that of its first acceptance.
-- name: set_entry_accepted write
UPDATE entry SET entry_date = ifnull(entry_date, ?2), accepted_ms = ifnull(accepted_ms, ?3) WHERE id = ?1;

-- name: set_entry_superseded write
UPDATE entry SET superseded_by_id = ?2 WHERE id = ?1;

-- Of a lineage one entry stands at most; this is it, when it is not ?2 itself.
-- name: find_standing write
SELECT id, submission_id, name FROM entry
WHERE (id = ?1 OR lineage_id = ?1) AND id <> ?2 AND state = 'accepted' ORDER BY id DESC LIMIT 1;

-- name: find_former write
SELECT id, submission_id FROM entry WHERE superseded_by_id = ?1 AND state = 'superseded' ORDER BY id DESC LIMIT 1;

-- name: pass_formers_on write
UPDATE entry SET superseded_by_id = (SELECT superseded_by_id FROM entry AS gone WHERE gone.id = ?1)
WHERE superseded_by_id = ?1;

-- name: find_entry_submission write
SELECT submission_id FROM entry WHERE id = ?1;

-- name: find_newest_revision write
SELECT id, state, revision FROM submission
WHERE id = ?1 OR lineage_id = ?1 ORDER BY revision DESC LIMIT 1;

-- name: get_task_setting both
SELECT task_setting.id, task_setting.policy, task_setting.review, task_setting.reason, task_setting.at_ms,
       token.name
FROM task_setting LEFT JOIN token ON token.id = task_setting.token_id
WHERE task_setting.task = ?1 ORDER BY task_setting.id DESC LIMIT 1;

-- name: insert_task_setting write
INSERT INTO task_setting (task, policy, review, reason, token_id, at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: insert_comment write
INSERT INTO comment (submission_id, thread_id, token_id, at_ms, file, line, text)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: find_comment write
SELECT comment.submission_id, comment.thread_id, comment.token_id, comment.resolved_ms, submission.token_id
FROM comment JOIN submission ON submission.id = comment.submission_id WHERE comment.id = ?1;

-- name: resolve_comment write
UPDATE comment SET resolved_ms = ?2, resolved_by = ?3 WHERE id = ?1;

-- name: list_comments read
SELECT comment.id, comment.submission_id, comment.thread_id, comment.at_ms, token.name, token.role, comment.file,
       comment.line, comment.text, comment.resolved_ms, resolver.name
FROM comment JOIN token ON token.id = comment.token_id
LEFT JOIN token AS resolver ON resolver.id = comment.resolved_by
WHERE comment.submission_id = ?1 AND comment.id > ?2 ORDER BY comment.id LIMIT ?3;

-- Corrections of an entry, in the order of enum correction (records.h).
-- name: find_corrigible write
SELECT name, author, model, hardware, framework, code_url, cost_per_hour_text, device_kind, device_model,
       CAST(devices AS TEXT), CAST(nodes AS TEXT), cloud, tta_hours_text, tta_ns
FROM entry WHERE id = ?1;

-- name: set_corrigible write
UPDATE entry
SET name = ?2, author = ?3, model = ?4, hardware = ?5, framework = ?6, code_url = ?7, cost_per_hour_text = ?8,
    device_kind = ?9, device_model = ?10, devices = ?11, nodes = ?12, cloud = ?13
WHERE id = ?1;

-- A price that a reviewer corrected is no catalog's any more.
-- name: set_corrected_cost write
UPDATE entry SET cost_pico = ?2, price_id = NULL, cost_reason = NULL WHERE id = ?1;

-- name: insert_entry_edit write
INSERT INTO entry_edit (entry_id, at_ms, token_id, field, old_value, new_value, reason)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- All that happened to a submission, oldest first.
-- name: list_history read
SELECT * FROM (
    SELECT submission_event.at_ms AS at_ms, 'state' AS kind, token.name, token.role, submission_event.action,
           submission_event.from_state, submission_event.to_state, submission_event.reason,
           NULL AS field, NULL AS old_value, NULL AS new_value, NULL AS comment, submission_event.id AS sort
    FROM submission_event LEFT JOIN token ON token.id = submission_event.token_id
    WHERE submission_event.submission_id = ?1
    UNION ALL
    SELECT entry_edit.at_ms, 'correction', token.name, token.role, NULL, NULL, NULL, entry_edit.reason,
           entry_edit.field, entry_edit.old_value, entry_edit.new_value, NULL, entry_edit.id
    FROM entry JOIN entry_edit ON entry_edit.entry_id = entry.id
    LEFT JOIN token ON token.id = entry_edit.token_id WHERE entry.submission_id = ?1
    UNION ALL
    SELECT comment.at_ms, 'comment', token.name, token.role, NULL, NULL, NULL, NULL, NULL, NULL, NULL, comment.id,
           comment.id
    FROM comment JOIN token ON token.id = comment.token_id WHERE comment.submission_id = ?1
    UNION ALL
    SELECT comment.resolved_ms, 'resolved', token.name, token.role, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           comment.id, comment.id
    FROM comment JOIN token ON token.id = comment.resolved_by
    WHERE comment.submission_id = ?1 AND comment.resolved_ms IS NOT NULL)
ORDER BY at_ms, kind <> 'state', kind, sort;

-- name: list_revisions read
SELECT id, revision, state, received_ms FROM submission WHERE id = ?1 OR lineage_id = ?1 ORDER BY revision;

-- Deadlines that passed: a state that has an end of its own (changes_requested) comes each time until it is left,
-- others once, to be said.
-- name: list_overdue write
SELECT submission.id, submission.state FROM submission
JOIN submission_state ON submission_state.name = submission.state
WHERE submission.state IN ('received', 'checked', 'in_review', 'changes_requested', 'queued', 'running', 'scored')
  AND submission.since_ms + submission_state.deadline_ms <= ?1 AND submission.overdue_ms IS NULL
ORDER BY submission.id LIMIT 100;

-- name: set_overdue write
UPDATE submission SET overdue_ms = ?2 WHERE id = ?1;

-- How many of a task's accepted entries, those of one lineage aside, are better than a value, and what the fifth has:
-- along an index of its own each (entry_top_...), from the best on, no farther than needed.
-- name: get_fifth both
SELECT CASE ?2
           WHEN 'time' THEN (
               SELECT count(*) FROM entry WHERE task = ?1 AND state = 'accepted'
               AND tta_ns < ?4 AND ifnull(lineage_id, id) <> ?3)
           WHEN 'cost' THEN (
               SELECT count(*) FROM entry WHERE task = ?1 AND state = 'accepted' AND cost_reason IS NULL
               AND cost_pico < ?4 AND ifnull(lineage_id, id) <> ?3)
           WHEN 'energy' THEN (
               SELECT count(*) FROM entry WHERE task = ?1 AND state = 'accepted'
               AND energy_uj < ?4 AND ifnull(lineage_id, id) <> ?3)
           WHEN 'latency' THEN (
               SELECT count(*) FROM entry WHERE task = ?1 AND state = 'accepted'
               AND latency_ns < ?4 AND ifnull(lineage_id, id) <> ?3)
           WHEN 'inference-cost' THEN (
               SELECT count(*) FROM entry WHERE task = ?1 AND state = 'accepted'
               AND inference_cost_pico < ?4 AND ifnull(lineage_id, id) <> ?3)
       END,
       CASE ?2
           WHEN 'time' THEN (
               SELECT tta_ns FROM entry WHERE task = ?1 AND state = 'accepted'
               AND tta_ns IS NOT NULL AND ifnull(lineage_id, id) <> ?3
               ORDER BY tta_ns LIMIT 1 OFFSET 4)
           WHEN 'cost' THEN (
               SELECT cost_pico FROM entry WHERE task = ?1 AND state = 'accepted' AND cost_reason IS NULL
               AND cost_pico IS NOT NULL AND ifnull(lineage_id, id) <> ?3
               ORDER BY cost_pico LIMIT 1 OFFSET 4)
           WHEN 'energy' THEN (
               SELECT energy_uj FROM entry WHERE task = ?1 AND state = 'accepted'
               AND energy_uj IS NOT NULL AND ifnull(lineage_id, id) <> ?3
               ORDER BY energy_uj LIMIT 1 OFFSET 4)
           WHEN 'latency' THEN (
               SELECT latency_ns FROM entry WHERE task = ?1 AND state = 'accepted'
               AND latency_ns IS NOT NULL AND ifnull(lineage_id, id) <> ?3
               ORDER BY latency_ns LIMIT 1 OFFSET 4)
           WHEN 'inference-cost' THEN (
               SELECT inference_cost_pico FROM entry WHERE task = ?1 AND state = 'accepted'
               AND inference_cost_pico IS NOT NULL AND ifnull(lineage_id, id) <> ?3
               ORDER BY inference_cost_pico LIMIT 1 OFFSET 4)
       END;

-- name: insert_entry write
INSERT INTO entry (task, task_version, name, source, submission_id, token_id, state, reason, tier, model,
                   author, hardware, framework, code_url, claimed_date, entry_date, accepted_ms,
                   created_ms, run_count, score_rule, tta_ns, tta_hours_text, epoch_text, epoch_count_text,
                   accuracy_text, cost_per_hour_text, cost_pico, latency_ns, latency_ms_text,
                   inference_cost_pico, inference_cost_text, device_kind, device_model, devices, nodes,
                   cloud, misc_json, extra_json, instance, region, lineage_id, supersedes_id)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
        ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42);

-- name: set_entry_run write
UPDATE entry SET run_id = ?2 WHERE id = ?1;

-- name: describe_entry write
UPDATE entry
SET hardware = agent.hardware, framework = agent.framework, device_kind = agent.device_kind,
    device_model = agent.device_model, devices = agent.devices, nodes = 1, cloud = agent.cloud,
    cost_per_hour_text = agent.cost_per_hour_text, instance = agent.instance,
    region = json_extract(agent.capabilities_json, '$.region')
FROM agent WHERE entry.id = ?1 AND agent.id = ?2;

-- name: score_entry write
UPDATE entry
SET run_id = ?2, tta_ns = ?3, wall_ns = ?4, epoch_text = ?5, epoch_count_text = ?5, accuracy_text = ?6,
    views = ?7, cost_pico = ?8, score_rule = ?9
WHERE id = ?1;

-- name: insert_run write
INSERT INTO run (entry_id, ordinal, state, seed, tta_ns, tta_epoch_text, tta_seq, tta_value_text)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

-- name: insert_uploaded_run write
INSERT INTO run (entry_id, ordinal, state, tta_ns, tta_epoch_text, tta_seq, tta_value_text, file_name, seed_text,
                 progress_sha256, rows_sha256)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11);

-- name: insert_flag write
INSERT INTO flag (entry_id, code, detail, run_id, other_entry_id, other_run_id, at_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: insert_entry_check write
INSERT INTO entry_check (entry_id, run_id, rule, verdict, file, line, detail, hint)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

-- Those of the whole entry first.
-- name: list_entry_checks read
SELECT rule, verdict, file, line, detail, hint, run_id
FROM entry_check WHERE entry_id = ?1 ORDER BY run_id IS NOT NULL, id;

-- name: list_flags read
SELECT flag.code, flag.detail, flag.run_id, flag.other_entry_id, flag.other_run_id
FROM flag WHERE flag.entry_id = ?1 ORDER BY flag.id;

-- Runs of other entries of the task with the same log. What left the boards for good is not asked, nor what the
-- caller's entry takes the place of (its lineage).
-- name: find_equal_log both
SELECT run.id, run.entry_id, entry.name, ifnull(run.progress_sha256 = ?3, 0)
FROM run JOIN entry ON entry.id = run.entry_id
WHERE run.rows_sha256 = ?2 AND entry.task = ?1 AND entry.state NOT IN ('withdrawn', 'rejected')
  AND ifnull(entry.lineage_id, entry.id) <> ?4
ORDER BY run.id LIMIT 1;

-- A seed says something only between trials of the same thing: same author, model, hardware and framework.
-- name: find_equal_seed both
SELECT run.id, run.entry_id, entry.name
FROM run JOIN entry ON entry.id = run.entry_id
WHERE run.seed_text = ?2 AND entry.task = ?1 AND entry.state NOT IN ('withdrawn', 'rejected')
  AND ifnull(entry.lineage_id, entry.id) <> ?3
  AND entry.author = ?4 AND entry.model = ?5 AND entry.hardware = ?6 AND entry.framework = ?7
ORDER BY run.id LIMIT 1;

-- name: insert_epoch write
INSERT INTO epoch (run_id, attempt_id, seq, label, official_ns, wall_ns, value_text, correct, total, loss,
                   views, extra_json)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12);

-- The first standing begins on the entry's own date, later ones today; two of one millisecond are told apart.
-- name: begin_standing write
INSERT INTO standing (entry_id, from_ms, from_date)
SELECT entry.id, max(?2, ifnull(1 + (SELECT max(ifnull(to_ms, from_ms)) FROM standing WHERE entry_id = ?1), 0)),
       iif(EXISTS (SELECT 1 FROM standing WHERE entry_id = ?1), strftime('%Y-%m-%d', ?2 / 1000, 'unixepoch'),
           entry.entry_date)
FROM entry
WHERE entry.id = ?1 AND entry.entry_date IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM standing WHERE entry_id = ?1 AND to_ms IS NULL);

-- name: end_standing write
UPDATE standing SET to_ms = max(?2, from_ms) WHERE entry_id = ?1 AND to_ms IS NULL;

-- name: list_entries read
SELECT * FROM entry_row WHERE task = ?1 ORDER BY id;

-- name: get_entry read
SELECT * FROM entry_row WHERE id = ?1;

-- name: find_entry read
SELECT * FROM entry_row
WHERE task = ?1 AND name = ?2 AND state NOT IN ('withdrawn', 'rejected')
ORDER BY state = 'accepted' DESC, id DESC LIMIT 1;

-- name: list_latest_entries read
SELECT * FROM entry_row WHERE state = 'accepted' AND accepted_ms IS NOT NULL
ORDER BY entry_date DESC, id DESC LIMIT ?1;

-- name: list_accepted read
SELECT * FROM entry_row WHERE state = 'accepted' AND accepted_ms IS NOT NULL AND (?1 IS NULL OR task = ?1)
ORDER BY accepted_ms DESC, id DESC LIMIT ?2;

-- name: list_entries_after read
SELECT * FROM entry_row WHERE id > ?1 ORDER BY id LIMIT ?2;

-- name: list_range_ttas read
SELECT entry_id, tta_ns FROM run
WHERE entry_id BETWEEN ?1 AND ?2 AND state = 'reached' AND tta_ns IS NOT NULL
ORDER BY entry_id, ordinal;

-- name: list_entry_ttas read
SELECT entry_id, tta_ns FROM run WHERE entry_id = ?1 AND state = 'reached' AND tta_ns IS NOT NULL
ORDER BY ordinal;

-- Labels may begin at -1, 0 or 1: the smallest tells how many epochs a label means.
-- name: list_trials read
SELECT run.entry_id, run.id, run.ordinal, run.state, run.tta_ns, run.tta_epoch_text,
       (SELECT min(CAST(label AS REAL)) FROM epoch
        WHERE epoch.run_id = run.id AND ifnull(epoch.attempt_id, 0) = ifnull(run.attempt_id, 0))
FROM run JOIN entry ON entry.id = run.entry_id
WHERE entry.task = ?1 AND entry.state = 'accepted'
ORDER BY run.entry_id, run.ordinal;

-- ?3: 1 where a higher value is better, else -1.
-- name: count_relapses read
SELECT count(*), ifnull(sum(EXISTS (
           SELECT 1 FROM epoch WHERE epoch.run_id = run.id
           AND ifnull(epoch.attempt_id, 0) = ifnull(run.attempt_id, 0) AND epoch.seq > run.tta_seq
           AND ?3 * CAST(epoch.value_text AS REAL) < ?3 * CAST(?2 AS REAL))), 0)
FROM run JOIN entry ON entry.id = run.entry_id
WHERE entry.task = ?1 AND entry.state = 'accepted' AND run.state = 'reached' AND run.tta_seq IS NOT NULL;

-- name: list_range_standings read
SELECT entry_id, from_date, to_ms FROM standing
WHERE entry_id BETWEEN ?1 AND ?2 ORDER BY entry_id, from_ms;

-- name: list_entry_standings read
SELECT entry_id, from_date, to_ms FROM standing WHERE entry_id = ?1 ORDER BY from_ms;

-- name: list_submissions read
SELECT * FROM submission_row
WHERE (?1 IS NULL OR task = ?1) AND (?2 IS NULL OR state = ?2) AND (?3 IS NULL OR author = ?3)
  AND (?4 IS NULL OR token_id = ?4) AND (?5 = 0 OR id < ?5)
ORDER BY id DESC LIMIT ?6;

-- name: get_submission read
SELECT * FROM submission_row WHERE id = ?1;

-- name: get_submission_files read
SELECT entry_bytes, progress_bytes FROM submission WHERE id = ?1;

-- name: insert_submission_file write
INSERT INTO submission_file (submission_id, ordinal, name, bytes, sha256) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: list_submission_files read
SELECT name, bytes, sha256 FROM submission_file WHERE submission_id = ?1 ORDER BY ordinal;

-- name: list_submission_events read
SELECT submission_event.at_ms, submission_event.token_id, token.name, submission_event.from_state,
       submission_event.to_state, submission_event.reason, submission_event.action
FROM submission_event LEFT JOIN token ON token.id = submission_event.token_id
WHERE submission_event.submission_id = ?1 ORDER BY submission_event.id;

-- Prices.

-- name: find_price_catalog write
SELECT id, valid_from FROM price_catalog WHERE sha256 = ?1;

-- name: insert_price_catalog write
INSERT INTO price_catalog (source, sha256, provider, valid_from, imported_ms, row_count)
VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: insert_price write
INSERT INTO price (catalog_id, line, provider, instance, accelerator, accelerator_key, accelerator_count_text,
                   chips, vcpus_text, memory_gib_text, region, zone, on_demand_pico, on_demand_text, spot_pico,
                   spot_text, valid_from, flag)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18);

-- name: list_prices read
SELECT * FROM price_row
WHERE (?1 IS NULL OR provider = ?1) AND (?2 IS NULL OR instance = ?2) AND (?3 IS NULL OR accelerator_key = ?3)
  AND (?4 IS NULL OR region = ?4)
  AND (?5 IS NULL OR (valid_from <= ?5 AND NOT EXISTS
       (SELECT 1 FROM price AS later
        WHERE later.instance = price_row.instance AND later.region = price_row.region
          AND later.valid_from BETWEEN price_row.valid_from AND ?5 AND later.provider = price_row.provider
          AND ifnull(later.zone, '') = ifnull(price_row.zone, '')
          AND (later.instance <> '' OR (later.accelerator_key = price_row.accelerator_key
               AND later.accelerator_count_text = price_row.accelerator_count_text))
          AND (later.valid_from, later.catalog_id) > (price_row.valid_from, price_row.catalog_id))))
  AND id > ?6
ORDER BY id LIMIT ?7;

-- name: get_price read
SELECT * FROM price_row WHERE id = ?1;

-- name: list_price_catalogs read
SELECT id, source, provider, valid_from, imported_ms, row_count, sha256 FROM price_catalog ORDER BY id;

-- What price_plan() asks for: the machine, what is added to it, or both.
-- name: list_price_offers both
SELECT id, catalog_id, provider, instance, accelerator_key, accelerator_count_text, region, zone, valid_from,
       on_demand_pico, spot_pico
FROM price WHERE instance = ?1 AND ?1 <> '' AND valid_from <= ?4
UNION ALL
SELECT id, catalog_id, provider, instance, accelerator_key, accelerator_count_text, region, zone, valid_from,
       on_demand_pico, spot_pico
FROM price
WHERE instance = '' AND accelerator_key = ?2 AND accelerator_count_text = ?3 AND valid_from <= ?4;

-- name: get_rented write
SELECT entry.instance, entry.region, entry.nodes, agent.cost_per_hour_text, run.started_ms,
       agent.cloud, agent.device_kind, agent.device_model, agent.devices,
       json_extract(agent.capabilities_json, '$.spot')
FROM entry JOIN agent ON agent.id = ?2 LEFT JOIN run ON run.id = ?3
WHERE entry.id = ?1;

-- name: price_entry write
UPDATE entry
SET price_id = ?2, accelerator_price_id = ?3, list_price_pico = ?4, cost_per_hour_text = ?5, cloud = ifnull(cloud, ?6),
    cost_reason = ?7
WHERE id = ?1;

-- Runs.

-- name: list_runs read
SELECT run_row.*, run.seed_text, run.file_name FROM run_row JOIN run ON run.id = run_row.id
WHERE run_row.entry_id = ?1 ORDER BY run_row.ordinal;

-- name: list_live_runs read
SELECT run_row.*, run.seed_text, run.file_name FROM run_row JOIN run ON run.id = run_row.id
WHERE run_row.state IN ('running', 'unreachable') ORDER BY run_row.started_ms DESC, run_row.id DESC LIMIT ?1;

-- name: get_run read
SELECT run_row.*, run.seed_text, run.file_name FROM run_row JOIN run ON run.id = run_row.id WHERE run_row.id = ?1;

-- name: list_epochs read
SELECT epoch.seq, epoch.label, epoch.value_text, epoch.official_ns, epoch.wall_ns, epoch.correct,
       epoch.total, epoch.views, epoch.loss, epoch.extra_json
FROM run JOIN epoch ON epoch.run_id = run.id AND ifnull(epoch.attempt_id, 0) = ifnull(run.attempt_id, 0)
WHERE run.id = ?1 AND epoch.seq > ?2 ORDER BY epoch.seq LIMIT ?3;

-- name: start_run write
UPDATE run SET state = 'running', started_ms = ?2 WHERE id = ?1;

-- name: cross_run write
UPDATE run
SET tta_ns = ?2, tta_epoch_text = ?3, tta_seq = ?4, tta_value_text = ?5, tta_views = ?6, wall_ns = ?7
WHERE id = ?1 AND tta_ns IS NULL;

-- name: set_run_state write
UPDATE run SET state = ?2 WHERE id = ?1 AND state IN ('queued', 'running', 'unreachable');

-- name: assign_run write
UPDATE run SET attempt_id = ?2 WHERE id = ?1;

-- A timed run that was interrupted is void: the next attempt begins anew, with another seed.
-- name: reset_run write
UPDATE run
SET state = 'queued', attempt_id = NULL, seed = ?2, started_ms = NULL, tta_ns = NULL, tta_epoch_text = NULL,
    tta_seq = NULL, tta_value_text = NULL, tta_views = NULL, wall_ns = NULL
WHERE id = ?1 AND state IN ('queued', 'running', 'unreachable');

-- name: end_run write
UPDATE run SET state = ?2, reason = ?3, ended_ms = ?4 WHERE id = ?1;

-- name: list_entry_results write
SELECT run.id, run.state, run.tta_ns, run.wall_ns, run.tta_epoch_text, run.tta_value_text, run.tta_views,
       attempt.agent_id
FROM run LEFT JOIN attempt ON attempt.id = run.attempt_id
WHERE run.entry_id = ?1 ORDER BY run.ordinal;

-- Jobs.

-- name: insert_job write
INSERT INTO job (entry_id, run_id, task, task_version, workload, recipe, device_kind, tags_json,
                 reclaim_after_ms, state, token_id, created_ms, queued_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'queued', ?10, ?11, ?11);

-- name: get_next_job_id write
SELECT ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'job'), 0) + 1;

-- name: find_job write
SELECT id, entry_id, run_id, task, state, cancel, attempt_id FROM job WHERE id = ?1;

-- name: list_open_jobs write
SELECT id, run_id, state FROM job WHERE entry_id = ?1 AND state IN ('queued', 'leased') ORDER BY id;

-- Whether nothing of an entry has been begun: all of its jobs wait.
-- name: is_entry_unbegun write
SELECT NOT EXISTS (SELECT 1 FROM job WHERE entry_id = ?1 AND state <> 'queued');

-- name: lease_job write
UPDATE job SET state = 'leased', attempt_id = ?2, tries = tries + 1 WHERE id = ?1;

-- name: requeue_job write
UPDATE job SET state = 'queued', attempt_id = NULL, queued_ms = ?2 WHERE id = ?1;

-- name: cancel_job write
UPDATE job SET cancel = 1 WHERE id = ?1;

-- name: end_job write
UPDATE job SET state = ?2, reason = ?3, ended_ms = ?4 WHERE id = ?1;

-- name: list_queue read
SELECT job_row.*, EXISTS (SELECT 1 FROM capable
                          WHERE capable.job_id = job_row.id AND capable.heartbeat_ms >= ?1)
FROM job_row
WHERE job_row.state IN ('queued', 'leased', 'running', 'unreachable')
  AND (job_row.position IS NULL, job_row.id) > (?2, ?3)
ORDER BY job_row.position IS NULL, job_row.id LIMIT ?4;

-- name: list_entry_jobs read
SELECT job_row.*, EXISTS (SELECT 1 FROM capable
                          WHERE capable.job_id = job_row.id AND capable.heartbeat_ms >= ?1)
FROM job_row WHERE job_row.entry_id = ?2 ORDER BY job_row.id;

-- name: get_job read
SELECT job_row.*, EXISTS (SELECT 1 FROM capable
                          WHERE capable.job_id = job_row.id AND capable.heartbeat_ms >= ?1)
FROM job_row WHERE job_row.id = ?2;

-- Agents and attempts.

-- name: insert_agent write
INSERT INTO agent (name, public_key, protocol, build, capabilities_json, device_kind, device_model, devices,
                   tags_json, hardware, framework, instance, cloud, cost_per_hour_text, token_id,
                   owner_token_id, state, registered_ms, heartbeat_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, 'active', ?17, ?17);

-- name: find_agent write
SELECT id, state FROM agent WHERE id = ?1;

-- A parked claim comes again and again: not every one of them is worth a write.
-- name: touch_agent write
UPDATE agent SET heartbeat_ms = ?2 WHERE id = ?1 AND heartbeat_ms < ?2 - 1000;

-- name: list_agents read
SELECT * FROM agent_row WHERE state <> 'revoked' AND heartbeat_ms >= ?1 AND id > ?2 ORDER BY id LIMIT ?3;

-- name: get_agent read
SELECT * FROM agent_row WHERE id = ?1;

-- name: find_claim write
SELECT attempt.id, attempt.fence, attempt.job_id, attempt.run_id, attempt.state, attempt.last_seq,
       job.attempt_id, job.task, job.task_version, job.workload, job.recipe
FROM attempt JOIN job ON job.id = attempt.job_id
WHERE attempt.agent_id = ?1 AND attempt.claim_id = ?2;

-- name: find_job_for_agent write
SELECT job.id, job.run_id, job.entry_id, job.task, job.task_version, job.workload, job.recipe
FROM job JOIN capable ON capable.job_id = job.id AND capable.agent_id = ?1
WHERE job.state = 'queued' ORDER BY job.id LIMIT 1;

-- name: insert_attempt write
INSERT INTO attempt (fence, job_id, run_id, agent_id, claim_id, state, created_ms, lease_until_ms,
                     heartbeat_ms)
VALUES (?1, ?2, ?3, ?4, ?5, 'leased', ?6, ?7, ?6);

-- name: find_attempt write
SELECT attempt.id, attempt.job_id, attempt.run_id, attempt.state, attempt.last_seq, attempt.started_ms,
       attempt.finish_sha256, job.attempt_id, job.state, job.cancel, job.task, job.entry_id, run.seed,
       run.state, run.tta_ns
FROM attempt JOIN job ON job.id = attempt.job_id JOIN run ON run.id = attempt.run_id
WHERE attempt.fence = ?1 AND attempt.agent_id = ?2;

-- name: renew_attempt write
UPDATE attempt SET state = 'leased', lease_until_ms = ?2, heartbeat_ms = ?3, phase = ifnull(?4, phase)
WHERE id = ?1;

-- name: set_attempt_seq write
UPDATE attempt SET last_seq = ?2, started_ms = ifnull(started_ms, ?3) WHERE id = ?1;

-- name: set_attempt_state write
UPDATE attempt SET state = ?2, reason = ?3, ended_ms = ?4 WHERE id = ?1;

-- name: finish_attempt write
UPDATE attempt
SET state = 'finished', result = ?2, reason = ?3, plan = ?4, finish_sha256 = ?5, ended_ms = ?6,
    heartbeat_ms = ?6
WHERE id = ?1;

-- The newest first.
-- name: list_job_attempts read
SELECT attempt.fence, attempt.agent_id, agent.name, attempt.state, attempt.reason, attempt.result, attempt.phase,
       attempt.created_ms, attempt.started_ms, attempt.heartbeat_ms, attempt.ended_ms, attempt.last_seq
FROM attempt JOIN agent ON agent.id = attempt.agent_id
WHERE attempt.job_id = ?1 ORDER BY attempt.id DESC LIMIT ?2;

-- name: insert_event write
INSERT INTO event (attempt_id, seq, kind, bytes, sha256, received_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: find_event write
SELECT sha256 FROM event WHERE attempt_id = ?1 AND seq = ?2;

-- name: insert_run_profile write
INSERT INTO run_profile (attempt_id, run_id, bytes, sha256, received_ms) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: find_run_profile write
SELECT sha256 FROM run_profile WHERE attempt_id = ?1;

-- That of the attempt which made the run's result.
-- name: has_run_profile read
SELECT 1 FROM run JOIN run_profile ON run_profile.run_id = run.id AND run_profile.attempt_id = run.attempt_id
WHERE run.id = ?1;

-- name: get_run_profile read
SELECT run_profile.bytes
FROM run JOIN run_profile ON run_profile.run_id = run.id AND run_profile.attempt_id = run.attempt_id
WHERE run.id = ?1;

-- name: list_expired_attempts write
SELECT id, job_id, run_id FROM attempt WHERE state = 'leased' AND lease_until_ms < ?1 ORDER BY id;

-- name: list_reclaimable_attempts write
SELECT attempt.id, attempt.job_id, attempt.run_id, job.entry_id, job.cancel, job.task
FROM attempt JOIN job ON job.id = attempt.job_id
WHERE attempt.state = 'unreachable' AND attempt.lease_until_ms + job.reclaim_after_ms < ?1
ORDER BY attempt.id;

-- name: extend_leases write
UPDATE attempt SET lease_until_ms = lease_until_ms + ?1 WHERE state IN ('leased', 'unreachable');

-- name: get_last_heartbeat write
SELECT max(heartbeat_ms) FROM attempt WHERE state IN ('leased', 'unreachable');

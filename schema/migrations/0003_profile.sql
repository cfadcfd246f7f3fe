-- 0003_profile.sql: where the time of a training step goes, as the agent measured it once the training had ended.

CREATE TABLE run_profile (
    attempt_id  INTEGER PRIMARY KEY REFERENCES attempt (id),
    run_id      INTEGER NOT NULL REFERENCES run (id),
    bytes       BLOB NOT NULL CHECK (length(bytes) > 0),         -- the document as received (RunProfile of openapi.yaml)
    sha256      BLOB NOT NULL CHECK (length(sha256) = 32),       -- of bytes: a repeat changes nothing
    received_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX run_profile_by_run ON run_profile (run_id);

CREATE TRIGGER run_profile_is_kept BEFORE DELETE ON run_profile BEGIN
    SELECT RAISE(ABORT, 'what was measured is never deleted');
END;
CREATE TRIGGER run_profile_is_final BEFORE UPDATE ON run_profile BEGIN
    SELECT RAISE(ABORT, 'what was measured is never changed');
END;

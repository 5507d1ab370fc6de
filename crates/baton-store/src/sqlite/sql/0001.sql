-- Schema 1. CHECKs restate the state machine of baton-core::task. They spell lists as ORs: SQLite fills a scratch table for
-- an IN of more than two values each time a row is written.
CREATE TABLE task (
    id                 BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    agent              TEXT    NOT NULL,
    grant_id           TEXT    NOT NULL,
    subject            TEXT    NOT NULL,
    context_id         TEXT    NOT NULL,
    phase              TEXT    NOT NULL CHECK ((phase = 'ready' OR phase = 'running' OR phase = 'interrupted' OR phase = 'completed' OR phase = 'failed' OR phase = 'canceled' OR phase = 'rejected' OR phase = 'answered')),
    -- The number of the A2A TaskState that clients see; 0 for a direct message, which no client sees.
    shown_state        INTEGER NOT NULL CHECK (shown_state BETWEEN 0 AND 8),
    status_at          INTEGER NOT NULL,
    -- Sequence number of the message that the status carries.
    status_message     INTEGER,
    created_at         INTEGER NOT NULL,
    deadline           INTEGER,
    seq                INTEGER NOT NULL CHECK (seq >= 1),
    attempt            INTEGER NOT NULL,
    counted            INTEGER NOT NULL CHECK (counted BETWEEN 0 AND attempt),
    cancel_requested   INTEGER NOT NULL CHECK (cancel_requested IN (0, 1)),
    shown              INTEGER NOT NULL CHECK (shown IN (0, 1)),
    not_before         INTEGER,
    begun              INTEGER NOT NULL CHECK (begun IN (0, 1)),
    interruption       TEXT    CHECK (interruption IN ('input', 'auth')),
    answer_until       INTEGER,
    holder_kind        TEXT    CHECK (holder_kind IN ('node', 'worker')),
    holder             TEXT,
    attempt_started_at INTEGER,
    lease_until        INTEGER,
    reason             TEXT,
    dead_letter        INTEGER NOT NULL CHECK (dead_letter IN (0, 1)),
    -- When the clock does something to the task next.
    due_at             INTEGER,
    -- NULL where it is the default.
    policy             TEXT,
    request            TEXT,
    artifacts          TEXT,
    usage              TEXT,
    -- Its events are gone; what is left of them is content.
    pruned             INTEGER NOT NULL DEFAULT 0 CHECK (pruned IN (0, 1)),
    CHECK (phase <> 'running' OR holder IS NOT NULL),
    CHECK (phase IN ('running', 'interrupted') OR holder IS NULL),
    CHECK ((holder IS NULL) = (holder_kind IS NULL) AND (holder IS NULL) = (attempt_started_at IS NULL)),
    CHECK ((phase = 'interrupted') = (interruption IS NOT NULL)),
    CHECK ((phase = 'interrupted') = (answer_until IS NOT NULL)),
    CHECK ((phase = 'failed') = (reason IS NOT NULL)),
    CHECK (phase = 'failed' OR dead_letter = 0),
    CHECK (phase = 'ready' OR (not_before IS NULL AND begun = 0)),
    CHECK ((phase = 'ready' OR phase = 'running' OR phase = 'interrupted') OR due_at IS NULL),
    CHECK ((phase = 'answered') = (shown_state = 0)),
    CHECK (pruned = 0 OR due_at IS NULL)
) WITHOUT ROWID;

CREATE INDEX task_by_state ON task (agent, grant_id, subject, shown_state, status_at, id);
CREATE INDEX task_by_context ON task (agent, grant_id, subject, context_id, status_at, id, shown_state);
CREATE INDEX task_ready ON task (agent, created_at, id) WHERE phase = 'ready';
CREATE INDEX task_held ON task (holder_kind, holder) WHERE holder IS NOT NULL;
CREATE INDEX task_due ON task (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX task_open ON task (grant_id) WHERE (phase = 'ready' OR phase = 'running' OR phase = 'interrupted');

-- One committed change, with its message or its piece of an artifact. An artifact is the sum of its pieces in the order of
-- seq; one with append = 0 begins it anew. A pruned task keeps only the rows that have content.
CREATE TABLE event (
    task_id    BLOB    NOT NULL,
    seq        INTEGER NOT NULL CHECK (seq BETWEEN 1 AND 10000),
    kind       TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    body       TEXT,
    message    TEXT,
    artifact   TEXT,
    append     INTEGER CHECK (append IN (0, 1)),
    last_chunk INTEGER CHECK (last_chunk IN (0, 1)),
    -- The operation that brought it about, at its first event.
    op         BLOB,
    CHECK ((artifact IS NULL) = (append IS NULL) AND (artifact IS NULL) = (last_chunk IS NULL)),
    CHECK (artifact IS NULL OR message IS NULL),
    PRIMARY KEY (task_id, seq)
) WITHOUT ROWID;

CREATE TABLE attempt (
    task_id     BLOB    NOT NULL,
    number      INTEGER NOT NULL CHECK (number >= 1),
    holder_kind TEXT    NOT NULL CHECK (holder_kind IN ('node', 'worker')),
    holder      TEXT    NOT NULL,
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    outcome     TEXT,
    CHECK ((ended_at IS NULL) = (outcome IS NULL)),
    PRIMARY KEY (task_id, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX attempt_open ON attempt (task_id) WHERE ended_at IS NULL;

-- Kept counts, so that totalSize is read and not counted. Several rows of one key are summed.
CREATE TABLE task_count (
    agent       TEXT    NOT NULL,
    grant_id    TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    shown_state INTEGER NOT NULL,
    n           INTEGER NOT NULL,
    PRIMARY KEY (agent, grant_id, subject, shown_state)
) WITHOUT ROWID;

CREATE TABLE idempotency (
    agent    TEXT    NOT NULL,
    grant_id TEXT    NOT NULL,
    subject  TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    digest   BLOB    NOT NULL CHECK (length(digest) = 32),
    task_id  BLOB    NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (agent, grant_id, subject, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_at ON idempotency (at);

CREATE TABLE "grant" (
    id         TEXT    NOT NULL PRIMARY KEY,
    label      TEXT    NOT NULL,
    agents     TEXT    NOT NULL,
    verbs      TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) WITHOUT ROWID;

-- Tokens are stored as SHA-256 of their text, which has 256 random bits.
CREATE TABLE credential (
    digest     BLOB    NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    grant_id   TEXT    NOT NULL REFERENCES "grant" (id),
    hint       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) WITHOUT ROWID;
CREATE INDEX credential_of ON credential (grant_id);

CREATE TABLE audit (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    actor  TEXT    NOT NULL,
    action TEXT    NOT NULL,
    target TEXT    NOT NULL,
    detail TEXT
);

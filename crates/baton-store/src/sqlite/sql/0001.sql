-- Schema 1. CHECKs restate the state machine of baton-core::task. They spell lists as ORs: SQLite fills a scratch table for
-- an IN of more than two values each time a row is written.

-- Whose tasks and of which agent: three texts once, one number in every row and index.
CREATE TABLE scope (
    key      INTEGER PRIMARY KEY,
    agent    TEXT NOT NULL,
    grant_id TEXT NOT NULL,
    subject  TEXT NOT NULL,
    UNIQUE (agent, grant_id, subject)
);
CREATE INDEX scope_of ON scope (grant_id);

CREATE TABLE task (
    -- Grows with each task, so that rows are appended.
    key                INTEGER PRIMARY KEY,
    id                 BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
    -- Of the table above. Declared as a reference, SQLite would keep what undoes each statement by itself.
    scope              INTEGER NOT NULL,
    agent              TEXT    NOT NULL,
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
    -- It failed, and a person has looked at it.
    attended           INTEGER NOT NULL DEFAULT 0 CHECK (attended IN (0, 1)),
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
    CHECK (pruned = 0 OR due_at IS NULL),
    CHECK (attended = 0 OR phase = 'failed')
);

CREATE INDEX task_by_state ON task (scope, shown_state, status_at, id);
CREATE INDEX task_by_context ON task (scope, context_id, status_at, id, shown_state);
CREATE INDEX task_ready ON task (agent, created_at, id) WHERE phase = 'ready';
CREATE INDEX task_due ON task (due_at) WHERE due_at IS NOT NULL;
-- What the operator lists by state. Completed tasks, mostly the most, are found without: they pay nothing for it.
CREATE INDEX task_of_state ON task (shown_state, id) WHERE shown_state <> 0 AND shown_state <> 3;
CREATE INDEX task_unattended ON task (id) WHERE phase = 'failed' AND attended = 0;
CREATE INDEX task_open ON task (scope) WHERE (phase = 'ready' OR phase = 'running' OR phase = 'interrupted');

-- What one operation changed: its events in order, as a JSON array, each with its message or its piece of an artifact. An
-- artifact is the sum of its pieces in order; one that does not append begins it anew. Attempts are read from here as well.
CREATE TABLE event (
    -- The task's key, and the sequence number of the last event in the lowest 14 bits: 1 to 10,000.
    key    INTEGER PRIMARY KEY CHECK ((key & 16383) BETWEEN 1 AND 10000),
    -- Bits: 1 a message, 2 a piece of an artifact, 4 the begin or end of an attempt.
    holds  INTEGER NOT NULL CHECK (holds BETWEEN 0 AND 7),
    -- The operation that brought it about.
    op     BLOB    NOT NULL CHECK (length(op) = 16),
    events TEXT    NOT NULL
);

-- The events one by one, for whoever looks into the database.
CREATE VIEW log AS
SELECT event.key >> 14 AS task, value ->> 'seq' AS seq, value ->> 'kind' AS kind, value ->> 'at' AS at,
    value -> 'message' AS message, value -> 'artifact' AS artifact, value ->> 'attempt' AS attempt,
    value ->> 'outcome' AS outcome, value ->> 'reason' AS reason
FROM event, json_each(event.events);

-- Kept counts, so that totalSize is read and not counted.
CREATE TABLE task_count (
    scope       INTEGER NOT NULL REFERENCES scope (key),
    shown_state INTEGER NOT NULL,
    n           INTEGER NOT NULL,
    PRIMARY KEY (scope, shown_state)
) WITHOUT ROWID;

CREATE TABLE idempotency (
    scope   INTEGER NOT NULL REFERENCES scope (key),
    key     TEXT    NOT NULL,
    digest  BLOB    NOT NULL CHECK (length(digest) = 32),
    task_id BLOB    NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_at ON idempotency (at);

CREATE TABLE "grant" (
    id           TEXT    NOT NULL PRIMARY KEY,
    label        TEXT    NOT NULL,
    agents       TEXT    NOT NULL,
    verbs        TEXT    NOT NULL,
    limits       TEXT    NOT NULL,
    expires_at   INTEGER,
    state        TEXT    NOT NULL CHECK (state = 'active' OR state = 'paused' OR state = 'revoked' OR state = 'expired'),
    -- Since when it is in that state.
    state_at     INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    created_by   TEXT    NOT NULL,
    changed_at   INTEGER NOT NULL,
    changed_by   TEXT    NOT NULL,
    last_used_at INTEGER,
    -- Kept counts, where its limits count tasks: open ones, and those that were made on a day since the Unix epoch.
    open_tasks   INTEGER NOT NULL DEFAULT 0,
    day          INTEGER NOT NULL DEFAULT 0,
    made         INTEGER NOT NULL DEFAULT 0,
    CHECK (state <> 'expired' OR expires_at IS NOT NULL)
) WITHOUT ROWID;

-- Tokens are stored as SHA-256 of their text, which has 256 random bits.
CREATE TABLE credential (
    digest     BLOB    NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    grant_id   TEXT    NOT NULL REFERENCES "grant" (id),
    hint       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER
) WITHOUT ROWID;
CREATE INDEX credential_of ON credential (grant_id);

-- What was handed out for a while in return for a token: SHA-256 of it, and what of the grant's verbs it is for.
CREATE TABLE access_token (
    digest     BLOB    NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    grant_id   TEXT    NOT NULL REFERENCES "grant" (id),
    -- NULL where it is for all of them.
    verbs      TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL CHECK (expires_at > created_at)
) WITHOUT ROWID;
CREATE INDEX access_token_of ON access_token (grant_id);

-- Where a task's updates are pushed. `cursor` is the truth of what is delivered: what the log holds after it is owed.
CREATE TABLE push_config (
    task_id    BLOB    NOT NULL CHECK (length(task_id) = 16),
    id         TEXT    NOT NULL,
    grant_id   TEXT    NOT NULL,
    url        TEXT    NOT NULL,
    target     TEXT    NOT NULL,
    scheme     TEXT,
    -- Credentials and token, sealed.
    secret     BLOB,
    edition    TEXT    NOT NULL CHECK (edition = '1.0' OR edition = '0.3'),
    created_at INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    cursor     INTEGER NOT NULL CHECK (cursor >= 1),
    tries      INTEGER NOT NULL CHECK (tries >= 0),
    state      TEXT    NOT NULL CHECK (state = 'active' OR state = 'suspended' OR state = 'ended'),
    reason     TEXT    CHECK (reason = 'gone' OR reason = 'revoked'),
    failures   INTEGER NOT NULL,
    -- When there may be something to send next.
    due_at     INTEGER,
    CHECK (state = 'active' OR (due_at IS NULL AND failures = 0)),
    CHECK ((state = 'ended') = (reason IS NOT NULL)),
    PRIMARY KEY (task_id, id)
) WITHOUT ROWID;
CREATE INDEX push_due ON push_config (target, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX push_failing ON push_config (task_id, id) WHERE (state = 'suspended' OR failures >= 3);
CREATE INDEX push_of_grant ON push_config (grant_id) WHERE reason IS NOT 'revoked';

-- One try at a notification.
CREATE TABLE delivery (
    task_id   BLOB    NOT NULL,
    config_id TEXT    NOT NULL,
    number    INTEGER NOT NULL CHECK (number >= 1),
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    took_ms   INTEGER NOT NULL,
    status    INTEGER,
    error     TEXT,
    PRIMARY KEY (task_id, config_id, number)
) WITHOUT ROWID;

-- Strangers who ask for a grant, and what became of that.
CREATE TABLE friend_request (
    id          TEXT    NOT NULL PRIMARY KEY,
    -- SHA-256 of what only the requester has.
    secret      BLOB    NOT NULL CHECK (length(secret) = 32),
    code        TEXT    NOT NULL,
    origin      TEXT    NOT NULL,
    card_url    TEXT    NOT NULL,
    agents      TEXT    NOT NULL,
    verbs       TEXT    NOT NULL,
    why         TEXT    NOT NULL,
    -- Sealed.
    id_token    BLOB,
    state       TEXT    NOT NULL CHECK (state = 'pending' OR state = 'approved' OR state = 'denied' OR state = 'expired'),
    -- The end of the decision, or of the pick-up.
    until       INTEGER,
    pick_ups    INTEGER NOT NULL CHECK (pick_ups >= 0),
    created_at  INTEGER NOT NULL,
    decided_at  INTEGER,
    decided_by  TEXT,
    picked_at   INTEGER,
    grant_id    TEXT    REFERENCES "grant" (id),
    -- SHA-256 of the token that was picked up last.
    token       BLOB    CHECK (length(token) = 32),
    -- What was found at the URL of the card: when, what it is worth, and the card.
    look_at     INTEGER,
    look        TEXT,
    card        TEXT,
    mark_at     INTEGER,
    mark_digest TEXT,
    mark_key    TEXT,
    CHECK ((state = 'pending' OR state = 'approved') = (until IS NOT NULL)),
    CHECK ((state = 'pending') = (decided_at IS NULL) AND (decided_at IS NULL) = (decided_by IS NULL)),
    CHECK ((state = 'approved' AND grant_id IS NOT NULL) OR state = 'expired' OR grant_id IS NULL),
    CHECK (state = 'approved' OR pick_ups = 0),
    CHECK (state = 'pending' OR id_token IS NULL),
    CHECK ((pick_ups = 0) = (token IS NULL)),
    CHECK ((look_at IS NULL) = (look IS NULL) AND (mark_at IS NULL) = (mark_digest IS NULL))
) WITHOUT ROWID;
CREATE INDEX friend_request_from ON friend_request (origin, created_at);
CREATE INDEX friend_request_due ON friend_request (until) WHERE until IS NOT NULL;
CREATE INDEX friend_request_card ON friend_request (card_url) WHERE state = 'approved';

-- Agents elsewhere that this node asked for a grant. `due_at`: when to look again what became of that.
CREATE TABLE peer (
    id          TEXT    NOT NULL PRIMARY KEY,
    name        TEXT    NOT NULL,
    origin      TEXT    NOT NULL,
    card_url    TEXT    NOT NULL,
    mark_at     INTEGER NOT NULL,
    mark_digest TEXT    NOT NULL,
    mark_key    TEXT,
    request_url TEXT    NOT NULL,
    code        TEXT    NOT NULL,
    as_card     TEXT    NOT NULL,
    agents      TEXT    NOT NULL,
    verbs       TEXT    NOT NULL,
    why         TEXT    NOT NULL,
    state       TEXT    NOT NULL CHECK (state = 'asked' OR state = 'picked' OR state = 'friend' OR state = 'denied' OR state = 'expired' OR state = 'ended'),
    due_at      INTEGER,
    looks       INTEGER,
    until       INTEGER,
    -- Sealed, both.
    secret      BLOB,
    credential  BLOB,
    granted     TEXT,
    problem     TEXT,
    created_at  INTEGER NOT NULL,
    created_by  TEXT    NOT NULL,
    changed_at  INTEGER NOT NULL,
    CHECK ((state = 'asked' OR state = 'picked') = (due_at IS NOT NULL)),
    CHECK ((due_at IS NULL) = (looks IS NULL) AND (due_at IS NULL) = (until IS NULL)),
    CHECK (state = 'asked' OR state = 'picked' OR secret IS NULL),
    CHECK ((state <> 'picked' AND state <> 'friend') OR credential IS NOT NULL),
    CHECK ((state <> 'denied' AND state <> 'expired' AND state <> 'ended') OR credential IS NULL)
) WITHOUT ROWID;
CREATE INDEX peer_due ON peer (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX peer_card ON peer (card_url) WHERE state = 'friend';

-- Who did what. Each row carries the SHA-256 of the hash before it and of itself; the first that of the genesis.
CREATE TABLE audit (
    id      INTEGER PRIMARY KEY CHECK (id >= 1),
    at      INTEGER NOT NULL,
    actor   TEXT    NOT NULL,
    origin  TEXT    NOT NULL,
    action  TEXT    NOT NULL,
    target  TEXT    NOT NULL,
    allowed INTEGER NOT NULL CHECK (allowed IN (0, 1)),
    detail  TEXT    NOT NULL CHECK (detail = '' OR json_type(detail) = 'object'),
    hash    BLOB    NOT NULL CHECK (length(hash) = 32)
);
CREATE INDEX audit_at ON audit (at, id);

INSERT INTO meta (key, value) VALUES ('audit_genesis', randomblob(32));

-- Rows are only ever added, each behind the last.
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE (ABORT, 'the audit log is only added to'); END;
CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit
BEGIN SELECT RAISE (ABORT, 'the audit log is only added to'); END;
CREATE TRIGGER audit_is_in_order BEFORE INSERT ON audit
WHEN NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM audit)
BEGIN SELECT RAISE (ABORT, 'the audit log is only added to at its end'); END;

-- What an operator holds back, until the operator lets it go.
CREATE TABLE hold (
    kind   TEXT    NOT NULL CHECK (kind = 'freeze-node' OR kind = 'freeze-grant' OR kind = 'pause-node' OR kind = 'pause-agent'),
    -- A grant's id, an agent's name, or `node`.
    target TEXT    NOT NULL,
    since  INTEGER NOT NULL,
    by     TEXT    NOT NULL,
    PRIMARY KEY (kind, target)
) WITHOUT ROWID;

-- Queues for workers: priorities, what is put off, budgets. And what operators allow clients of OAuth.

CREATE TABLE task_anew (
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
    -- The higher are claimed first.
    priority           INTEGER NOT NULL CHECK (priority BETWEEN -100 AND 100),
    seq                INTEGER NOT NULL CHECK (seq >= 1),
    attempt            INTEGER NOT NULL,
    counted            INTEGER NOT NULL CHECK (counted BETWEEN 0 AND attempt),
    cancel_requested   INTEGER NOT NULL CHECK (cancel_requested IN (0, 1)),
    shown              INTEGER NOT NULL CHECK (shown IN (0, 1)),
    not_before         INTEGER,
    -- It can be claimed now; a claim marks what was put off when its time has come.
    queued             INTEGER NOT NULL CHECK (queued IN (0, 1)),
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
    CHECK (phase = 'ready' OR (not_before IS NULL AND begun = 0 AND queued = 0)),
    CHECK (queued = 1 OR phase <> 'ready' OR not_before IS NOT NULL),
    CHECK ((phase = 'ready' OR phase = 'running' OR phase = 'interrupted') OR due_at IS NULL),
    CHECK ((phase = 'answered') = (shown_state = 0)),
    CHECK (pruned = 0 OR due_at IS NULL),
    CHECK (attended = 0 OR phase = 'failed')
);

INSERT INTO task_anew (
    key, id, scope, agent, context_id, phase, shown_state, status_at, status_message, created_at, deadline, seq,
    attempt, counted, cancel_requested, shown, not_before, begun, interruption, answer_until, holder_kind, holder,
    attempt_started_at, lease_until, reason, dead_letter, due_at, policy, request, artifacts, usage, pruned,
    attended, priority, queued)
SELECT
    key, id, scope, agent, context_id, phase, shown_state, status_at, status_message, created_at, deadline, seq,
    attempt, counted, cancel_requested, shown, not_before, begun, interruption, answer_until, holder_kind, holder,
    attempt_started_at, lease_until, reason, dead_letter, due_at, policy, request, artifacts, usage, pruned,
    attended,
    0, phase = 'ready' AND not_before IS NULL
FROM task;
DROP TABLE task;
ALTER TABLE task_anew RENAME TO task;

CREATE INDEX task_by_state ON task (scope, shown_state, status_at, id);
CREATE INDEX task_by_context ON task (scope, context_id, status_at, id, shown_state);
CREATE INDEX task_ready ON task (agent, priority DESC, created_at, id) WHERE phase = 'ready' AND queued = 1;
CREATE INDEX task_put_off ON task (agent, not_before) WHERE phase = 'ready' AND queued = 0;
CREATE INDEX task_due ON task (due_at) WHERE due_at IS NOT NULL;
-- What the operator lists by state: 4 and above. The others are found without, so that a task that goes through its whole
-- life without a hitch pays nothing for it.
CREATE INDEX task_of_state ON task (shown_state, id) WHERE shown_state > 3;
CREATE INDEX task_unattended ON task (id) WHERE phase = 'failed' AND attended = 0;

-- Tasks of an agent that were claimed since its budget's window began.
CREATE TABLE budget (
    agent TEXT    NOT NULL PRIMARY KEY,
    since INTEGER NOT NULL,
    used  INTEGER NOT NULL CHECK (used >= 0)
) WITHOUT ROWID;

-- Of a client: by which approval, and for what of the node (a path below its URL). NULL where it is for a token.
ALTER TABLE access_token ADD COLUMN approval TEXT;
ALTER TABLE access_token ADD COLUMN resource TEXT CHECK ((approval IS NULL) = (resource IS NULL));

-- Clients of OAuth that registered themselves, which gives them nothing.
CREATE TABLE oauth_client (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    redirects  TEXT    NOT NULL,
    origin     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    -- When an operator last allowed it something.
    used_at    INTEGER
) WITHOUT ROWID;
CREATE INDEX oauth_client_unused ON oauth_client (origin, created_at) WHERE used_at IS NULL;

-- What an operator allowed one client: a grant, for a resource, with some of its verbs. What is over is deleted.
CREATE TABLE approval (
    id         TEXT    NOT NULL PRIMARY KEY,
    grant_id   TEXT    NOT NULL REFERENCES "grant" (id),
    made_grant INTEGER NOT NULL CHECK (made_grant IN (0, 1)),
    client     TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    redirect   TEXT    NOT NULL,
    resource   TEXT    NOT NULL,
    verbs      TEXT    NOT NULL,
    -- SHA-256 of the code, which is kept to know it when it comes again.
    code       BLOB    NOT NULL UNIQUE CHECK (length(code) = 32),
    state      TEXT    NOT NULL CHECK (state = 'coded' OR state = 'open'),
    challenge  BLOB    CHECK (length(challenge) = 32),
    -- SHA-256 of what its refresh tokens share, of the one that is good, and of the one before.
    family     BLOB    UNIQUE CHECK (length(family) = 32),
    refresh    BLOB    CHECK (length(refresh) = 32),
    before     BLOB    CHECK (length(before) = 32),
    turned_at  INTEGER,
    until      INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT    NOT NULL,
    CHECK ((state = 'coded') = (challenge IS NOT NULL)),
    CHECK ((state = 'open') = (family IS NOT NULL) AND (family IS NULL) = (refresh IS NULL)),
    CHECK ((family IS NULL) = (turned_at IS NULL) AND (family IS NOT NULL OR before IS NULL))
) WITHOUT ROWID;
CREATE INDEX approval_of ON approval (grant_id, id);
CREATE INDEX approval_until ON approval (until);
CREATE INDEX approval_client ON approval (client);

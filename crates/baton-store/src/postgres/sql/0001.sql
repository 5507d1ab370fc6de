-- Schema 1. CHECKs restate the state machine of baton-core::task. Times are milliseconds since the Unix epoch. Texts are
-- compared byte by byte (COLLATE "C"), as in SQLite. JSON is text: jsonb would change its numbers.

-- The last transaction of each connection of each node, so that one whose end was not heard of can be looked up.
CREATE TABLE mark (
    node UUID   NOT NULL,
    slot BIGINT NOT NULL,
    n    BIGINT NOT NULL,
    -- When the node was last heard of, in its last row.
    at   BIGINT NOT NULL,
    PRIMARY KEY (node, slot)
) WITH (fillfactor = 50);

-- Whose tasks and of which agent: three texts once, one number in every row and index.
CREATE TABLE scope (
    key      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent    TEXT COLLATE "C" NOT NULL,
    grant_id TEXT COLLATE "C" NOT NULL,
    subject  TEXT COLLATE "C" NOT NULL,
    UNIQUE (agent, grant_id, subject)
);
CREATE INDEX scope_of ON scope (grant_id);

-- Numbers of tasks, a block of 1,024 at a time: a writer takes one and numbers its tasks without asking again.
CREATE SEQUENCE task_block;

CREATE TABLE task (
    -- Nearly grows with each task, so that rows are appended.
    key                BIGINT  NOT NULL PRIMARY KEY,
    id                 UUID    NOT NULL UNIQUE,
    -- Of the table above.
    scope              BIGINT  NOT NULL,
    agent              TEXT COLLATE "C" NOT NULL,
    context_id         TEXT COLLATE "C" NOT NULL,
    phase              TEXT COLLATE "C" NOT NULL CHECK (phase IN ('ready', 'running', 'interrupted', 'completed', 'failed', 'canceled', 'rejected', 'answered')),
    -- The number of the A2A TaskState that clients see; 0 for a direct message, which no client sees.
    shown_state        BIGINT  NOT NULL CHECK (shown_state BETWEEN 0 AND 8),
    status_at          BIGINT  NOT NULL,
    -- Sequence number of the message that the status carries.
    status_message     BIGINT,
    created_at         BIGINT  NOT NULL,
    deadline           BIGINT,
    -- The higher are claimed first.
    priority           BIGINT  NOT NULL CHECK (priority BETWEEN -100 AND 100),
    seq                BIGINT  NOT NULL CHECK (seq >= 1),
    attempt            BIGINT  NOT NULL,
    counted            BIGINT  NOT NULL CHECK (counted BETWEEN 0 AND attempt),
    cancel_requested   BOOLEAN NOT NULL,
    shown              BOOLEAN NOT NULL,
    not_before         BIGINT,
    -- It can be claimed now; a claim marks what was put off when its time has come.
    queued             BOOLEAN NOT NULL,
    begun              BOOLEAN NOT NULL,
    interruption       TEXT COLLATE "C" CHECK (interruption IN ('input', 'auth')),
    answer_until       BIGINT,
    holder_kind        TEXT COLLATE "C" CHECK (holder_kind IN ('node', 'worker')),
    holder             TEXT COLLATE "C",
    attempt_started_at BIGINT,
    lease_until        BIGINT,
    reason             TEXT COLLATE "C",
    dead_letter        BOOLEAN NOT NULL,
    -- When the clock does something to the task next.
    due_at             BIGINT,
    -- NULL where it is the default.
    policy             TEXT,
    request            TEXT,
    artifacts          TEXT,
    usage              TEXT,
    -- Its events are gone; what is left of them is content.
    pruned             BOOLEAN NOT NULL DEFAULT FALSE,
    -- It failed, and a person has looked at it.
    attended           BOOLEAN NOT NULL DEFAULT FALSE,
    CHECK (phase <> 'running' OR holder IS NOT NULL),
    CHECK (phase IN ('running', 'interrupted') OR holder IS NULL),
    CHECK ((holder IS NULL) = (holder_kind IS NULL) AND (holder IS NULL) = (attempt_started_at IS NULL)),
    CHECK ((phase = 'interrupted') = (interruption IS NOT NULL)),
    CHECK ((phase = 'interrupted') = (answer_until IS NOT NULL)),
    CHECK ((phase = 'failed') = (reason IS NOT NULL)),
    CHECK (phase = 'failed' OR NOT dead_letter),
    CHECK (phase = 'ready' OR (not_before IS NULL AND NOT begun AND NOT queued)),
    CHECK (queued OR phase <> 'ready' OR not_before IS NOT NULL),
    CHECK (phase IN ('ready', 'running', 'interrupted') OR due_at IS NULL),
    CHECK ((phase = 'answered') = (shown_state = 0)),
    CHECK (NOT pruned OR due_at IS NULL),
    CHECK (NOT attended OR phase = 'failed')
) WITH (fillfactor = 80);

CREATE INDEX task_by_state ON task (scope, shown_state, status_at, id);
CREATE INDEX task_by_context ON task (scope, context_id, status_at, id, shown_state);
CREATE INDEX task_ready ON task (agent, priority DESC, created_at, id) WHERE phase = 'ready' AND queued;
CREATE INDEX task_put_off ON task (agent, not_before) WHERE phase = 'ready' AND NOT queued;
CREATE INDEX task_running ON task (agent) WHERE phase = 'running';
CREATE INDEX task_due ON task (due_at) WHERE due_at IS NOT NULL;
-- What the operator lists by state. Completed tasks, mostly the most, are found without: they pay nothing for it.
CREATE INDEX task_of_state ON task (shown_state, id) WHERE shown_state <> 0 AND shown_state <> 3;
CREATE INDEX task_unattended ON task (id) WHERE phase = 'failed' AND NOT attended;
CREATE INDEX task_open ON task (scope) WHERE phase IN ('ready', 'running', 'interrupted');
-- What a node has in hand: it renews all of it at once.
CREATE INDEX task_held ON task (holder) WHERE holder IS NOT NULL;
CREATE INDEX task_prunable ON task (status_at) WHERE NOT pruned AND phase NOT IN ('ready', 'running', 'interrupted');

-- What one operation changed: its events in order, as a JSON array, each with its message or its piece of an artifact. An
-- artifact is the sum of its pieces in order; one that does not append begins it anew. Attempts are read from here as well.
CREATE TABLE event (
    -- The task's key, and the sequence number of the last event in the lowest 14 bits: 1 to 10,000.
    key    BIGINT NOT NULL PRIMARY KEY CHECK ((key & 16383) BETWEEN 1 AND 10000),
    -- Bits: 1 a message, 2 a piece of an artifact, 4 the begin or end of an attempt.
    holds  BIGINT NOT NULL CHECK (holds BETWEEN 0 AND 7),
    -- The operation that brought it about.
    op     UUID   NOT NULL,
    events TEXT   NOT NULL
);

-- The events one by one, for whoever looks into the database.
CREATE VIEW log AS
SELECT event.key >> 14 AS task, (value ->> 'seq')::bigint AS seq, value ->> 'kind' AS kind,
    (value ->> 'at')::bigint AS at, value -> 'message' AS message, value -> 'artifact' AS artifact,
    value ->> 'attempt' AS attempt, value ->> 'outcome' AS outcome, value ->> 'reason' AS reason
FROM event, json_array_elements(event.events::json);

-- Tasks of an agent that were claimed since its budget's window began.
CREATE TABLE budget (
    agent TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    since BIGINT NOT NULL,
    used  BIGINT NOT NULL CHECK (used >= 0)
);

-- Kept counts, so that totalSize is read and not counted: a sum, and what came to it since it was last added up. Rows are
-- only appended there, so that no two writers wait for one another.
CREATE TABLE task_count (
    scope       BIGINT NOT NULL,
    shown_state BIGINT NOT NULL,
    n           BIGINT NOT NULL,
    PRIMARY KEY (scope, shown_state)
);
CREATE TABLE task_count_delta (
    scope       BIGINT NOT NULL,
    shown_state BIGINT NOT NULL,
    n           BIGINT NOT NULL
);
CREATE INDEX task_count_delta_of ON task_count_delta (scope, shown_state);

CREATE TABLE idempotency (
    scope   BIGINT NOT NULL,
    key     TEXT COLLATE "C" NOT NULL,
    digest  BYTEA  NOT NULL CHECK (length(digest) = 32),
    task_id UUID   NOT NULL,
    at      BIGINT NOT NULL,
    PRIMARY KEY (scope, key)
);
CREATE INDEX idempotency_at ON idempotency (at);

CREATE TABLE "grant" (
    id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    label        TEXT COLLATE "C" NOT NULL,
    agents       TEXT    NOT NULL,
    verbs        TEXT    NOT NULL,
    limits       TEXT    NOT NULL,
    expires_at   BIGINT,
    state        TEXT COLLATE "C" NOT NULL CHECK (state IN ('active', 'paused', 'revoked', 'expired')),
    -- Since when it is in that state.
    state_at     BIGINT  NOT NULL,
    created_at   BIGINT  NOT NULL,
    created_by   TEXT    NOT NULL,
    changed_at   BIGINT  NOT NULL,
    changed_by   TEXT    NOT NULL,
    last_used_at BIGINT,
    -- Its limits count tasks.
    counted      BOOLEAN NOT NULL,
    -- Kept counts, where they do: open ones, and those that were made on a day since the Unix epoch.
    open_tasks   BIGINT  NOT NULL DEFAULT 0,
    day          BIGINT  NOT NULL DEFAULT 0,
    made         BIGINT  NOT NULL DEFAULT 0,
    CHECK (state <> 'expired' OR expires_at IS NOT NULL)
);
CREATE INDEX grant_labelled ON "grant" (label);

-- Tokens are stored as SHA-256 of their text, which has 256 random bits.
CREATE TABLE credential (
    digest     BYTEA  NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    grant_id   TEXT COLLATE "C" NOT NULL REFERENCES "grant" (id),
    hint       TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT
);
CREATE INDEX credential_of ON credential (grant_id);

-- What was handed out for a while in return for a token: SHA-256 of it, and what of the grant's verbs it is for.
CREATE TABLE access_token (
    digest     BYTEA  NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    grant_id   TEXT COLLATE "C" NOT NULL REFERENCES "grant" (id),
    -- NULL where it is for all of them.
    verbs      TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL CHECK (expires_at > created_at),
    -- Of a client: by which approval, and for what of the node (a path below its URL). NULL where it is for a token.
    approval   TEXT COLLATE "C",
    resource   TEXT COLLATE "C",
    CHECK ((approval IS NULL) = (resource IS NULL))
);
CREATE INDEX access_token_of ON access_token (grant_id);
CREATE INDEX access_token_ends ON access_token (expires_at);

-- Clients of OAuth that registered themselves, which gives them nothing.
CREATE TABLE oauth_client (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name       TEXT   NOT NULL,
    redirects  TEXT   NOT NULL,
    origin     TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    -- When an operator last allowed it something.
    used_at    BIGINT
);
CREATE INDEX oauth_client_unused ON oauth_client (origin, created_at) WHERE used_at IS NULL;

-- What an operator allowed one client: a grant, for a resource, with some of its verbs. What is over is deleted.
CREATE TABLE approval (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    grant_id   TEXT COLLATE "C" NOT NULL REFERENCES "grant" (id),
    made_grant BOOLEAN NOT NULL,
    client     TEXT COLLATE "C" NOT NULL,
    name       TEXT   NOT NULL,
    redirect   TEXT   NOT NULL,
    resource   TEXT   NOT NULL,
    verbs      TEXT   NOT NULL,
    -- SHA-256 of the code, which is kept to know it when it comes again.
    code       BYTEA  NOT NULL UNIQUE CHECK (length(code) = 32),
    state      TEXT COLLATE "C" NOT NULL CHECK (state IN ('coded', 'open')),
    challenge  BYTEA  CHECK (length(challenge) = 32),
    -- SHA-256 of what its refresh tokens share, of the one that is good, and of the one before.
    family     BYTEA  UNIQUE CHECK (length(family) = 32),
    refresh    BYTEA  CHECK (length(refresh) = 32),
    before     BYTEA  CHECK (length(before) = 32),
    turned_at  BIGINT,
    until      BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT   NOT NULL,
    CHECK ((state = 'coded') = (challenge IS NOT NULL)),
    CHECK ((state = 'open') = (family IS NOT NULL) AND (family IS NULL) = (refresh IS NULL)),
    CHECK ((family IS NULL) = (turned_at IS NULL) AND (family IS NOT NULL OR before IS NULL))
);
CREATE INDEX approval_of ON approval (grant_id, id);
CREATE INDEX approval_until ON approval (until);
CREATE INDEX approval_client ON approval (client);

-- Where a task's updates are pushed. `cursor` is the truth of what is delivered: what the log holds after it is owed.
CREATE TABLE push_config (
    task_id    UUID   NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    grant_id   TEXT COLLATE "C" NOT NULL,
    url        TEXT   NOT NULL,
    target     TEXT COLLATE "C" NOT NULL,
    scheme     TEXT,
    -- Credentials and token, sealed.
    secret     BYTEA,
    edition    TEXT   NOT NULL CHECK (edition IN ('1.0', '0.3')),
    created_at BIGINT NOT NULL,
    revision   BIGINT NOT NULL,
    cursor     BIGINT NOT NULL CHECK (cursor >= 1),
    tries      BIGINT NOT NULL CHECK (tries >= 0),
    state      TEXT COLLATE "C" NOT NULL CHECK (state IN ('active', 'suspended', 'ended')),
    reason     TEXT COLLATE "C" CHECK (reason IN ('gone', 'revoked')),
    failures   BIGINT NOT NULL,
    -- When there may be something to send next.
    due_at     BIGINT,
    -- The node that has it in hand; no other takes it before then.
    held_by    UUID,
    held_until BIGINT,
    CHECK (state = 'active' OR (due_at IS NULL AND failures = 0)),
    CHECK ((state = 'ended') = (reason IS NOT NULL)),
    PRIMARY KEY (task_id, id)
);
CREATE INDEX push_due ON push_config (target, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX push_failing ON push_config (task_id, id) WHERE state = 'suspended' OR failures >= 3;
CREATE INDEX push_of_grant ON push_config (grant_id) WHERE reason IS DISTINCT FROM 'revoked';

-- One try at a notification.
CREATE TABLE delivery (
    task_id   UUID   NOT NULL,
    config_id TEXT COLLATE "C" NOT NULL,
    number    BIGINT NOT NULL CHECK (number >= 1),
    seq       BIGINT NOT NULL,
    at        BIGINT NOT NULL,
    took_ms   BIGINT NOT NULL,
    status    BIGINT,
    error     TEXT,
    PRIMARY KEY (task_id, config_id, number)
);

-- Strangers who ask for a grant, and what became of that.
CREATE TABLE friend_request (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    -- SHA-256 of what only the requester has.
    secret      BYTEA  NOT NULL CHECK (length(secret) = 32),
    code        TEXT   NOT NULL,
    origin      TEXT COLLATE "C" NOT NULL,
    card_url    TEXT COLLATE "C" NOT NULL,
    agents      TEXT   NOT NULL,
    verbs       TEXT   NOT NULL,
    why         TEXT   NOT NULL,
    -- Sealed.
    id_token    BYTEA,
    state       TEXT COLLATE "C" NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'expired')),
    -- The end of the decision, or of the pick-up.
    until       BIGINT,
    pick_ups    BIGINT NOT NULL CHECK (pick_ups >= 0),
    created_at  BIGINT NOT NULL,
    decided_at  BIGINT,
    decided_by  TEXT,
    picked_at   BIGINT,
    grant_id    TEXT COLLATE "C" REFERENCES "grant" (id),
    -- SHA-256 of the token that was picked up last.
    token       BYTEA  CHECK (length(token) = 32),
    -- What was found at the URL of the card: when, what it is worth, and the card.
    look_at     BIGINT,
    look        TEXT,
    card        TEXT,
    mark_at     BIGINT,
    mark_digest TEXT,
    mark_key    TEXT,
    CHECK ((state = 'pending' OR state = 'approved') = (until IS NOT NULL)),
    CHECK ((state = 'pending') = (decided_at IS NULL) AND (decided_at IS NULL) = (decided_by IS NULL)),
    CHECK ((state = 'approved' AND grant_id IS NOT NULL) OR state = 'expired' OR grant_id IS NULL),
    CHECK (state = 'approved' OR pick_ups = 0),
    CHECK (state = 'pending' OR id_token IS NULL),
    CHECK ((pick_ups = 0) = (token IS NULL)),
    CHECK ((look_at IS NULL) = (look IS NULL) AND (mark_at IS NULL) = (mark_digest IS NULL))
);
CREATE INDEX friend_request_from ON friend_request (origin, created_at);
CREATE INDEX friend_request_due ON friend_request (until) WHERE until IS NOT NULL;
CREATE INDEX friend_request_card ON friend_request (card_url) WHERE state = 'approved';

-- Agents elsewhere that this node asked for a grant. `due_at`: when to look again what became of that.
CREATE TABLE peer (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name        TEXT   NOT NULL,
    origin      TEXT   NOT NULL,
    card_url    TEXT COLLATE "C" NOT NULL,
    mark_at     BIGINT NOT NULL,
    mark_digest TEXT   NOT NULL,
    mark_key    TEXT,
    request_url TEXT   NOT NULL,
    code        TEXT   NOT NULL,
    as_card     TEXT   NOT NULL,
    agents      TEXT   NOT NULL,
    verbs       TEXT   NOT NULL,
    why         TEXT   NOT NULL,
    state       TEXT COLLATE "C" NOT NULL CHECK (state IN ('asked', 'picked', 'friend', 'denied', 'expired', 'ended')),
    due_at      BIGINT,
    looks       BIGINT,
    until       BIGINT,
    -- Sealed, both.
    secret      BYTEA,
    credential  BYTEA,
    granted     TEXT,
    problem     TEXT,
    created_at  BIGINT NOT NULL,
    created_by  TEXT   NOT NULL,
    changed_at  BIGINT NOT NULL,
    -- The node that has it in hand; no other takes it before then.
    held_by     UUID,
    held_until  BIGINT,
    CHECK ((state = 'asked' OR state = 'picked') = (due_at IS NOT NULL)),
    CHECK ((due_at IS NULL) = (looks IS NULL) AND (due_at IS NULL) = (until IS NULL)),
    CHECK (state IN ('asked', 'picked') OR secret IS NULL),
    CHECK (state NOT IN ('picked', 'friend') OR credential IS NOT NULL),
    CHECK (state NOT IN ('denied', 'expired', 'ended') OR credential IS NULL)
);
CREATE INDEX peer_due ON peer (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX peer_card ON peer (card_url) WHERE state = 'friend';

-- Who did what. Each row carries the SHA-256 of the hash before it and of itself; the first that of the genesis.
CREATE TABLE audit (
    id      BIGINT  NOT NULL PRIMARY KEY CHECK (id >= 1),
    at      BIGINT  NOT NULL,
    actor   TEXT COLLATE "C" NOT NULL,
    origin  TEXT    NOT NULL,
    action  TEXT COLLATE "C" NOT NULL,
    target  TEXT COLLATE "C" NOT NULL,
    allowed BOOLEAN NOT NULL,
    detail  TEXT    NOT NULL CHECK (CASE WHEN detail = '' THEN TRUE ELSE json_typeof(detail::json) = 'object' END),
    hash    BYTEA   NOT NULL CHECK (length(hash) = 32)
);
CREATE INDEX audit_at ON audit (at, id);

-- Two random identifiers are 244 random bits; SHA-256 makes one text of them.
INSERT INTO meta (key, value)
VALUES ('audit_genesis', sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));

-- Rows are only ever added, each behind the last.
CREATE FUNCTION audit_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.id IS DISTINCT FROM (SELECT coalesce(max(id), 0) + 1 FROM audit) THEN
            RAISE EXCEPTION 'the audit log is only added to at its end';
        END IF;
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the audit log is only added to';
END
$$;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_is_kept();
CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_is_kept();
CREATE TRIGGER audit_is_in_order BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION audit_is_kept();

-- What an operator holds back, until the operator lets it go.
CREATE TABLE hold (
    kind   TEXT COLLATE "C" NOT NULL CHECK (kind IN ('freeze-node', 'freeze-grant', 'pause-node', 'pause-agent')),
    -- A grant's id, an agent's name, or `node`.
    target TEXT COLLATE "C" NOT NULL,
    since  BIGINT NOT NULL,
    by     TEXT   NOT NULL,
    PRIMARY KEY (kind, target)
);

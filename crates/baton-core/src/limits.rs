//! The limits of DESIGN §10 that the data model and the state machine hold, each with its unit and its reason.

use std::time::Duration;

/// Parts of one message. A message is a turn of a conversation, not a bulk transfer.
pub const MESSAGE_PARTS: usize = 256;

/// Messages of a task's history that one answer carries, newest kept.
pub const HISTORY_RETURNED: usize = 1_000;

/// Bytes of all artifacts of one task, as stored JSON.
pub const ARTIFACT_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes of a `contextId`.
pub const CONTEXT_ID_BYTES: usize = 128;

/// Bytes of a `messageId` or an artifact id: they are keys, not content.
pub const ID_BYTES: usize = 1024;

/// Events of one task. A runaway agent ends here, not with a full disk.
pub const TASK_EVENTS: u64 = 10_000;

/// Events that stay free below [`TASK_EVENTS`], so that a task at the limit can still be cancelled and ended.
pub const RESERVED_EVENTS: u64 = 16;

/// Nesting of JSON that a client may send; protobuf parsers stop at the same depth.
pub const JSON_DEPTH: usize = 100;

/// Tries of one task before it is a dead letter.
pub const ATTEMPTS: u32 = 5;

/// How long a worker may be silent before its task is given to another.
pub const LEASE: Duration = Duration::from_mins(5);

/// The shortest lease that can be asked for: a worker that must call more often does little else.
pub const LEASE_MIN: Duration = Duration::from_mins(1);

/// The longest lease: what a dead worker holds is stuck for so long.
pub const LEASE_MAX: Duration = Duration::from_hours(24);

/// The lease of a node's own attempts where several nodes share a store: what a dead node had in hand waits for so long.
pub const NODE_LEASE: Duration = Duration::from_secs(20);

/// How long a node may be unable to renew those leases before it ends what it has in hand: its kill ladder takes 7 s, and is
/// over before another node may begin.
pub const NODE_FENCE: Duration = Duration::from_secs(10);

/// Tasks that one claim can take: a worker holds what it works on, and leaves the rest to others.
pub const CLAIM_MAX: usize = 64;

/// The priorities of tasks; those of the highest are claimed first.
pub const PRIORITIES: std::ops::RangeInclusive<i16> = -100..=100;

/// How far ahead a task can be put off, and its deadline lie.
pub const AHEAD: Duration = Duration::from_hours(366 * 24);

/// Bytes of what is kept of an attempt's last word.
pub const SUMMARY_BYTES: usize = 2 * 1024;

/// Attempts of a task that its history shows, newest kept.
pub const ATTEMPTS_KEPT: usize = 50;

/// Attempts of the past that whoever claims a task is told of.
pub const ATTEMPTS_TOLD: usize = 5;

/// Wait before the second attempt; doubles with each further one.
pub const BACKOFF: Duration = Duration::from_secs(30);

/// Longest wait between two attempts.
pub const BACKOFF_MAX: Duration = Duration::from_mins(15);

/// Wait before the next attempt when the node itself died: not the task's fault, so the series starts lower.
pub const BACKOFF_NODE_DIED: Duration = Duration::from_secs(1);

/// How long past a deadline a node that was told to cancel is waited for: its kill ladder takes 7 s, and only then is a
/// task CANCELED.
pub const CANCEL_GRACE: Duration = Duration::from_secs(30);

/// How long a question waits for its answer before the task fails.
pub const ANSWER_WITHIN: Duration = Duration::from_hours(24);

/// Entries of a page where the caller does not say how many (A2A §3.1.4).
pub const PAGE_SIZE: usize = 50;

/// Entries of a page at most (A2A §3.1.4).
pub const PAGE_SIZE_MAX: usize = 100;

/// Push notification configurations of one task.
pub const PUSH_CONFIGS: usize = 16;

/// Bytes of the URL of a webhook, and of any other that the node is given to dial.
pub const URL_BYTES: usize = 2 * 1024;

/// Bytes of a webhook's credentials, and of its token: they are header values.
pub const CREDENTIAL_BYTES: usize = 4 * 1024;

/// How long a receiver may take to answer a notification.
pub const WEBHOOK_WITHIN: Duration = Duration::from_secs(15);

/// Tries of one notification before its configuration is suspended.
pub const WEBHOOK_ATTEMPTS: u32 = 12;

/// Wait after the first failed try; each further one is 2.5 times as long. All together take about 22 hours.
pub const WEBHOOK_BACKOFF: Duration = Duration::from_secs(5);

/// The longest wait that a receiver may ask for with `Retry-After`.
pub const WEBHOOK_RETRY_AFTER: Duration = Duration::from_hours(6);

/// Friend requests of one client address in [`FRIEND_HOUR`]: a human reads each of them.
pub const FRIEND_PER_HOUR: usize = 5;

/// The time in which [`FRIEND_PER_HOUR`] are counted.
pub const FRIEND_HOUR: Duration = Duration::from_hours(1);

/// Friend requests that wait for the operator: more is no list that anybody reads.
pub const FRIEND_PENDING: usize = 200;

/// Friend requests of one client address that wait for the operator: one alone cannot fill the list.
pub const FRIEND_PENDING_EACH: usize = 10;

/// How long a friend request waits for the operator.
pub const FRIEND_DECIDE_WITHIN: Duration = Duration::from_hours(7 * 24);

/// How long an approved friend has to pick its credential up; a weekend fits in.
pub const FRIEND_PICK_UP_WITHIN: Duration = Duration::from_hours(72);

/// Pick-ups of one credential: lost answers are few, and each pick-up is a line in the audit log.
pub const FRIEND_PICK_UPS: u32 = 32;

/// How long what became of nothing is kept: denied and expired requests.
pub const FRIEND_KEPT: Duration = Duration::from_hours(30 * 24);

/// Agents that one friend request may name.
pub const FRIEND_AGENTS: usize = 16;

/// Bytes of a stranger's reason.
pub const FRIEND_WHY_BYTES: usize = 2_000;

/// Bytes of the ID token that a friend request may bring.
pub const FRIEND_ID_TOKEN_BYTES: usize = 8 * 1024;

/// Wait before the first look at what became of a request to another node; doubles with each further one.
pub const PEER_LOOK_FIRST: Duration = Duration::from_secs(15);

/// Longest wait between two looks.
pub const PEER_LOOK_LONGEST: Duration = Duration::from_mins(10);

/// How long a client of OAuth has to fetch its tokens once a human said yes: it waits for that.
pub const OAUTH_CODE_LIFE: Duration = Duration::from_mins(1);

/// How long a client of OAuth stays signed in without using that: whoever left does not leave an open door behind.
pub const OAUTH_IDLE: Duration = Duration::from_hours(30 * 24);

/// How long the refresh token before the last is still taken, where nobody has used the last: an answer may be lost on its way.
pub const OAUTH_AGAIN_WITHIN: Duration = Duration::from_secs(30);

/// Clients of OAuth that are signed in by one grant; the one that was silent the longest makes room.
pub const OAUTH_APPROVALS: usize = 50;

/// Registrations of clients in all. Those that nobody allowed anything yet make room, the oldest first.
pub const OAUTH_CLIENTS: usize = 1_000;

/// Those of one client address that nobody allowed anything yet: one alone cannot push the others out.
pub const OAUTH_CLIENTS_EACH: usize = 20;

/// How long a registration is kept that nobody ever allowed anything.
pub const OAUTH_CLIENT_UNUSED: Duration = Duration::from_hours(24);

/// How long one is kept whose last sign-in is over: clients remember their ids.
pub const OAUTH_CLIENT_KEPT: Duration = Duration::from_hours(90 * 24);

/// Redirect URIs that one client may have, and bytes of each.
pub const OAUTH_REDIRECTS: usize = 16;
pub const OAUTH_REDIRECT_BYTES: usize = 2_000;

/// Bytes of what a client calls itself.
pub const OAUTH_NAME_BYTES: usize = 200;

//! The node's places where a crash test has it killed; the store's, and how it is done, are in [`baton_store::crash`].

pub use baton_store::crash::pass;

/// A commit claimed a task, and nothing has been started for it.
pub const CLAIMED: &str = "dispatcher.claimed";

/// A child has been started, and nothing has been said to it.
pub const SPAWNED: &str = "runner.spawned";

/// A child has said something that is in no commit yet.
pub const HEARD: &str = "runner.heard";

/// What a child said is committed, and its runner does not know.
pub const REPORTED: &str = "dispatcher.reported";

/// An attempt of an earlier run has been ended, others may not have been.
pub const LAPSED: &str = "recovery.lapsed";

/// A grant is revoked, and the work that came in by it goes on.
pub const REVOKED: &str = "grants.revoked";

/// A receiver has answered, and no commit says so.
pub const WEBHOOK_ANSWERED: &str = "webhook.answered";

/// A peer has given a credential, and no commit keeps it.
pub const PEER_PICKED_UP: &str = "peers.picked-up";

/// The node refuses new work, and its attempts do not know.
pub const DRAINING: &str = "drain.begun";

/// What still ran is being ended.
pub const STOPPING: &str = "drain.stopping";

/// Everything has ended, and the store is open.
pub const STOPPED: &str = "drain.stopped";

//! A2A 0.3: other spellings of the one data model, and no second model.
//!
//! Reading takes what the official clients of 0.3 send and gives the requests of 1.0; writing spells the answers of 1.0
//! as 0.3 has them. What 0.3 cannot say is left out: the media type and the file name of a part that is no file, and over
//! REST the tasks that a message refers to. Data that is no object travels as `{"value": …}` under a mark in the part's
//! metadata, as the official libraries do it, so that it comes back as it was.
//!
//! Nothing here knows of HTTP or of streams that are open; the protocol buffers of 0.3 are not here either.

pub mod card;
mod data;
mod method;
mod names;
pub mod read;
pub mod write;

pub use data::{pack, unpack};
pub use method::{METHODS, method, operation};
pub use write::{Event, Spell, Spelled};

/// The forms of 0.3's JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// JSON-RPC and webhooks: `kind` discriminators, `"role": "user"`, `"state": "input-required"`.
    JsonRpc,
    /// REST: the ProtoJSON of the protocol buffers, `"role": "ROLE_USER"`, `"state": "TASK_STATE_INPUT_REQUIRED"`.
    Rest,
    /// The same with `context_id` for `contextId`: to who writes so. ProtoJSON leaves the choice to the writer, and there are
    /// readers that know one of the two.
    RestSnakeCase,
}

impl Spelling {
    /// Whether it is one of REST.
    pub const fn is_rest(self) -> bool {
        matches!(self, Self::Rest | Self::RestSnakeCase)
    }
}

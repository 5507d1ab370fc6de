//! Answers of the one data model, spelled as 0.3 has them.

mod message;
mod push;
mod task;

use std::sync::Arc;

use bytes::Bytes;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::Spelling;
use crate::response::encode;
use baton_core::model::TaskObject;

pub use task::Event;

/// What 0.3 spells in its own way.
pub trait Spell {
    fn spell<S: Serializer>(&self, spelling: Spelling, to: S) -> Result<S::Ok, S::Error>;
}

/// A value in one of the two spellings.
#[derive(Clone, Copy, Debug)]
pub struct Spelled<'a, T: ?Sized>(pub Spelling, pub &'a T);

impl<T: Spell + ?Sized> Serialize for Spelled<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.1.spell(self.0, serializer)
    }
}

impl<T: Spell + ?Sized> Spell for Arc<T> {
    fn spell<S: Serializer>(&self, spelling: Spelling, to: S) -> Result<S::Ok, S::Error> {
        (**self).spell(spelling, to)
    }
}

impl<T: Spell> Spell for [T] {
    fn spell<S: Serializer>(&self, spelling: Spelling, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter().map(|item| Spelled(spelling, item)))
    }
}

/// The body of a notification for a configuration that was made over 0.3: the task as it stands, in the spelling of
/// JSON-RPC, whatever happened to it. (A configuration of 1.0 gets a `StreamResponse`.)
///
/// Which of the two a configuration gets is decided when it is made, by the version of the request that made it, and is
/// kept with it: the sender asks neither the agent nor the card.
pub fn notification(task: &TaskObject) -> Bytes {
    encode(&Spelled(Spelling::JsonRpc, task))
}

/// An object that is being written.
struct Members<M> {
    spelling: Spelling,
    map: M,
}

impl<M: SerializeMap> Members<M> {
    fn new<S: Serializer<SerializeMap = M, Error = M::Error, Ok = M::Ok>>(
        spelling: Spelling,
        to: S,
    ) -> Result<Self, M::Error> {
        Ok(Self { spelling, map: to.serialize_map(None)? })
    }

    /// The discriminator, which only JSON-RPC has.
    fn kind(&mut self, kind: &str) -> Result<(), M::Error> {
        if self.spelling.is_rest() { Ok(()) } else { self.map.serialize_entry("kind", kind) }
    }

    /// A member, named as in the model.
    fn plain(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), M::Error> {
        self.map.serialize_entry(&*self.spelling.member(name), value)
    }

    fn some(&mut self, name: &str, value: Option<&(impl Serialize + ?Sized)>) -> Result<(), M::Error> {
        value.map_or(Ok(()), |value| self.plain(name, value))
    }

    /// A list that is left out where it is empty.
    fn list(&mut self, name: &str, value: &[String]) -> Result<(), M::Error> {
        if value.is_empty() { Ok(()) } else { self.plain(name, value) }
    }

    fn spelled(&mut self, name: &str, value: &(impl Spell + ?Sized)) -> Result<(), M::Error> {
        self.plain(name, &Spelled(self.spelling, value))
    }

    fn end(self) -> Result<M::Ok, M::Error> {
        self.map.end()
    }
}

//! The forms of a card that signatures are made over.

use baton_core::canonical::{Error, Tree};
use baton_core::model::AgentCard;

/// What of a card is signed. Its signatures never are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The members of A2A 1.0 by the rules of §8.4.1: unknown members and unset ones left out.
    V1,
    /// Everything that is written.
    Whole,
    /// The members of 1.0 without any that is empty, as the official libraries do it.
    V1Terse,
}

impl Form {
    pub const ALL: [Self; 3] = [Self::V1, Self::Whole, Self::V1Terse];

    /// What covers most comes first.
    pub const BY_REACH: [Self; 3] = [Self::Whole, Self::V1, Self::V1Terse];

    /// The canonical form of a card that is given as JSON.
    pub fn of(self, card: &str) -> Result<String, Error> {
        // Checked as it is written, before anything is left out of it.
        let mut whole = Tree::parse(card)?;
        Ok(match self {
            Self::Whole => {
                whole.remove("signatures");
                whole.to_string()
            }
            Self::V1 => v1(card)?.to_string(),
            Self::V1Terse => v1(card)?.without_empty().unwrap_or(Tree::Object(Vec::new())).to_string(),
        })
    }

    /// What is covered, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Whole => "the whole card",
            Self::V1 => "the A2A 1.0 members of the card",
            Self::V1Terse => "the A2A 1.0 members of the card that are not empty",
        }
    }
}

fn v1(card: &str) -> Result<Tree, Error> {
    let mut card: AgentCard = serde_json::from_str(card)?;
    card.signatures.clear();
    Tree::parse(&serde_json::to_string(&card)?)
}

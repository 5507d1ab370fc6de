//! A2A 0.3: golden texts, what the official clients send, properties.

mod card;
mod golden;
mod packing;
mod properties;
mod requests;
mod strict;
mod violations;

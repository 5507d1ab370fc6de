//! What the definitions in `proto/` become in Rust. Nothing here is written by hand; see `tests/it/generated.rs`.

pub mod a2a_v0_3;
pub mod a2a_v1;
pub mod rpc;

/// The two services and what they import, as a `FileDescriptorSet`.
pub const DESCRIPTORS: &[u8] = include_bytes!("descriptors.bin");

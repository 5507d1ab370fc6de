//! What every reader of a stranger's bytes promises: one function each, which takes any bytes and panics where a promise
//! is broken.
//!
//! Two callers share this folder: the fuzz targets, which make the bytes up, and the test `fuzzing` of the node, which
//! feeds the seeds on the stable compiler. Beside this module each of them has one named `up`, the reader of the process
//! protocol. Nothing here may need more than both can give, and nothing here reads files.

pub mod answer;
pub mod canonical;
pub mod fault;
pub mod grpc;
pub mod jsonl;
pub mod jsonrpc;
pub mod rest;
pub mod sayable;
pub mod sse;
pub mod v03;

/// Takes any bytes, and panics where what read them breaks its promise.
pub type Property = fn(&[u8]);

/// Every fuzz target, by the name of its folder of seeds.
pub const TARGETS: [(&str, Property); 8] = [
    ("jsonrpc", jsonrpc::holds),
    ("rest", rest::holds),
    ("v03", v03::holds),
    ("answer", answer::holds),
    ("sse", sse::holds),
    ("grpc", grpc::holds),
    ("jsonl", jsonl::holds),
    ("canonical", canonical::holds),
];

//! How A2A is spelled on HTTP, 1.0 and 0.3: operations and their requests, JSON-RPC, REST and gRPC, server-sent events,
//! and the one table of faults, for the server's side and for the client's.
//!
//! Pure text in, values out, and back: no tokio, no SQL, no web framework, no clock. The data model is
//! `baton-core`'s; this crate knows nothing of stores, grants or runners.

pub mod fault;
pub mod operation;
mod read;

pub mod grpc;
pub mod jsonrpc;
pub mod query;
pub mod request;
pub mod response;
pub mod sse;
pub mod v03;
pub mod version;

pub mod client;

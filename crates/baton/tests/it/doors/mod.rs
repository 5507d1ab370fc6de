//! The doors of a running node: what callers see, over every binding.

mod cancelling;
mod cards;
mod dev;
mod everywhere;
mod extended;
mod extensions;
mod grpc;
mod grpc_v03;
mod idempotency;
mod limits;
mod listing;
mod malformed;
mod media;
mod operator;
mod ownership;
mod replies;
mod resuming;
mod routes;
mod sending;
mod signing;
mod streams;
mod v03;
mod versions;
mod working;

//! The fuzz target `jsonrpc`: its property says what it takes.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| baton_fuzz::properties::jsonrpc::holds(bytes));

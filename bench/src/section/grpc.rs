//! Owns the section `grpc`: blocking SendMessage over gRPC, beside the same over JSON-RPC. Clients of gRPC send their calls
//! over one channel at the same time, those of HTTP/1.1 need a connection for each; a channel for each call is measured too.

use super::interleave;
use crate::Result;
use crate::grpc::Send;
use crate::node::Node;
use crate::options::Options;
use crate::report::{Bar, Report};

const NAME: &str = "grpc";
const OF_JSON_RPC: Bar = Bar::AtLeast(0.9);
/// Callers that share a channel.
const SHARED: usize = 8;

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    let Some(binary) = options.node_binary()? else {
        return Ok(());
    };
    let folder = options.scratch_folder()?;
    let node = Node::start(&binary, folder.path(), &folder.path().join("data"))?;
    let targets = [
        node.send_target("json-rpc"),
        node.target("grpc", Send::new("echo", SHARED)),
        node.target("grpc, a channel each", Send::new("echo", 1)),
    ];
    let results = interleave(&targets, options)?;
    for (target, rounds) in targets.iter().zip(&results) {
        report.throughput(NAME, target.name, rounds);
    }
    report.ratio(NAME, "grpc / json-rpc", (&results[1], &results[0]), Some(OF_JSON_RPC));
    report.ratio(NAME, "a channel each / json-rpc", (&results[2], &results[0]), None);
    node.stop()
}

//! Owns the section `grpc`: blocking SendMessage over gRPC, beside the same over JSON-RPC.

use super::interleave;
use crate::Result;
use crate::grpc::Send;
use crate::node::Node;
use crate::options::Options;
use crate::report::{Bar, Report};

const NAME: &str = "grpc";
const OF_JSON_RPC: Bar = Bar::AtLeast(0.9);

pub fn run(options: &Options, report: &mut Report) -> Result<()> {
    let Some(binary) = options.node_binary()? else {
        return Ok(());
    };
    let folder = options.scratch_folder()?;
    let node = Node::start(&binary, folder.path(), &folder.path().join("data"))?;
    let targets = [node.send_target("json-rpc"), node.target("grpc", Send::new("echo"))];
    let results = interleave(&targets, options)?;
    for (target, rounds) in targets.iter().zip(&results) {
        report.throughput(NAME, target.name, rounds);
    }
    report.ratio(NAME, "grpc / json-rpc", (&results[1], &results[0]), Some(OF_JSON_RPC));
    node.stop()
}

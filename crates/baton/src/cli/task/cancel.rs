//! `baton task cancel`.

use baton_core::model::TaskState;
use baton_wire::query::segment;
use bytes::Bytes;

use crate::cli::node::{Shown, typed};
use crate::cli::printer::word;
use crate::cli::remote::{Remote, RemoteArgs};
use crate::cli::{Exit, Failure, Global, output};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub async fn run(global: &Global, args: Args) -> Result<Exit, Failure> {
    let remote = Remote::connect(global, &args.remote).await?;
    let task = match &remote {
        Remote::Agent { client, .. } => {
            let task = client.cancel(&args.id).await.map_err(|why| remote.explain(why))?;
            if global.json {
                output::json(&task)?;
            }
            task
        }
        Remote::Node(node) => {
            let json = node.post(&format!("tasks/{}/cancel", segment(&args.id)), Bytes::new()).await?;
            if global.json {
                output::json(&json)?;
            }
            typed::<Shown>(&json)?.task
        }
    };
    let state: TaskState = task.status.state;
    if !global.json {
        output::line(word(state))?;
    }
    if !state.is_terminal() {
        output::note("it has been told to end and has not ended yet");
        output::note(&format!("resume with: {}", remote.resume("watch", &args.id)));
    }
    Ok(Exit::Done)
}

//! `baton task get`.

use baton_core::model::StreamResponse;
use baton_wire::query::segment;

use crate::cli::node::{Shown, typed};
use crate::cli::printer::Printer;
use crate::cli::remote::{Remote, RemoteArgs};
use crate::cli::save::SaveArgs;
use crate::cli::{Exit, Failure, Global, output};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id
    #[arg(value_name = "ID")]
    id: String,
    /// Messages of the history to show, the newest
    #[arg(long, value_name = "N", requires = "url")]
    history: Option<i32>,
    #[command(flatten)]
    save: SaveArgs,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub async fn run(global: &Global, args: Args) -> Result<Exit, Failure> {
    let remote = Remote::connect(global, &args.remote).await?;
    let task = match &remote {
        Remote::Agent { client, .. } => {
            let task = client.get(&args.id, args.history).await.map_err(|why| remote.explain(why))?;
            if global.json {
                output::json(&task)?;
            }
            task
        }
        Remote::Node(node) => {
            let json = node.get(&format!("tasks/{}", segment(&args.id))).await?;
            if global.json {
                output::json(&json)?;
            }
            let Shown { agent, owner, task } = typed(&json)?;
            if !global.json {
                output::note(&format!("agent {agent}, owner {}", owner_text(&owner.grant, &owner.subject)));
            }
            task
        }
    };
    let mut saver = args.save.saver()?;
    let task = StreamResponse::Task(task);
    if global.json {
        // Printed as it came, above.
        if let Some(saver) = &mut saver {
            saver.take(&task)?;
            saver.finish();
        }
        return Ok(Exit::Done);
    }
    let mut printer = Printer::new(false, false, saver);
    printer.show(&task)?;
    printer.close()?;
    Ok(Exit::Done)
}

fn owner_text(grant: &str, subject: &str) -> String {
    if subject.is_empty() { grant.to_owned() } else { format!("{grant} ({subject})") }
}

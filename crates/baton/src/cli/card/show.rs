//! `baton card show`.

use std::fmt::Write as _;

use crate::cli::access::Access;
use crate::cli::{Exit, Failure, Global, output};
use crate::federation::{Client, Found};
use baton_core::model::AgentCard;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The agent: its base URL, its card's URL, or the origin of the default agent
    #[arg(value_name = "URL")]
    url: String,
    #[command(flatten)]
    access: Access,
}

pub async fn run(global: &Global, args: Args) -> Result<Exit, Failure> {
    let found = Client::find(&args.url, &args.access.options()?).await?;
    if global.json {
        output::json(&found.raw)?;
    } else {
        output::text(&spell(&found))?;
    }
    Ok(Exit::Done)
}

fn spell(found: &Found) -> String {
    let AgentCard { name, description, version, capabilities, .. } = &found.card;
    let mut out = format!("{name} {version}\n{description}\n\ncard: {}\n", found.at);
    if let Some(provider) = &found.card.provider {
        let _ = writeln!(out, "by {} ({})", provider.organization, provider.url);
    }
    for interface in &found.card.supported_interfaces {
        let tenant =
            interface.tenant.as_ref().map(|tenant| format!(" (tenant {tenant})")).unwrap_or_default();
        let (binding, version) = (&interface.protocol_binding, &interface.protocol_version);
        let _ = writeln!(out, "{binding} {version}: {}{tenant}", interface.url);
    }
    let can = [
        ("streaming", capabilities.streaming),
        ("push notifications", capabilities.push_notifications),
        ("extended card", capabilities.extended_agent_card),
    ];
    let can: Vec<&str> =
        can.into_iter().filter(|(_, can)| *can == Some(true)).map(|(what, _)| what).collect();
    if !can.is_empty() {
        let _ = writeln!(out, "can: {}", can.join(", "));
    }
    let schemes: Vec<&str> = found.card.security_schemes.keys().map(String::as_str).collect();
    if !schemes.is_empty() {
        let _ = writeln!(out, "needs: {}", schemes.join(", "));
    }
    if !found.card.signatures.is_empty() {
        let _ = writeln!(out, "signatures: {}, see `baton card verify`", found.card.signatures.len());
    }
    for skill in &found.card.skills {
        let _ = writeln!(out, "\nskill {}: {}\n  {}", skill.id, skill.name, skill.description);
        if !skill.tags.is_empty() {
            let _ = writeln!(out, "  tags: {}", skill.tags.join(", "));
        }
    }
    out
}

//! What the holder of a grant could do, in plain words.

use baton_store::{GrantLimits, Per, Rate, Verb};

use super::super::Service;
use super::Draft;

impl Service {
    /// One sentence after the other, for somebody who is about to make the grant.
    pub fn words_of(&self, draft: &Draft) -> Vec<String> {
        let agents: Vec<&str> = draft.agents.iter().map(baton_core::ident::AgentName::as_str).collect();
        let until = draft.expires_at.map_or_else(
            || "until it is revoked".to_owned(),
            |at| format!("until {at} or until it is revoked, whichever comes first"),
        );
        let mut words = vec![format!("Whoever has the token may, with {} and {until}:", and(&agents))];
        let (may, may_not): (Vec<Verb>, Vec<Verb>) =
            Verb::ALL.into_iter().partition(|verb| draft.verbs.contains(verb));
        words.extend(may.iter().map(|verb| format!("- {} ({})", what(*verb), verb.as_str())));
        if !may_not.is_empty() {
            words.push("It may not:".to_owned());
            words.extend(may_not.iter().map(|verb| format!("- {} ({})", what(*verb), verb.as_str())));
        }
        words.extend(limits(&draft.limits));
        words.extend(self.of_no_use(draft));
        let it = if draft.verbs.contains(&Verb::Work) { "But for that work, it" } else { "It" };
        words.push(format!(
            "{it} never sees tasks that came in by another grant, and never the operator's part of the node."
        ));
        words
    }

    /// Verbs that these agents do not answer to.
    fn of_no_use(&self, draft: &Draft) -> Vec<String> {
        let settings = draft.agents.iter().filter_map(|name| self.agents.find(name));
        let mut notes = Vec::new();
        for agent in settings {
            for (verb, has, what) in [
                (Verb::Push, agent.settings.push, "pushes no updates"),
                (Verb::ExtendedCard, agent.settings.extended_card, "has no extended card"),
            ] {
                if draft.verbs.contains(&verb) && !has {
                    notes.push(format!(
                        "Note: {} {what}, so `{}` is of no use there.",
                        agent.name(),
                        verb.as_str()
                    ));
                }
            }
        }
        notes
    }
}

const fn what(verb: Verb) -> &'static str {
    match verb {
        Verb::Send => "hand in tasks, and answer what is asked about them",
        Verb::Read => "see the tasks that came in by this grant, and follow them as they change",
        Verb::Cancel => "cancel those tasks",
        Verb::Push => "have updates of those tasks sent to a URL of its choice",
        Verb::Work => "claim these agents' work, everybody's tasks among it, and finish it in their name",
        Verb::ExtendedCard => "read the extended cards",
    }
}

fn limits(limits: &GrantLimits) -> Vec<String> {
    let GrantLimits { rate, open_tasks, tasks_per_day, body } = limits;
    let mut parts = Vec::new();
    if let Some(Rate { requests, per, burst }) = rate {
        let per = match per {
            Per::Second => "second",
            Per::Minute => "minute",
        };
        parts.push(format!("{requests} requests a {per} and {burst} at once"));
    }
    parts.extend(open_tasks.map(|most| format!("{most} open tasks at a time")));
    parts.extend(tasks_per_day.map(|most| format!("{most} new tasks a day (UTC)")));
    parts.extend(body.map(|bytes| format!("{bytes} bytes a request")));
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let mut words = Vec::new();
    if !parts.is_empty() {
        words.push(format!("At most {}; more is refused.", and(&parts)));
    }
    if open_tasks.is_none() && tasks_per_day.is_none() {
        words.push("How many tasks it hands in has no limit.".to_owned());
    }
    words
}

/// `a`, `a and b`, `a, b and c`.
fn and(parts: &[&str]) -> String {
    match parts {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

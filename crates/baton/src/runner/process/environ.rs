//! The facts that a child finds in its environment.

use crate::runner::Job;

/// For a child that is started for one task.
pub fn of_task(job: &Job) -> impl Iterator<Item = (String, String)> {
    let task = [
        ("BATON_TASK_ID", job.task_id.to_string()),
        ("BATON_ATTEMPT", job.attempt.to_string()),
        ("BATON_EXTENSIONS", job.request.extensions.join(",")),
        ("BATON_ACCEPT", accepted(&job.request.accepted_output_modes)),
    ];
    // What was not said is not there.
    let task = task.into_iter().filter(|(_, value)| !value.is_empty());
    of_context(job).chain(task.map(|(name, value)| (name.to_owned(), value)))
}

/// For a child that is kept for a context.
pub fn of_context(job: &Job) -> impl Iterator<Item = (String, String)> {
    let facts = [("BATON_AGENT", job.agent.to_string()), ("BATON_CONTEXT_ID", job.context_id.to_string())];
    facts.map(|(name, value)| (name.to_owned(), value)).into_iter()
}

/// Bytes of what a caller may put into a child's environment.
const ACCEPT_BYTES: usize = 4096;

/// The media types that the caller takes, as far as they look like some: an environment holds no NUL, and not everything.
fn accepted(modes: &[String]) -> String {
    let plain = |mode: &&String| !mode.is_empty() && mode.bytes().all(|b| b.is_ascii_graphic() && b != b',');
    let mut list = String::new();
    for mode in modes.iter().filter(plain) {
        if list.len() + mode.len() < ACCEPT_BYTES {
            list.push_str(if list.is_empty() { "" } else { "," });
            list.push_str(mode);
        }
    }
    list
}

//! The facts that a child finds in its environment.

use crate::runner::Job;

/// For a child that is started for one task.
pub fn of_task(job: &Job) -> impl Iterator<Item = (String, String)> {
    let task = [("BATON_TASK_ID", job.task_id.to_string()), ("BATON_ATTEMPT", job.attempt.to_string())];
    of_context(job).chain(task.map(|(name, value)| (name.to_owned(), value)))
}

/// For a child that is kept for a context.
pub fn of_context(job: &Job) -> impl Iterator<Item = (String, String)> {
    let facts = [("BATON_AGENT", job.agent.to_string()), ("BATON_CONTEXT_ID", job.context_id.to_string())];
    facts.map(|(name, value)| (name.to_owned(), value)).into_iter()
}

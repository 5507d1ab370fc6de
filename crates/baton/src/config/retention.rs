//! `[retention]`: how long tasks that are over are kept.

use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::error::Problem;
use super::settings;
use super::value::Span;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    age: Option<Spanned<Span>>,
    tasks: Option<Spanned<u64>>,
}

/// The shortest: whoever handed a task in has an hour to look at what came of it.
const AGE_MIN: Duration = Duration::from_hours(1);

impl Retention {
    pub(super) fn resolve(self) -> Result<settings::Retention, Problem> {
        if let Some(age) = &self.age
            && age.get_ref().0 < AGE_MIN
        {
            return Err(Problem::at(age.span(), "`age` is a duration, at least \"1h\""));
        }
        if let Some(tasks) = &self.tasks
            && *tasks.get_ref() == 0
        {
            let what = "`tasks` is a number of tasks of each agent, at least 1";
            return Err(Problem::at(tasks.span(), what));
        }
        let age = self.age.map(|age| age.into_inner().0);
        Ok(settings::Retention { age, tasks: self.tasks.map(Spanned::into_inner) })
    }
}

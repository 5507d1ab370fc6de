//! Accounts for everything that was acknowledged: over the doors while the node serves, in the database when it is over.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde_json::{Value, json};
use tokio::process::Command;

use super::client::{Client, Frame, Send};
use super::ledger::{Books, Ledger, Record, Segment, is_over, is_terminal, state};

/// Tasks without streams of which every so manieth is read event by event.
const SAMPLE: usize = 16;

/// The outcome.
#[derive(Debug, Default)]
pub struct Account {
    /// Messages whose task was answered, follow-ups included.
    pub acknowledged: usize,
    /// Of these, in the history of their task.
    pub found: usize,
    pub lost: usize,
    /// Messages that went out and were never answered.
    pub unanswered: usize,
    pub tasks: usize,
    /// Events that streams carried before and after the kills.
    pub events: usize,
    pub lost_events: usize,
    pub doubled_events: usize,
    /// Everything that is not as it should be, in words.
    pub faults: Vec<String>,
}

/// Everything that is there.
#[derive(Default)]
struct Found {
    tasks: HashMap<String, Value>,
    /// Tasks by the ids of the messages in their history, once for each time.
    messages: HashMap<String, Vec<String>>,
}

impl Account {
    /// Asks the node for everything, and compares.
    pub async fn of(ledger: &Ledger, client: &mut Client) -> Self {
        let mut account = Self::default();
        let mut found = Found::default();
        for agent in agents(ledger) {
            account.walk(agent, client, &mut found).await;
        }
        account.tasks = found.tasks.len();
        account.messages(&ledger.books(), &found);
        let followed = account.content(&ledger.books(), &found);
        for (agent, task, segments) in followed {
            account.events(client, agent, &task, &segments).await;
        }
        account
    }

    fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    /// Every page of an agent's list. The total is right on each of them, and nothing comes twice.
    async fn walk(&mut self, agent: &str, client: &mut Client, found: &mut Found) {
        let mut token = String::new();
        let (mut count, mut totals) = (0_u64, Vec::new());
        loop {
            let params = json!({"pageSize": 100, "pageToken": token, "includeArtifacts": true});
            let mut page = client.rpc(agent, "ListTasks", &params, None).await.unwrap().unwrap();
            totals.push(page["totalSize"].as_u64().unwrap());
            let Value::Array(tasks) = page["tasks"].take() else { break };
            for task in tasks {
                count += 1;
                let id = task["id"].as_str().unwrap().to_owned();
                for message in task["history"].as_array().into_iter().flatten() {
                    let message = message["messageId"].as_str().unwrap().to_owned();
                    found.messages.entry(message).or_default().push(id.clone());
                }
                if found.tasks.insert(id.clone(), task).is_some() {
                    self.fault(format!("{id} is listed twice"));
                }
            }
            page["nextPageToken"].as_str().unwrap_or_default().clone_into(&mut token);
            if token.is_empty() {
                break;
            }
        }
        if totals.iter().any(|total| *total != count) {
            self.fault(format!("{agent} has {count} tasks, and its pages say {totals:?}"));
        }
    }

    /// An acknowledged message is in its task, once; every other one is somewhere at most once.
    fn messages(&mut self, books: &Books, found: &Found) {
        for (id, sent) in &books.sent {
            let places = found.messages.get(id).map_or(&[][..], Vec::as_slice);
            match (&sent.task, places) {
                (Some(task), [place]) if task == place => {
                    self.acknowledged += 1;
                    self.found += 1;
                    self.text(&sent.send, &found.tasks[task]);
                }
                (Some(task), []) => {
                    self.acknowledged += 1;
                    self.lost += 1;
                    self.fault(format!("the message {id} of {task} is lost"));
                }
                (None, [] | [_]) => self.unanswered += 1,
                (task, places) => {
                    self.acknowledged += usize::from(task.is_some());
                    self.fault(format!("the message {id} of {task:?} is in {places:?}"));
                }
            }
        }
    }

    fn text(&mut self, send: &Send, task: &Value) {
        let history = task["history"].as_array().into_iter().flatten();
        let message = history.into_iter().find(|message| message["messageId"] == send.id());
        if message.is_none_or(|message| message["parts"][0]["text"] != send.text()) {
            self.fault(format!("{send:?} is not what its task has: {task}"));
        }
    }

    /// Every task has an end that its agent can have made, in one attempt. Answers which tasks are to be read event by
    /// event.
    fn content(&mut self, books: &Books, found: &Found) -> Vec<(&'static str, String, Vec<Segment>)> {
        for (id, task) in &found.tasks {
            let record = books.tasks.get(id);
            if !is_terminal(task) {
                self.fault(format!("{id} has not ended: {task}"));
            } else if let Some(why) = wrong(record, task) {
                self.fault(format!("{id} {why}: {task}"));
            }
            if let Some(ended) = record.and_then(|record| record.ended.as_ref())
                && ended != task
            {
                self.fault(format!("{id} was {ended} and is {task}"));
            }
        }
        for id in books.tasks.keys().filter(|id| !found.tasks.contains_key(*id)) {
            self.fault(format!("{id} is lost"));
        }
        let chosen = books.tasks.iter().enumerate();
        let chosen = chosen.filter(|(n, (_, record))| n % SAMPLE == 0 || !record.segments.is_empty());
        chosen.map(|(_, (id, record))| (record.agent, id.clone(), record.segments.clone())).collect()
    }

    /// The whole log of a task, compared with what its streams carried.
    async fn events(&mut self, client: &mut Client, agent: &str, task: &str, segments: &[Segment]) {
        let log = match client.subscribe(agent, task, Some(0)).await.unwrap() {
            Ok(stream) => stream.rest().await.unwrap(),
            Err(fault) => return self.fault(format!("{task} cannot be replayed: {fault:?}")),
        };
        let numbers: Vec<u64> = log.iter().map(|frame| frame.id).collect();
        let rises = numbers.windows(2).all(|pair| pair[0] < pair[1]);
        let over = log.last().and_then(|frame| frame.item["statusUpdate"]["status"]["state"].as_str());
        if numbers.first() != Some(&0) || !rises || !over.is_some_and(is_over) {
            self.fault(format!("the log of {task} is not whole: {numbers:?}"));
        }
        let log: BTreeMap<u64, Frame> = log.into_iter().skip(1).map(|frame| (frame.id, frame)).collect();
        for segment in segments {
            self.segment(task, &log, segment);
        }
    }

    /// A stream carried exactly what the log has between its ends.
    fn segment(&mut self, task: &str, log: &BTreeMap<u64, Frame>, segment: &Segment) {
        self.events += segment.events.len();
        let mut last = segment.from;
        for event in &segment.events {
            if event.id <= last {
                self.doubled_events += 1;
                self.fault(format!("{task}: event {} came after {last}", event.id));
                continue;
            }
            let between = log.range(last + 1..event.id).count();
            if between > 0 || log.get(&event.id) != Some(event) {
                self.lost_events += 1;
                self.fault(format!("{task}: {last} was followed by {event:?}, the log has {log:?}"));
            }
            last = event.id;
        }
    }

    /// The books are right, in a word that a test can end with.
    #[track_caller]
    pub fn assert_sound(&self) {
        let first: Vec<_> = self.faults.iter().take(5).collect();
        assert!(self.faults.is_empty(), "{} faults, the first of them: {first:#?}", self.faults.len());
        assert_eq!((self.lost, self.lost_events, self.doubled_events), (0, 0, 0));
        assert_eq!(self.acknowledged, self.found);
    }
}

fn agents(ledger: &Ledger) -> Vec<&'static str> {
    let mut agents: Vec<_> = ledger.books().sent.values().map(|sent| sent.send.agent).collect();
    agents.sort_unstable();
    agents.dedup();
    agents
}

/// What is wrong with the end of a task, if anything.
fn wrong(record: Option<&Record>, task: &Value) -> Option<String> {
    let agent = record?.agent;
    match state(task) {
        "TASK_STATE_COMPLETED" => {
            let expected = expected(agent, task);
            (artifacts(task) != expected).then(|| format!("has not the artifacts {expected:?}"))
        }
        "TASK_STATE_CANCELED" => (!record?.cancelled).then(|| "was cancelled by nobody".to_owned()),
        "TASK_STATE_FAILED" if agent == "once" => {
            // Another node knows of a dead one that its lease ran out; and one that lost the store ended it itself.
            let reason = task["metadata"]["baton/reason"].as_str().unwrap_or_default();
            let given_up = reason == "crashed" && task["status"]["message"].is_null();
            (!given_up && reason != "node_died" && reason != "lease_lapsed")
                .then(|| format!("failed for another reason: {}", task["metadata"]))
        }
        state => Some(format!("has an end that it cannot have: {state}")),
    }
}

/// All texts of a task's artifacts.
fn artifacts(task: &Value) -> Vec<String> {
    let parts = |artifact: &Value| {
        let parts = artifact["parts"].as_array().into_iter().flatten();
        parts.filter_map(|part| part["text"].as_str()).collect::<String>()
    };
    task["artifacts"].as_array().into_iter().flatten().map(parts).collect()
}

/// What an agent makes of its user's messages.
fn expected(agent: &str, task: &Value) -> Vec<String> {
    let history = task["history"].as_array().into_iter().flatten();
    let of_user = history.filter(|message| message["role"] == "ROLE_USER");
    let texts: Vec<&str> = of_user.filter_map(|message| message["parts"][0]["text"].as_str()).collect();
    let text = texts.first().copied().unwrap_or_default();
    match agent {
        "hello" => vec![format!("Hello, {text}.\n")],
        "slow" | "once" => vec![format!("{text} 1\n{text} 2\n{text} 3\n{text} 4\n")],
        "survey" => {
            let questions = ["What is your name?", "What do you work on?", "What slows you down?"];
            let lines = questions
                .iter()
                .zip(&texts[1..])
                .map(|(question, answer)| ["**", question, "** ", answer, "\n"].concat());
            vec![lines.collect(), String::new()]
        }
        _ => vec![text.to_owned()],
    }
}

/// What the database itself must satisfy, whatever happened. Prints one line for each fault.
const AUDIT: &str = r#"
import sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
def none(what, sql):
    for row in db.execute(sql):
        print(what, row)
for (answer,) in db.execute("PRAGMA integrity_check"):
    if answer != "ok":
        print("integrity", answer)
none("foreign key", "PRAGMA foreign_key_check")
none("numbers are not dense", """SELECT hex(id), task.seq, n, low, high FROM task LEFT JOIN
    (SELECT task, count(*) n, min(seq) low, max(seq) high FROM log GROUP BY task) ON task = key
    WHERE n IS NOT task.seq OR low IS NOT 1 OR high IS NOT task.seq""")
none("a row of events ends elsewhere", """SELECT key FROM event
    WHERE (key & 16383) IS NOT (SELECT max(value ->> 'seq') FROM json_each(events))""")
none("events of no task", "SELECT task FROM log WHERE task NOT IN (SELECT key FROM task)")
ends = "('completed', 'failed', 'canceled', 'rejected', 'answered')"
none("not one end", f"""SELECT hex(id), phase, (SELECT group_concat(seq) FROM log WHERE task = key AND kind IN {ends}) at
    FROM task WHERE phase NOT IN {ends} OR at IS NOT CAST(seq AS TEXT)""")
none("attempts", """SELECT hex(id), attempt, n FROM task LEFT JOIN
    (SELECT task, count(*) n FROM log WHERE kind = 'claimed' GROUP BY task) ON task = key
    WHERE coalesce(n, 0) <> attempt""")
none("kept counts", """SELECT scope, shown_state, sum(n) FROM (
    SELECT scope, shown_state, n FROM task_count UNION ALL SELECT scope, shown_state, -1 FROM task)
    GROUP BY 1, 2 HAVING sum(n) <> 0""")
none("a key of no task", "SELECT key FROM idempotency WHERE task_id NOT IN (SELECT id FROM task)")
none("an event without its message", """SELECT task, seq, kind FROM log
    WHERE kind IN ('submitted', 'messaged', 'resumed') AND message IS NULL""")
none("an event without its artifact", "SELECT task, seq, kind FROM log WHERE (kind = 'wrote') <> (artifact IS NOT NULL)")
none("what a row holds", """SELECT key, holds FROM event WHERE (holds & 3) IS NOT (SELECT
    max(value -> 'message' IS NOT NULL) + 2 * max(value ->> 'kind' = 'wrote') FROM json_each(events))""")
"#;

/// Looks into the database of a node that has ended.
pub async fn audit(data: &Path) {
    assert_eq!(ask(data, AUDIT).await, "");
}

/// Runs a Python program whose first argument is the database: what it prints.
pub async fn ask(data: &Path, program: &str) -> String {
    let mut command = Command::new("python3");
    command.args(["-c", program]).arg(data.join("baton.db"));
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

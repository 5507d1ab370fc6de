//! Friend requests inside the writer's transaction: taken in, decided, and the credential that comes of them.

use std::sync::Arc;

use baton_core::friend::{Credential, Crowd, Input, State, admit, begin, step};
use baton_core::limits::FRIEND_HOUR;
use baton_core::time::Timestamp;
use rusqlite::{Connection, params};
use serde_json::json;

use super::apply::Group;
use super::rows::optional_time;
use super::{access, audit, friends};
use crate::stored::to_json;
use crate::{
    Actor, Decision, Error, Found, FriendRequest, Grant, GrantChange, Look, Mark, NewCredential,
    NewFriendRequest, NewGrant, friend_state,
};

/// Those of an address in the last hour, and those that wait: of the address, and of all.
pub(super) const COUNT_FRIEND_REQUESTS: &str = "-- store.count_friend_requests
SELECT count(*), min(created_at),
    (SELECT count(*) FROM friend_request WHERE state = 'pending' AND until > ?3 AND origin = ?1),
    (SELECT count(*) FROM friend_request WHERE state = 'pending' AND until > ?3)
FROM friend_request WHERE origin = ?1 AND created_at > ?2";

pub(super) const COUNT_PENDING: &str = "-- store.count_pending_friend_requests
SELECT count(*) FROM friend_request WHERE state = 'pending' AND until > ?1";

const INSERT_FRIEND_REQUEST: &str = "-- store.insert_friend_request
INSERT INTO friend_request (id, secret, code, origin, card_url, agents, verbs, why, id_token, state, until, pick_ups,
    created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'pending', ?10, 0, ?11)";

/// What came as proof goes with the decision: nobody looks at it afterwards.
const UPDATE_FRIEND_REQUEST: &str = "-- store.update_friend_request
UPDATE friend_request SET state = ?2, until = ?3, pick_ups = ?4, decided_at = ?5, decided_by = ?6, picked_at = ?7,
    grant_id = ?8, token = ?9, look_at = ?10, look = ?11, card = ?12, mark_at = ?13, mark_digest = ?14, mark_key = ?15,
    id_token = CASE WHEN ?2 = 'pending' THEN id_token END
WHERE id = ?1";

pub(super) const LIST_LAPSED: &str = "-- store.list_lapsed_friend_requests
SELECT id FROM friend_request
WHERE until <= ?1 AND (state = 'pending' OR (state = 'approved' AND pick_ups = 0)) ORDER BY until LIMIT ?2";

const PRUNE_FRIEND_REQUESTS: &str = "-- store.prune_friend_requests
DELETE FROM friend_request WHERE id IN
    (SELECT id FROM friend_request WHERE (state = 'denied' OR state = 'expired') AND decided_at < ?1 ORDER BY id LIMIT ?2)";

const IS_TO_BE_PRUNED: &str = "-- store.is_friend_request_to_be_pruned
SELECT EXISTS (SELECT 1 FROM friend_request WHERE (state = 'denied' OR state = 'expired') AND decided_at < ?1)";

const DELETE_CREDENTIAL: &str = "-- store.delete_credential
DELETE FROM credential WHERE digest = ?1 AND grant_id = ?2";

/// Whether a task ever came in by a grant: that is on disk, whenever uses were last written down.
const HAS_TASKS: &str = "-- store.has_tasks
SELECT EXISTS (SELECT 1 FROM scope WHERE grant_id = ?1)";

/// What the writer is asked about friend requests.
pub enum FriendWrite {
    Create(NewFriendRequest),
    Look { id: String, look: Look, by: Actor },
    Approve { id: String, grant: NewGrant },
    Deny { id: String, by: Actor, now: Timestamp },
    PickUp { id: String, credential: NewCredential, by: Actor, now: Timestamp },
    Expire { now: Timestamp, most: usize },
    Prune { before: Timestamp, most: usize },
}

/// What it answers.
pub enum FriendAnswer {
    Request(Box<FriendRequest>),
    Count(usize),
}

impl Group<'_> {
    pub fn befriend(&mut self, write: &FriendWrite) -> Result<FriendAnswer, Error> {
        let request = match write {
            FriendWrite::Create(new) => create(self.db, new)?,
            FriendWrite::Look { id, look, by } => self.keep_look(id, look, by)?,
            FriendWrite::Approve { id, grant } => self.approve(id, grant)?,
            FriendWrite::Deny { id, by, now } => self.deny(id, by, *now)?,
            FriendWrite::PickUp { id, credential, by, now } => self.pick_up(id, credential, (by, *now))?,
            FriendWrite::Expire { now, most } => return self.expire(*now, *most).map(FriendAnswer::Count),
            FriendWrite::Prune { before, most } => {
                let mut statement = self.db.prepare_cached(PRUNE_FRIEND_REQUESTS)?;
                return Ok(FriendAnswer::Count(statement.execute(params![before.as_millis(), most])?));
            }
        };
        Ok(FriendAnswer::Request(Box::new(request)))
    }

    fn keep_look(&self, id: &str, look: &Look, by: &Actor) -> Result<FriendRequest, Error> {
        let mut request = load(self.db, id)?;
        // What was decided stays as it was seen then: the mark that an approval pins is the one that was approved.
        if !matches!(request.state, State::Pending { .. }) {
            return Ok(request);
        }
        request.look = Some(look.clone().after(request.look.as_ref()));
        update(self.db, &request)?;
        audit::note(self.db, (by, look.at), ("friend.look", id), String::new())?;
        Ok(request)
    }

    fn approve(&mut self, id: &str, new: &NewGrant) -> Result<FriendRequest, Error> {
        let mut request = load(self.db, id)?;
        request.state = step(request.state, Input::Approved, new.now)?;
        let grant = Arc::new(access::create(self.db, new)?);
        self.altered.insert(Arc::clone(&grant.id), Arc::clone(&grant));
        request.grant = Some(Arc::clone(&grant.id));
        decide(self.db, request, (&new.by, new.now), "friend.approve")
    }

    fn deny(&self, id: &str, by: &Actor, now: Timestamp) -> Result<FriendRequest, Error> {
        let mut request = load(self.db, id)?;
        request.state = step(request.state, Input::Denied, now)?;
        decide(self.db, request, (by, now), "friend.deny")
    }

    fn pick_up(
        &mut self,
        id: &str,
        credential: &NewCredential,
        (by, now): (&Actor, Timestamp),
    ) -> Result<FriendRequest, Error> {
        let mut request = load(self.db, id)?;
        let grant = request.grant.as_ref().and_then(|id| self.grant(id));
        let was = grant.as_ref().map_or(Ok(Credential::Unused), |grant| self.credential(grant, now))?;
        request.state = step(request.state, Input::PickedUp(was), now)?;
        let grant = grant.ok_or_else(|| Error::Corrupt(format!("the friend request {id} has no grant")))?;
        let mut grant = Grant::clone(&grant);
        if let Some(voided) = request.token.replace(credential.digest) {
            grant.credentials.retain(|known| known.digest != voided);
            self.db.prepare_cached(DELETE_CREDENTIAL)?.execute(params![voided, &*grant.id])?;
        }
        let before = grant.credentials.clone();
        grant.credentials.push(credential.made(now));
        access::put_credentials(self.db, &before, &grant)?;
        request.picked_at = Some(now);
        update(self.db, &request)?;
        let actor = Actor::new(&*grant.id, by.origin.clone());
        let detail = json!({"hint": credential.hint}).to_string();
        audit::note(self.db, (&actor, now), ("friend.pick-up", id), detail)?;
        self.altered.insert(Arc::clone(&grant.id), Arc::new(grant));
        Ok(request)
    }

    /// What became of the credential of a friend's grant.
    fn credential(&self, grant: &Grant, now: Timestamp) -> Result<Credential, Error> {
        if grant.state_at(now).is_over() {
            return Ok(Credential::Ended);
        }
        let used = self.grants.find_record(&grant.id).is_some_and(|record| record.last_used_at.is_some());
        let worked = || self.db.prepare_cached(HAS_TASKS)?.query_row([&*grant.id], |row| row.get(0));
        Ok(if used || worked()? { Credential::Used } else { Credential::Unused })
    }

    fn expire(&mut self, now: Timestamp, most: usize) -> Result<usize, Error> {
        let lapsed = lapsed(self.db, now, most)?;
        for id in &lapsed {
            let mut request = load(self.db, id)?;
            request.state = step(request.state, Input::Lapsed, now)?;
            // Where the operator handed a token over instead, nobody need come for one.
            if let Some(grant) = request.grant.as_ref().and_then(|id| self.grant(id))
                && grant.credentials.is_empty()
                && let Some(ended) =
                    access::change(self.db, &grant, &GrantChange::Revoke, (&Actor::node(), now))?
            {
                self.altered.insert(Arc::clone(&ended.id), Arc::new(ended));
            }
            decide(self.db, request, (&Actor::node(), now), "friend.expire")?;
        }
        Ok(lapsed.len())
    }
}

/// Requests that time has ended, and of which nobody has said so.
pub fn lapsed(db: &Connection, now: Timestamp, most: usize) -> Result<Vec<String>, Error> {
    let mut statement = db.prepare_cached(LIST_LAPSED)?;
    let lapsed = statement.query_map(params![now.as_millis(), most], |row| row.get(0))?;
    Ok(lapsed.collect::<Result<_, _>>()?)
}

/// How many wait for the operator.
pub fn count_pending(db: &Connection, now: Timestamp) -> Result<usize, Error> {
    Ok(db.prepare_cached(COUNT_PENDING)?.query_row([now.as_millis()], |row| row.get(0))?)
}

pub fn is_to_be_pruned(db: &Connection, before: Timestamp) -> Result<bool, Error> {
    Ok(db.prepare_cached(IS_TO_BE_PRUNED)?.query_row([before.as_millis()], |row| row.get(0))?)
}

fn load(db: &Connection, id: &str) -> Result<FriendRequest, Error> {
    friends::find(db, id)?.ok_or(Error::NotFound)
}

fn create(db: &Connection, new: &NewFriendRequest) -> Result<FriendRequest, Error> {
    let NewFriendRequest { id, secret, code, wish, id_token, by, now } = new;
    admit(crowd(db, &by.origin, *now)?, *now)?;
    let state = begin(*now);
    let State::Pending { until } = state else {
        return Err(Error::Corrupt("a friend request begins as something else".to_owned()));
    };
    db.prepare_cached(INSERT_FRIEND_REQUEST)?.execute(params![
        id,
        secret,
        code,
        by.origin,
        wish.card_url,
        to_json(&wish.agents),
        to_json(&wish.verbs),
        wish.why,
        id_token,
        until.as_millis(),
        now.as_millis()
    ])?;
    // What stands behind the question mark may be the stranger's secret.
    let card = wish.card_url.split('?').next();
    let detail = json!({"code": code, "card": card, "agents": wish.agents, "verbs": wish.verbs});
    audit::note(db, (by, *now), ("friend.ask", id), detail.to_string())?;
    load(db, id)
}

fn crowd(db: &Connection, origin: &str, now: Timestamp) -> Result<Crowd, Error> {
    let hour = i64::try_from(FRIEND_HOUR.as_millis()).unwrap_or(i64::MAX);
    let since = now.as_millis().saturating_sub(hour);
    Ok(db.prepare_cached(COUNT_FRIEND_REQUESTS)?.query_row(
        params![origin, since, now.as_millis()],
        |row| {
            Ok(Crowd {
                in_hour: row.get(0)?,
                oldest: optional_time(row, 1)?,
                waiting_of_address: row.get(2)?,
                waiting: row.get(3)?,
            })
        },
    )?)
}

/// Writes down what became of a request, and who decided that. An approval stays the decision where time ends it.
fn decide(
    db: &Connection,
    mut request: FriendRequest,
    by: (&Actor, Timestamp),
    action: &str,
) -> Result<FriendRequest, Error> {
    let (actor, at) = by;
    request.decided.get_or_insert(Decision { at, by: actor.name.clone() });
    request.id_token = None;
    update(db, &request)?;
    let detail = request.grant.as_ref().map(|grant| json!({"grant": grant}).to_string()).unwrap_or_default();
    audit::note(db, by, (action, &request.id), detail)?;
    Ok(request)
}

fn update(db: &Connection, request: &FriendRequest) -> Result<(), Error> {
    let mark: Option<&Mark> = request.look.as_ref().and_then(|look| match &look.verdict.found {
        Found::Card(seen) => Some(&seen.mark),
        Found::Nothing(_) => None,
    });
    db.prepare_cached(UPDATE_FRIEND_REQUEST)?.execute(params![
        request.id,
        friend_state(request.state),
        request.state.until().map(Timestamp::as_millis),
        request.state.pick_ups(),
        request.decided.as_ref().map(|decided| decided.at.as_millis()),
        request.decided.as_ref().map(|decided| &decided.by),
        request.picked_at.map(Timestamp::as_millis),
        request.grant.as_deref(),
        request.token,
        request.look.as_ref().map(|look| look.at.as_millis()),
        request.look.as_ref().map(|look| to_json(&look.verdict)),
        request.look.as_ref().and_then(|look| look.card.as_ref()).map(baton_core::json::Json::as_str),
        mark.map(|mark| mark.at.as_millis()),
        mark.map(|mark| &mark.digest),
        mark.and_then(|mark| mark.key.as_ref())
    ])?;
    Ok(())
}

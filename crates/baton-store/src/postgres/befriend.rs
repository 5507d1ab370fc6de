//! Friend requests inside a transaction: taken in, decided, and the credential that comes of them.

use std::sync::Arc;

use async_trait::async_trait;
use baton_core::friend::{Credential, Crowd, Input, State, admit, begin, step};
use baton_core::limits::FRIEND_HOUR;
use baton_core::time::Timestamp;
use serde_json::json;

use super::failure::Failure;
use super::grants::Uses;
use super::pool::{Ask, Tx, Work};
use super::rows::{escaped, int, millis, number, optional_time, text};
use super::{access, audit, friends};
use crate::stored::to_json;
use crate::{
    Actor, Decision, Error, Found, FriendRequest, Grant, GrantChange, Look, Mark, NewCredential,
    NewFriendRequest, NewGrant, friend_state,
};

/// Requests are counted one after the other, so that two at once do not both find the last free place.
const LOCK_INTAKE: &str = "-- store.lock_friend_intake
SELECT pg_advisory_xact_lock(hashtext('baton.friends'), hashtext(current_schema()))";

/// Those of an address in the last hour, and those that wait: of the address, and of all.
pub const COUNT_FRIEND_REQUESTS: &str = "-- store.count_friend_requests
SELECT count(*), min(created_at),
    (SELECT count(*) FROM friend_request WHERE state = 'pending' AND until > $3 AND origin = $1),
    (SELECT count(*) FROM friend_request WHERE state = 'pending' AND until > $3)
FROM friend_request WHERE origin = $1 AND created_at > $2";

pub const COUNT_PENDING: &str = "-- store.count_pending_friend_requests
SELECT count(*) FROM friend_request WHERE state = 'pending' AND until > $1";

const INSERT_FRIEND_REQUEST: &str = "-- store.insert_friend_request
INSERT INTO friend_request (id, secret, code, origin, card_url, agents, verbs, why, id_token, state, until, pick_ups,
    created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'pending', $10, 0, $11)";

/// What came as proof goes with the decision: nobody looks at it afterwards.
const UPDATE_FRIEND_REQUEST: &str = "-- store.update_friend_request
UPDATE friend_request SET state = $2, until = $3, pick_ups = $4, decided_at = $5, decided_by = $6, picked_at = $7,
    grant_id = $8, token = $9, look_at = $10, look = $11, card = $12, mark_at = $13, mark_digest = $14, mark_key = $15,
    id_token = CASE WHEN $2 = 'pending' THEN id_token END
WHERE id = $1";

pub const LIST_LAPSED: &str = "-- store.list_lapsed_friend_requests
SELECT id FROM friend_request
WHERE until <= $1 AND (state = 'pending' OR (state = 'approved' AND pick_ups = 0)) ORDER BY until LIMIT $2";

const PRUNE_FRIEND_REQUESTS: &str = "-- store.prune_friend_requests
DELETE FROM friend_request WHERE id IN
    (SELECT id FROM friend_request WHERE state IN ('denied', 'expired') AND decided_at < $1 ORDER BY id LIMIT $2)";

const DELETE_CREDENTIAL: &str = "-- store.delete_credential
DELETE FROM credential WHERE digest = $1 AND grant_id = $2";

/// Whether a task ever came in by a grant: that is on disk, whenever uses were last written down.
const HAS_TASKS: &str = "-- store.has_tasks
SELECT EXISTS (SELECT 1 FROM scope WHERE grant_id = $1) OR EXISTS
    (SELECT 1 FROM \"grant\" WHERE id = $1 AND last_used_at IS NOT NULL)";

/// What is asked about friend requests.
pub enum FriendWrite {
    Create(NewFriendRequest),
    Look { id: String, look: Look, by: Actor },
    Approve { id: String, grant: NewGrant },
    Deny { id: String, by: Actor, now: Timestamp },
    PickUp { id: String, credential: NewCredential, by: Actor, now: Timestamp },
    Expire { id: String, now: Timestamp },
    Prune { before: Timestamp, most: usize },
}

/// What it comes to.
pub enum FriendAnswer {
    Request(Box<FriendRequest>),
    Count(usize),
}

/// One of them, with when grants were used on this node.
pub struct Befriend {
    pub write: FriendWrite,
    pub uses: Arc<Uses>,
}

#[async_trait]
impl Work for Befriend {
    type Answer = FriendAnswer;

    async fn run(&self, tx: &Tx<'_>) -> Result<FriendAnswer, Failure> {
        let request = match &self.write {
            FriendWrite::Create(new) => create(tx, new).await?,
            FriendWrite::Look { id, look, by } => keep_look(tx, id, look, by).await?,
            FriendWrite::Approve { id, grant } => approve(tx, id, grant).await?,
            FriendWrite::Deny { id, by, now } => {
                let mut request = load(tx, id).await?;
                request.state = step(request.state, Input::Denied, *now)?;
                decide(tx, request, (by, *now), "friend.deny").await?
            }
            FriendWrite::PickUp { id, credential, by, now } => {
                self.pick_up(tx, id, credential, (by, *now)).await?
            }
            FriendWrite::Expire { id, now } => {
                return Ok(FriendAnswer::Count(expire(tx, id, *now).await?));
            }
            FriendWrite::Prune { before, most } => {
                let gone = tx.execute(PRUNE_FRIEND_REQUESTS, &[&before.as_millis(), &int(*most)]).await?;
                return Ok(FriendAnswer::Count(usize::try_from(gone).unwrap_or(usize::MAX)));
            }
        };
        Ok(FriendAnswer::Request(Box::new(request)))
    }
}

impl Befriend {
    async fn pick_up(
        &self,
        tx: &Tx<'_>,
        id: &str,
        credential: &NewCredential,
        (by, now): (&Actor, Timestamp),
    ) -> Result<FriendRequest, Failure> {
        let mut request = load(tx, id).await?;
        let grant = match &request.grant {
            Some(grant) => access::load(tx, grant).await?,
            None => None,
        };
        let was = match &grant {
            Some(grant) => self.credential(tx, grant, now).await?,
            None => Credential::Unused,
        };
        request.state = step(request.state, Input::PickedUp(was), now)?;
        let missing = || Error::Corrupt(format!("the friend request {id} has no grant"));
        let mut grant = grant.ok_or_else(missing)?;
        if let Some(voided) = request.token.replace(credential.digest) {
            grant.credentials.retain(|known| known.digest != voided);
            tx.execute(DELETE_CREDENTIAL, &[&&voided[..], &escaped(&grant.id)]).await?;
        }
        let before = grant.credentials.clone();
        grant.credentials.push(credential.made(now));
        access::put_credentials(tx, &before, &grant).await?;
        request.picked_at = Some(now);
        update(tx, &request).await?;
        let actor = Actor::new(&*grant.id, by.origin.clone());
        let detail = json!({"hint": credential.hint}).to_string();
        audit::note(tx, (&actor, now), ("friend.pick-up", id), detail).await?;
        Ok(request)
    }

    /// What became of the credential of a friend's grant.
    async fn credential(&self, tx: &Tx<'_>, grant: &Grant, now: Timestamp) -> Result<Credential, Failure> {
        if grant.state_at(now).is_over() {
            return Ok(Credential::Ended);
        }
        let used = self.uses.find(&grant.id).is_some()
            || tx.one(HAS_TASKS, &[&escaped(&grant.id)]).await?.try_get(0)?;
        Ok(if used { Credential::Used } else { Credential::Unused })
    }
}

async fn keep_look(tx: &Tx<'_>, id: &str, look: &Look, by: &Actor) -> Result<FriendRequest, Failure> {
    let mut request = load(tx, id).await?;
    // What was decided stays as it was seen then: the mark that an approval pins is the one that was approved.
    if !matches!(request.state, State::Pending { .. }) {
        return Ok(request);
    }
    request.look = Some(look.clone().after(request.look.as_ref()));
    update(tx, &request).await?;
    audit::note(tx, (by, look.at), ("friend.look", id), String::new()).await?;
    Ok(request)
}

async fn approve(tx: &Tx<'_>, id: &str, new: &NewGrant) -> Result<FriendRequest, Failure> {
    let mut request = load(tx, id).await?;
    request.state = step(request.state, Input::Approved, new.now)?;
    request.grant = Some(access::create(tx, new).await?.id);
    decide(tx, request, (&new.by, new.now), "friend.approve").await
}

/// How many were ended: none where another node came first.
async fn expire(tx: &Tx<'_>, id: &str, now: Timestamp) -> Result<usize, Failure> {
    let mut request = load(tx, id).await?;
    let Ok(state) = step(request.state, Input::Lapsed, now) else { return Ok(0) };
    request.state = state;
    let grant = match &request.grant {
        Some(grant) => access::load(tx, grant).await?,
        None => None,
    };
    // Where the operator handed a token over instead, nobody need come for one.
    if let Some(grant) = grant.filter(|grant| grant.credentials.is_empty()) {
        access::change(tx, &grant, &GrantChange::Revoke, (&Actor::node(), now)).await?;
    }
    decide(tx, request, (&Actor::node(), now), "friend.expire").await?;
    Ok(1)
}

/// Requests that time has ended, and of which nobody has said so.
pub async fn lapsed(db: &impl Ask, now: Timestamp, most: usize) -> Result<Vec<String>, Failure> {
    let rows = db.query(LIST_LAPSED, &[&now.as_millis(), &int(most)]).await?;
    rows.iter().map(|row| text(row, 0)).collect()
}

/// A request that nobody else changes before this transaction ends.
async fn load(tx: &Tx<'_>, id: &str) -> Result<FriendRequest, Failure> {
    Ok(friends::find_locked(tx, id).await?.ok_or(Error::NotFound)?)
}

async fn create(tx: &Tx<'_>, new: &NewFriendRequest) -> Result<FriendRequest, Failure> {
    let NewFriendRequest { id, secret, code, wish, id_token, by, now } = new;
    tx.query(LOCK_INTAKE, &[]).await?;
    admit(crowd(tx, &by.origin, *now).await?, *now)?;
    let State::Pending { until } = begin(*now) else {
        return Err(Error::Corrupt("a friend request begins as something else".to_owned()).into());
    };
    tx.execute(
        INSERT_FRIEND_REQUEST,
        &[
            &escaped(id),
            &&secret[..],
            &escaped(code),
            &escaped(&by.origin),
            &escaped(&wish.card_url),
            &to_json(&wish.agents),
            &to_json(&wish.verbs),
            &escaped(&wish.why),
            id_token,
            &until.as_millis(),
            &now.as_millis(),
        ],
    )
    .await?;
    // What stands behind the question mark may be the stranger's secret.
    let card = wish.card_url.split('?').next();
    let detail = json!({"code": code, "card": card, "agents": wish.agents, "verbs": wish.verbs});
    audit::note(tx, (by, *now), ("friend.ask", id), detail.to_string()).await?;
    load(tx, id).await
}

async fn crowd(tx: &Tx<'_>, origin: &str, now: Timestamp) -> Result<Crowd, Failure> {
    let since = now.as_millis().saturating_sub(int(FRIEND_HOUR.as_millis()));
    let bind: super::rows::Bind<'_> = &[&escaped(origin), &since, &now.as_millis()];
    let row = tx.one(COUNT_FRIEND_REQUESTS, bind).await?;
    Ok(Crowd {
        in_hour: number(&row, 0)?,
        oldest: optional_time(&row, 1)?,
        waiting_of_address: number(&row, 2)?,
        waiting: number(&row, 3)?,
    })
}

/// Writes down what became of a request, and who decided that. An approval stays the decision where time ends it.
async fn decide(
    tx: &Tx<'_>,
    mut request: FriendRequest,
    by: (&Actor, Timestamp),
    action: &str,
) -> Result<FriendRequest, Failure> {
    let (actor, at) = by;
    request.decided.get_or_insert(Decision { at, by: actor.name.clone() });
    request.id_token = None;
    update(tx, &request).await?;
    let detail = request.grant.as_ref().map(|grant| json!({"grant": grant}).to_string()).unwrap_or_default();
    audit::note(tx, by, (action, &request.id), detail).await?;
    Ok(request)
}

async fn update(tx: &Tx<'_>, request: &FriendRequest) -> Result<(), Failure> {
    let mark: Option<&Mark> = request.look.as_ref().and_then(|look| match &look.verdict.found {
        Found::Card(seen) => Some(&seen.mark),
        Found::Nothing(_) => None,
    });
    let look = request.look.as_ref();
    tx.execute(
        UPDATE_FRIEND_REQUEST,
        &[
            &escaped(&request.id),
            &friend_state(request.state),
            &millis(request.state.until()),
            &i64::from(request.state.pick_ups()),
            &millis(request.decided.as_ref().map(|decided| decided.at)),
            &request.decided.as_ref().map(|decided| escaped(&decided.by)),
            &millis(request.picked_at),
            &request.grant.as_deref().map(escaped),
            &request.token.as_ref().map(|token| &token[..]),
            &millis(look.map(|look| look.at)),
            &look.map(|look| to_json(&look.verdict)),
            &look.and_then(|look| look.card.as_ref()).map(baton_core::json::Json::as_str),
            &millis(mark.map(|mark| mark.at)),
            &mark.map(|mark| escaped(&mark.digest)),
            &mark.and_then(|mark| mark.key.as_deref()).map(escaped),
        ],
    )
    .await?;
    Ok(())
}

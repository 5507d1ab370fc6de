//! Connections, and what is done over them: single statements that read, and transactions that are tried again.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use baton_core::time::Timestamp;
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts};
use tokio_postgres::Row;
use tracing::warn;

use super::failure::{Again, Failure};
use super::mark::{MARK, MOST, Mark, Marks};
use super::rows::Bind;
use super::settings::{Clock, Settings};
use crate::Error;

/// Tries of a transaction that meets another, or whose server goes away.
const TRIES: u32 = 8;

/// The wait before the second try; it doubles.
const PAUSE: Duration = Duration::from_millis(10);

/// How often a server that is away is called.
const CALL_AGAIN: Duration = Duration::from_millis(100);

/// Whoever can be asked a statement: the pool, or a transaction.
pub trait Ask: Sync {
    fn query(&self, sql: &str, bind: Bind<'_>) -> impl Future<Output = Result<Vec<Row>, Failure>> + Send;

    /// The first row, where there is one.
    fn first(&self, sql: &str, bind: Bind<'_>) -> impl Future<Output = Result<Option<Row>, Failure>> + Send {
        async { Ok(self.query(sql, bind).await?.into_iter().next()) }
    }

    /// The one row of a statement that always has one.
    fn one(&self, sql: &str, bind: Bind<'_>) -> impl Future<Output = Result<Row, Failure>> + Send {
        async {
            let row = self.first(sql, bind).await?;
            row.ok_or_else(|| super::rows::unreadable("a statement that has a row has none"))
        }
    }
}

/// The connections of a store.
pub struct Connections {
    pool: Pool,
    patience: Duration,
    clock: Clock,
    marks: OnceLock<Marks>,
}

impl Connections {
    pub fn new(settings: &Settings) -> Result<Self, String> {
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(settings.config.clone(), settings.trust.connector()?, recycling);
        let wait = Some(settings.patience);
        let pool = Pool::builder(manager)
            .max_size(settings.connections.clamp(1, MOST))
            .timeouts(Timeouts { wait, create: wait, recycle: wait })
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|why| why.to_string())?;
        Ok(Self { pool, patience: settings.patience, clock: settings.clock, marks: OnceLock::new() })
    }

    /// A connection; where the server is away, it is called until patience ends.
    pub async fn get(&self) -> Result<Object, Failure> {
        let until = Instant::now() + self.patience;
        loop {
            let why = match self.pool.get().await {
                Ok(connection) => return Ok(connection),
                Err(_) if self.pool.is_closed() => return Err(Error::closed().into()),
                Err(deadpool_postgres::PoolError::Backend(why)) => Failure::Sql(why),
                Err(why) => Failure::Lost(format!("no connection to the database: {why}")),
            };
            if why.again() != Again::Elsewhere || Instant::now() + CALL_AGAIN >= until {
                return Err(why);
            }
            tokio::time::sleep(CALL_AGAIN).await;
        }
    }

    /// The time by which this store judges: the caller's where tests say so.
    pub const fn judged(&self, caller: Timestamp) -> Option<i64> {
        match self.clock {
            Clock::Database => None,
            Clock::Caller => Some(caller.as_millis()),
        }
    }

    /// Runs a transaction, again where it met another or its connection was lost: until it is known to be done, or known
    /// not to be. `name` is what it is called in the log.
    pub async fn run<W: Work>(&self, name: &'static str, work: &W) -> Result<W::Answer, Error> {
        let until = Instant::now() + self.patience;
        let mut pause = PAUSE;
        let mut tried = 1;
        loop {
            let why = match self.attempt(work).await {
                Ok(answer) => return Ok(answer),
                Err(why) => why,
            };
            match why.again() {
                Again::Yes if tried < TRIES => {}
                Again::Elsewhere if Instant::now() < until => {}
                Again::No | Again::Yes | Again::Elsewhere => return Err(why.into()),
            }
            warn!(transaction.name = name, tried, error = %Error::from(why), "a transaction is tried again");
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2);
            tried += 1;
        }
    }

    async fn attempt<W: Work>(&self, work: &W) -> Result<W::Answer, Failure> {
        // Whoever has a connection has a slot: there are more of these.
        let mut connection = self.get().await?;
        let none_left = || Failure::Lost("too many transactions are under way".to_owned());
        let slot = self.marks()?.take().ok_or_else(none_left)?;
        let mark = slot.next();
        let (answer, committed) = self.once(&mut connection, &mark, work).await?;
        match committed {
            Ok(()) => Ok(answer),
            Err(why) if why.again() == Again::Elsewhere => {
                drop(Object::take(connection));
                if self.was_committed(&mark).await? { Ok(answer) } else { Err(why) }
            }
            Err(why) => Err(why),
        }
    }

    /// What the work answers, and what came of its commit.
    async fn once<W: Work>(
        &self,
        connection: &mut Object,
        mark: &Mark,
        work: &W,
    ) -> Result<(W::Answer, Result<(), Failure>), Failure> {
        let transaction = connection.transaction().await?;
        let marked = transaction.prepare_cached(MARK).await?;
        let row = transaction.query_one(&marked, &[&mark.node, &mark.slot, &mark.n]).await?;
        let tx = Tx { transaction, now: super::rows::time(&row, 0)?, clock: self.clock };
        let answer = work.run(&tx).await?;
        Ok((answer, tx.transaction.commit().await.map_err(Failure::from)))
    }

    /// Whether a transaction was committed whose end nobody heard of.
    pub async fn was_committed(&self, mark: &Mark) -> Result<bool, Failure> {
        let until = Instant::now() + self.patience;
        loop {
            match mark.was_committed(self).await {
                Ok(committed) => return Ok(committed),
                Err(why) if why.again() != Again::No && Instant::now() < until => {
                    tokio::time::sleep(CALL_AGAIN).await;
                }
                Err(why) => return Err(Failure::Unknown(Error::from(why).to_string())),
            }
        }
    }

    /// What transactions of this node are marked with, from now on.
    pub fn begin(&self, marks: Marks) {
        // Once, when the store is opened.
        let _ = self.marks.set(marks);
    }

    pub fn marks(&self) -> Result<&Marks, Failure> {
        self.marks.get().ok_or_else(|| Failure::Lost("the store is not open yet".to_owned()))
    }

    pub const fn patience(&self) -> Duration {
        self.patience
    }

    pub fn close(&self) {
        self.pool.close();
    }

    pub fn is_closed(&self) -> bool {
        self.pool.is_closed()
    }
}

impl Ask for Connections {
    /// Reads, again where the connection was lost on the way.
    async fn query(&self, sql: &str, bind: Bind<'_>) -> Result<Vec<Row>, Failure> {
        let until = Instant::now() + self.patience;
        loop {
            let connection = self.get().await?;
            let answer = async {
                let statement = connection.prepare_cached(sql).await?;
                connection.query(&statement, bind).await
            };
            match answer.await.map_err(Failure::from) {
                Err(why) if why.again() == Again::Elsewhere && Instant::now() < until => {
                    // Whatever is wrong with it, it is not used again.
                    drop(Object::take(connection));
                }
                answer => return answer,
            }
        }
    }
}

/// A transaction that is under way.
pub struct Tx<'a> {
    transaction: deadpool_postgres::Transaction<'a>,
    /// The database's time when it began.
    now: Timestamp,
    clock: Clock,
}

impl Tx<'_> {
    /// The time by which this store judges.
    pub const fn judged(&self, caller: Timestamp) -> Timestamp {
        match self.clock {
            Clock::Database => self.now,
            Clock::Caller => caller,
        }
    }

    /// How many rows a statement changed.
    pub async fn execute(&self, sql: &str, bind: Bind<'_>) -> Result<u64, Failure> {
        let statement = self.transaction.prepare_cached(sql).await?;
        Ok(self.transaction.execute(&statement, bind).await?)
    }
}

impl Ask for Tx<'_> {
    async fn query(&self, sql: &str, bind: Bind<'_>) -> Result<Vec<Row>, Failure> {
        let statement = self.transaction.prepare_cached(sql).await?;
        Ok(self.transaction.query(&statement, bind).await?)
    }
}

/// What one transaction does. It may run more than once, and only one of its runs counts.
#[async_trait]
pub trait Work: Sync {
    type Answer: Send;

    async fn run(&self, tx: &Tx<'_>) -> Result<Self::Answer, Failure>;
}

impl std::fmt::Debug for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connections").field("status", &self.pool.status()).finish_non_exhaustive()
    }
}

/// Several handles of one store use the same connections.
pub type Shared = Arc<Connections>;

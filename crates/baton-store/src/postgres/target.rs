//! An empty database that a whole store is written into.

use tokio_postgres::Transaction;
use tokio_postgres::types::Type;

use super::failure::Failure;
use super::open::{bring_up, connect};
use super::pool::Connections;
use super::settings::Settings;
use crate::OpenError;

pub use super::open::message as said;

/// As long as it takes.
const NO_LIMITS: &str = "-- store.no_limits
SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";

/// With what the table asks of it, in order.
const LIST_COLUMNS: &str = "-- store.list_columns
SELECT attname::text, atttypid FROM pg_attribute
WHERE attrelid = to_regclass(quote_ident($1)) AND attnum > 0 AND NOT attisdropped
    AND attname NOT IN ('held_by', 'held_until') ORDER BY attnum";

/// What a node had in hand that has stopped since: there is no lease that could run out.
const LET_GO: &str = "-- store.let_go_of_tasks
UPDATE task SET lease_until = moment.now, due_at = least(due_at, moment.now)
FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now) AS moment
WHERE holder IS NOT NULL AND holder_kind = 'node' AND lease_until IS NULL";

/// Numbers that come after those that were given.
const GO_ON: &str = "-- store.go_on
SELECT setval('task_block', coalesce((SELECT max(key) FROM task), 0) / 1024 + 1),
    setval(pg_get_serial_sequence('scope', 'key'), coalesce((SELECT max(key) FROM scope), 0) + 1)";

const PUT_META: &str = "-- store.put_copied_meta
INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";

/// A column, and what it holds.
pub struct Column {
    pub name: String,
    pub kind: Type,
}

/// A database in the schema of this program.
pub struct Target {
    client: tokio_postgres::Client,
    place: std::path::PathBuf,
}

impl Target {
    pub async fn open(settings: &Settings) -> Result<Self, OpenError> {
        let place = std::path::PathBuf::from(settings.place());
        let failed = |message: String| OpenError::Database { path: place.clone(), message };
        let connections = Connections::new(settings).map_err(failed)?;
        bring_up(settings, &connections).await?;
        let tls = settings.trust.connector().map_err(failed)?;
        let (client, connection) = connect(settings, &tls).await.map_err(|why| failed(said(why)))?;
        tokio::spawn(connection);
        Ok(Self { client, place })
    }

    pub async fn begin(&mut self) -> Result<Transaction<'_>, OpenError> {
        let begun = async {
            let transaction = self.client.transaction().await?;
            transaction.batch_execute(NO_LIMITS).await?;
            Ok(transaction)
        };
        let path = self.place.clone();
        begun.await.map_err(|why: Failure| OpenError::Database { path, message: said(why) })
    }
}

/// Whether there is nothing in any of these tables; nobody else writes there before the transaction ends.
pub async fn lock_empty(transaction: &Transaction<'_>, tables: &[String]) -> Result<bool, Failure> {
    let named: Vec<_> = tables.iter().map(|table| format!("\"{table}\"")).collect();
    transaction.batch_execute(&format!("LOCK TABLE {} IN EXCLUSIVE MODE", named.join(", "))).await?;
    for table in named {
        let row = transaction.query_one(&format!("SELECT EXISTS (SELECT 1 FROM {table})"), &[]).await?;
        if row.try_get(0)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The columns of a table, but for who has a row in hand.
pub async fn columns(transaction: &Transaction<'_>, table: &str) -> Result<Vec<Column>, Failure> {
    let rows = transaction.query(LIST_COLUMNS, &[&table]).await?;
    let column = |row: &tokio_postgres::Row| {
        let kind =
            Type::from_oid(row.try_get(1)?).ok_or_else(|| super::rows::unreadable("an unknown type"))?;
        Ok(Column { name: row.try_get(0)?, kind })
    };
    rows.iter().map(column).collect()
}

/// What is to be true once all rows are there.
pub async fn finish(transaction: &Transaction<'_>, meta: &[(String, Vec<u8>)]) -> Result<(), Failure> {
    for (key, value) in meta {
        transaction.execute(PUT_META, &[key, value]).await?;
    }
    transaction.execute(LET_GO, &[]).await?;
    transaction.query(GO_ON, &[]).await?;
    Ok(())
}

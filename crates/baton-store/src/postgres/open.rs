//! Opening a database: its schema, and who this node is to the others.

use std::path::PathBuf;

use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Connection, Socket};

use super::failure::{self, Failure};
use super::mark::Marks;
use super::pool::Connections;
use super::settings::Settings;
use super::tls::Connector;
use crate::OpenError;

/// The schema that this program writes: the number of the last migration.
pub const SCHEMA: i64 = 1;

/// Migrations in order; all that are due are one transaction.
const MIGRATIONS: [&str; 1] = [include_str!("sql/0001.sql")];

/// What two nodes that start at once wait for: any number, as long as it is always the same.
const ADVISORY: i64 = 0x6261_746f_6e01;

const LOCK_SCHEMA: &str = "-- store.lock_schema
SELECT pg_advisory_xact_lock($1)";

const FIND_SCHEMA: &str = "-- store.find_schema
SELECT convert_from(value, 'UTF8')::bigint FROM meta WHERE key = 'schema'";

const PUT_SCHEMA: &str = "-- store.put_schema
INSERT INTO meta (key, value) VALUES ('schema', convert_to($1::bigint::text, 'UTF8'))
ON CONFLICT (key) DO UPDATE SET value = excluded.value";

/// A connection of its own, and what drives it.
pub type Connected = (Client, Connection<Socket, <Connector as MakeTlsConnect<Socket>>::Stream>);

/// Connects outside of the pool.
pub async fn connect(settings: &Settings, tls: &Connector) -> Result<Connected, Failure> {
    Ok(settings.config.connect(tls.clone()).await?)
}

/// Brings the schema up, and makes this node known.
pub async fn migrate(settings: &Settings, connections: &Connections) -> Result<(), OpenError> {
    let failed = |why: Failure| OpenError::Database { path: settings.place().into(), message: message(why) };
    bring_up(settings, connections).await?;
    let connection = connections.get().await.map_err(failed)?;
    let marks = Marks::new(&connection).await.map_err(|why| failed(why.into()))?;
    connections.begin(marks);
    Ok(())
}

/// Brings the schema to [`SCHEMA`], whoever else does the same at that moment.
pub async fn bring_up(settings: &Settings, connections: &Connections) -> Result<(), OpenError> {
    let path = || PathBuf::from(settings.place());
    let found = find_or_make(connections).await;
    let found = found.map_err(|why| OpenError::Database { path: path(), message: message(why) })?;
    if found > SCHEMA { Err(OpenError::Newer { path: path(), found, known: SCHEMA }) } else { Ok(()) }
}

/// The schema that was found, where it is newer; else that of this program.
async fn find_or_make(connections: &Connections) -> Result<i64, Failure> {
    let mut connection = connections.get().await?;
    let transaction = connection.transaction().await?;
    transaction.query_one(LOCK_SCHEMA, &[&ADVISORY]).await?;
    transaction
        .batch_execute("CREATE TABLE IF NOT EXISTS meta (key TEXT COLLATE \"C\" NOT NULL PRIMARY KEY, value BYTEA NOT NULL)")
        .await?;
    let found = transaction.query_opt(FIND_SCHEMA, &[]).await?;
    let found: i64 = found.map(|row| row.try_get(0)).transpose()?.unwrap_or(0);
    if found > SCHEMA {
        return Ok(found);
    }
    for (number, migration) in (1..).zip(MIGRATIONS) {
        if number > found {
            transaction.batch_execute(migration).await?;
            transaction.execute(PUT_SCHEMA, &[&number]).await?;
        }
    }
    transaction.commit().await?;
    Ok(SCHEMA)
}

/// What an operator reads of a failure.
pub fn message(failure: Failure) -> String {
    match failure {
        Failure::Sql(why) => failure::said(&why),
        Failure::Lost(why) | Failure::Unknown(why) => why,
        Failure::Answer(why) => why.to_string(),
    }
}

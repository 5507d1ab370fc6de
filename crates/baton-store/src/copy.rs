//! Everything of an embedded store, moved into the shared one. It knows neither what the tables mean nor which there are:
//! both schemas call the same things by the same names, and what each column holds is asked of the target.

use std::error::Error;
use std::path::Path;
use std::pin::pin;

use bytes::BytesMut;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use tokio::sync::mpsc;
use tokio_postgres::Transaction;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use crate::postgres::target::{self, Column, Target};
use crate::postgres::{Settings, escaped};
use crate::sqlite::source::Source;
use crate::{GrantLimits, OpenError};

/// Rows that are read ahead of what is written.
const BATCH: usize = 256;
const BATCHES: usize = 4;

/// Rows of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    pub table: String,
    pub rows: u64,
}

/// Copies the store in `folder`, which no node may have open, into an empty database; `told` hears of each table when it
/// is through. All of it or, where it fails, nothing. What a node had in hand when it stopped is anybody's afterwards.
pub async fn copy(
    folder: &Path,
    settings: &Settings,
    told: &mut (dyn FnMut(&Copied) + Send),
) -> Result<Vec<Copied>, OpenError> {
    let source = Source::open(folder)?;
    let mut target = Target::open(settings).await?;
    let transaction = target.begin().await?;
    let place = settings.place();
    let database = |message: String| OpenError::Database { path: place.clone().into(), message };
    let tables = source.tables()?;
    let empty = target::lock_empty(&transaction, &tables).await.map_err(|why| database(target::said(why)))?;
    if !empty {
        return Err(OpenError::Occupied { path: place.into() });
    }
    let mut all = Vec::with_capacity(tables.len());
    let mut connection = source.connection;
    for table in &tables {
        let columns =
            target::columns(&transaction, table).await.map_err(|why| database(target::said(why)))?;
        let copied;
        (connection, copied) =
            copy_table(connection, &transaction, table, columns).await.map_err(database)?;
        told(&copied);
        all.push(copied);
    }
    let meta = read_meta(&connection).map_err(|why| database(why.to_string()))?;
    target::finish(&transaction, &meta).await.map_err(|why| database(target::said(why)))?;
    transaction.commit().await.map_err(|why| database(target::said(why.into())))?;
    drop(source.lock);
    Ok(all)
}

/// A value on its way, of the type of its column.
#[derive(Debug)]
enum Cell {
    Null,
    Number(i64),
    Truth(bool),
    Text(String),
    Bytes(Vec<u8>),
    Id(Uuid),
}

impl ToSql for Cell {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Number(number) => number.to_sql(kind, out),
            Self::Truth(truth) => truth.to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
            Self::Bytes(bytes) => bytes.to_sql(kind, out),
            Self::Id(id) => id.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Reads a table on a thread of its own and writes it as it comes.
async fn copy_table(
    connection: Connection,
    transaction: &Transaction<'_>,
    table: &str,
    columns: Vec<Column>,
) -> Result<(Connection, Copied), String> {
    let types: Vec<Type> = columns.iter().map(|column| column.kind.clone()).collect();
    let names: Vec<_> = columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
    let sql = format!("COPY \"{table}\" ({}) FROM STDIN (FORMAT binary)", names.join(", "));
    let (sender, mut batches) = mpsc::channel::<Vec<Vec<Cell>>>(BATCHES);
    let name = table.to_owned();
    let reading = tokio::task::spawn_blocking(move || {
        let read = read_table(&connection, &name, &columns, &sender);
        read.map(|()| connection)
    });
    let sink = transaction.copy_in(&sql).await.map_err(|why| target::said(why.into()))?;
    let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
    let mut rows = 0;
    while let Some(batch) = batches.recv().await {
        for row in &batch {
            let values: Vec<_> = row.iter().map(|cell| cell as &(dyn ToSql + Sync)).collect();
            writer.as_mut().write(&values).await.map_err(|why| target::said(why.into()))?;
            rows += 1;
        }
    }
    let connection =
        reading.await.map_err(|why| why.to_string())?.map_err(|why| format!("{table}: {why}"))?;
    let written = writer.finish().await.map_err(|why| target::said(why.into()))?;
    if written != rows {
        return Err(format!("{table}: {rows} rows were read and {written} written"));
    }
    Ok((connection, Copied { table: table.to_owned(), rows }))
}

fn read_table(
    connection: &Connection,
    table: &str,
    columns: &[Column],
    batches: &mpsc::Sender<Vec<Vec<Cell>>>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let names: Vec<_> = columns.iter().map(|column| source_column(table, &column.name)).collect();
    // By the key: the audit log is only added to at its end.
    let sql = format!("SELECT {} FROM \"{table}\" ORDER BY 1", names.join(", "));
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.raw_query();
    let mut batch = Vec::with_capacity(BATCH);
    while let Some(row) = rows.next()? {
        batch.push(
            columns.iter().enumerate().map(|(at, column)| cell(row, at, column)).collect::<Result<_, _>>()?,
        );
        if batch.len() == BATCH {
            batches.blocking_send(std::mem::take(&mut batch)).map_err(|_| "nobody takes it any more")?;
        }
    }
    batches.blocking_send(batch).map_err(|_| "nobody takes it any more")?;
    Ok(())
}

/// Whether a grant's limits count tasks is a column of the target's own.
fn source_column(table: &str, name: &str) -> String {
    match (table, name) {
        ("grant", "counted") => "limits".to_owned(),
        _ => format!("\"{name}\""),
    }
}

fn cell(
    row: &Row<'_>,
    at: usize,
    Column { name, kind }: &Column,
) -> Result<Cell, Box<dyn Error + Send + Sync>> {
    Ok(match (row.get_ref(at)?, kind) {
        (ValueRef::Null, _) => Cell::Null,
        (ValueRef::Integer(number), &Type::INT8) => Cell::Number(number),
        (ValueRef::Integer(number), &Type::BOOL) => Cell::Truth(number != 0),
        (ValueRef::Text(text), &Type::BOOL) => {
            Cell::Truth(serde_json::from_slice::<GrantLimits>(text)?.counts_tasks())
        }
        (ValueRef::Text(text), &Type::TEXT) => Cell::Text(escaped(std::str::from_utf8(text)?).into_owned()),
        (ValueRef::Blob(bytes), &Type::BYTEA) => Cell::Bytes(bytes.to_vec()),
        (ValueRef::Blob(bytes), &Type::UUID) => Cell::Id(Uuid::from_slice(bytes)?),
        (value, kind) => {
            return Err(format!("the column {name} holds {} and is to hold {kind}", value.data_type()).into());
        }
    })
}

/// What the store says of itself, but for its schema.
fn read_meta(connection: &Connection) -> rusqlite::Result<Vec<(String, Vec<u8>)>> {
    let mut statement =
        connection.prepare("SELECT key, value FROM meta WHERE key <> 'schema' ORDER BY key")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

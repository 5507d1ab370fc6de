//! Statements that are sent one behind the other before the first is answered: what they cost is one way there and back.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::BytesMut;
use deadpool_postgres::ClientWrapper;
use tokio_postgres::Row;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::failure::Failure;

/// A value that a statement is given.
pub type Value = Box<dyn ToSql + Sync + Send>;

/// A statement with what it is given.
pub struct Asked {
    sql: &'static str,
    bind: Vec<Value>,
}

impl Asked {
    pub const fn new(sql: &'static str, bind: Vec<Value>) -> Self {
        Self { sql, bind }
    }

    /// The statement, and what it is given.
    pub fn parts(self) -> (&'static str, Vec<Value>) {
        (self.sql, self.bind)
    }

    /// A statement that is given nothing.
    pub const fn plain(sql: &'static str) -> Self {
        Self::new(sql, Vec::new())
    }
}

/// What one statement is waited for.
type Answer<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>, tokio_postgres::Error>> + Send + 'a>>;

/// The rows of each statement, in their order. Where one fails, so do those after it that are of the same transaction;
/// all are waited for, so that the connection has nothing left to say.
pub async fn ask(client: &ClientWrapper, asked: &[Asked]) -> Result<Vec<Vec<Row>>, Failure> {
    let mut statements = Vec::with_capacity(asked.len());
    for Asked { sql, .. } in asked {
        statements.push(client.prepare_cached(sql).await?);
    }
    let binds: Vec<Vec<&(dyn ToSql + Sync)>> =
        asked.iter().map(|asked| asked.bind.iter().map(|value| &**value as _).collect()).collect();
    let mut waiting: Vec<Answer<'_>> = Vec::with_capacity(asked.len());
    for (statement, bind) in statements.iter().zip(&binds) {
        waiting.push(Box::pin(client.query(statement, bind)));
    }
    let mut answers: Vec<Option<Result<Vec<Row>, tokio_postgres::Error>>> =
        waiting.iter().map(|_| None).collect();
    // A statement is sent when its answer is first asked for: in order, by this loop.
    poll_fn(|context| {
        let mut all = Poll::Ready(());
        for (waiting, answer) in waiting.iter_mut().zip(&mut answers).filter(|(_, answer)| answer.is_none()) {
            match waiting.as_mut().poll(context) {
                Poll::Ready(rows) => *answer = Some(rows),
                Poll::Pending => all = Poll::Pending,
            }
        }
        all
    })
    .await;
    Ok(answers.into_iter().flatten().collect::<Result<_, _>>()?)
}

/// A text that is shared with whoever spelled it.
#[derive(Debug)]
pub struct Spelled(pub Arc<Vec<u8>>);

impl ToSql for Spelled {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::TEXT
    }

    to_sql_checked!();
}

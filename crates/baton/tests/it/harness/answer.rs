//! An answer, whatever its binding.

use baton_wire::fault::Kind;
use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;

use super::{Door, client};

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub door: Door,
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        client::header(&self.headers, name)
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }

    /// The result of an operation that went well.
    #[track_caller]
    pub fn ok(&self) -> Value {
        let mut json = self.json();
        assert!(self.status == 200 && json.get("error").is_none(), "{self:?}");
        match self.door {
            Door::Rpc => {
                assert_eq!(json["jsonrpc"], "2.0");
                json["result"].take()
            }
            Door::Rest | Door::Grpc => json,
        }
    }

    /// The error of one that was refused as `kind`: status, code, reason and domain are those of the one table.
    #[track_caller]
    pub fn refused(&self, kind: Kind) -> Value {
        let (row, mut json) = (kind.row(), self.json());
        let error = json["error"].take();
        let info = match self.door {
            Door::Rpc => {
                assert!(json.get("result").is_none(), "{self:?}");
                assert_eq!(error["code"], row.code, "{self:?}");
                let in_front = row.code == -32000 && row.domain == "baton";
                assert_eq!(self.status, if in_front { row.http.as_u16() } else { 200 }, "{self:?}");
                &error["data"][0]
            }
            Door::Rest => {
                assert_eq!(error["code"], row.http.as_u16(), "{self:?}");
                assert_eq!(error["status"], row.grpc.as_str(), "{self:?}");
                assert_eq!(self.status, row.http.as_u16(), "{self:?}");
                &error["details"][0]
            }
            Door::Grpc => {
                assert_eq!(error["code"], row.grpc.number(), "{self:?}");
                assert_eq!(self.status, 200, "{self:?}");
                &error["details"][0]
            }
        };
        assert_eq!(info["@type"], "type.googleapis.com/google.rpc.ErrorInfo", "{self:?}");
        assert_eq!((&info["reason"], &info["domain"]), (&row.reason.into(), &row.domain.into()), "{self:?}");
        assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{self:?}");
        error
    }

    /// The field of the one that was refused as an invalid parameter.
    #[track_caller]
    pub fn invalid(&self) -> String {
        let error = self.refused(Kind::InvalidParams);
        let details = if self.door == Door::Rpc { &error["data"] } else { &error["details"] };
        assert_eq!(details[1]["@type"], "type.googleapis.com/google.rpc.BadRequest", "{self:?}");
        details[1]["fieldViolations"][0]["field"].as_str().unwrap().to_owned()
    }
}

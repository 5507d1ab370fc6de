//! A token, shown once: with lines that work as they stand.

use axum::response::Response;
use maud::html;

use super::super::super::Doors;
use super::super::super::admin::grants::Shown;
use super::super::guard::Visitor;
use super::super::layout::{self, Here, Page};
use super::super::text;

pub async fn show(doors: &Doors, visitor: &Visitor, grant: &Shown) -> Response {
    let token = grant.token.as_deref().unwrap_or_default();
    let agent = grant.agents.first().map_or("", |agent| agent.as_str());
    let url = format!("{}/a2a/{agent}", doors.service.site.base);
    let body = html! {
        div.bar { a.faint href="/console/grants" { "Grants /" } h1 { (text::theirs(&grant.label)) } }
        div.narrow {
            div.card.secret {
                h2 { "The token" }
                pre.mono data-copy #token { (token) }
                p { b { "It is shown here and never again." } " The node keeps only a digest of it. Whoever has it may do what the grant allows: hand it over as you would a password." }
            }
            h2 { "Try it with curl" }
            pre.mono data-copy #curl { (curl(&url, token)) }
            h2 { "Python, nothing to install" }
            pre.mono data-copy #python { (python(&url, token)) }
            h2 { "JavaScript, in Node 18 or later" }
            pre.mono data-copy #javascript { (javascript(&url, token)) }
            div.acts {
                a.button.primary href={ "/console/grants/" (grant.id) } { "I have kept it" }
            }
        }
    };
    layout::show(doors, visitor, Ok(Page::new(Here::Grants, "A new token", body))).await
}

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"hello-1","role":"ROLE_USER","parts":[{"text":"Hello"}]}}}"#;

fn curl(url: &str, token: &str) -> String {
    format!(
        "curl -sS {url} \\\n  -H 'Authorization: Bearer {token}' \\\n  -H 'Content-Type: application/json' \\\n  -d '{REQUEST}'"
    )
}

fn python(url: &str, token: &str) -> String {
    format!(
        "import urllib.request\n\nrequest = urllib.request.Request(\n    \"{url}\",\n    data=b'{REQUEST}',\n    headers={{\"Authorization\": \"Bearer {token}\", \"Content-Type\": \"application/json\"}},\n)\nprint(urllib.request.urlopen(request).read().decode())"
    )
}

fn javascript(url: &str, token: &str) -> String {
    format!(
        "fetch(\"{url}\", {{\n  method: \"POST\",\n  headers: {{ Authorization: \"Bearer {token}\", \"Content-Type\": \"application/json\" }},\n  body: '{REQUEST}',\n}}).then((answer) => answer.text()).then(console.log)"
    )
}

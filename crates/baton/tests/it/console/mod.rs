//! The console: who gets in, what a page says, and every job of a person in a real browser.

mod browser;
mod consent;
mod every_job;
mod living;
mod looks;
mod pages;
mod signing_in;
mod world;

use http::Request;
use http_body_util::Full;

use crate::harness::{Answer, TestNode, User, request};

/// Somebody at the console without a browser: what a browser sends, written by hand.
pub struct Person {
    user: User,
    base: String,
    cookie: String,
}

/// `name=value` pairs as a form sends them.
pub fn form(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// A code of `baton login`.
pub async fn code(node: &TestNode) -> String {
    let invited = node.operator("POST", "/api/v1/login", None).await.ok();
    let (url, code) = (invited["url"].as_str().unwrap(), invited["code"].as_str().unwrap());
    assert_eq!(url, format!("{}/console/login#{code}", node.url()));
    code.to_owned()
}

impl Person {
    /// Nobody yet.
    pub fn stranger(node: &TestNode) -> Self {
        Self::at(node.url())
    }

    fn at(base: &str) -> Self {
        Self { user: User::new(base, "echo", None), base: base.to_owned(), cookie: String::new() }
    }

    pub async fn signed_in(node: &TestNode) -> Self {
        Self::by_code(node.url(), &code(node).await).await
    }

    /// Whoever has a code of `baton login`, at whatever node is there.
    pub async fn by_code(base: &str, code: &str) -> Self {
        let mut person = Self::at(base);
        let answer = person.post("/console/login", &[("code", code)]).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/console")), "{answer:?}");
        person.keep(&answer);
        person
    }

    /// Keeps the cookie that an answer sets.
    pub fn keep(&mut self, answer: &Answer) {
        let set = answer.header("set-cookie").expect("a cookie is set");
        set.split(';').next().unwrap().clone_into(&mut self.cookie);
    }

    pub fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Request<Full<bytes::Bytes>> {
        let mut all = vec![("cookie", &*self.cookie)];
        if method == "POST" && !headers.iter().any(|(name, _)| *name == "origin") {
            all.push(("origin", &*self.base));
        }
        if method == "POST" && path.starts_with("/console") {
            all.push(("content-type", "application/x-www-form-urlencoded"));
        }
        all.extend(headers);
        all.retain(|(_, value)| !value.is_empty());
        request(method, &format!("{}{path}", self.base), &all, body.to_owned())
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.user.ask(self.request("GET", path, &[], "")).await
    }

    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.user.ask(self.request("POST", path, &[], &form(fields))).await
    }

    pub async fn ask(&self, request: Request<Full<bytes::Bytes>>) -> Answer {
        self.user.ask(request).await
    }

    /// What every form of this session carries.
    pub async fn csrf(&self) -> String {
        let page = self.get("/console").await;
        assert_eq!(page.status, 200, "{page:?}");
        let (_, rest) = page.text().split_once("name=\"csrf\" value=\"").expect("a form");
        rest.split('"').next().unwrap().to_owned()
    }

    /// Sends a form of this session; answers the page that says what was done.
    pub async fn act(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let csrf = self.csrf().await;
        let mut all = vec![("csrf", &*csrf), ("back", "/console")];
        all.extend(fields);
        let answer = self.post(path, &all).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        self.get(answer.header("location").unwrap()).await
    }
}

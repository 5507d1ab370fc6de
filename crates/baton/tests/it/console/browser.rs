//! A real browser: headless Chromium, driven over WebDriver through chromedriver.
//!
//! Without it these tests fail under `CI`; elsewhere they say so and pass.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use base64::Engine as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::code;
use crate::harness::{TestNode, request, soon, until};

/// What a person's machine is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    Light,
    Dark,
}

impl Theme {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

pub const THEMES: [Theme; 2] = [Theme::Light, Theme::Dark];

/// Width and height of the window, and whether it is a phone's.
pub type Screen = (u32, u32, bool);

pub const DESKTOP: Screen = (1280, 900, false);
pub const PHONE: Screen = (390, 844, true);

/// The keys of WebDriver that are no characters.
pub const ENTER: &str = "\u{e007}";
const TAB: &str = "\u{e004}";
pub const ESCAPE: &str = "\u{e00c}";

/// Steps of the tab key that are too many for any page.
const STOPS: usize = 300;

/// With what a person works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hand {
    Mouse,
    Keyboard,
}

/// One browser with one tab. It ends when this is dropped.
pub struct Browser {
    http: Client<HttpConnector, Full<Bytes>>,
    /// The URL of the session.
    at: String,
    node: String,
    width: u32,
    pub hand: Hand,
    _driver: Child,
    profile: tempfile::TempDir,
}

/// A browser outlives its driver where a test fails: nothing that was begun here stays.
impl Drop for Browser {
    fn drop(&mut self) {
        let ours = format!("--user-data-dir={}", self.profile.path().display());
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
            if let Some(pid) = pid.filter(|_| String::from_utf8_lossy(&line).contains(&ours)) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// Starts chromedriver on a port of its own choice; none where it is not installed.
async fn driver() -> Option<(Child, String)> {
    let mut command = Command::new("chromedriver");
    command
        .arg("--port=0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let Ok(mut child) = command.spawn() else {
        assert!(std::env::var_os("CI").is_none(), "chromedriver is not installed; ./test installs it");
        eprintln!("no browser: chromedriver is not installed; ./test installs it");
        return None;
    };
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = loop {
        let line = soon(lines.next_line()).await.unwrap().expect("chromedriver starts");
        let port = line.rsplit_once("on port ").map(|(_, port)| port.trim_end_matches('.').to_owned());
        if let Some(port) = port.filter(|port| port.parse::<u16>().is_ok_and(|port| port > 0)) {
            break port;
        }
    };
    // It writes on, and stops when nobody reads.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Some((child, format!("http://127.0.0.1:{port}")))
}

impl Browser {
    pub async fn open(node: &TestNode, theme: Theme, screen: Screen) -> Option<Self> {
        let (driver, base) = driver().await?;
        let profile = tempfile::tempdir().unwrap();
        let arguments = [
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--disable-background-networking".to_owned(),
            "--no-first-run".to_owned(),
            "--hide-scrollbars".to_owned(),
            format!("--window-size={},{}", screen.0, screen.1),
            format!("--user-data-dir={}", profile.path().display()),
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let http = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build_http();
        let mut browser = Self {
            http,
            at: base.clone(),
            node: node.url().to_owned(),
            width: screen.0,
            hand: Hand::Mouse,
            _driver: driver,
            profile,
        };
        let session = browser.call("POST", "/session", &wanted).await;
        browser.at = format!("{base}/session/{}", session["sessionId"].as_str().unwrap());
        let features = json!([
            {"name": "prefers-color-scheme", "value": theme.name()},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        browser.devtools("Emulation.setEmulatedMedia", json!({"features": features})).await;
        let (width, height, mobile) = screen;
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile});
        browser.devtools("Emulation.setDeviceMetricsOverride", metrics).await;
        Some(browser)
    }

    /// A browser whose person has opened the link of `baton login`.
    pub async fn signed_in(node: &TestNode, theme: Theme, screen: Screen) -> Option<Self> {
        let browser = Self::open(node, theme, screen).await?;
        browser.goto(&format!("/console/login#{}", code(node).await)).await;
        browser.sees("Needs you").await;
        Some(browser)
    }

    async fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let asked =
            request(method, &format!("{}{path}", self.at), &[("content-type", "application/json")], body);
        let answer = soon(self.http.request(asked)).await.expect("chromedriver answers");
        let bytes = soon(answer.into_body().collect()).await.unwrap().to_bytes();
        let mut json: Value = serde_json::from_slice(&bytes).unwrap();
        assert!(json["value"].get("error").is_none(), "{path}: {json}");
        json["value"].take()
    }

    async fn devtools(&self, command: &str, params: Value) -> Value {
        self.call("POST", "/goog/cdp/execute", &json!({"cmd": command, "params": params})).await
    }

    pub async fn goto(&self, path: &str) {
        self.call("POST", "/url", &json!({"url": format!("{}{path}", self.node)})).await;
    }

    pub async fn title(&self) -> String {
        self.call("GET", "/title", &Value::Null).await.as_str().unwrap().to_owned()
    }

    /// The path that is shown, with its query.
    pub async fn path(&self) -> String {
        let url = self.call("GET", "/url", &Value::Null).await.as_str().unwrap().to_owned();
        url.strip_prefix(&self.node).unwrap_or(&url).to_owned()
    }

    /// The value of a script's `return`.
    pub async fn run(&self, script: &str) -> Value {
        self.call("POST", "/execute/sync", &json!({"script": script, "args": []})).await
    }

    /// The text that a person sees.
    pub async fn text(&self) -> String {
        self.run("return document.body.innerText").await.as_str().unwrap().to_owned()
    }

    pub async fn sees(&self, text: &str) {
        let look = async || self.text().await.contains(text);
        until(&format!("the page says {text:?}"), look).await;
    }

    pub async fn no_longer_sees(&self, text: &str) {
        let look = async || !self.text().await.contains(text);
        until(&format!("the page says {text:?} no more"), look).await;
    }

    /// The one element of this selector that is shown and whose text is `text`, or any where that is empty.
    async fn find(&self, selector: &str, text: &str) -> String {
        let script = "const [selector, text] = arguments;
            const shown = (e) => e.checkVisibility() && (text === '' || e.innerText.trim() === text || e.value === text);
            return [...document.querySelectorAll(selector)].filter(shown)";
        let mut found = Value::Null;
        let look = async || {
            let args = json!({"script": script, "args": [selector, text]});
            found = self.call("POST", "/execute/sync", &args).await;
            found.as_array().is_some_and(|found| !found.is_empty())
        };
        until(&format!("there is {selector} {text:?}"), look).await;
        let element = found[0].as_object().unwrap().values().next().unwrap();
        element.as_str().unwrap().to_owned()
    }

    /// Clicks what a person would: what is covered or out of sight cannot be clicked.
    pub async fn click(&self, selector: &str, text: &str) {
        let element = self.find(selector, text).await;
        self.call("POST", &format!("/element/{element}/click"), &json!({})).await;
    }

    pub async fn write(&self, selector: &str, text: &str) {
        let element = self.find(selector, "").await;
        self.call("POST", &format!("/element/{element}/value"), &json!({"text": text})).await;
    }

    /// Leads the focus with the tab key to what a person sees by this selector and text, and sees it there.
    async fn reach(&self, selector: &str, text: &str) {
        self.find(selector, text).await;
        let script = "const [selector, text] = arguments, at = document.activeElement;
            const named = text === '' || at.innerText.trim() === text || at.value === text;
            return at.matches(selector) && named ? getComputedStyle(at).outlineStyle : null";
        for _ in 0..STOPS {
            let args = json!({"script": script, "args": [selector, text]});
            let outline = self.call("POST", "/execute/sync", &args).await;
            // What a page focuses by itself is seen once its window has the focus, which the first key gives it.
            if outline.as_str().is_some_and(|outline| outline != "none") {
                return;
            }
            self.keys(TAB).await;
        }
        panic!("the tab key does not lead to {selector} {text:?}, or the focus is not seen there");
    }

    /// With this hand from now on.
    pub fn by(mut self, hand: Hand) -> Self {
        self.hand = hand;
        self
    }

    /// Does what a button, a link or a summary does.
    pub async fn press(&self, selector: &str, text: &str) {
        match self.hand {
            Hand::Mouse => self.click(selector, text).await,
            Hand::Keyboard => {
                self.reach(selector, text).await;
                self.keys(ENTER).await;
            }
        }
    }

    /// Changes a box that can be ticked.
    pub async fn toggle(&self, selector: &str) {
        match self.hand {
            Hand::Mouse => self.click(selector, "").await,
            Hand::Keyboard => {
                self.reach(selector, "").await;
                self.keys(" ").await;
            }
        }
    }

    /// Types into a field.
    pub async fn fill(&self, selector: &str, text: &str) {
        match self.hand {
            Hand::Mouse => self.click(selector, "").await,
            Hand::Keyboard => self.reach(selector, "").await,
        }
        self.keys(text).await;
    }

    /// Presses keys one after the other, wherever the focus is.
    pub async fn keys(&self, keys: &str) {
        let press = |key: char| {
            let key = key.to_string();
            [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})]
        };
        let actions: Vec<_> = keys.chars().flat_map(press).collect();
        let body = json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]});
        self.call("POST", "/actions", &body).await;
    }

    /// Whether the focus is in an element of this selector.
    pub async fn has_focus(&self, selector: &str) {
        let script = format!("return document.activeElement?.closest({selector:?}) !== null");
        until(&format!("the focus is in {selector}"), async || self.run(&script).await == json!(true)).await;
    }

    /// Keeps what is shown, the whole page, as an image below the folder for tests' output.
    pub async fn keep(&self, name: &str) -> PathBuf {
        let image = self.devtools("Page.captureScreenshot", json!({"captureBeyondViewport": true})).await;
        let bytes = base64::prelude::BASE64_STANDARD.decode(image["data"].as_str().unwrap()).unwrap();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("console");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{name}.png"));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Reads the browser's log away: what comes after this may be said.
    pub async fn forget_log(&self) {
        self.call("POST", "/se/log", &json!({"type": "browser"})).await;
    }

    /// Nothing was said in the browser's console: no script failed, and nothing was refused by the policy.
    pub async fn is_quiet(&self) {
        let said = self.call("POST", "/se/log", &json!({"type": "browser"})).await;
        let said: Vec<_> =
            said.as_array().unwrap().iter().map(|entry| entry["message"].to_string()).collect();
        assert!(said.is_empty(), "{said:#?}");
    }

    /// Nothing is wider than the window.
    pub async fn fits(&self) {
        let wide = self.run("return document.documentElement.scrollWidth").await.as_u64().unwrap();
        assert!(wide <= u64::from(self.width), "{} is {wide} px wide", self.path().await);
    }

    /// Ends the browser, which said nothing that nobody looked at.
    pub async fn close(self) {
        self.is_quiet().await;
        self.call("DELETE", "", &Value::Null).await;
    }
}

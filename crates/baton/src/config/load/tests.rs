//! Tables of what may be written: what it resolves to, or what is said about it.

use std::fmt::Write as _;
use std::time::Duration;

use baton_core::ident::AgentName;
use tempfile::TempDir;

use super::super::settings::{Audience, Compat, Process, Protocol, Runner};
use super::super::template::TEMPLATE;
use super::*;

/// Loads `text` as `baton.toml`; the folder's name is left out of what is said.
fn load_text(text: &str, flags: Flags) -> Result<Settings, String> {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join(FILE);
    std::fs::write(&path, text).unwrap();
    let flags = Flags { config: Some(path), ..flags };
    load(&flags).map_err(|why| why.to_string().replace(&format!("{}/", dir.path().display()), ""))
}

fn without(flags: &Flags) -> Result<Settings, String> {
    without_file(flags).map_err(|why| why.to_string())
}

fn flags(listen: &[&str], agents: &[&str]) -> Flags {
    let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Flags { listen: own(listen), agents: own(agents), ..Flags::default() }
}

fn process<'a>(settings: &'a Settings, name: &str) -> &'a Process {
    match &settings.agents[&AgentName::parse(name).unwrap()].runner {
        Runner::Process(process) => process,
        Runner::Echo | Runner::Pull(_) => panic!("{name} is no process"),
    }
}

/// Every mistake in a file, and what is said about it.
const MISTAKES: &[&str] = &[
    "lisen = 1",
    "[nod]\ndev = true",
    "[node]\nlisten_on = [\"http://127.0.0.1:1\"]",
    "[node]\n\nlisten = \"http://127.0.0.1:1\"",
    "[node]\nlisten = []",
    "[node]\nlisten = [\n  \"http://127.0.0.1:1\",\n  \"127.0.0.1:2\",\n]",
    "[node]\nlisten = [\"8420\"]",
    "[node]\nlisten = [\"/run/a.sock\"]",
    "[node]\nlisten = [\"unix://run/a.sock\"]",
    "[node]\nlisten = [\"unix:///run/\"]",
    "[node]\nlisten = [\"http://127.0.0.1\"]",
    "[node]\nlisten = [\"http://example.com:80\"]",
    "[node]\nlisten = [\"http://127.0.0.1:80/a2a\"]",
    "[node]\nlisten = [\"https://127.0.0.1:443\"]",
    "[node]\nlisten = [\"vsock://:5000\"]",
    "[node]\nlisten = [\"htp://127.0.0.1:80\"]",
    "[node]\nlisten = [\"ftp://127.0.0.1:80\"]",
    "[node]\nlisten = [\"http://0.0.0.0:8420\"]",
    "[node]\ndev = true\ninsecure = true\nlisten = [\"http://[::]:8420\"]",
    "[node]\ndev = true\n[net]\ntrusted_proxies = [\"127.0.0.1\"]",
    "[node]\npublic_url = \"agents.example.com\"",
    "[node]\npublic_url = \"https://example.com/?a=b\"",
    "[node]\nstore = \"mysql://db\"",
    "[node]\ndefault_agent = \"ecko\"",
    "[node.tls]\ncert = \"a.pem\"",
    "[net]\nallow = [\"10.1.0.0/33\"]",
    "[net]\nallow = [\"http://hooks.internal\"]",
    "[net]\ntrusted_proxies = [\"proxy\"]",
    "[auth]\ntoken = false",
    "[auth]\nclient_ca = [\"ca.pem\"]",
    "[auth]\nclient_ca = []",
    "[[auth.certificates]]\ndns = \"ci.example.com\"\ngrant = \"ci\"",
    "[auth]\nclient_ca = [\"ca.pem\"]\n[[auth.certificates]]\ngrant = \"ci\"",
    "[auth]\nclient_ca = [\"ca.pem\"]\n[[auth.certificates]]\ndns = \"a.b\"\nuri = \"urn:x:y\"\ngrant = \"ci\"",
    "[auth]\nclient_ca = [\"ca.pem\"]\n[[auth.certificates]]\ndns = \"*\"\ngrant = \"ci\"",
    "[auth]\nclient_ca = [\"ca.pem\"]\n[[auth.certificates]]\nuri = \"https://*/x\"\ngrant = \"ci\"",
    "[auth]\nclient_ca = [\"ca.pem\"]\n[[auth.certificates]]\nspiffe = \"example.org\"\ngrant = \"ci\"",
    "[auth]\nclient_ca = [\"ca.pem\"]\n[[auth.certificates]]\ndns = \"a.b\"\ngrant = \" \"",
    "[auth]\nclient_ca = [\"ca.pem\"]\n[[auth.certificates]]\ndns = \"a.b\"",
    "[[auth.unix]]\ngrant = \"ci\"",
    "[[auth.unix]]\nuid = 65534\ngrant = \"ci\"",
    "[auth]\ntokens = false\nclient_credentials = false\nauthorization_code = false",
    "[auth]\naccess_token_lifetime = \"59s\"",
    "[auth]\naccess_token_lifetime = \"25h\"",
    "[[auth.issuers]]\nurl = \"http://id.example.com\"\naudience = \"baton\"\nrules = []",
    "[[auth.issuers]]\nurl = \"id.example.com\"\naudience = \"baton\"\nrules = []",
    "[[auth.issuers]]\nurl = \"https://id.example.com/?a=b\"\naudience = \"baton\"\nrules = []",
    "[[auth.issuers]]\nurl = \"https://id.example.com\"\naudience = []\nrules = []",
    "[[auth.issuers]]\nurl = \"https://id.example.com\"\naudience = 7\nrules = []",
    "[[auth.issuers]]\nurl = \"https://id.example.com\"\nrules = []",
    "[[auth.issuers]]\nurl = \"https://id.example.com\"\naudience = \"baton\"\nrules = []",
    "[[auth.issuers]]\nurl = \"https://a.b\"\naudience = \"c\"\nrules = [{ claim = \"sub\", grant = \"g\" }]",
    "[[auth.issuers]]\nurl = \"https://a.b\"\naudience = \"c\"\nrules = [{ claim = \"a..b\", equals = 1, grant = \"g\" }]",
    "[[auth.issuers]]\nurl = \"https://a.b\"\naudience = \"c\"\nrules = [{ claim = \"a\", equals = 1.5, grant = \"g\" }]",
    "[[auth.issuers]]\nurl = \"https://a.b\"\naudience = \"c\"\nrules = [{ claim = \"a\", equals = 1, contains = 2, grant = \"g\" }]",
    "[[auth.issuers]]\nurl = \"https://a.b\"\naudience = \"c\"\nrules = [{ claim = \"a\", one_of = [], grant = \"g\" }]",
    "[[auth.issuers]]\nurl = \"https://a.b\"\naudience = \"c\"\nalgorithms = [\"HS256\"]\nrules = [{ claim = \"a\", equals = 1, grant = \"g\" }]",
    "[[auth.issuers]]\nurl = \"https://a.b\"\naudience = \"c\"\nalgorithms = [\"none\"]\nrules = [{ claim = \"a\", equals = 1, grant = \"g\" }]",
    "[[auth.issuers]]\nurl = \"https://a.b\"\naudience = \"c\"\nalgorithms = [\"RS265\"]\nrules = [{ claim = \"a\", equals = 1, grant = \"g\" }]",
    "[[auth.issuers]]\nurl = \"https://a.b\"\naudience = \"c\"\nalgorithms = []\nrules = [{ claim = \"a\", equals = 1, grant = \"g\" }]",
    "[console]\noidc = true",
    "[console.oidc]\nissuer = \"https://a.b\"\nclient_id = \"c\"",
    "[node]\npublic_url = \"http://a.b\"\n[console.oidc]\nissuer = \"https://a.b\"\nclient_id = \"c\"",
    "[node]\npublic_url = \"https://n.b\"\n[console.oidc]\nissuer = \"https://a.b\"",
    "[node]\npublic_url = \"https://n.b\"\n[console.oidc]\nissuer = \"http://a.b\"\nclient_id = \"c\"",
    "[node]\npublic_url = \"https://n.b\"\n[console.oidc]\nissuer = \"https://a.b\"\nclient_id = \"\"",
    "[node]\npublic_url = \"https://n.b\"\n[console.oidc]\nissuer = \"https://a.b\"\nclient_id = \"c\"\nclient_secret = \"d\"",
    "[node]\npublic_url = \"https://n.b\"\n[console.oidc]\nissuer = \"https://a.b\"\nclient_id = \"c\"\nclient_secret_file = \"no/such\"",
    "[node]\npublic_url = \"https://n.b\"\n[console.oidc]\nissuer = \"https://a.b\"\nclient_id = \"c\"\nscopes = [\"openid email\"]",
    "[node]\npublic_url = \"https://n.b\"\n[console.oidc]\nissuer = \"https://a.b\"\nclient_id = \"c\"\nalgorithms = [\"HS256\"]",
    "[node]\npublic_url = \"https://n.b\"\n[console.oidc]\nissuer = \"https://a.b\"\nclient_id = \"c\"\noperators = [{ claim = \"sub\" }]",
    "[node]\npublic_url = \"https://n.b\"\n[console.oidc]\nissuer = \"https://a.b\"\nclient_id = \"c\"\noperators = [{ claim = \"sub\", equals = \"x\", grant = \"g\" }]",
    "[limits]\nbody = \"10 parsecs\"",
    "[limits]\nbody = \"1B\"",
    "[limits]\nstreams_per_grant = 0",
    "[limits]\nsend_wait = 600",
    "[limits]\nsend_wait = \"99ms\"",
    "[limits]\nsend_wait = \"24h 1ms\"",
    "[agents.Bad_Name]\nrunner = { kind = \"echo\" }",
    "[agents.tasks]\nrunner = { kind = \"echo\" }",
    "[agents.a]\ndescription = \"x\"",
    "[agents.a]\nrunner = { kind = \"pull\", command = [\"x\"] }",
    "[agents.a]\nrunner = { kind = \"pull\", deadline = \"1m\" }",
    "[agents.a]\nrunner = { kind = \"pull\", lease = \"59s\" }",
    "[agents.a]\nrunner = { kind = \"pull\", lease = \"25h\" }",
    "[agents.a]\nrunner = { kind = \"pull\", concurrency = 0 }",
    "[agents.a]\nrunner = { kind = \"process\", command = [\"x\"], lease = \"5m\" }",
    "[agents.a]\nrunner = { kind = \"echo\" }\nbudget = { tasks = 1, per = \"1h\" }",
    "[agents.a]\nrunner = { kind = \"pull\" }\nbudget = { tasks = 0, per = \"1h\" }",
    "[agents.a]\nrunner = { kind = \"pull\" }\nbudget = { tasks = 1, per = \"32d\" }",
    "[agents.a]\nrunner = { kind = \"pull\" }\nbudget = { tasks = 1 }",
    "[retention]\nage = \"59m\"",
    "[retention]\ntasks = 0",
    "[agents.a]\nrunner = { kind = \"remote\" }",
    "[agents.a]\nrunner = { kind = \"proces\" }",
    "[agents.a]\nrunner = { command = [\"x\"] }",
    "[agents.a]\nrunner = { kind = \"echo\", command = [\"x\"] }",
    "[agents.a.runner]\nkind = \"process\"",
    "[agents.a.runner]\nkind = \"process\"\ncommand = []",
    "[agents.a.runner]\nkind = \"process\"\ncommand = 3",
    "[agents.a.runner]\nkind = \"process\"\ncommand = \"sh -c 'x\"",
    "[agents.a.runner]\nkind = \"process\"\ncommand = [\"x\"]\nprotocol = \"json\"",
    "[agents.a.runner]\nkind = \"process\"\ncommand = [\"x\"]\nprotocol = \"acp\"",
    "[agents.a.runner]\nkind = \"process\"\ncommand = [\"x\"]\nconcurency = 1",
    "[agents.a.runner]\nkind = \"process\"\ncommand = [\"x\"]\nconcurrency = 0",
    "[agents.a.runner]\nkind = \"process\"\ncommand = [\"x\"]\ndeadline = 10",
    "[agents.a.runner]\nkind = \"process\"\ncommand = [\"x\"]\ndeadline = \"10\"",
    "[agents.a.runner]\nkind = \"process\"\ncommand = [\"x\"]\ndeadline = \"0s\"",
    "[agents.a.runner]\nkind = \"process\"\ncommand = [\"x\"]\nstall = \"1m\"",
    "[agents.a.runner]\nkind = \"process\"\ncommand = [\"x\"]\nmemory = \"1 GB of it\"",
    "[agents.a.runner]\nkind = \"process\"\ncommand = [\"x\"]\nretry = \"allways\"",
    "[agents.a.runner]\nkind = \"process\"\ncommand = [\"x\"]\npass_env = [\"BATON_TEST_UNSET\"]",
    "[agents.a.runner]\nkind = \"process\"\ncommand = [\"x\"]\nenv = { \"A=B\" = \"c\" }",
    "[agents.a]\nretry = \"auto\"\nrunner = { kind = \"echo\", retry = \"never\" }",
    "[agents.a]\nmax_attempts = 0\nrunner = { kind = \"echo\" }",
    "[agents.a]\nanswer_within = \"0s\"\nrunner = { kind = \"echo\" }",
    "[agents.a]\nicon_url = \"icon.png\"\nrunner = { kind = \"echo\" }",
    "[agents.a]\nrunner = { kind = \"echo\" }\nskills = [{ id = \"x\", name = \"X\" }]",
    "[agents.a]\nrunner = { kind = \"echo\" }\n[agents.a]\nrunner = { kind = \"echo\" }",
    "[node]\ndev = yes",
    "[node",
    "[card]\ncompat = \"v2\"",
    "[agents.a]\nrunner = { kind = \"echo\" }\ndescription = \" \"",
    "[agents.a]\nrunner = { kind = \"echo\" }\ninput_modes = []",
    "[agents.a]\nrunner = { kind = \"echo\" }\noutput_modes = [\"text\"]",
    "[agents.a]\nrunner = { kind = \"echo\" }\nskills = [{ id = \"s\", name = \"S\", description = \"d\", tags = [] }]",
    "[agents.a]\nrunner = { kind = \"echo\" }\nskills = [{ id = \"\", name = \"S\", description = \"d\", tags = [\"t\"] }]",
    "[agents.a]\nrunner = { kind = \"echo\" }\nskills = [{ id = \"s\", name = \"S\", description = \"d\", tags = [\"t\"], grants = [] }]",
    "[agents.a]\nrunner = { kind = \"echo\" }\nextensions = [{ uri = \"cites\" }]",
    "[agents.a]\nrunner = { kind = \"echo\" }\nextensions = [{ uri = \"urn:a,urn:b\" }]",
    "[agents.a]\nrunner = { kind = \"echo\" }\nextensions = [{ uri = \"urn:a\", params = { list = [] } }]",
    "[agents.a]\nrunner = { kind = \"echo\" }\nextensions = [{ uri = \"urn:a\", params = { n = 9007199254740993 } }]",
];

#[test]
fn every_mistake_says_where_it_is_and_what_to_do() {
    let mut said = String::new();
    for text in MISTAKES {
        // What is wrong with a node is said before that it has no agent, so every text may leave agents out.
        let with_agent = format!("{text}\n");
        let why = load_text(&with_agent, flags(&[], &["helper=cat"])).expect_err(text);
        writeln!(said, "{text}\n    -> {why}\n").unwrap();
    }
    insta::assert_snapshot!(said);
}

#[test]
fn limits_reach_to_their_edges() {
    for (said, millis) in [("100ms", 100), ("50s", 50_000), ("24h", 86_400_000)] {
        let text = format!("[limits]\nsend_wait = \"{said}\"\n");
        let settings = load_text(&text, flags(&[], &["helper=cat"])).unwrap();
        assert_eq!(settings.limits.send_wait, Duration::from_millis(millis), "{said}");
    }
}

#[test]
fn mistakes_in_flags() {
    let url = |url: &str| Flags { public_url: Some(url.to_owned()), ..Flags::default() };
    let default = |name: &str| Flags { default_agent: Some(name.to_owned()), ..Flags::default() };
    let mut said = String::new();
    for flags in [
        flags(&["8420"], &[]),
        flags(&["http://0.0.0.0:8420"], &[]),
        Flags { dev: Some(false), ..flags(&["http://0.0.0.0:8420"], &[]) },
        flags(&["https://127.0.0.1:8443"], &[]),
        flags(&[], &["cat"]),
        flags(&[], &["a="]),
        flags(&[], &["A=cat"]),
        flags(&[], &["a=sh -c 'x"]),
        flags(&[], &["a=cat", "a=tac"]),
        flags(&[], &["echo=cat"]),
        url("example.com"),
        default("ekko"),
    ] {
        writeln!(said, "{}", without(&flags).unwrap_err()).unwrap();
    }
    insta::assert_snapshot!(said);
}

#[test]
fn a_file_that_is_not_there() {
    let flags = Flags { config: Some("no/such.toml".into()), ..Flags::default() };
    insta::assert_snapshot!(load(&flags).unwrap_err());
}

#[test]
fn a_file_without_agents() {
    insta::assert_snapshot!(load_text("[node]\ndev = true\n", Flags::default()).unwrap_err());
}

#[test]
fn nothing_said_is_echo_on_loopback_in_dev_mode() {
    let settings = without(&Flags::default()).unwrap();
    assert_eq!(settings.node.listen, [Listen::Http("127.0.0.1:8420".parse().unwrap())]);
    assert_eq!(settings.node.data_dir, Path::new("./baton-data"));
    assert!(settings.node.dev);
    assert_eq!(settings.node.default_agent.unwrap().as_str(), "echo");
    assert_eq!(settings.agents.len(), 1);
}

#[test]
fn one_flagged_agent_is_the_default_and_two_are_not() {
    let one = without(&flags(&[], &["upper=tr 'a z' \"A Z\""])).unwrap();
    assert_eq!(one.node.default_agent.as_ref().unwrap().as_str(), "upper");
    assert_eq!(process(&one, "upper").command, ["tr", "a z", "A Z"]);
    assert_eq!(process(&one, "upper").protocol, Protocol::Text);
    let two = without(&flags(&[], &["a=cat", "b=x=y cat"])).unwrap();
    assert_eq!(two.node.default_agent.as_ref().unwrap().as_str(), "echo");
    assert_eq!(process(&two, "b").command, ["x=y", "cat"]);
}

#[test]
fn the_template_is_what_is_there_without_it() {
    let (written, bare) =
        (load_text(TEMPLATE, Flags::default()).unwrap(), without(&Flags::default()).unwrap());
    let shown = |settings: Settings| format!("{:#?}", Settings { file: None, ..settings });
    assert_eq!(shown(written), shown(bare));
}

/// A commented line of configuration starts with a key or a table; other comments are prose.
fn setting(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("# ")?;
    let key = rest.split([' ', '.']).next()?;
    let word = key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') && rest.contains(" = ");
    (word || rest.starts_with('[')).then_some(rest)
}

#[test]
fn the_template_with_everything_in_it_is_read() {
    let lines = TEMPLATE.lines().map(|line| setting(line).unwrap_or(line));
    let full: Vec<&str> = lines
        .filter(|line| {
            !["dev = true", "stall", "pass_env", "client_secret_file"].iter().any(|key| line.starts_with(key))
        })
        .collect();
    let full = full.join("\n");
    let full = full.replace("[\"10.0.0.7\"]", "[\"10.0.0.0/8\", \"::1\"]");
    let settings = load_text(&full, Flags::default()).unwrap();
    insta::assert_debug_snapshot!(Settings { file: None, ..settings });
}

#[test]
fn flags_win_over_the_file() {
    let text = "[node]\nlisten = [\"http://127.0.0.1:1\"]\ndata_dir = \"a\"\npublic_url = \"https://a\"\n\
                default_agent = \"one\"\n[agents.one]\nrunner = { kind = \"echo\" }\n";
    let of_file = load_text(text, Flags::default()).unwrap();
    assert!(!of_file.node.dev, "dev mode is off by default in a file");
    assert_eq!(of_file.node.data_dir, Path::new("a"));
    let said = Flags {
        data_dir: Some("b".into()),
        public_url: Some("https://b/base/".into()),
        default_agent: Some("two".into()),
        dev: Some(true),
        ..flags(&["http://localhost:2", " ", "unix:///run/b.sock"], &["two=cat"])
    };
    let node = load_text(text, said).unwrap().node;
    assert_eq!(
        node.listen,
        [Listen::Http("127.0.0.1:2".parse().unwrap()), Listen::Unix("/run/b.sock".into())]
    );
    assert_eq!(node.data_dir, Path::new("b"));
    assert_eq!(node.public_url.as_deref(), Some("https://b/base"));
    assert_eq!(node.default_agent.unwrap().as_str(), "two");
    assert!(node.dev);
}

#[test]
fn other_addresses_need_to_be_asked_for() {
    let text = "[agents.a]\nrunner = { kind = \"echo\" }\n[node]\n";
    let with = |rest: &str| load_text(&format!("{text}{rest}"), Flags::default());
    assert!(with("insecure = true\nlisten = [\"http://0.0.0.0:1\"]").is_ok());
    assert!(with("listen = [\"https://0.0.0.0:1\"]\ntls = { cert = \"c\", key = \"k\" }").is_ok());
    assert!(with("listen = [\"http://[::1]:1\", \"http://127.9.9.9:1\", \"unix:///a\"]\ndev = true").is_ok());
}

#[test]
fn processes_have_defaults_by_protocol() {
    let text = "[agents.a]\nretry = \"never\"\nrunner = { kind = \"process\", command = \"./a b\", protocol = \"jsonl\" }\n\
                [agents.b.runner]\nkind = \"process\"\ncommand = [\"b\"]\ndeadline = \"never\"\nretry = \"never\"\n\
                cpu = \"1m\"\npass_env = [\"PATH\"]\n";
    let settings = load_text(text, Flags::default()).unwrap();
    assert_eq!(process(&settings, "a").command, ["./a", "b"]);
    assert!(process(&settings, "a").stall.is_some());
    assert!(process(&settings, "b").stall.is_none());
    assert!(process(&settings, "b").env.contains_key("PATH"));
    assert_eq!(process(&settings, "b").rlimits.cpu_seconds, Some(60));
    assert!(settings.agents.values().all(|agent| !agent.retry));
    assert_eq!(settings.node.default_agent, None, "two agents, and none was named");
}

#[test]
fn cards_say_what_is_declared() {
    let text = "[card]\ncompat = \"v1\"\n[agents.a]\nrunner = { kind = \"echo\" }\ncard = { environment = true }\npush = false\n\
                skills = [{ id = \"s\", name = \"S\", description = \"d\", tags = [\"t\"], extended = true }]\n\
                extensions = [{ uri = \"urn:a\", required = true, params = { n = 1, day = 2026-11-30 } }]\n\
                [agents.b]\nrunner = { kind = \"echo\" }\ncard.compat = \"both\"\n";
    let settings = load_text(text, Flags::default()).unwrap();
    let agent = |name: &str| &settings.agents[&AgentName::parse(name).unwrap()];
    let (a, b) = (agent("a"), agent("b"));
    assert_eq!((a.card.compat, a.card.environment), (Compat::V1, true));
    assert_eq!((b.card.compat, b.card.environment), (Compat::Both, false));
    assert_eq!(
        (a.extended_card, b.extended_card),
        (true, false),
        "a skill that is not for everyone makes one"
    );
    assert_eq!((a.push, b.push), (false, true));
    assert_eq!(a.skills[0].to, Audience::Extended);
    assert!(a.extensions[0].required);
    assert_eq!(a.extensions[0].params.as_ref().unwrap().as_str(), r#"{"day":"2026-11-30","n":1}"#);
}

#[test]
fn a_secret_key_is_never_repeated() {
    let key = super::node::secret_key("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").unwrap();
    assert_eq!((key.bytes()[31], format!("{key:?}").as_str()), (31, "[redacted]"));
    for wrong in ["", "secret!", "AAECAwQFBgcICQoLDA0ODw=="] {
        let why = super::node::secret_key(wrong).unwrap_err();
        assert!(why.contains("32 bytes") && (wrong.is_empty() || !why.contains(wrong)), "{why}");
    }
}

#[test]
fn flags_open_more_than_the_file_does() {
    let flags =
        Flags { allow_net: vec!["127.0.0.0/8".to_owned(), "localhost".to_owned()], ..Flags::default() };
    let text = "[net]\nallow = [\"10.0.0.0/8\"]\n[agents.a]\nrunner = { kind = \"echo\" }\n";
    assert_eq!(load_text(text, flags).unwrap().net.allow.len(), 3);
    let flags = Flags { allow_net: vec!["127.0.0.0/99".to_owned()], ..Flags::default() };
    let why = load_text(text, flags).unwrap_err();
    assert!(why.starts_with("--allow-net: ") && why.contains("10.1.0.0/16"), "{why}");
}

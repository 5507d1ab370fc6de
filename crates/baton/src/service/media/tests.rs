//! What an agent takes, part by part.

use baton_core::json::Json;
use baton_core::model::Base64;

use super::*;

fn modes(input: &[&str], output: &[&str]) -> Modes {
    let list = |modes: &[&str]| modes.iter().map(|mode| (*mode).to_owned()).collect();
    Modes { input: list(input), output: list(output) }
}

fn raw(kind: Option<&str>) -> Part {
    Part {
        content: Content::Raw(Base64::encode(b"x")),
        media_type: kind.map(str::to_owned),
        ..Part::text("")
    }
}

fn takes(modes: &Modes, part: Part) -> bool {
    modes.check_message(&Message { parts: vec![part], ..Message::default() }).is_ok()
}

#[test]
fn what_is_said_or_implied_must_be_taken() {
    let text = modes(&["text/plain"], &[]);
    assert!(takes(&text, Part::text("x")));
    assert!(takes(&text, raw(Some("TEXT/plain; charset=utf-8"))));
    assert!(!takes(&text, Part { media_type: Some("text/markdown".into()), ..Part::text("x") }));
    assert!(!takes(&text, Part::data(Json::parse("{}").unwrap())));
    assert!(!takes(&text, raw(None)));
    assert!(!takes(&text, raw(Some("image/png"))));
    let url = Part { content: Content::Url("https://example.com/x".into()), ..Part::text("") };
    assert!(takes(&text, url.clone()), "nobody knows what is there");
    assert!(!takes(&text, Part { media_type: Some("image/png".into()), ..url }));
}

#[test]
fn a_star_stands_for_any_name() {
    for (mode, kind, taken) in [
        ("*/*", "image/png", true),
        ("image/*", "image/png", true),
        ("image/*", "imagex/png", false),
        ("image/*", "text/plain", false),
        ("image/p*", "image/png", false),
        ("image/png", "image/png", true),
    ] {
        assert_eq!(takes(&modes(&[mode], &[]), raw(Some(kind))), taken, "{mode} {kind}");
    }
}

#[test]
fn the_refusal_names_part_and_types() {
    let message = Message { parts: vec![Part::text("x"), raw(Some("image/png\n"))], ..Message::default() };
    let why = modes(&["text/plain", "text/*"], &[]).check_message(&message).unwrap_err();
    assert_eq!(why.to_string(), "message.parts[1] is image/png, and this agent takes text/plain, text/*");
}

#[test]
fn one_mode_in_common_is_enough() {
    let agent = modes(&[], &["text/plain", "image/png"]);
    for (accepted, good) in [
        (&[][..], true),
        (&["text/plain"], true),
        (&["audio/wav", "image/*"], true),
        (&["*/*"], true),
        (&["audio/wav"], false),
        (&["text/html", "image/jpeg"], false),
    ] {
        let accepted: Vec<String> = accepted.iter().map(|mode| (*mode).to_owned()).collect();
        assert_eq!(agent.check_accepted(&accepted).is_ok(), good, "{accepted:?}");
    }
    assert!(modes(&[], &["*/*"]).check_accepted(&["audio/wav".to_owned()]).is_ok());
}

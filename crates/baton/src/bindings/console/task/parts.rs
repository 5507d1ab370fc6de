//! Messages and artifacts, part by part: text and data as text, images only when they are asked for, everything to be had
//! as a file.

use baton_core::json::Json;
use baton_core::model::{Artifact, Content, Message, Part, TaskObject};
use baton_wire::query::segment;
use maud::{Markup, html};

use super::super::{text, words};

/// Characters of one text that are on the page; the file has them all.
const SHOWN: usize = 12_000;

/// Images that a browser shows without running anything.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The media type under which a part is shown as an image.
pub fn image_type(part: &Part) -> Option<&'static str> {
    let of = part.media_type.as_deref()?.split(';').next()?.trim();
    IMAGES.into_iter().find(|known| known.eq_ignore_ascii_case(of))
}

pub fn message(task: &str, message: &Message) -> Markup {
    let path = format!("/console/tasks/{task}/messages/{}", segment(&message.message_id));
    html! {
        @for (at, part) in message.parts.iter().enumerate() { (one(part, &format!("{path}/{at}"))) }
        @if message.parts.is_empty() { p.quiet { "An empty message." } }
    }
}

pub fn artifacts(task: &TaskObject) -> Markup {
    let all = task.artifacts.as_deref().unwrap_or_default();
    let growing = !task.status.state.is_terminal();
    html! {
        @if !all.is_empty() {
            h2 { "Artifacts" }
            @for artifact in all { (artifact_card(&task.id, artifact, growing)) }
        }
    }
}

fn artifact_card(task: &str, artifact: &Artifact, growing: bool) -> Markup {
    let path = format!("/console/tasks/{task}/artifacts/{}", segment(&artifact.artifact_id));
    let joined = joined(artifact);
    let size: usize = artifact.parts.iter().map(part_size).sum();
    let kind = kind_of(artifact);
    html! {
        div.card {
            div.top {
                b { (text::theirs(artifact.name.as_deref().unwrap_or(&artifact.artifact_id))) }
                span.faint {
                    (text::theirs(&kind)) " · " (words::bytes(size as u64))
                    @if growing { " · may still grow" }
                }
                span.grow {}
                @if joined.is_some() { a.button href={ (path) "/all" } download { "Download" } }
            }
            @if let Some(description) = &artifact.description { p.quiet { (text::theirs(description)) } }
            @match joined {
                Some(joined) => div.said.agent { (shown(&joined)) },
                None => @for (at, part) in artifact.parts.iter().enumerate() { (one(part, &format!("{path}/{at}"))) },
            }
        }
    }
}

/// The text of an artifact that is nothing but text: pieces of one stream.
pub fn joined(artifact: &Artifact) -> Option<String> {
    artifact.parts.iter().map(Part::as_text).collect()
}

fn kind_of(artifact: &Artifact) -> String {
    let named = artifact.parts.iter().find_map(|part| part.media_type.clone());
    let plain = || match artifact.parts.first().map(|part| &part.content) {
        Some(Content::Text(_)) => "text",
        Some(Content::Data(_)) => "data",
        Some(Content::Raw(_)) => "a file",
        Some(Content::Url(_)) => "a link",
        Some(Content::Missing) | None => "empty",
    };
    named.unwrap_or_else(|| plain().to_owned())
}

fn part_size(part: &Part) -> usize {
    match &part.content {
        Content::Text(text) | Content::Url(text) => text.len(),
        Content::Raw(base64) => base64.decoded_len(),
        Content::Data(json) => json.as_str().len(),
        Content::Missing => 0,
    }
}

fn shown(text: &str) -> Markup {
    let cut = text::short(text, SHOWN);
    html! {
        (text::passage(&cut))
        @if cut.len() < text.len() { p.faint { "Cut here: the whole has " (words::bytes(text.len() as u64)) ". Download it to read on." } }
    }
}

fn one(part: &Part, path: &str) -> Markup {
    match &part.content {
        Content::Text(text) => shown(text),
        Content::Data(json) => data(json),
        Content::Url(url) => html! { p { span.faint { "a link: " } code.mono { (text::theirs(url)) } } },
        Content::Raw(base64) => file(part, base64.decoded_len(), path),
        Content::Missing => html! { p.quiet { "nothing" } },
    }
}

fn data(json: &Json) -> Markup {
    let value: Option<serde_json::Value> = serde_json::from_str(json.as_str()).ok();
    // Numbers are shown as they were sent: a value that would change is left on its line.
    let exact = value.filter(|value| serde_json::to_string(value).is_ok_and(|text| text == json.as_str()));
    let pretty = exact.and_then(|value| serde_json::to_string_pretty(&value).ok());
    let whole = pretty.unwrap_or_else(|| json.as_str().to_owned());
    html! { pre.mono dir="ltr" { (crate::plain::harmless(&text::short(&whole, SHOWN))) } }
}

fn file(part: &Part, size: usize, path: &str) -> Markup {
    let name = part.filename.as_deref().unwrap_or("a file");
    html! {
        div.top.file {
            b { (text::theirs(name)) }
            span.faint {
                @if let Some(kind) = &part.media_type { (text::theirs(kind)) " · " }
                (words::bytes(size as u64))
            }
            a.button href=(path) download { "Download" }
        }
        @if image_type(part).is_some() {
            details.image {
                summary { "Show the image" }
                img src={ (path) "?show" } alt=(crate::plain::harmless(name)) loading="lazy";
            }
        }
    }
}

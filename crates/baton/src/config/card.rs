//! What an agent's card says beyond a line of text: skills and who sees them, extensions, and `[card]`, how cards are
//! shown.

use baton_core::json::Object;
use baton_core::model::{AgentExtension, AgentProvider, AgentSkill};
use serde::Deserialize;
use toml::Spanned;

use super::error::Problem;
use super::settings::{self, Audience, Compat};

/// `[card]` for all agents, and `card = { … }` for one.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Card {
    compat: Option<RawCompat>,
    environment: Option<bool>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawCompat {
    Both,
    V1,
}

impl Card {
    /// These settings, and what is said for all agents where nothing is said here.
    pub fn over(self, all: Self) -> settings::Card {
        let compat = match self.compat.or(all.compat) {
            Some(RawCompat::V1) => Compat::V1,
            Some(RawCompat::Both) | None => Compat::Both,
        };
        settings::Card { compat, environment: self.environment.or(all.environment).unwrap_or_default() }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skill {
    id: Spanned<String>,
    name: Spanned<String>,
    description: Spanned<String>,
    tags: Spanned<Vec<String>>,
    #[serde(default)]
    examples: Vec<String>,
    #[serde(default)]
    input_modes: Vec<Spanned<String>>,
    #[serde(default)]
    output_modes: Vec<Spanned<String>>,
    #[serde(default)]
    extended: bool,
    grants: Option<Spanned<Vec<String>>>,
}

impl Skill {
    pub(super) fn resolve(self) -> Result<settings::Skill, Problem> {
        let to = match self.grants {
            Some(grants) if grants.get_ref().is_empty() => {
                let what =
                    "`grants` is empty, so that nobody would see this skill; name grants by id or label";
                return Err(Problem::at(grants.span(), what));
            }
            Some(grants) => Audience::Grants(grants.into_inner()),
            None if self.extended => Audience::Extended,
            None => Audience::Everyone,
        };
        let tags = self.tags.get_ref();
        if tags.is_empty() || tags.iter().any(|tag| tag.trim().is_empty()) {
            let what = "`tags` holds no word, and a card must have one; write for example tags = [\"code\"]";
            return Err(Problem::at(self.tags.span(), what));
        }
        let card = AgentSkill {
            id: said("id", self.id)?,
            name: said("name", self.name)?,
            description: said("description", self.description)?,
            tags: self.tags.into_inner(),
            examples: self.examples,
            input_modes: modes(self.input_modes)?,
            output_modes: modes(self.output_modes)?,
            ..AgentSkill::default()
        };
        Ok(settings::Skill { card, to })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    organization: Spanned<String>,
    url: Spanned<String>,
}

impl Provider {
    pub(super) fn resolve(self) -> Result<AgentProvider, Problem> {
        Ok(AgentProvider {
            url: said("url", self.url)?,
            organization: said("organization", self.organization)?,
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    uri: Spanned<String>,
    description: Option<String>,
    #[serde(default)]
    required: bool,
    params: Option<Spanned<toml::Table>>,
}

/// Most bytes of an extension's URI: a caller names several in one header.
const URI: usize = 512;

impl Extension {
    pub(super) fn resolve(self) -> Result<AgentExtension, Problem> {
        let uri = self.uri.get_ref();
        let (scheme, rest) = uri.split_once(':').unwrap_or_default();
        let named = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && !rest.is_empty();
        // In a header, a comma would end it.
        let plain = uri.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',');
        if !named || !plain || uri.len() > URI {
            let what = format!(
                "`{}` is no URI; write for example \"https://example.com/ext/v1\"",
                uri.escape_debug()
            );
            return Err(Problem::at(self.uri.span(), what));
        }
        let params = match self.params {
            Some(params) => Some(object(&params)?),
            None => None,
        };
        let description = self.description.filter(|text| !text.is_empty());
        Ok(AgentExtension { uri: self.uri.into_inner(), description, required: self.required, params })
    }
}

/// Parameters as JSON. What is empty is refused: verifiers of signed cards drop it or keep it as they like.
fn object(params: &Spanned<toml::Table>) -> Result<Object, Problem> {
    let table = params.get_ref();
    if table.is_empty() || table.values().any(has_empty) {
        let what = "`params` holds something empty, which cards cannot carry; remove it";
        return Err(Problem::at(params.span(), what));
    }
    let json =
        serde_json::Value::Object(table.iter().map(|(key, value)| (key.clone(), json(value))).collect());
    let object = Object::from_serialize(&json).map_err(|why| Problem::at(params.span(), why.to_string()))?;
    baton_core::canonical::canonical(object.as_str())
        .map_err(|why| Problem::at(params.span(), format!("`params`: {why}")))?;
    Ok(object)
}

/// A date becomes text; JSON has none, and no number that is not finite.
fn json(value: &toml::Value) -> serde_json::Value {
    match value {
        toml::Value::String(text) => text.clone().into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => (*number).into(),
        toml::Value::Boolean(value) => (*value).into(),
        toml::Value::Datetime(at) => at.to_string().into(),
        toml::Value::Array(items) => items.iter().map(json).collect(),
        toml::Value::Table(table) => table.iter().map(|(key, value)| (key.clone(), json(value))).collect(),
    }
}

fn has_empty(value: &toml::Value) -> bool {
    match value {
        toml::Value::String(text) => text.is_empty(),
        toml::Value::Array(items) => items.is_empty() || items.iter().any(has_empty),
        toml::Value::Table(table) => table.is_empty() || table.values().any(has_empty),
        toml::Value::Float(number) => !number.is_finite(),
        toml::Value::Integer(_) | toml::Value::Boolean(_) | toml::Value::Datetime(_) => false,
    }
}

/// A text that a card must have.
pub(super) fn said(key: &str, text: Spanned<String>) -> Result<String, Problem> {
    if text.get_ref().trim().is_empty() {
        return Err(Problem::at(text.span(), format!("`{key}` is empty; say something, or remove the line")));
    }
    Ok(text.into_inner())
}

/// Media types; `image/*` and `*/*` stand for many.
pub(super) fn modes(modes: Vec<Spanned<String>>) -> Result<Vec<String>, Problem> {
    let check = |mode: Spanned<String>| {
        let essence = mode.get_ref().split(';').next().unwrap_or_default().trim();
        let token = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+*".contains(&b))
        };
        let good = essence.split_once('/').is_some_and(|(kind, name)| token(kind) && token(name));
        if good {
            return Ok(mode.into_inner());
        }
        let what = format!(
            "`{}` is no media type; write for example \"text/plain\", \"image/*\" or \"*/*\"",
            mode.get_ref().escape_debug()
        );
        Err(Problem::at(mode.span(), what))
    };
    modes.into_iter().map(check).collect()
}

/// The media types of an agent: one at least.
pub(super) fn some_modes(
    key: &str,
    given: Option<Spanned<Vec<Spanned<String>>>>,
) -> Result<Option<Vec<String>>, Problem> {
    match given {
        Some(given) if given.get_ref().is_empty() => {
            let what =
                format!("`{key}` is empty; name a media type such as \"text/plain\", or remove the line");
            Err(Problem::at(given.span(), what))
        }
        given => given.map(|given| modes(given.into_inner())).transpose(),
    }
}

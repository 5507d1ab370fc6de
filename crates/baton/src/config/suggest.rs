//! "Did you mean …": the nearest known word, and serde's complaints about unknown words said in ours.

/// How alike two words must be (Jaro-Winkler, 0 to 1) before one is suggested for the other; clap uses 0.7 for flags.
const ALIKE: f64 = 0.75;

/// The known word that is most like `word`.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.into_iter().map(|known| (strsim::jaro_winkler(word, known), known));
    scored.filter(|(score, _)| *score > ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

/// What to do instead of writing `word`: the nearest known word, or all of them.
pub fn instead(word: &str, known: &[&str]) -> String {
    if let Some(near) = nearest(word, known.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    if known.is_empty() {
        return "nothing can stand here".to_owned();
    }
    format!("known are {}", list(known))
}

/// `` `a`, `b` ``
pub fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Serde's message with a suggestion in place of its list, where it is about an unknown or missing word.
pub fn reword(message: &str) -> String {
    let words = |rest: &str| rest.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let with = |what: &str, rest: &str| {
        let words = words(rest);
        let (word, known) = words.split_first().map_or(("", &[][..]), |(word, known)| (word.as_str(), known));
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        format!("{what} `{word}`; {}", instead(word, &known))
    };
    if let Some(rest) = message.strip_prefix("unknown field") {
        return with("unknown key", rest);
    }
    if let Some(rest) = message.strip_prefix("unknown variant") {
        return with("unknown value", rest);
    }
    if let Some(rest) = message.strip_prefix("missing field") {
        return format!("the key {} is missing; add it", rest.trim());
    }
    if let Some(rest) = message.strip_prefix("invalid type: ")
        && let Some((found, expected)) = rest.split_once(", expected ")
    {
        let expected = match expected {
            "a sequence" => "a list in brackets",
            expected if expected.starts_with("struct ") || expected == "a map" => "a table",
            expected => expected,
        };
        return format!("found {found}; write {expected}");
    }
    message.to_owned()
}

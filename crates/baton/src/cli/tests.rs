//! The command line as it is read.

use std::fmt::Write as _;

use clap::CommandFactory as _;

use super::*;

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(shell_words::split(line).unwrap())
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn flags_of_the_node_stand_before_or_after_the_command() {
    for line in ["baton --data-dir d grants list --json", "baton grants list --data-dir d --json"] {
        let cli = parse(line).unwrap();
        assert_eq!(cli.global.data_dir, Some("d".into()), "{line}");
        assert!(cli.global.json, "{line}");
    }
}

#[test]
fn what_is_understood_and_what_is_not() {
    for line in [
        "baton serve --listen http://127.0.0.1:0 --listen unix:///a --agent 'a=b c' --agent x=y --dev=false --insecure",
        "baton send http://x some text --context c --task t --async --json --timeout 5m -f a -d 1",
        "baton send http://x",
        "baton task get t --url http://x --history 3",
        "baton task list --agent a --state TASK_STATE_WORKING",
        "baton task watch t --node http://x --token t",
        "baton task answer t --url http://x yes please",
        "baton grants create --label 'for me' --agent a --agent b,c --verbs send,read,cancel --json",
        "baton agents show reviewer --json",
        "baton agents --node http://x",
        "baton card sign card.json --key k.pem --kid k --jku https://x/jwks.json",
        "baton card verify http://x --jwks a --jwks b --key c",
        "baton card keys new --alg EdDSA --kid k",
        "baton card keys retire k --data-dir d",
        "baton serve --allow-net 127.0.0.0/8,localhost --allow-net 10.0.0.7",
        "baton deliveries list --state suspended --task t --page-size 10 --json",
        "baton deliveries show t c --node http://x",
        "baton deliveries replay t c",
        "baton peers request http://x/a2a/echo --agent a,b --verbs send --why 'to try' --as echo --json",
        "baton peers list --json",
        "baton peers check p --data-dir d",
        "baton peers send p hello there --agent a",
        "baton clients list --grant g --json",
        "baton clients sign-out c --node http://x",
        "baton requests list --state pending --page-size 10 --json",
        "baton requests show r --offline --node http://x",
        "baton requests approve r --code 4K7QM-0XZ2R --agent a,b --verbs send --rate 1/s --expires 30d --dry-run",
        "baton requests deny r s t",
        "baton completions bash",
        "baton init --force",
    ] {
        assert!(parse(line).is_ok(), "{line}: {:?}", parse(line).unwrap_err().to_string());
    }
    for line in [
        "baton",
        "baton send",
        "baton send http://x --timeout 5",
        "baton task list --url http://x --node http://y",
        "baton task list --url http://x --agent a",
        "baton task list --state asleep",
        "baton task list --page-size 101",
        "baton deliveries list --state asleep",
        "baton deliveries replay t",
        "baton grants create --label x",
        "baton clients sign-out",
        "baton send http://x a --token t --token-file f",
        "baton card sign card.json --kid k",
        "baton card keys new --alg HS256",
        "baton completions tcsh",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn commands_and_what_they_say_of_themselves() {
    let mut said = String::new();
    let mut all = Cli::command();
    all.build();
    list(&all, "", &mut said);
    insta::assert_snapshot!(said);
}

fn list(command: &clap::Command, above: &str, said: &mut String) {
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let name = format!("{above}{}", sub.get_name());
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(said, "{name}: {about}").unwrap();
        list(sub, &format!("{name} "), said);
    }
}

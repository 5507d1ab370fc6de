//! Real children behind real wardens: whatever a child does, nothing of it stays behind.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use baton::runner::process::child::{Child, Spawner};
use baton::runner::process::exit::How;
use baton::runner::process::ladder::{GRACE, Ladder};
use baton::runner::process::spec::{Limits, Spec};
use baton::runner::process::sweep;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{ChildStdout, Command};
use tokio::time::{Instant, timeout};

/// Far more than anything here takes, so that only a hang fails on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Within which everything must be gone after the node is (DESIGN §7), and a little for a busy machine.
const GONE_WITHIN: Duration = Duration::from_secs(1);

fn spawner() -> Spawner {
    Spawner::with_warden(env!("CARGO_BIN_EXE_baton"))
}

fn spec(script: &str) -> Spec {
    Spec { command: ["sh", "-c", script].map(String::from).to_vec(), ..Spec::default() }
}

fn sh(script: &str) -> Child {
    spawner().spawn(&spec(script)).unwrap()
}

async fn exited(child: &mut Child) -> How {
    timeout(PATIENCE, child.exited()).await.expect("the child ends").how
}

async fn output(child: &mut Child) -> String {
    let mut text = String::new();
    let read = child.stdout.as_mut().unwrap().read_to_string(&mut text);
    timeout(PATIENCE, read).await.expect("stdout closes").unwrap();
    text
}

fn lines(child: &mut Child) -> Lines<BufReader<ChildStdout>> {
    BufReader::new(child.stdout.take().unwrap()).lines()
}

async fn line(lines: &mut Lines<BufReader<ChildStdout>>) -> String {
    timeout(PATIENCE, lines.next_line()).await.expect("a line comes").unwrap().expect("stdout is open")
}

fn pid(text: &str) -> Pid {
    Pid::from_raw(text.trim().parse().unwrap()).unwrap()
}

/// The state letter of a process: `None` when it is gone or only waits to be reaped.
fn state(pid: Pid) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next().filter(|state| *state != 'Z')
}

/// Looks again and again until `condition` holds, at most `within`.
async fn until(within: Duration, what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < within, "after {within:?} not yet: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn streams_pass_straight_through() {
    let mut child = sh("cat; echo done >&2; exit 3");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all("grüße\n".as_bytes()).await.unwrap();
    drop(stdin);
    assert_eq!(output(&mut child).await, "grüße\n");
    let mut complaint = String::new();
    child.stderr.as_mut().unwrap().read_to_string(&mut complaint).await.unwrap();
    assert_eq!(complaint, "done\n");
    let exit = child.exited().await;
    assert_eq!(exit.how, How::Code(3));
    assert!(exit.usage.max_rss_kib > 0, "{exit:?}");
    assert_eq!(child.exited().await, exit, "the answer stays");
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let why = |spec: Spec| async move { exited(&mut spawner().spawn(&spec).unwrap()).await.to_string() };
    let missing = why(Spec { command: vec!["/no/such/program".into()], ..Spec::default() }).await;
    assert_eq!(missing, "could not be started: /no/such/program: No such file or directory (os error 2)");
    let folder = why(Spec { dir: Some("/no/such/folder".into()), ..spec("true") }).await;
    assert!(folder.contains("folder /no/such/folder: No such file"), "{folder}");
    let user = why(Spec { user: Some("no-such-user".into()), ..spec("true") }).await;
    assert!(user.contains("no user no-such-user"), "{user}");
}

#[tokio::test]
async fn a_folder_makes_relative_programs_work() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/pwd", folder.path().join("where")).unwrap();
    let spec =
        Spec { command: vec!["./where".into()], dir: Some(folder.path().to_owned()), ..Spec::default() };
    let mut child = spawner().spawn(&spec).unwrap();
    assert_eq!(output(&mut child).await.trim_end(), folder.path().to_str().unwrap());
}

#[tokio::test]
async fn the_environment_is_scrubbed() {
    let mut spec = spec("env");
    spec.env = vec![("BATON_AGENT".into(), "hello".into()), ("LANG".into(), "C".into())];
    let text = output(&mut spawner().spawn(&spec).unwrap()).await;
    // The shell itself adds the last two.
    let known = ["PATH", "HOME", "LANG", "TZ", "TMPDIR", "BATON_AGENT", "PWD", "OLDPWD", "SHLVL", "_"];
    for line in text.lines() {
        assert!(line.split_once('=').is_some_and(|(name, _)| known.contains(&name)), "leaked: {line}");
    }
    assert!(text.contains("BATON_AGENT=hello\n") && text.contains("LANG=C\n"), "{text}");
}

#[tokio::test]
async fn no_signal_is_blocked_for_it() {
    let spec = Spec {
        command: ["grep", "SigBlk", "/proc/self/status"].map(String::from).to_vec(),
        ..Spec::default()
    };
    let text = output(&mut spawner().spawn(&spec).unwrap()).await;
    assert_eq!(text.split_whitespace().last(), Some("0000000000000000"), "{text}");
}

#[tokio::test]
async fn the_control_socket_stays_out_of_reach() {
    let text = output(&mut sh("ls -l /proc/self/fd")).await;
    assert!(!text.contains("socket:"), "{text}");
}

#[tokio::test]
async fn limits_are_in_force_before_the_first_instruction() {
    let limits = Limits { open_files: Some(64), ..Limits::default() };
    let mut child = spawner().spawn(&Spec { limits, ..spec("ulimit -n; ulimit -Hn") }).unwrap();
    assert_eq!(output(&mut child).await, "64\n64\n");
}

#[tokio::test]
async fn another_user_runs_it_when_the_node_is_root() {
    let root = rustix::process::getuid().is_root();
    let mut child =
        spawner().spawn(&Spec { user: Some("nobody".into()), ..spec("id -un; id -G; echo $HOME") }).unwrap();
    if root {
        let text = output(&mut child).await;
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "nobody");
        assert!(!lines[1].contains(' '), "no group of the node's is left: {text}");
        assert_eq!(lines[2], "/nonexistent");
    } else {
        assert!(matches!(exited(&mut child).await, How::NotStarted(_)));
    }
}

#[tokio::test]
async fn sigterm_reaches_the_group_and_a_stopped_child() {
    let mut child = sh("echo $$; kill -STOP $$; sleep 1000");
    let mut out = lines(&mut child);
    let stopped = pid(&line(&mut out).await);
    until(PATIENCE, "stopped", || state(stopped) == Some('T')).await;
    child.terminate();
    assert_eq!(exited(&mut child).await, How::Signal(15));
}

#[tokio::test]
async fn a_child_that_ignores_sigterm_is_killed() {
    let mut child = sh("trap '' TERM; echo ready; while :; do sleep 1000; done");
    let mut out = lines(&mut child);
    line(&mut out).await;
    child.terminate();
    child.kill();
    assert_eq!(exited(&mut child).await, How::Signal(9));
}

#[tokio::test]
async fn the_ladder_ends_a_child_that_ignores_and_floods() {
    let mut child = sh("trap '' TERM PIPE; echo ready; while :; do echo flood; done 2>/dev/null");
    line(&mut lines(&mut child)).await;
    let start = Instant::now();
    let exit = timeout(PATIENCE, child.end(Ladder::start_at_terminate(start))).await.expect("it ends");
    assert_eq!(exit.how, How::Signal(9));
    assert!(start.elapsed() >= GRACE);
}

#[tokio::test]
async fn grandchildren_go_with_the_child() {
    let script = "(setsid sleep 1000 & echo $!); (sh -c 'trap \"\" TERM HUP; (sleep 1000 & echo $!); sleep 1000' & \
                  echo $!); read line; exit 0";
    let mut child = sh(script);
    let mut out = lines(&mut child);
    let pids = [line(&mut out).await, line(&mut out).await, line(&mut out).await].map(|text| pid(&text));
    assert!(pids.iter().all(|pid| state(*pid).is_some()), "all of the tree runs");
    child.stdin.as_mut().unwrap().write_all(b"go\n").await.unwrap();
    assert_eq!(exited(&mut child).await, How::Code(0));
    for pid in pids {
        assert_eq!(state(pid), None, "{pid} is left");
    }
    assert_eq!(timeout(PATIENCE, out.next_line()).await.expect("stdout closes").unwrap(), None);
}

#[tokio::test]
async fn a_tree_that_keeps_forking_is_killed() {
    let mut child = sh("echo $$; spawn() { while :; do sleep 0.01 & done; }; spawn & spawn & spawn");
    line(&mut lines(&mut child)).await;
    child.kill();
    assert_eq!(exited(&mut child).await, How::Signal(9));
}

#[tokio::test]
async fn a_warden_is_deaf_to_stray_signals() {
    let mut child = sh("cat");
    let warden = pid(&child.warden_id().unwrap().to_string());
    // It lets go of the streams last.
    let stdin = format!("/proc/{warden}/fd/0");
    let settled = || fs::read_link(&stdin).is_ok_and(|target| target.to_str() == Some("/dev/null"));
    until(PATIENCE, "the warden has settled in", settled).await;
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::USR1] {
        kill_process(warden, signal).unwrap();
    }
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"still here\n").await.unwrap();
    drop(stdin);
    assert_eq!(output(&mut child).await, "still here\n");
    assert_eq!(exited(&mut child).await, How::Code(0));
}

#[tokio::test]
async fn dropping_a_child_kills_its_tree() {
    let mut child = sh("(setsid sleep 1000 & echo $!); echo $$; exec sleep 1000");
    let mut out = lines(&mut child);
    let pids = [line(&mut out).await, line(&mut out).await].map(|text| pid(&text));
    drop(child);
    until(GONE_WITHIN, "the tree is gone", || pids.iter().all(|pid| state(*pid).is_none())).await;
}

/// Plays a node in a process of its own, for the two tests below; without a role it passes at once.
#[tokio::test]
async fn play_a_node() {
    let Ok(role) = std::env::var("BATON_TEST_ROLE") else { return };
    sweep::adopt_orphans().unwrap();
    let mut child =
        sh("trap '' TERM HUP; (setsid sleep 1000 & echo tree $!); echo tree $$; while :; do sleep 9; done");
    let mut out = lines(&mut child);
    println!("\n{}\n{}", line(&mut out).await, line(&mut out).await);
    let warden = pid(&child.warden_id().unwrap().to_string());
    if role == "killed" {
        println!("tree {warden}");
        timeout(PATIENCE, child.exited()).await.expect("this node is killed");
    } else {
        // Another child must not be taken for an orphan.
        let mut other = sh("cat");
        kill_process(warden, Signal::KILL).unwrap();
        println!("end {:?}", exited(&mut child).await);
        other.stdin = None;
        println!("end {:?}", exited(&mut other).await);
    }
}

fn node(role: &str) -> tokio::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "warden::play_a_node", "--nocapture"])
        .env("BATON_TEST_ROLE", role)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// Reads what a node says until its last process has been named, or until it ends.
async fn say(node: &mut tokio::process::Child, trees: usize) -> (Vec<Pid>, Vec<String>) {
    let mut out = BufReader::new(node.stdout.take().unwrap()).lines();
    let (mut pids, mut ends) = (Vec::new(), Vec::new());
    while pids.len() < trees {
        let Some(text) = timeout(PATIENCE, out.next_line()).await.expect("the node speaks").unwrap() else {
            break;
        };
        pids.extend(text.strip_prefix("tree ").map(pid));
        ends.extend(text.strip_prefix("end ").map(String::from));
    }
    (pids, ends)
}

#[tokio::test]
async fn nothing_outlives_a_killed_node() {
    let mut node = node("killed");
    let (pids, _) = say(&mut node, 3).await;
    assert_eq!(pids.len(), 3);
    node.start_kill().unwrap();
    until(GONE_WITHIN, "the tree is gone", || pids.iter().all(|pid| state(*pid).is_none())).await;
    node.wait().await.unwrap();
}

#[tokio::test]
async fn a_killed_warden_leaves_nothing_behind() {
    let mut node = node("loses-a-warden");
    let (pids, ends) = say(&mut node, usize::MAX).await;
    assert_eq!(pids.len(), 2);
    assert_eq!(ends, ["WardenDied", "Code(0)"]);
    assert!(pids.iter().all(|pid| state(*pid).is_none()), "the tree is gone");
    node.wait().await.unwrap();
}

#[tokio::test]
async fn a_warden_by_hand_explains_itself() {
    let out = Command::new(env!("CARGO_BIN_EXE_baton"))
        .args(["warden", "--", "true"])
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("no command for people"));
}

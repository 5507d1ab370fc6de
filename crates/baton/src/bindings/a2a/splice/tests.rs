//! What is cut and put together is what would have been sent in one piece.

use baton_core::model::TaskStatus;
use baton_wire::response::{ListTasksResponse, encode};
use http_body_util::BodyExt as _;

use super::*;

fn artifact(id: &str, parts: Vec<Part>) -> Arc<Artifact> {
    Arc::new(Artifact { artifact_id: id.to_owned(), parts, ..Artifact::default() })
}

fn raw(bytes: usize) -> Part {
    let bytes: Vec<u8> = (0..bytes).map(|n| n.to_le_bytes()[0]).collect();
    let filename = Some("ü.bin".to_owned());
    Part { content: Content::Raw(Base64::encode(&bytes)), filename, ..Part::text("") }
}

fn task(artifacts: Vec<Arc<Artifact>>) -> TaskObject {
    TaskObject {
        id: "t".to_owned(),
        context_id: None,
        status: TaskStatus::default(),
        artifacts: Some(artifacts),
        history: Vec::new(),
        metadata: None,
    }
}

async fn sent(answer: Answer) -> Bytes {
    body(answer, encode).collect().await.unwrap().to_bytes()
}

#[tokio::test]
async fn a_large_answer_is_the_same_in_pieces() {
    let odd = "\u{0}\"\\\n😀ü".repeat(30_000);
    let text = Part::text(odd);
    let small = Part::text("small");
    let large = artifact("a", vec![raw(1_000_000), small.clone(), text, raw(10), raw(70_000)]);
    let mut other = task(vec![artifact("b", vec![small]), artifact("c", vec![raw(100_000)])]);
    other.id = "u".to_owned();
    let tasks = vec![task(vec![large, artifact("d", vec![])]), other];
    let page = || ListTasksResponse {
        tasks: tasks.clone(),
        next_page_token: String::new(),
        page_size: 50,
        total_size: 2,
    };
    assert!(sent(Answer::Page(page())).await == encode(&page()), "it is another text");
    for task in tasks {
        let whole = encode(&task);
        assert!(sent(Answer::Task(Box::new(task))).await == whole, "it is another text");
    }
}

#[tokio::test]
async fn what_was_cut_goes_out_a_piece_at_a_time() {
    let whole = task(vec![artifact("a", vec![raw(3_000_000)])]);
    let mut body = body(Answer::Task(Box::new(whole)), encode);
    let mut pieces = 0;
    while let Some(frame) = body.frame().await {
        assert!(frame.unwrap().into_data().unwrap().len() <= PIECE);
        pieces += 1;
    }
    assert!(pieces > 60, "{pieces}");
}

//! What is cut and put together is what would have been sent in one piece.

use baton_core::model::TaskStatus;
use baton_wire::grpc::{frame, v0_3, v1};
use baton_wire::response::{ListTasksResponse, encode};
use baton_wire::sse::Wrap;
use baton_wire::v03::Spelling;
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

/// Tasks with contents of every kind and length, in artifacts that are worth it and that are not.
fn tasks() -> Vec<TaskObject> {
    let odd = "\u{0}\"\\\n😀ü".repeat(30_000);
    let (text, small) = (Part::text(odd), Part::text("small"));
    let large = artifact("a", vec![raw(1_000_000), small.clone(), text, raw(10), raw(70_001)]);
    // As an agent's output comes in.
    let pieces = (0..100).map(|n| if n % 3 == 0 { raw(n * 100) } else { Part::text("ü".repeat(n * 100)) });
    let pieces = artifact("p", pieces.collect());
    let mut other = task(vec![artifact("b", vec![small]), pieces, artifact("c", vec![raw(100_000)])]);
    other.id = "u".to_owned();
    vec![task(vec![large, artifact("d", vec![])]), other]
}

/// What is sent, put together, and whether it was in one piece.
fn together(spliced: Spliced) -> (Vec<u8>, bool) {
    let (first, rest) = spliced.begin();
    let whole = rest.is_none();
    (rest.into_iter().flatten().fold(first.to_vec(), |all, piece| [&all[..], &piece[..]].concat()), whole)
}

async fn sent(answer: Answer) -> Bytes {
    body(answer, encode).collect().await.unwrap().to_bytes()
}

#[tokio::test]
async fn a_large_answer_is_the_same_in_pieces() {
    let page =
        || ListTasksResponse { tasks: tasks(), next_page_token: String::new(), page_size: 50, total_size: 2 };
    assert!(sent(Answer::Page(page())).await == encode(&page()), "it is another text");
    for task in tasks() {
        let whole = encode(&task);
        assert!(sent(Answer::Task(Box::new(task))).await == whole, "it is another text");
    }
}

#[test]
fn a_large_message_is_the_same_in_pieces() {
    let v1 = |task: &TaskObject| frame::write(&v1::pb::Task::from(task));
    let v0_3 = |task: &TaskObject| frame::write(&v0_3::task(task));
    let writers: [&dyn Fn(&TaskObject) -> Bytes; 2] = [&v1, &v0_3];
    for write in writers {
        for task in tasks() {
            let whole = write(&task);
            let spell = |answer: &Answer| {
                let Answer::Task(task) = answer else { panic!("no task") };
                write(task)
            };
            let sent = together(answer(Answer::Task(Box::new(task)), Form::Frame, spell));
            assert!(sent == (whole.to_vec(), false), "it is another message");
        }
    }
    let page = ListTasksResponse { tasks: tasks(), next_page_token: "n".into(), page_size: 2, total_size: 2 };
    let whole = frame::write(&v1::pb::ListTasksResponse::from(&page));
    let spell = |answer: &Answer| {
        let Answer::Page(page) = answer else { panic!("no page") };
        frame::write(&v1::pb::ListTasksResponse::from(page))
    };
    assert!(together(answer(Answer::Page(page), Form::Frame, spell)) == (whole.to_vec(), false));
}

#[test]
fn a_large_first_item_is_the_same_in_pieces() {
    for task in tasks() {
        let first = StreamResponse::Task(task);
        for wrap in [Wrap::Bare, Wrap::BareV03(Spelling::Rest)] {
            let whole = wrap.item(7, &first, true);
            let sent = together(item(first.clone(), Form::Json, |item| wrap.item(7, item, true)));
            assert!(sent == (whole.to_vec(), false), "it is another event");
        }
        let write = |item: &StreamResponse| frame::write(&v1::stream_item(7, item));
        let whole = write(&first);
        assert!(together(item(first, Form::Frame, write)) == (whole.to_vec(), false));
    }
}

#[test]
fn what_is_small_is_sent_in_one_piece() {
    let small = StreamResponse::Task(task(vec![artifact("a", vec![raw(30_000)])]));
    let whole = encode(&small);
    assert_eq!(together(item(small, Form::Json, encode)), (whole.to_vec(), true));
}

#[tokio::test]
async fn what_was_cut_goes_out_a_piece_at_a_time() {
    let whole = || task(vec![artifact("a", vec![raw(3_000_000)])]);
    let mut body = body(Answer::Task(Box::new(whole())), encode);
    let mut pieces = 0;
    while let Some(frame) = body.frame().await {
        assert!(frame.unwrap().into_data().unwrap().len() <= PIECE);
        pieces += 1;
    }
    assert!(pieces > 60, "{pieces}");

    let write = |item: &StreamResponse| frame::write(&v1::stream_item(1, item));
    let Spliced::Pieces(pieces) = item(StreamResponse::Task(whole()), Form::Frame, write) else {
        panic!("it is in one piece")
    };
    let pieces: Vec<_> = pieces.map(|piece| piece.len()).collect();
    assert!(pieces.len() > 45 && pieces.iter().all(|len| *len <= PIECE + 3), "{pieces:?}");
}

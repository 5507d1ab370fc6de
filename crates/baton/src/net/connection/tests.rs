//! The first bytes of a connection, however they arrive.

use tokio::io::AsyncWriteExt as _;

use super::*;

/// The version that `pieces` speak, each arriving by itself, and all that is read then.
async fn begun(pieces: &[&[u8]]) -> (Version, Vec<u8>) {
    let (mut near, far) = tokio::io::duplex(1_024);
    let reading = tokio::spawn(async move {
        let (mut io, version) = begin(far).await.unwrap();
        let mut all = Vec::new();
        io.read_to_end(&mut all).await.unwrap();
        (version, all)
    });
    for piece in pieces {
        near.write_all(piece).await.unwrap();
        tokio::task::yield_now().await;
    }
    drop(near);
    reading.await.unwrap()
}

#[tokio::test]
async fn either_version_loses_no_byte() {
    let (head, rest) = (&PREFACE[..], b"settings and so on".as_slice());
    let both = [head, rest].concat();
    for pieces in [vec![both.as_slice()], vec![head, rest], vec![&head[..1], &head[1..20], &both[20..]]] {
        assert_eq!(begun(&pieces).await, (Version::Http2, both.clone()));
    }
    for request in
        [b"GET / HTTP/1.1\r\n\r\n".as_slice(), b"PRI", b"P", b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r!"]
    {
        let (version, read) = begun(&[request]).await;
        assert_eq!((version, read.as_slice()), (Version::Http1, request));
    }
    let slow: Vec<&[u8]> = b"POST /a2a/echo HTTP/1.1\r\nhost: a\r\n\r\n".chunks(1).collect();
    assert_eq!(begun(&slow).await, (Version::Http1, slow.concat()));
}

#[tokio::test]
async fn the_first_read_has_what_follows_too() {
    let (mut near, far) = tokio::io::duplex(1_024);
    near.write_all(b"POST /a2a/echo HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let (mut io, _) = begin(far).await.unwrap();
    let mut buffer = [0; 1_024];
    assert_eq!(io.read(&mut buffer).await.unwrap(), 36);
}

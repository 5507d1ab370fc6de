//! Method names and REST paths.

use std::fmt::Write as _;

use baton_wire::fault::Kind;
use baton_wire::operation::{Operation, Route};
use baton_wire::v03;
use baton_wire::version::Version;
use http::Method;

#[test]
fn method_names() {
    for operation in Operation::ALL {
        for asked in [None, Some(Version::V1_0)] {
            let found = Operation::from_method(asked, operation.method());
            assert_eq!(found, Ok((operation, Version::V1_0)));
        }
        for asked in [None, Some(Version::V0_3)] {
            let found = Operation::from_method(asked, v03::method(operation));
            assert_eq!(found, Ok((operation, Version::V0_3)));
        }
    }
    for name in ["sendMessage", "A2AService/SendMessage", "message/sent", ""] {
        for asked in [None, Some(Version::V1_0), Some(Version::V0_3)] {
            assert_eq!(Operation::from_method(asked, name).unwrap_err().kind, Kind::MethodNotFound, "{name}");
        }
    }
}

#[test]
fn a_method_of_the_other_version_is_named() {
    for (asked, name, wanted) in [
        (
            Version::V1_0,
            "message/send",
            "Method not found: the request asks for A2A 1.0, where 'message/send' is called 'SendMessage'",
        ),
        (
            Version::V0_3,
            "SubscribeToTask",
            "Method not found: the request asks for A2A 0.3, where 'SubscribeToTask' is called 'tasks/resubscribe'",
        ),
    ] {
        let fault = Operation::from_method(Some(asked), name).unwrap_err();
        assert_eq!((fault.kind, &*fault.message()), (Kind::MethodNotFound, wanted));
    }
}

#[test]
fn every_path_with_every_method() {
    let paths = [
        "message:send",
        "/message:stream",
        "message%3Asend",
        "tasks",
        "tasks/7",
        "tasks/a%2Fb%20%C3%BC",
        "tasks/a:b",
        "tasks/7:cancel",
        "tasks/7:subscribe",
        "tasks/7/pushNotificationConfigs",
        "tasks/7/pushNotificationConfigs/c%3A1",
        "extendedAgentCard",
        "echo/message:send",
        "echo/tasks",
        "echo/tasks/7",
        "echo/tasks/7:cancel",
        "echo/tasks/7/pushNotificationConfigs",
        "echo/tasks/7/pushNotificationConfigs/c",
        "my%20tenant/extendedAgentCard",
        "tasks/tasks",
        "v1/message:send",
        "/v1/message:stream",
        "v1/card",
        "v1/tasks",
        "v1/tasks/7",
        "v1/tasks/7:cancel",
        "v1/tasks/7:subscribe",
        "v1/tasks/7/pushNotificationConfigs",
        "v1/tasks/7/pushNotificationConfigs/c",
    ];
    let mut out = String::new();
    for path in paths {
        for method in [Method::GET, Method::POST, Method::DELETE, Method::PUT] {
            let found = match Route::parse(&method, path) {
                Ok(Route { version, operation, tenant, task_id, config_id }) => {
                    format!("{version} {operation:?} {tenant:?} {task_id:?} {config_id:?}")
                }
                Err(fault) => format!("{:?}, allow {}", fault.kind, fault.allow.unwrap_or("nothing")),
            };
            writeln!(out, "{method:<6} {path}\n       {found}").unwrap();
        }
    }
    insta::assert_snapshot!(out);
}

#[test]
fn paths_that_are_nowhere() {
    for path in [
        "",
        "/",
        "message",
        "message:sent",
        "Tasks",
        "tasks/",
        "tasks//",
        "tasks/:cancel",
        "tasks/7/",
        "tasks/7:cancel/x",
        "tasks/7/pushNotificationConfigs/",
        "tasks/7/pushNotificationConfigs/c/d",
        "a/b/tasks",
        "/echo//tasks",
        "//tasks",
        "tasks/%zz",
        "tasks/%f",
        "tasks/%ff",
        "extendedAgentCard/",
        "card",
        "v1",
        "v1/",
        "v1/extendedAgentCard",
        "v1/echo/tasks",
        "echo/v1/tasks",
    ] {
        let fault = Route::parse(&Method::GET, path).unwrap_err();
        assert_eq!((fault.kind, fault.allow), (Kind::UnknownPath, None), "{path}");
    }
}

#[test]
fn the_version_that_is_asked_for_decides() {
    let route = |path| Route::parse(&Method::GET, path).unwrap();
    for (path, version, other) in
        [("tasks/7", Version::V1_0, Version::V0_3), ("v1/tasks/7", Version::V0_3, Version::V1_0)]
    {
        assert_eq!(route(path).asked(None).unwrap().version, version);
        assert_eq!(route(path).asked(Some(version)).unwrap().version, version);
        let fault = route(path).asked(Some(other)).unwrap_err();
        assert_eq!(fault.kind, Kind::UnknownPath);
        assert!(fault.message().contains(other.as_str()), "{fault}");
    }
}

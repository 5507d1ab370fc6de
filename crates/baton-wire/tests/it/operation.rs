//! Method names and REST paths.

use std::fmt::Write as _;

use baton_wire::fault::Kind;
use baton_wire::operation::{Operation, Route};
use http::Method;

#[test]
fn method_names() {
    for operation in Operation::ALL {
        assert_eq!(Operation::from_method(operation.method()), Ok(operation));
    }
    for (name, kind) in [
        ("message/send", Kind::VersionNotSupported),
        ("tasks/resubscribe", Kind::VersionNotSupported),
        ("agent/getAuthenticatedExtendedCard", Kind::VersionNotSupported),
        ("sendMessage", Kind::MethodNotFound),
        ("A2AService/SendMessage", Kind::MethodNotFound),
        ("", Kind::MethodNotFound),
    ] {
        assert_eq!(Operation::from_method(name).unwrap_err().kind, kind, "{name}");
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
    ];
    let mut out = String::new();
    for path in paths {
        for method in [Method::GET, Method::POST, Method::DELETE, Method::PUT] {
            let found = match Route::parse(&method, path) {
                Ok(Route { operation, tenant, task_id, config_id }) => {
                    format!("{operation:?} {tenant:?} {task_id:?} {config_id:?}")
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
    ] {
        let fault = Route::parse(&Method::GET, path).unwrap_err();
        assert_eq!((fault.kind, fault.allow), (Kind::UnknownPath, None), "{path}");
    }
}

#[test]
fn the_paths_of_0_3_are_another_version() {
    for path in ["v1/message:send", "/v1/tasks/7", "v1/card"] {
        assert_eq!(Route::parse(&Method::GET, path).unwrap_err().kind, Kind::VersionNotSupported);
    }
}

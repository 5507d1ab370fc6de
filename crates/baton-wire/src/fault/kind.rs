//! The fault table: for each kind of refusal its HTTP status, JSON-RPC code, gRPC code, ErrorInfo reason and text.

use http::StatusCode;

/// Every kind of refusal there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    // The nine of A2A (§3.3.2).
    TaskNotFound,
    TaskNotCancelable,
    PushNotificationNotSupported,
    UnsupportedOperation,
    ContentTypeNotSupported,
    InvalidAgentResponse,
    ExtendedAgentCardNotConfigured,
    ExtensionSupportRequired,
    VersionNotSupported,
    // The five of JSON-RPC (§9.5).
    Parse,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    Internal,
    // Ours.
    UnknownPath,
    MethodNotAllowed,
    Unauthenticated,
    PermissionDenied,
    GrantPaused,
    TooLarge,
    EncodingNotSupported,
    RateLimited,
    QuotaExceeded,
    Conflict,
    Unavailable,
}

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub http: StatusCode,
    pub code: i32,
    pub grpc: GrpcCode,
    pub reason: &'static str,
    pub domain: &'static str,
    pub text: &'static str,
}

/// `google.rpc.Code`, as far as it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrpcCode {
    InvalidArgument = 3,
    NotFound = 5,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    Unauthenticated = 16,
}

const A2A: &str = "a2a-protocol.org";
const BATON: &str = "baton";

impl Kind {
    pub const ALL: [Self; 25] = [
        Self::TaskNotFound,
        Self::TaskNotCancelable,
        Self::PushNotificationNotSupported,
        Self::UnsupportedOperation,
        Self::ContentTypeNotSupported,
        Self::InvalidAgentResponse,
        Self::ExtendedAgentCardNotConfigured,
        Self::ExtensionSupportRequired,
        Self::VersionNotSupported,
        Self::Parse,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::Internal,
        Self::UnknownPath,
        Self::MethodNotAllowed,
        Self::Unauthenticated,
        Self::PermissionDenied,
        Self::GrantPaused,
        Self::TooLarge,
        Self::EncodingNotSupported,
        Self::RateLimited,
        Self::QuotaExceeded,
        Self::Conflict,
        Self::Unavailable,
    ];

    /// This kind's line of the table. The nine of A2A are those of §5.4.
    #[expect(clippy::too_many_lines, reason = "one flat table")]
    pub const fn row(self) -> Row {
        use GrpcCode as G;
        use StatusCode as S;
        match self {
            Self::TaskNotFound => {
                row(S::NOT_FOUND, -32001, G::NotFound, "TASK_NOT_FOUND", A2A, "Task not found")
            }
            Self::TaskNotCancelable => row(
                S::BAD_REQUEST,
                -32002,
                G::FailedPrecondition,
                "TASK_NOT_CANCELABLE",
                A2A,
                "Task cannot be canceled: it has ended",
            ),
            Self::PushNotificationNotSupported => row(
                S::BAD_REQUEST,
                -32003,
                G::FailedPrecondition,
                "PUSH_NOTIFICATION_NOT_SUPPORTED",
                A2A,
                "Push notifications are not supported",
            ),
            Self::UnsupportedOperation => row(
                S::BAD_REQUEST,
                -32004,
                G::FailedPrecondition,
                "UNSUPPORTED_OPERATION",
                A2A,
                "This operation is not supported",
            ),
            Self::ContentTypeNotSupported => row(
                S::BAD_REQUEST,
                -32005,
                G::InvalidArgument,
                "CONTENT_TYPE_NOT_SUPPORTED",
                A2A,
                "Content type not supported",
            ),
            Self::InvalidAgentResponse => row(
                S::INTERNAL_SERVER_ERROR,
                -32006,
                G::Internal,
                "INVALID_AGENT_RESPONSE",
                A2A,
                "The agent gave an invalid response",
            ),
            Self::ExtendedAgentCardNotConfigured => row(
                S::BAD_REQUEST,
                -32007,
                G::FailedPrecondition,
                "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
                A2A,
                "No extended agent card is configured",
            ),
            Self::ExtensionSupportRequired => row(
                S::BAD_REQUEST,
                -32008,
                G::FailedPrecondition,
                "EXTENSION_SUPPORT_REQUIRED",
                A2A,
                "The agent requires an extension that the request does not name in A2A-Extensions",
            ),
            Self::VersionNotSupported => row(
                S::BAD_REQUEST,
                -32009,
                G::FailedPrecondition,
                "VERSION_NOT_SUPPORTED",
                A2A,
                "This A2A version is not supported",
            ),
            Self::Parse => {
                row(S::BAD_REQUEST, -32700, G::InvalidArgument, "PARSE_ERROR", A2A, "Invalid JSON payload")
            }
            Self::InvalidRequest => row(
                S::BAD_REQUEST,
                -32600,
                G::InvalidArgument,
                "INVALID_REQUEST",
                A2A,
                "Request payload validation error",
            ),
            Self::MethodNotFound => {
                row(S::NOT_FOUND, -32601, G::Unimplemented, "METHOD_NOT_FOUND", A2A, "Method not found")
            }
            Self::InvalidParams => {
                row(S::BAD_REQUEST, -32602, G::InvalidArgument, "INVALID_PARAMS", A2A, "Invalid parameters")
            }
            Self::Internal => {
                row(S::INTERNAL_SERVER_ERROR, -32603, G::Internal, "INTERNAL_ERROR", A2A, "Internal error")
            }
            Self::UnknownPath => {
                row(S::NOT_FOUND, -32000, G::NotFound, "UNKNOWN_PATH", BATON, "There is nothing at this path")
            }
            Self::MethodNotAllowed => row(
                S::METHOD_NOT_ALLOWED,
                -32000,
                G::Unimplemented,
                "METHOD_NOT_ALLOWED",
                BATON,
                "This path does not take this HTTP method",
            ),
            Self::Unauthenticated => row(
                S::UNAUTHORIZED,
                -32000,
                G::Unauthenticated,
                "UNAUTHENTICATED",
                BATON,
                "Valid credentials are required",
            ),
            Self::PermissionDenied => row(
                S::FORBIDDEN,
                -32000,
                G::PermissionDenied,
                "PERMISSION_DENIED",
                BATON,
                "These credentials do not allow this",
            ),
            Self::GrantPaused => row(
                S::FORBIDDEN,
                -32000,
                G::PermissionDenied,
                "GRANT_PAUSED",
                BATON,
                "The operator has paused this grant: its token is still good, and works again when the grant is resumed",
            ),
            Self::TooLarge => row(
                S::PAYLOAD_TOO_LARGE,
                -32000,
                G::ResourceExhausted,
                "TOO_LARGE",
                BATON,
                "The request is too large",
            ),
            Self::EncodingNotSupported => row(
                S::UNSUPPORTED_MEDIA_TYPE,
                -32000,
                G::Unimplemented,
                "ENCODING_NOT_SUPPORTED",
                BATON,
                "Compressed messages are not taken: send them as they are",
            ),
            Self::RateLimited => row(
                S::TOO_MANY_REQUESTS,
                -32000,
                G::ResourceExhausted,
                "RATE_LIMITED",
                BATON,
                "Too many requests: try again later",
            ),
            Self::QuotaExceeded => row(
                S::TOO_MANY_REQUESTS,
                -32000,
                G::ResourceExhausted,
                "QUOTA_EXCEEDED",
                BATON,
                "The grant has as many tasks as it may have",
            ),
            Self::Conflict => row(
                S::CONFLICT,
                -32000,
                G::Aborted,
                "CONFLICT",
                BATON,
                "The task does not stand as the request presumes",
            ),
            Self::Unavailable => row(
                S::SERVICE_UNAVAILABLE,
                -32000,
                G::Unavailable,
                "UNAVAILABLE",
                BATON,
                "Not taking new work at the moment: try again later",
            ),
        }
    }

    /// JSON-RPC answers with HTTP 200, but for what stands in front of the protocol: credentials, limits, drain and
    /// what is not JSON-RPC at all.
    pub(super) const fn jsonrpc_http_status(self) -> StatusCode {
        match self {
            Self::UnknownPath
            | Self::MethodNotAllowed
            | Self::Unauthenticated
            | Self::PermissionDenied
            | Self::GrantPaused
            | Self::TooLarge
            | Self::EncodingNotSupported
            | Self::RateLimited
            | Self::QuotaExceeded
            | Self::Conflict
            | Self::Unavailable => self.row().http,
            Self::TaskNotFound
            | Self::TaskNotCancelable
            | Self::PushNotificationNotSupported
            | Self::UnsupportedOperation
            | Self::ContentTypeNotSupported
            | Self::InvalidAgentResponse
            | Self::ExtendedAgentCardNotConfigured
            | Self::ExtensionSupportRequired
            | Self::VersionNotSupported
            | Self::Parse
            | Self::InvalidRequest
            | Self::MethodNotFound
            | Self::InvalidParams
            | Self::Internal => StatusCode::OK,
        }
    }

    /// By the reason of an ErrorInfo.
    pub fn from_reason(reason: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.row().reason == reason)
    }

    /// By a JSON-RPC code of A2A or of JSON-RPC; what is ours shares one code and is told apart by its reason.
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.row().code == code && code != -32000)
    }
}

#[expect(clippy::too_many_arguments, reason = "the columns of one line of the table")]
const fn row(
    http: StatusCode,
    code: i32,
    grpc: GrpcCode,
    reason: &'static str,
    domain: &'static str,
    text: &'static str,
) -> Row {
    Row { http, code, grpc, reason, domain, text }
}

impl GrpcCode {
    /// The name in `google.rpc.Code`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::NotFound => "NOT_FOUND",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Aborted => "ABORTED",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::Unauthenticated => "UNAUTHENTICATED",
        }
    }

    /// The number in `google.rpc.Code`, which is gRPC's.
    pub const fn number(self) -> i32 {
        self as i32
    }
}

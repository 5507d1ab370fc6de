//! What of a node an access token is for, and the door that it is brought to (RFC 8707).
//!
//! A token that a client got is for one resource. Another door of the node refuses it: whoever was given a token for one
//! agent, and whoever stole it there, has nothing to show elsewhere.

use baton_core::ident::AgentName;

/// Where MCP is served, below the node's own URL.
pub const MCP: &str = "/mcp";

const AGENTS: &str = "/a2a/";

/// What a token is for. It is stored as a path below the node's own URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Every door.
    Node,
    /// The MCP server.
    Mcp,
    /// The A2A doors of one agent.
    Agent(AgentName),
}

/// Where a token is brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door<'a> {
    Mcp,
    Agent(&'a AgentName),
    /// The A2A doors, before it is known of which agent: to be asked again then.
    SomeAgent,
    /// Work over HTTP, for all agents of a grant.
    Work,
}

impl Resource {
    /// What stands behind the node's own URL; a slash at the end does not count.
    pub fn parse(path: &str) -> Option<Self> {
        let path = path.strip_suffix('/').unwrap_or(path);
        match path {
            "" => Some(Self::Node),
            MCP => Some(Self::Mcp),
            _ => AgentName::parse(path.strip_prefix(AGENTS)?).ok().map(Self::Agent),
        }
    }

    /// The path below the node's own URL.
    pub fn path(&self) -> String {
        match self {
            Self::Node => String::new(),
            Self::Mcp => MCP.to_owned(),
            Self::Agent(agent) => format!("{AGENTS}{agent}"),
        }
    }

    /// Whether a token for this may be brought there.
    pub fn opens(&self, door: Door<'_>) -> bool {
        match (self, door) {
            (Self::Node, _) | (Self::Mcp, Door::Mcp) | (Self::Agent(_), Door::SomeAgent) => true,
            (Self::Agent(agent), Door::Agent(at)) => agent == at,
            (Self::Mcp, Door::Agent(_) | Door::SomeAgent | Door::Work)
            | (Self::Agent(_), Door::Mcp | Door::Work) => false,
        }
    }

    /// Whether a token for `other` is for no more than this.
    pub fn covers(&self, other: &Self) -> bool {
        *self == Self::Node || self == other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str) -> AgentName {
        AgentName::parse(name).unwrap()
    }

    #[test]
    fn read_and_spelled() {
        for (path, resource) in
            [("", Resource::Node), ("/mcp", Resource::Mcp), ("/a2a/echo", Resource::Agent(agent("echo")))]
        {
            assert_eq!(Resource::parse(path).as_ref(), Some(&resource), "{path}");
            assert_eq!(Resource::parse(&format!("{path}/")).as_ref(), Some(&resource), "{path}/");
            assert_eq!(resource.path(), path);
        }
        for path in [
            "/mcp2",
            "mcp",
            "/MCP",
            "//",
            "/a2a",
            "/a2a/",
            "/a2a/Echo",
            "/a2a/mcp",
            "/a2a/echo/x",
            "/mcp/x",
            "/console",
            "/api/v1",
        ] {
            assert_eq!(Resource::parse(path), None, "{path}");
        }
    }

    /// No token is good where it was not meant for: the whole table.
    #[test]
    fn a_token_opens_the_door_that_it_is_for() {
        let (echo, other) = (agent("echo"), agent("other"));
        let doors = [Door::Mcp, Door::Agent(&echo), Door::Agent(&other), Door::SomeAgent, Door::Work];
        for (resource, opens) in [
            (Resource::Node, [true, true, true, true, true]),
            (Resource::Mcp, [true, false, false, false, false]),
            (Resource::Agent(echo.clone()), [false, true, false, true, false]),
            (Resource::Agent(other.clone()), [false, false, true, true, false]),
        ] {
            assert_eq!(doors.map(|door| resource.opens(door)), opens, "{resource:?}");
        }
        assert!(Resource::Node.covers(&Resource::Mcp) && Resource::Mcp.covers(&Resource::Mcp));
        assert!(!Resource::Mcp.covers(&Resource::Node) && !Resource::Mcp.covers(&Resource::Agent(echo)));
    }
}

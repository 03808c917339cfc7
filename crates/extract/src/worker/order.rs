//! The order that the parent passes to the worker as a command line argument.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use crate::Limits;
use crate::format::Kind;

/// The prefix of the argument that is the order.
const MARK: &str = "resemble-extract:";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Task {
    Read(Kind),
    /// The worker executes the command in the arguments after the order.
    Convert,
    /// The worker reads nothing, and reports its isolation.
    Probe,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) task: Task,
    pub(crate) limits: Limits,
    /// The parent's process id.
    pub(crate) parent: u32,
    /// The numbers of the readers that crashed in earlier runs.
    pub(crate) leave_out: Vec<u32>,
    /// The endings of the names of members that converters read. The parent runs the converters.
    pub(crate) not_these: Vec<String>,
}

impl Order {
    /// Returns the order as one argument.
    pub(crate) fn to_arg(&self) -> String {
        // Numbers and texts can always be serialised, so the default is never used.
        format!("{MARK}{}", serde_json::to_string(self).unwrap_or_default())
    }

    /// Finds the order among the arguments of this process. Returns the order and the arguments
    /// after it.
    pub(crate) fn from_args(
        args: impl Iterator<Item = OsString>,
    ) -> Result<(Self, Vec<OsString>), String> {
        let mut args = args.skip_while(|arg| !arg.to_string_lossy().starts_with(MARK));
        let order = args
            .next()
            .and_then(|arg| Self::from_arg(arg.to_str()?))
            .ok_or("this is run by resemble itself, to read documents")?;
        Ok((order, args.collect()))
    }

    /// Parses an order that [`Self::to_arg`] wrote.
    pub(crate) fn from_arg(arg: &str) -> Option<Self> {
        serde_json::from_str(arg.strip_prefix(MARK)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn orders_come_back_as_they_were() {
        for (task, leave_out) in [
            (Task::Convert, vec![]),
            (Task::Probe, vec![]),
            (Task::Read(Kind::Pdf), vec![1, 7]),
        ] {
            let order = Order {
                task,
                limits: Limits {
                    depth: 9,
                    time: Duration::from_millis(1234),
                    ..Limits::default()
                },
                parent: 77,
                leave_out,
                not_these: vec!["doc".to_owned(), "a:b".to_owned()],
            };
            let args = ["resemble", "--hidden", &order.to_arg(), "antiword", "-"];
            let (back, command) = Order::from_args(args.iter().map(OsString::from)).unwrap();
            assert_eq!(back, order);
            assert_eq!(command, ["antiword", "-"]);
        }
        assert!(Order::from_args(["x".into()].into_iter()).is_err());
        assert!(Order::from_arg("resemble-extract:{}").is_none());
        assert!(Order::from_arg("{}").is_none());
    }
}

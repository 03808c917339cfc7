//! What the parent tells the worker on its command line.

use std::ffi::OsString;
use std::time::Duration;

use crate::format::Kind;
use crate::{Format, Limits};

/// The argument that holds the order begins so.
const MARK: &str = "resemble-extract:";

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Read(Kind),
    /// Become the command that follows.
    Convert,
    /// Read nothing, and say which fences are up.
    Probe,
}

/// An order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) task: Task,
    pub(crate) limits: Limits,
    /// The parent's process id.
    pub(crate) parent: u32,
    /// Readers that crashed before, by their number.
    pub(crate) leave_out: Vec<u32>,
    /// Endings of names of members that the parent sees to.
    pub(crate) not_these: Vec<String>,
}

impl Order {
    /// The order as one argument.
    pub(crate) fn to_arg(&self) -> String {
        let format = match self.task {
            Task::Convert => "convert".to_owned(),
            Task::Probe => "probe".to_owned(),
            Task::Read(kind) => Format::read(kind).number().to_string(),
        };
        let limits = &self.limits;
        let leave_out: Vec<String> = self.leave_out.iter().map(u32::to_string).collect();
        format!(
            "{MARK}{format}:{}:{}:{}:{}:{}:{}:{}:{}:{}",
            self.parent,
            limits.depth,
            limits.ratio,
            limits.bytes,
            limits.parts,
            limits.time.as_millis(),
            limits.memory,
            leave_out.join(","),
            self.not_these.join("/")
        )
    }

    /// The order among the arguments of this process, and what follows it.
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

    /// What [`Self::to_arg`] made of an order.
    pub(crate) fn from_arg(arg: &str) -> Option<Self> {
        Self::parse(arg.strip_prefix(MARK)?)
    }

    fn parse(order: &str) -> Option<Self> {
        let fields: Vec<&str> = order.splitn(10, ':').collect();
        let [
            format,
            parent,
            depth,
            ratio,
            bytes,
            parts,
            time,
            memory,
            leave_out,
            not_these,
        ] = fields[..]
        else {
            return None;
        };
        let task = match format {
            "convert" => Task::Convert,
            "probe" => Task::Probe,
            number => Task::Read(Format::of_number(number.parse().ok()?).kind()?),
        };
        let leave_out = leave_out
            .split(',')
            .filter(|item| !item.is_empty())
            .map(|item| item.parse().ok())
            .collect::<Option<_>>()?;
        Some(Self {
            task,
            parent: parent.parse().ok()?,
            limits: Limits {
                depth: depth.parse().ok()?,
                ratio: ratio.parse().ok()?,
                bytes: bytes.parse().ok()?,
                parts: parts.parse().ok()?,
                time: Duration::from_millis(time.parse().ok()?),
                memory: memory.parse().ok()?,
            },
            leave_out,
            not_these: not_these
                .split('/')
                .filter(|ending| !ending.is_empty())
                .map(str::to_owned)
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
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
        assert!(Order::parse("0:1:2").is_none());
        assert!(Order::parse("99:1:1:1:1:1:1:1::").is_none());
    }
}

//! Shows a notification on the desktop, by one method call on the session bus.
//!
//! Every notification opens a connection of its own. So a bus or a notification service that was
//! restarted needs no special treatment. No other module uses the `zbus` crate.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use zbus::blocking::connection::Builder;
use zbus::zvariant::Value;

/// The longest time that the notification service may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The timeout with which the service itself chooses how long it shows a notification.
const AS_LONG_AS_USUAL: i32 = -1;
const SERVICE: &str = "org.freedesktop.Notifications";

/// Shows a notification with this title and this plain text, by `Notify` of the Desktop
/// Notifications Specification (1.2, section 9).
///
/// # Errors
///
/// Fails if there is no session bus, or no service on it that shows notifications. Also fails after
/// 10 seconds without an answer.
pub(super) fn notify(title: &str, text: &str) -> io::Result<()> {
    let bus = Builder::session()
        .and_then(|bus| bus.method_timeout(PATIENCE).build())
        .map_err(|error| io::Error::other(format!("no session bus: {error}")))?;
    let (replaces, icon) = (0_u32, "");
    let actions: [&str; 0] = [];
    let hints: HashMap<&str, Value<'_>> = HashMap::new();
    let body = escaped(text);
    bus.call_method(
        Some(SERVICE),
        "/org/freedesktop/Notifications",
        Some(SERVICE),
        "Notify",
        &(
            "resemble",
            replaces,
            icon,
            title,
            body.as_str(),
            &actions[..],
            hints,
            AS_LONG_AS_USUAL,
        ),
    )
    .map_err(|error| io::Error::other(format!("the notification was not shown: {error}")))?;
    Ok(())
}

/// Escapes text for the body of a notification, because that body is markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_markup() {
        assert_eq!(escaped("<b>&</b>"), "&lt;b&gt;&amp;&lt;/b&gt;");
    }
}

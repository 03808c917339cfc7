//! Limits the number and the bytes of connections whose requests are incomplete.
//!
//! A connection that has sent nothing, or half of a request, costs a descriptor and memory. The
//! number of connections and the number of their bytes are limited, for all clients together.
//! Beyond a limit, **a connection of the process that uses most is closed**. If there are too many
//! connections, the process with most connections loses its oldest connection. If the requests have
//! too many bytes, the process with most bytes loses its largest request. So an attacker obstructs
//! itself, and other clients are not rejected. The kernel reports which process has connected. In
//! system mode, accounts of users are counted instead of processes, because a user can start any
//! number of processes.
//!
//! The bytes of a complete request count until it is answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The bytes of requests up to this size are not counted. The number of connections limits them.
const SMALL: usize = 64 << 10;

/// The limits and the present connections.
#[derive(Debug)]
pub(super) struct Admission {
    connections: usize,
    bytes: usize,
    guests: Mutex<Guests>,
}

#[derive(Debug, Default)]
struct Guests {
    next: u64,
    all: BTreeMap<u64, AdmittedPeer>,
}

/// A connection that was admitted.
#[derive(Debug)]
struct AdmittedPeer {
    one: i64,
    bytes: usize,
    /// Signals that the connection must close; `None` when its request is complete.
    sent_away: Option<oneshot::Sender<()>>,
}

/// The place of one connection in [`Guests`]. Dropping this value frees the place.
#[derive(Debug)]
pub(super) struct Place {
    room: Arc<Admission>,
    number: u64,
    one: i64,
    sent_away: oneshot::Receiver<()>,
}

/// The error if this connection is closed. Either another connection needed the room, or this
/// request exceeds the limit of bytes and no other process has more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoRoom;

impl Admission {
    /// Limits the number of incomplete requests, and the bytes of all requests together.
    pub(super) fn new(connections: usize, bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            connections: connections.max(1),
            bytes,
            guests: Mutex::default(),
        })
    }

    /// Admits a connection of this process (or user account). If the limit is reached, another
    /// connection is closed to make room.
    pub(super) fn enter(self: &Arc<Self>, one: i64) -> Place {
        let mut guests = self.guests.lock();
        while guests.unfinished().count() >= self.connections {
            let Some(number) = guests.oldest_of_the_most() else {
                break;
            };
            guests.send_away(number);
        }
        let number = guests.next;
        guests.next += 1;
        let (tell, sent_away) = oneshot::channel();
        let guest = AdmittedPeer {
            one,
            bytes: 0,
            sent_away: Some(tell),
        };
        guests.all.insert(number, guest);
        Place {
            room: Arc::clone(self),
            number,
            one,
            sent_away,
        }
    }
}

impl Guests {
    fn unfinished(&self) -> impl Iterator<Item = (u64, &AdmittedPeer)> {
        let all = self.all.iter().map(|(number, guest)| (*number, guest));
        all.filter(|(_, guest)| guest.sent_away.is_some())
    }

    /// Returns, for each process or account, the number of its incomplete requests and their bytes.
    fn by_one(&self) -> BTreeMap<i64, (usize, usize)> {
        let mut all = BTreeMap::new();
        for (_, guest) in self.unfinished() {
            let (count, bytes) = all.entry(guest.one).or_insert((0, 0));
            *count += 1;
            *bytes += guest.bytes;
        }
        all
    }

    fn oldest_of_the_most(&self) -> Option<u64> {
        let ones = self.by_one();
        let most = ones.values().map(|(count, _)| *count).max()?;
        self.unfinished()
            .find(|(_, guest)| ones[&guest.one].0 == most)
            .map(|(number, _)| number)
    }

    /// Returns the largest incomplete request of the process that has most bytes. `None` if that
    /// process does not have more than `bytes`.
    fn largest(&self, bytes: usize) -> Option<u64> {
        let ones = self.by_one();
        let (one, (_, most)) = ones.into_iter().max_by_key(|(_, (_, held))| *held)?;
        let of_it = self.unfinished().filter(|(_, it)| it.one == one);
        let largest = of_it.max_by_key(|(_, guest)| guest.bytes)?;
        (most > bytes).then_some(largest.0)
    }

    fn send_away(&mut self, number: u64) {
        if let Some(tell) = self.all.remove(&number).and_then(|guest| guest.sent_away) {
            // If the connection has just ended, nobody receives the signal.
            let _heard = tell.send(());
        }
    }
}

impl Place {
    /// Records the number of bytes that the request has now.
    pub(super) fn holds(&self, bytes: usize) -> Result<(), NoRoom> {
        let bytes = if bytes <= SMALL { 0 } else { bytes };
        let mut guests = self.room.guests.lock();
        guests.all.get_mut(&self.number).ok_or(NoRoom)?.bytes = bytes;
        while guests.all.values().map(|guest| guest.bytes).sum::<usize>() > self.room.bytes {
            let (_, of_this_one) = guests.by_one()[&self.one];
            let Some(other) = guests.largest(of_this_one) else {
                guests.all.remove(&self.number);
                return Err(NoRoom);
            };
            guests.send_away(other);
        }
        Ok(())
    }

    /// Returns when this connection must close. If it need not close, never returns.
    pub(super) async fn sent_away(&mut self) {
        if (&mut self.sent_away).await.is_err() {
            // The request is complete, so the connection is not closed any more.
            std::future::pending::<()>().await;
        }
    }

    /// Records that the request is complete.
    pub(super) fn is_complete(&self) {
        if let Some(guest) = self.room.guests.lock().all.get_mut(&self.number) {
            guest.sent_away = None;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.guests.lock().all.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1 << 20;

    fn is_sent_away(place: &mut Place) -> bool {
        place.sent_away.try_recv().is_ok()
    }

    #[test]
    fn the_oldest_of_whoever_has_most_connections_goes() {
        let room = Admission::new(4, MB);
        let mut honest = room.enter(1);
        let mut many: Vec<Place> = (0..3).map(|_| room.enter(2)).collect();
        for n in 0..100 {
            many.push(room.enter(2));
            assert!(is_sent_away(&mut many[n]), "{n}");
        }
        let mut another = room.enter(3);
        assert!(is_sent_away(&mut many[100]));
        assert!(!is_sent_away(&mut honest) && !is_sent_away(&mut another));
        // A complete request does not count as a connection any more.
        honest.is_complete();
        another.is_complete();
        let more: Vec<Place> = (0..2).map(|_| room.enter(4)).collect();
        assert!(!is_sent_away(&mut many[101]) && !is_sent_away(&mut many[102]));
        drop((more, many, honest, another));
        assert!(room.guests.lock().all.is_empty());
    }

    #[test]
    fn the_largest_request_of_whoever_holds_most_bytes_goes() {
        let room = Admission::new(100, 10 * MB);
        let (mut small, mut large) = (room.enter(1), room.enter(2));
        let more = room.enter(2);
        small.holds(2 * MB).unwrap();
        more.holds(3 * MB).unwrap();
        large.holds(5 * MB).unwrap();
        small.holds(4 * MB).unwrap();
        assert!(is_sent_away(&mut large) && !is_sent_away(&mut small));
        assert_eq!(large.holds(1), Err(NoRoom), "it has been sent away");
        // The request is too large, and no other process has more bytes. So this request is
        // refused.
        assert_eq!(more.holds(7 * MB), Err(NoRoom));
        assert!(!is_sent_away(&mut small));
        // The bytes of a complete request count, but its connection is not closed.
        small.is_complete();
        let other = room.enter(3);
        other.holds(6 * MB).unwrap();
        assert_eq!(other.holds(6 * MB + 1), Err(NoRoom));
        // A small request is always admitted.
        room.enter(4).holds(SMALL).unwrap();
    }
}

//! Limits the resources that open files take, in total and for each account.
//!
//! Descriptors, memory and disk space have a limit for all accounts together. In a mount for all
//! users, **the amount of one account may grow only up to a third of the amount that stays free**.
//! So the first account gets a quarter of the limit, the second a quarter of the rest, and so on.
//! While anything is free, each account gets some of it. A request beyond a limit is refused with
//! `EMFILE`, before anything is read or computed.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_callers::accounts::Account;

use super::attr::Refusal;

/// The maximum number of bytes of memory for small open contents, in total.
const MAX_MEMORY: u64 = 64 << 20;
/// The maximum number of bytes of disk space for large open contents, in total.
const MAX_DISK: u64 = 1 << 30;
/// The limit of descriptors is the limit of the process divided by this.
const DESCRIPTORS: u64 = 2;
/// In a mount for all users, the free amount must be at least an account's own amount times this.
const LEFT: u64 = 3;

/// An amount of each limited resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amounts {
    pub(crate) descriptors: u64,
    pub(crate) memory: u64,
    pub(crate) disk: u64,
}

impl Amounts {
    fn each(self) -> [u64; 3] {
        [self.descriptors, self.memory, self.disk]
    }
}

/// The limits of the resources, and the amounts in use.
#[derive(Debug)]
pub(crate) struct Shares {
    limits: [u64; 3],
    /// True for a mount for all users, where each account has a limit, too.
    is_for_all: bool,
    taken: Mutex<ShareUse>,
}

#[derive(Debug, Default)]
struct ShareUse {
    all: [u64; 3],
    of_each: HashMap<Account, [u64; 3]>,
}

/// An amount in use. Dropping it releases the amount.
#[derive(Debug)]
pub(crate) struct Share {
    shares: Arc<Shares>,
    /// The account that uses the amount; `None` if it is a part of the total.
    account: Option<Account>,
    amounts: [u64; 3],
}

impl Shares {
    /// Creates the limits of this process.
    pub(crate) fn of_process(is_for_all: bool) -> Arc<Self> {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        let limits = Amounts {
            descriptors: limit.current.unwrap_or(u64::MAX) / DESCRIPTORS,
            memory: MAX_MEMORY,
            disk: MAX_DISK,
        };
        Self::new(limits, is_for_all)
    }

    pub(crate) fn new(limits: Amounts, is_for_all: bool) -> Arc<Self> {
        Arc::new(Self {
            limits: limits.each(),
            is_for_all,
            taken: Mutex::default(),
        })
    }

    /// Takes an amount for an account. Returns two shares: one of the total, and one of the
    /// account.
    pub(crate) fn take(
        self: &Arc<Self>,
        account: Account,
        amounts: Amounts,
    ) -> Result<[Share; 2], Refusal> {
        let amounts = amounts.each();
        let mut taken = self.taken.lock();
        self.admit(&taken, account, amounts, amounts)?;
        add(&mut taken.all, amounts);
        add(taken.of_each.entry(account).or_default(), amounts);
        drop(taken);
        Ok([None, Some(account)].map(|account| self.share(account, amounts)))
    }

    /// Takes an amount for an account. The total already includes the amount, because another
    /// account uses the same content.
    pub(crate) fn join(
        self: &Arc<Self>,
        account: Account,
        amounts: Amounts,
    ) -> Result<Share, Refusal> {
        let amounts = amounts.each();
        let mut taken = self.taken.lock();
        self.admit(&taken, account, amounts, [0; 3])?;
        add(taken.of_each.entry(account).or_default(), amounts);
        drop(taken);
        Ok(self.share(Some(account), amounts))
    }

    /// Checks whether [`Self::take`] would succeed now.
    pub(crate) fn has_room(&self, account: Account, amounts: Amounts) -> Result<(), Refusal> {
        let amounts = amounts.each();
        self.admit(&self.taken.lock(), account, amounts, amounts)
    }

    fn admit(
        &self,
        taken: &ShareUse,
        account: Account,
        own: [u64; 3],
        new: [u64; 3],
    ) -> Result<(), Refusal> {
        let has = taken.of_each.get(&account).copied().unwrap_or_default();
        for n in 0..own.len() {
            let all = taken.all[n].saturating_add(new[n]);
            let free = self.limits[n].checked_sub(all).ok_or(Refusal::TooMany)?;
            let owns = has[n].saturating_add(own[n]);
            // An account that has nothing of a resource may always take some of it. If nothing of a
            // resource is requested now, that resource is not checked.
            if self.is_for_all && has[n] > 0 && own[n] > 0 && owns.saturating_mul(LEFT) > free {
                return Err(Refusal::TooMany);
            }
        }
        Ok(())
    }

    fn share(self: &Arc<Self>, account: Option<Account>, amounts: [u64; 3]) -> Share {
        Share {
            shares: Arc::clone(self),
            account,
            amounts,
        }
    }

    /// Returns the amounts in use, in total.
    #[cfg(test)]
    pub(crate) fn taken(&self) -> Amounts {
        let [descriptors, memory, disk] = self.taken.lock().all;
        Amounts {
            descriptors,
            memory,
            disk,
        }
    }
}

fn add(to: &mut [u64; 3], amounts: [u64; 3]) {
    for (to, amount) in to.iter_mut().zip(amounts) {
        *to = to.saturating_add(amount);
    }
}

fn subtract(from: &mut [u64; 3], amounts: [u64; 3]) {
    for (from, amount) in from.iter_mut().zip(amounts) {
        *from = from.saturating_sub(amount);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.shares.taken.lock();
        let Some(account) = self.account else {
            return subtract(&mut taken.all, self.amounts);
        };
        if let Some(has) = taken.of_each.get_mut(&account) {
            subtract(has, self.amounts);
            if *has == [0; 3] {
                taken.of_each.remove(&account);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Amounts {
        Amounts {
            descriptors: 1,
            ..Amounts::default()
        }
    }

    fn shares(is_for_all: bool) -> Arc<Shares> {
        let limits = Amounts {
            descriptors: 100,
            memory: 1000,
            disk: 1000,
        };
        Shares::new(limits, is_for_all)
    }

    /// Takes single descriptors until the account gets no more.
    fn all_of(shares: &Arc<Shares>, account: u32) -> Vec<[Share; 2]> {
        let account = Account::of_id(account);
        std::iter::from_fn(|| shares.take(account, one()).ok()).collect()
    }

    #[test]
    fn nobody_takes_what_is_for_others() {
        let shares = shares(true);
        let mut held = Vec::new();
        for account in 1..=12 {
            let got = all_of(&shares, account);
            assert!(!got.is_empty(), "{account} finds something");
            held.push(got);
        }
        let counts: Vec<usize> = held.iter().map(Vec::len).collect();
        assert_eq!(counts[..3], [25, 18, 14]);
        assert!(shares.taken().descriptors < 100);
        // The amounts that an account has released can be taken again.
        held.remove(0);
        assert!(all_of(&shares, 13).len() > 5);
        drop(held);
        assert_eq!(shares.taken(), Amounts::default());
        assert!(shares.taken.lock().of_each.is_empty());
    }

    #[test]
    fn one_alone_may_have_all() {
        let shares = shares(false);
        let held = all_of(&shares, 1);
        assert_eq!(held.len(), 100);
        assert_eq!(
            shares.take(Account::of_id(1), one()).err(),
            Some(Refusal::TooMany)
        );
    }

    #[test]
    fn what_is_shared_is_taken_once_and_counts_for_each() {
        let shares = shares(true);
        let large = Amounts {
            disk: 300,
            ..Amounts::default()
        };
        let first = shares.take(Account::of_id(1), large).unwrap();
        let others: Vec<Share> = (2..50)
            .map(|account| shares.join(Account::of_id(account), large).unwrap())
            .collect();
        assert_eq!(shares.taken().disk, 300);
        let much = shares.join(Account::of_id(2), large);
        assert_eq!(much.err(), Some(Refusal::TooMany), "600 of 1000");
        drop((first, others));
        assert_eq!(shares.taken().disk, 0);
    }
}

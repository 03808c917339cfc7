//! Stores the findings of comparisons in the cache.

use std::sync::Arc;

use super::TreeCache;
use super::store::CacheError;
use crate::compare::record::{decode, encode};
use resemble_relate::findings::FindingsCache;

/// The record that lists the names and sizes of stored findings, the oldest first.
const REGISTER: &str = "comparison.register";

/// The maximum number of comparisons whose findings are stored.
const MOST: usize = 8;

/// The limit of the cache, divided by this number, is the limit for all findings together.
const PART: u64 = 8;

fn record_of(name: &str) -> String {
    format!("comparison/{name}")
}

impl TreeCache<'_> {
    fn keep_findings(&self, name: &str, findings: &[u8]) -> Result<(), CacheError> {
        let new = findings.len() as u64;
        let snapshot = self.index.snapshot()?;
        let room = self.cache_bytes / PART;
        if new > room || snapshot.totals()?.index_bytes + new > self.cache_bytes {
            return Ok(());
        }
        let register = snapshot.record(REGISTER)?;
        drop(snapshot);
        let register = register.and_then(|register| decode(&register));
        let mut kept: Vec<(String, u64)> = register.unwrap_or_default();
        kept.retain(|(of, _)| of != name);
        kept.push((name.to_owned(), new));
        let mut gone = Vec::new();
        while kept.len() > MOST || kept.iter().map(|(_, bytes)| bytes).sum::<u64>() > room {
            gone.push(record_of(&kept.remove(0).0));
        }
        let record = record_of(name);
        let register = encode(&kept);
        let puts = [
            (record.as_str(), Some(findings)),
            (REGISTER, Some(&register[..])),
        ];
        let records: Vec<(&str, Option<&[u8]>)> = gone
            .iter()
            .map(|name| (name.as_str(), None))
            .chain(puts)
            .collect();
        Ok(self.index.put_records(&records)?)
    }
}

impl FindingsCache for TreeCache<'_> {
    fn get(&self, name: &str) -> Option<Arc<[u8]>> {
        let snapshot = self.index.snapshot().ok()?;
        Some(snapshot.record(&record_of(name)).ok()??.into())
    }

    fn put(&self, name: &str, findings: &[u8]) {
        if let Err(error) = self.keep_findings(name, findings) {
            tracing::debug!("the findings were not kept: {error}");
        }
    }
}

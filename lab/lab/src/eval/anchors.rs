//! Picks anchors for a folder (Manber 1994, section 2): strings that are "quite common but not too
//! common", so that about one occurs in every 200 bytes. `resemble-lab --method sif-anchors
//! --anchors FILE` reads the file of anchors.

use std::sync::Arc;

use resemble_methods::anchors::{AnchorParams, Anchors, pick};
use resemble_methods::{Features, Method, MethodParams, Settings};

use super::{Collection, Page, Section, Table, percent};
use crate::error::{LabError, MethodError};

/// The mean distance of anchors in bytes. The paper says: "On the average, one fingerprint was
/// generated for about every 200 bytes of text."
const EVERY: u32 = 200;

/// Makes the report. Its file `anchors.txt` contains the anchors.
pub fn report(collection: &Collection) -> Result<Page, LabError> {
    let window = AnchorParams::default().window;
    let picked = pick(&collection.texts, EVERY, window);
    let mut table = Table::new(
        "anchors-hits",
        &[
            "anchors",
            "strings",
            "bytes a fingerprint",
            "texts without any %",
        ],
    );
    let mut files = Vec::new();
    let mut sets = vec![("the usual ones", AnchorParams::default().anchors)];
    if !picked.is_empty() {
        let anchors = Arc::new(Anchors::new(picked).map_err(MethodError::from)?);
        files.push(("anchors.txt".to_owned(), anchors.to_text().into_bytes()));
        sets.insert(0, ("picked from this folder", anchors));
    }
    for (label, anchors) in sets {
        let settings = Settings {
            anchors: Some(Arc::clone(&anchors)),
            ..Settings::default()
        };
        let params = MethodParams::new(Method::SifAnchors, &settings).map_err(MethodError::from)?;
        let (mut hits, mut without) = (0, 0);
        for text in &collection.texts {
            let found = Features::of(&params, &text.bytes).0.len();
            hits += found;
            without += usize::from(found == 0);
        }
        table.row([
            label.to_owned(),
            anchors.strings().len().to_string(),
            format!("{:.0}", collection.bytes() as f64 / hits.max(1) as f64),
            percent(without as f64 / collection.texts.len().max(1) as f64),
        ]);
    }
    let text = "In anchors.txt, one on each line. After a hit the next 50 bytes are skipped.";
    Ok(Page {
        name: "anchors".to_owned(),
        title: "Anchors for sif (Manber 1994)".to_owned(),
        about: collection.describe(),
        sections: vec![Section::new("Picked", text).table(table)],
        files,
    })
}

//! Orders a collection so that similar files are adjacent.
//!
//! A compressor with a window uses the common content of two files only if they are close in the
//! archive. So the contents of each connected component are put in a row, each next to a similar
//! content. The row follows the maximum spanning tree, from one end of the tree's longest path.
//! Copies of one content are adjacent. The rows, and the files that resemble no other file, are
//! ordered by extension and path. Files of one kind share at least their vocabulary.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use resemble_core::cluster::{chains, spanning_forest};
use resemble_proto::message::OrderRow;
use resemble_proto::path::PathText;
use resemble_relate::AskError;
use resemble_relate::scope::ScopedFile;

use super::Collection;

/// Returns every path of the collection once.
pub(super) fn rows(collection: &Collection) -> Result<Vec<OrderRow>, AskError> {
    let (scoped, table) = (&collection.scoped, &collection.table);
    let linked: Vec<u32> = (0..table.file_contents())
        .filter(|&place| collection.links.degree(place) > 0)
        .collect();
    let forest = spanning_forest(&mut collection.network(), &linked)?;
    // The first path in a row of files decides where the row is in the answer.
    let mut rows: Vec<(&Path, Vec<&ScopedFile>)> = Vec::new();
    let mut add = |places: &[u32]| {
        let files = places
            .iter()
            .flat_map(|&place| scoped.holders(table.id(place)));
        let files: Vec<&ScopedFile> = files.collect();
        let least = places.iter().min_by_key(|&&place| table.rank(place));
        if let Some(&least) = least {
            rows.push((&table.first(scoped, least).path, files));
        }
    };
    for chain in chains(&linked, &forest, &|_| 0) {
        let places: Vec<u32> = chain.steps.iter().map(|step| step.node).collect();
        add(&places);
    }
    for place in (0..table.file_contents()).filter(|&place| collection.links.degree(place) == 0) {
        add(&[place]);
    }
    let empty = scoped.files.iter().filter(|file| !table.has(file.content));
    rows.extend(empty.map(|file| (file.path.as_path(), vec![file])));
    rows.sort_by_key(|&(path, _)| (extension(path), path.as_os_str().as_bytes()));
    let files = rows.iter().flat_map(|(_, files)| files);
    let paths = files.flat_map(|&file| scoped.paths(file));
    Ok(paths
        .map(|path| OrderRow {
            path: PathText::from(path),
        })
        .collect())
}

fn extension(path: &Path) -> &[u8] {
    path.extension().map_or(&[], OsStrExt::as_bytes)
}

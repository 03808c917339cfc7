//! The Python module `resemble._resemble`. It measures texts in memory with the engine of the
//! programs.
//!
//! ```text
//! list, Series, Arrow ─► texts ─► pairs    relate::prove::texts, as `resemble pairs`
//!                                ├► dedupe  each text against those that stay
//!                                ├► why     query::why, as `resemble why`
//!                                └► store   texts in the file of an index
//! ```
//!
//! All figures are made in `figures`, with functions that the programs also call. During long work,
//! other threads of Python can run. Ctrl-C ends all long work except `why`.

mod arrow;
mod dedupe;
mod figures;
mod pairs;
mod running;
mod store;
mod texts;
mod why;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use resemble_core::{Params, words};
use resemble_relate::AskError;
use resemble_relate::parallel::ordered;

use crate::running::interruptibly;
use crate::texts::HeldTexts;

create_exception!(resemble, Error, PyException, "What resemble cannot do.");
create_exception!(
    resemble,
    Locked,
    Error,
    "The index is open elsewhere: it has one writer, or several readers."
);

/// Returns an error of the Python class `Error`. Its message is one sentence.
fn error(sentence: impl ToString) -> PyErr {
    Error::new_err(sentence.to_string())
}

/// Returns the samples of each text, which are hashes of five-word shingles. The second result has
/// the samples of all texts (`uint32`). The first result has the offset at which the samples of
/// each text begin, and the end of the last samples (`uint64`).
#[pyfunction]
fn signatures<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let held = HeldTexts::of(texts)?;
    let (offsets, samples) = interruptibly(py, |stop| {
        let texts = held.slices();
        let rules = Params::default().shingles;
        let sampled = ordered(
            texts.len(),
            || (),
            |at, ()| {
                stop.go_on()?;
                let (signature, _) = words::sample(texts[at], &rules);
                Ok::<_, AskError>(signature.unwrap_or_default().fingerprints)
            },
        )?;
        let (mut offsets, mut samples) = (vec![0_u8; 8], Vec::new());
        for of_one in sampled {
            samples.extend(
                of_one
                    .iter()
                    .flat_map(|sample| (sample.0 as u32).to_le_bytes()),
            );
            offsets.extend((samples.len() as u64 / 4).to_le_bytes());
        }
        Ok((offsets, samples))
    })?;
    Ok((PyBytes::new(py, &offsets), PyBytes::new(py, &samples)))
}

#[pymodule]
fn _resemble(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", py.get_type::<Error>())?;
    module.add("Locked", py.get_type::<Locked>())?;
    module.add_class::<store::TextIndex>()?;
    module.add_function(wrap_pyfunction!(signatures, module)?)?;
    module.add_function(wrap_pyfunction!(pairs::pairs, module)?)?;
    module.add_function(wrap_pyfunction!(dedupe::dedupe, module)?)?;
    module.add_function(wrap_pyfunction!(why::why, module)?)
}

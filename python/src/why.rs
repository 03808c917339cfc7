//! `why`: returns the figures of two texts, and where they agree and differ, as `resemble why`
//! prints them.

use std::ops::Range;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use resemble_core::Relation;
use resemble_core::similarity::{Templates, Unit};
use resemble_query::why::{Comparison, SharedRange, Stretch};

use crate::figures::{fraction, unit_word};
use crate::running::interruptibly;
use crate::texts::HeldText;

/// Returns the figures and the ranges of the document that `resemble why --format json` prints.
#[pyfunction]
pub(crate) fn why<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let texts = [
        HeldText::of(a, || "a".into())?,
        HeldText::of(b, || "b".into())?,
    ];
    let comparison = interruptibly(py, |_| {
        let [a, b] = texts.each_ref().map(|text| text.bytes().to_vec());
        Ok(Comparison::of_bytes(
            a,
            b,
            &Templates::default(),
            Unit::Words,
        ))
    })?;
    let shared = &comparison.shared;
    let (measures, unit) = shared.told();
    let fields = PyDict::new(py);
    fields.set_item("relation", shared.relation.map(Relation::word))?;
    fields.set_item("unit", unit_word(unit))?;
    fields.set_item("a_in_b", fraction(measures.a_in_b))?;
    fields.set_item("b_in_a", fraction(measures.b_in_a))?;
    fields.set_item("resemblance", fraction(measures.resemblance))?;
    fields.set_item("shared_bytes", measures.shared_bytes.0)?;
    fields.set_item("size_a", shared.sizes.0.0)?;
    fields.set_item("size_b", shared.sizes.1.0)?;
    let (differing_a, differing_b) = shared.differing_bytes();
    fields.set_item("differing_bytes_a", differing_a)?;
    fields.set_item("differing_bytes_b", differing_b)?;
    fields.set_item("ranges", ranges(py, &shared.ranges)?)?;
    fields.set_item("repeats", ranges(py, &shared.repeats)?)?;
    fields.set_item("differs_a", stretches(py, &shared.differs_a)?)?;
    fields.set_item("differs_b", stretches(py, &shared.differs_b)?)?;
    Ok(fields)
}

fn ranges<'py>(py: Python<'py>, ranges: &[SharedRange]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let range = |range: &SharedRange| {
        let fields = PyDict::new(py);
        fields.set_item("a", ends(&range.a))?;
        fields.set_item("b", ends(&range.b))?;
        fields.set_item("lines_a", range.lines_a.map(<[u64; 2]>::from))?;
        fields.set_item("lines_b", range.lines_b.map(<[u64; 2]>::from))?;
        fields.set_item("placing", range.placing.word())?;
        Ok(fields)
    };
    ranges.iter().map(range).collect()
}

fn stretches<'py>(py: Python<'py>, stretches: &[Stretch]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let stretch = |stretch: &Stretch| {
        let fields = PyDict::new(py);
        fields.set_item("range", ends(&stretch.range))?;
        fields.set_item("lines", stretch.lines.map(<[u64; 2]>::from))?;
        Ok(fields)
    };
    stretches.iter().map(stretch).collect()
}

fn ends(range: &Range<u64>) -> [u64; 2] {
    [range.start, range.end]
}

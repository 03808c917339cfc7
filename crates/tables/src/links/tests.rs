use std::sync::Arc;

use parquet::basic::{Compression, Repetition, Type as Physical};
use parquet::data_type::{DataType, DoubleType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use proptest::prelude::*;

use super::*;

/// A folder as an engine leaves it.
struct Made {
    folder: tempfile::TempDir,
}

impl Made {
    /// Makes a folder with these files of pairs. Each file is a list of row groups.
    fn of(pairs: &[&[&[[i64; 4]]]], repetition: Repetition) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let made = Self { folder };
        made.put("_run.json", &run(&Params::default().to_string(), 1));
        let names = ["a", "b", "fingerprints", "chunks"];
        for (at, groups) in pairs.iter().enumerate() {
            let groups: Vec<Vec<Vec<i64>>> = groups
                .iter()
                .map(|rows| {
                    (0..4)
                        .map(|c| rows.iter().map(|row| row[c]).collect())
                        .collect()
                })
                .collect();
            made.table::<Int64Type>(
                &format!("link/part-{at}.parquet"),
                (&names, Physical::INT64, repetition),
                &groups,
            );
        }
        fs::create_dir_all(made.path("link")).expect("a folder");
        made.table::<Int64Type>(
            "rest/part-0.parquet",
            (
                &["cid", "fingerprints", "chunks"],
                Physical::INT64,
                repetition,
            ),
            &[vec![vec![-7], vec![8], vec![9]]],
        );
        made.record("link");
        made.record("rest");
        made
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    /// Writes columns. Each row has a value, even if the numbers are optional.
    fn table<T: DataType>(
        &self,
        name: &str,
        (names, physical, repetition): (&[&str], Physical, Repetition),
        groups: &[Vec<Vec<T::T>>],
    ) {
        let field = |name: &&str| {
            let field = Type::primitive_type_builder(name, physical);
            Arc::new(field.with_repetition(repetition).build().expect("a type"))
        };
        let fields = names.iter().map(field).collect();
        let schema = Type::group_type_builder("rows").with_fields(fields);
        let schema = Arc::new(schema.build().expect("a type"));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .build();
        self.put(name, "");
        let file = File::create(self.path(name)).expect("a file");
        let mut writer =
            SerializedFileWriter::new(file, schema, Arc::new(properties)).expect("a writer");
        for columns in groups {
            let mut group = writer.next_row_group().expect("a group");
            for values in columns {
                let mut column = group.next_column().expect("a column").expect("a column");
                let levels = vec![1i16; values.len()];
                let levels = (repetition == Repetition::OPTIONAL).then_some(&levels[..]);
                let typed = column.typed::<T>();
                typed.write_batch(values, levels, None).expect("written");
                column.close().expect("closed");
            }
            group.close().expect("closed");
        }
        writer.close().expect("closed");
    }

    /// Records that a stage is complete in its current state.
    fn record(&self, stage: &str) {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.path(stage)).expect("a folder") {
            let entry = entry.expect("an entry");
            let bytes = entry.metadata().expect("a stat").len();
            let file = entry.file_name().into_string().expect("a name");
            files.push(format!("{{\"file\": \"{file}\", \"bytes\": {bytes}}}"));
        }
        files.sort();
        let text = format!("{{\"rows\": 0, \"files\": [{}]}}", files.join(", "));
        self.put(&format!("_stages/{stage}.json"), &text);
    }

    fn open(&self) -> Result<LinkTables, LinkTablesError> {
        LinkTables::open(self.folder.path(), &Params::default())
    }

    fn pairs(&self) -> Result<Vec<[i64; 4]>, LinkTablesError> {
        self.open()?.pairs().collect()
    }
}

fn run(params: &str, schema: i64) -> String {
    format!(
        "{{\"schema\": {schema}, \"params\": \"{params}\", \"salt\": 3, \"tables\": \"\", \
         \"degree\": 1000}}"
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The rows are read for any number of files and row groups, with optional or required numbers.
    #[test]
    fn rows_come_back(
        files in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(any::<[i64; 4]>(), 0..40), 0..4), 0..4),
        is_optional in any::<bool>(),
    ) {
        let groups: Vec<Vec<&[[i64; 4]]>> =
            files.iter().map(|file| file.iter().map(|rows| &rows[..]).collect()).collect();
        let groups: Vec<&[&[[i64; 4]]]> = groups.iter().map(|file| &file[..]).collect();
        let optional = [Repetition::REQUIRED, Repetition::OPTIONAL][usize::from(is_optional)];
        let made = Made::of(&groups, optional);
        prop_assert_eq!(made.pairs().expect("read"), files.concat().concat());
        let links = made.open().expect("whole");
        let rest: Result<Vec<_>, _> = links.rest().collect();
        prop_assert_eq!(rest.expect("read"), vec![[-7, 8, 9]]);
        prop_assert_eq!(links.degree(), 1000);
        let content = ContentDigest([9; 32]);
        prop_assert_eq!(links.cid(&content), cid(&content, 3));
    }
}

#[test]
fn more_rows_than_are_read_at_once_come_back() {
    let rows: Vec<[i64; 4]> = (0..20_000).map(|n| [n, -n, n * n, 1]).collect();
    let made = Made::of(&[&[&rows, &rows[..9000]]], Repetition::OPTIONAL);
    let expected = [&rows[..], &rows[..9000]].concat();
    assert_eq!(made.pairs().expect("read"), expected);
}

#[test]
fn what_is_not_complete_is_refused() {
    let rows: &[[i64; 4]] = &[[1, 2, 3, 4]];
    let made = || Made::of(&[&[rows], &[rows]], Repetition::REQUIRED);
    let is_torn = |made: &Made, which: &str| {
        let opened = made.open();
        matches!(&opened, Err(LinkTablesError::Torn { stage, .. }) if *stage == which)
    };
    let part = "link/part-1.parquet";
    let lost = made();
    fs::remove_file(lost.path(part)).expect("removed");
    assert!(is_torn(&lost, "link"));
    let cut = made();
    let file = File::options()
        .write(true)
        .open(cut.path(part))
        .expect("a file");
    file.set_len(100).expect("cut");
    assert!(is_torn(&cut, "link"));
    let added = made();
    fs::copy(added.path(part), added.path("link/part-2.parquet")).expect("copied");
    assert!(is_torn(&added, "link"));
    let unfinished = made();
    fs::remove_file(unfinished.path("_stages/rest.json")).expect("removed");
    assert!(is_torn(&unfinished, "rest"));
    let nothing = made();
    fs::remove_file(nothing.path("_run.json")).expect("removed");
    assert!(matches!(nothing.open(), Err(LinkTablesError::None(_))));
    // The file has the same length, but it is not Parquet.
    let other = made();
    let length = fs::metadata(other.path(part)).expect("a stat").len();
    fs::write(other.path(part), vec![b'x'; length as usize]).expect("written");
    let read = other.pairs();
    assert!(
        matches!(read, Err(LinkTablesError::Read { .. })),
        "{read:?}"
    );
}

#[test]
fn other_parameters_and_versions_are_refused() {
    let made = Made::of(&[], Repetition::REQUIRED);
    made.put("_run.json", &run("tttd-1-2-3-4", 1));
    let refused = made.open().expect_err("other parameters");
    assert!(matches!(refused, LinkTablesError::Params { .. }));
    let said = refused.to_string();
    assert!(
        said.contains("tttd-1-2-3-4") && !said.contains('\n'),
        "{said}"
    );
    made.put("_run.json", &run(&Params::default().to_string(), 2));
    let refused = made.open();
    assert!(matches!(
        refused,
        Err(LinkTablesError::Version { version: 2, .. })
    ));
}

#[test]
fn other_columns_are_refused() {
    let made = Made::of(&[], Repetition::REQUIRED);
    let names: &[&str] = &["a", "b", "fingerprints", "chunks"];
    let part = "link/part-0.parquet";
    made.table::<DoubleType>(
        part,
        (names, Physical::DOUBLE, Repetition::REQUIRED),
        &[vec![vec![1.0]; 4]],
    );
    made.record("link");
    let said = made.pairs().expect_err("no integers").to_string();
    assert!(said.contains("a has no numbers of 64 bits"), "{said}");
    made.table::<Int64Type>(
        part,
        (&names[..3], Physical::INT64, Repetition::REQUIRED),
        &[vec![vec![1]; 3]],
    );
    made.record("link");
    let said = made.pairs().expect_err("a column too few").to_string();
    assert!(said.contains("no column chunks"), "{said}");
}

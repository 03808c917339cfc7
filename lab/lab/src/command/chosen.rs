//! The method that the user chose, its parameters, and the questions that it can answer.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::figure::Figure;
use crate::method;
use crate::question::{
    MethodCommonRow, MethodLimits, MethodPairs, MethodQuestion, MethodRequest, MethodRow,
    MethodScore,
};
use resemble_arguments::{Global, Selection};
use resemble_cli::commands::common_parameters;
use resemble_cli::error::{CliError, CliResult};
use resemble_cli::lists;
use resemble_cli::names::{self, Named, ShownNames};
use resemble_cli::ui::Ui;
use resemble_core::Params;
use resemble_methods::anchors::Anchors;
use resemble_methods::canonical::Canonical;
use resemble_methods::lines::NamedFeatures;
use resemble_methods::shingle::Seed;
use resemble_methods::vocabulary::{Dictionary, Lemmas};
use resemble_methods::{Method, MethodParams, Settings, Threshold, lines};
use resemble_proto::message::{Answer, Scope};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_proto::places::Env;
use resemble_proto::report::{CommonParameters, Head};
use serde::Serialize;

use super::args::{MethodArgs, PairsArgs, RowArgs};
use super::backend::{Backend, end, refused};
use super::rows::FoundPair;

/// The chosen method and its parameters.
pub(super) struct ChosenMethod {
    pub(super) method: Method,
    pub(super) params: MethodParams,
    shards: Option<u32>,
}

/// Reads the method and its parameters from the arguments, and refuses invalid combinations.
pub(super) fn chosen(args: &MethodArgs) -> CliResult<ChosenMethod> {
    let method = args.method;
    let anchors = match &args.anchors {
        None => None,
        Some(path) => {
            let text = read_file(path)?;
            Some(Arc::new(Anchors::parse(&text).map_err(refused)?))
        }
    };
    let seed = seed(args)?;
    let dictionary = args.dictionary.as_deref().map(read_file).transpose()?;
    let dictionary = dictionary.map(|text| Arc::new(Dictionary::parse(&text)));
    let lemmas = match &args.lemmas {
        None => None,
        Some(path) => {
            let text = read_file(path)?;
            Some(Arc::new(Lemmas::parse(&text).map_err(refused)?))
        }
    };
    if args.shards.is_some() && method != Method::Sorted5 {
        return Err(CliError::Usage(format!(
            "--shards is for sorted5; {method} is answered by threads of one process"
        )));
    }
    let settings = Settings {
        window: args.window,
        words: args.words,
        rate: args.rate,
        n: args.n,
        bits: args.bits,
        most: args.most,
        multiplier: None,
        sizes: args.sizes,
        length: args.length,
        seed: seed.as_deref().map(Seed::new).map(Arc::new),
        anchors,
        hash: args.hash,
        dictionary,
        lemmas,
        stem: args.stem,
        canonical: Canonical::from(args.canonical),
    };
    let params = MethodParams::new(method, &settings).map_err(refused)?;
    Ok(ChosenMethod {
        method,
        params,
        shards: args.shards,
    })
}

/// Returns the secret seed from the command line or from a file, if one of them is given.
fn seed(args: &MethodArgs) -> CliResult<Option<String>> {
    let Some(path) = &args.seed_file else {
        return Ok(args.seed.clone());
    };
    let wrong = |what: &str| CliError::File {
        verb: "take a seed from",
        path: path.clone(),
        source: io::Error::other(what.to_owned()),
    };
    let mut text = String::from_utf8(read_file(path)?).map_err(|_| wrong("it is no UTF-8"))?;
    if text.ends_with('\n') {
        text.pop();
    }
    if text.is_empty() {
        return Err(wrong("it is empty"));
    }
    Ok(Some(text))
}

impl ChosenMethod {
    pub(super) fn request(&self, scope: Scope, question: MethodQuestion) -> MethodRequest {
        MethodRequest {
            params: self.params.clone(),
            shards: self.shards,
            scope,
            question,
        }
    }

    /// Returns the limits of `--min`, `--min-shared` and `--top`. Refuses `--min-shared` for
    /// methods without chunks.
    pub(super) fn limits(&self, selection: &Selection) -> CliResult<MethodLimits> {
        let has_chunks = matches!(self.method, Method::Tttd | Method::Bsw);
        if selection.min_shared.is_some() && !has_chunks {
            return Err(CliError::Usage(format!(
                "--min-shared: {} knows no bytes in common chunks; only tttd and bsw do",
                self.method
            )));
        }
        Ok(MethodLimits {
            min: min_of(selection),
            min_shared: selection.min_shared,
            top: selection.top,
        })
    }
}

pub(super) fn min_of(selection: &Selection) -> Figure {
    selection.min.map(figure_of).unwrap_or_default()
}

pub(super) fn figure_of(share: Fraction) -> Figure {
    let millionths = share.millionths();
    Figure::from(millionths.map(|millionths| f64::from(millionths) / 1e6))
}

fn read_file(path: &Path) -> CliResult<Vec<u8>> {
    let failed = |source| CliError::File {
        verb: "read",
        path: path.to_owned(),
        source,
    };
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map_err(failed)?;
        return Ok(bytes);
    }
    fs::read(path).map_err(failed)
}

/// Reads the sets of features that `--features` names.
pub(super) fn read_sets(path: &Path) -> CliResult<Vec<NamedFeatures>> {
    let parsed = lines::parse(&read_file(path)?);
    parsed.map_err(|error| CliError::file("understand", path)(io::Error::other(error.to_string())))
}

/// The `parameters` of an answer in JSON.
#[derive(Serialize)]
pub(super) struct Parameters {
    pub(super) method: &'static str,
    pub(super) method_params: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) score: Option<MethodScore>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) files: Option<Vec<PathText>>,
    #[serde(rename = "in")]
    pub(super) within: Vec<PathText>,
    pub(super) threshold: Figure,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) threshold_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) of: Option<PathText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) contained: Option<Figure>,
    /// The most frequent of the ignored shingles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ignored: Option<Vec<MethodCommonRow>>,
    #[serde(flatten)]
    pub(super) common: CommonParameters,
}

impl Parameters {
    pub(super) fn new(
        chosen: &ChosenMethod,
        threshold: Threshold,
        selection: &Selection,
        within: &[PathBuf],
        params: &Params,
    ) -> Self {
        let asked = min_of(selection);
        let (figure, bytes) = match threshold {
            _ if !asked.is_none() => (asked, selection.min_shared),
            Threshold::Score(least) => (Figure::new(least), None),
            Threshold::SharedBytes(bytes) => {
                (Figure::NONE, Some(selection.min_shared.unwrap_or(bytes)))
            }
        };
        Self {
            method: chosen.method.name(),
            method_params: chosen.params.to_string(),
            score: None,
            files: None,
            within: names::as_given(within),
            threshold: figure,
            threshold_bytes: bytes,
            of: None,
            contained: None,
            ignored: None,
            common: CommonParameters {
                min_shared: bytes.unwrap_or(0),
                ..common_parameters(selection, false, params)
            },
        }
    }
}

pub(super) fn pairs(ui: &mut Ui, env: &Env, global: &Global, args: &PairsArgs) -> CliResult {
    let RowArgs {
        method: method_args,
        selection,
        output,
        cache,
    } = &args.rows;
    let chosen = chosen(method_args)?;
    let score = MethodScore::from(args.score);
    method::check_score(&chosen.params, score).map_err(refused)?;
    // For sorted5, `--exact` requests the second step of its paper, so other methods refuse it.
    if args.exact && chosen.method != Method::Sorted5 {
        return Err(CliError::Usage(format!(
            "--exact is for sorted5; --method {} answers as its paper says",
            chosen.method
        )));
    }
    let limits = chosen.limits(selection)?;
    let mut dirs = args.dirs.clone();
    let mut backend = None;
    let mut named: Vec<Named> = Vec::new();
    let mut params = Params::default();
    let mut errors = Vec::new();
    let mut answer = Answer::fresh(Vec::new(), Vec::new());
    if let Some(file) = &args.features {
        let sets = read_sets(file)?;
        let rows = method::features::pairs(&chosen.params, &sets, score, limits);
        let rows = rows?.into_iter().map(FoundPair).collect();
        answer = Answer::fresh(rows, Vec::new()).cut(limits.top);
    } else {
        if let Some(list) = &args.files_from {
            dirs.extend(names::read_list(list, output.null)?);
        }
        if dirs.is_empty() {
            return Err(CliError::Usage("no directories to look in".to_owned()));
        }
        (named, errors) = names::resolve(&dirs);
    }
    if !named.is_empty() {
        let asked = backend.insert(Backend::open(ui, env, global, *cache, &named)?);
        params = *asked.params();
        let real = names::real_paths(&named);
        asked.refresh(ui, &real)?;
        let question = MethodQuestion::Pairs(MethodPairs {
            score,
            exact: args.exact,
            limits,
        });
        let request = chosen.request(selection.scope(real), question);
        let answered = asked.ask(ui, &request, None)?;
        let rows = answered.rows.into_iter().filter_map(pair_of);
        answer = Answer {
            header: answered.header,
            rows: rows.collect(),
            errors: answered.errors,
        };
    }
    let shown = ShownNames::of(&named);
    for row in &mut answer.rows {
        row.0.a = shown.path(&row.0.a);
        row.0.b = shown.path(&row.0.b);
    }
    errors.append(&mut answer.errors);
    let errors = names::tidy(errors, &shown);
    let threshold = chosen.method.thresholds().pairs;
    let parameters = Parameters {
        score: Some(score),
        files: args
            .features
            .as_ref()
            .map(|file| names::as_given(std::slice::from_ref(file))),
        ..Parameters::new(&chosen, threshold, selection, &dirs, &params)
    };
    ui.redirect(output.output.as_deref());
    let head = Head::new("pairs", parameters, answer.header.clone());
    lists::print(ui, output, &head, "pairs", &answer.rows, &errors, false)?;
    end(ui, backend, &answer.header, &errors, selection.top)
}

fn pair_of(row: MethodRow) -> Option<FoundPair> {
    match row {
        MethodRow::Pair(row) => Some(FoundPair(row)),
        _ => None,
    }
}

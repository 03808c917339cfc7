use super::*;
use crate::method::{Choice, Measure, Threshold};
use crate::testing::all_params;

#[test]
fn every_method_has_the_name_that_is_typed() {
    let names: Vec<&str> = Choice::names().collect();
    assert_eq!(
        names,
        [
            "default",
            "tttd",
            "bsw",
            "bsw-min",
            "mod",
            "min",
            "sketch",
            "sif",
            "sif-anchors",
            "shingle",
            "super-shingle",
            "sorted5"
        ]
    );
    for name in names {
        assert_eq!(name.parse::<Choice>().expect("a name").to_string(), name);
    }
    let unknown = "simhash".parse::<Choice>().expect_err("no method");
    assert!(
        unknown
            .to_string()
            .starts_with("there is no method \"simhash\"; there are default, tttd")
    );
}

#[test]
fn the_papers_parameters_have_these_ids() {
    let ids = Method::ALL.map(|method| MethodParams::paper(method).to_string());
    let anchors = format!(
        "sif-anchors.window-50.bits-30.anchors-{}.v1",
        Anchors::standard().id()
    );
    assert_eq!(
        ids,
        [
            "tttd.average-1015.v1",
            "bsw.window-48.rate-1015.v1",
            "bsw-min.bytes-20.n-100.v1",
            "mod.bytes-20.n-100.v1",
            "min.bytes-20.n-100.v1",
            "sketch.bytes-20.n-100.v1",
            "sif.window-50.rate-256.bits-30.p-917097781.v1",
            &anchors,
            "shingle.words-10.rate-25.v1",
            "super-shingle.words-10.rate-25.length-4.v1",
            "sorted5.words-5.bits-24.hash-md5.v1",
        ]
    );
}

#[test]
fn ids_are_read_back() {
    let mut ids = std::collections::HashSet::new();
    for params in all_params() {
        let id = params.to_string();
        let supplies = Supplies {
            seed: Some(Arc::new(Seed::new("s"))),
            ..Supplies::default()
        };
        assert_eq!(MethodParams::parse_with(&id, &supplies), Ok(params));
        assert!(ids.insert(id.clone()), "{id}");
    }
    for average in [
        40,
        77,
        100,
        144,
        145,
        146,
        500,
        1000,
        1015,
        5000,
        65_536,
        16 << 20,
    ] {
        let settings = Settings {
            rate: Some(average),
            ..Settings::default()
        };
        let params = MethodParams::new(Method::Tttd, &settings).expect("in range");
        assert_eq!(params.to_string(), format!("tttd.average-{average}.v1"));
        assert_eq!(MethodParams::parse(&params.to_string(), None), Ok(params));
    }
}

#[test]
fn nothing_of_the_defaults_depends_on_asking_for_them() {
    for method in Method::ALL {
        let asked = MethodParams::new(method, &Settings::default());
        assert_eq!(asked, Ok(MethodParams::paper(method)));
    }
}

#[test]
fn what_is_no_id_is_refused() {
    for id in [
        "",
        "mod",
        "mod.v1",
        "mod.bytes-20.n-100",
        "mod.n-100.bytes-20.v1",
        "mod.bytes-20.n-0100.v1",
        "mod.bytes-20.n-100.v2",
        "mod.bytes-4.n-100.v1",
        "mod.bytes-20.words-3.n-100.v1",
        "min.bytes-20.rate-100.v1",
        "sif.window-50.rate-100.bits-30.p-917097781.v1",
        "sif.window-50.rate-256.bits-30.p-9.v1",
        "sif-anchors.window-50.bits-30.anchors-0123456789abcdef.v1",
        "default.v1",
    ] {
        assert!(MethodParams::parse(id, None).is_err(), "{id}");
    }
}

#[test]
fn ids_of_anchors_need_the_anchors() {
    let anchors = Arc::new(Anchors::parse(b"acte\nment").expect("two"));
    let settings = Settings {
        anchors: Some(Arc::clone(&anchors)),
        ..Settings::default()
    };
    let params = MethodParams::new(Method::SifAnchors, &settings).expect("fit");
    let id = params.to_string();
    assert_eq!(MethodParams::parse(&id, Some(&anchors)), Ok(params));
    let refused = MethodParams::parse(&id, None).expect_err("not at hand");
    assert_eq!(
        refused,
        ParamError::OtherAnchors {
            wanted: anchors.id().into()
        }
    );
}

#[test]
fn parameters_of_other_methods_are_refused_with_those_it_has() {
    let settings = Settings {
        bits: Some(30),
        ..Settings::default()
    };
    let refused = MethodParams::new(Method::Min, &settings).expect_err("min has no bits");
    assert_eq!(
        refused.to_string(),
        "min has no parameter bits; it has window, words, n"
    );
}

#[test]
fn values_out_of_range_are_refused_with_the_range() {
    let refused = |method, settings: &Settings| {
        MethodParams::new(method, settings)
            .expect_err("out of range")
            .to_string()
    };
    let window = |window| Settings {
        window: Some(window),
        ..Settings::default()
    };
    let message = "window 101 is not between 5 and 100, which mod needs";
    assert_eq!(refused(Method::Mod, &window(101)), message);
    let rate = |rate| Settings {
        rate: Some(rate),
        ..Settings::default()
    };
    assert!(refused(Method::Sif, &rate(100)).contains("power of two"));
    assert!(refused(Method::Tttd, &rate(39)).contains("40"));
    assert!(refused(Method::Mod, &rate(0)).contains("between 1"));
    let both = Settings {
        window: Some(20),
        words: Some(3),
        ..Settings::default()
    };
    assert!(refused(Method::Mod, &both).contains("either window or words"));
    let multiplier = |multiplier| Settings {
        multiplier: Some(multiplier),
        ..Settings::default()
    };
    // These numbers are not prime, or they are 3 or 7 modulo 8.
    for p in [917_097_967, 917_097_931, 917_097_781 + 8, 4] {
        assert!(
            refused(Method::Sif, &multiplier(p)).contains("cannot be the multiplier"),
            "{p}"
        );
    }
    let (few, long) = (window(8), Anchors::parse(b"longer than 8").expect("one"));
    let settings = Settings {
        anchors: Some(Arc::new(long)),
        ..few
    };
    assert!(refused(Method::SifAnchors, &settings).contains("longer than 8"));
}

#[test]
fn the_rate_is_the_n_of_mod() {
    let by_n = Settings {
        n: Some(25),
        ..Settings::default()
    };
    let by_rate = Settings {
        rate: Some(25),
        ..Settings::default()
    };
    let params = |settings| MethodParams::new(Method::Mod, settings).expect("in range");
    assert_eq!(params(&by_n), params(&by_rate));
}

#[test]
fn thresholds_are_the_papers() {
    use Threshold::{Score, SharedBytes};
    let of = |method: Method| method.thresholds();
    assert_eq!(
        (of(Method::Sif).find, of(Method::Sif).groups),
        (Score(0.5), Score(0.25))
    );
    assert_eq!(of(Method::Sketch).pairs, Score(0.7));
    assert_eq!(of(Method::Tttd).find, SharedBytes(1000));
}

#[test]
fn containment_is_refused_by_what_has_a_fixed_size() {
    let refusing: Vec<Method> = Method::ALL
        .into_iter()
        .filter(|method| method.tells(Measure::Containment).is_err())
        .collect();
    assert_eq!(
        refusing,
        [Method::Min, Method::Sketch, Method::SuperShingle]
    );
    assert!(
        Method::ALL
            .iter()
            .all(|method| method.tells(Measure::Resemblance).is_ok())
    );
}

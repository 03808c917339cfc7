use super::*;

fn shown(code: &str, value: f64) -> String {
    NumberFormat::parse(code).shown(value, Epoch::Of1900)
}

#[test]
fn numbers_are_shown_by_their_format() {
    for (code, value, expected) in [
        ("General", 1.5, "1.5"),
        ("", 1.5, ""),
        ("0", 1234.5, "1235"),
        ("0.00", 1234.5, "1234.50"),
        ("0.00", -0.001, "0.00"),
        ("0.00", -1.005, "-1.01"),
        ("#,##0", 1234.5, "1,235"),
        ("#,##0", 999.0, "999"),
        ("#,##0.00", 1_234_567.891, "1,234,567.89"),
        ("#,##0.##", 12.5, "12.5"),
        ("#.##", 0.0, "."),
        ("000", 5.0, "005"),
        ("0000,000", 5.0, "0,000,005"),
        ("0%", 0.456_7, "46%"),
        ("0.00%", 0.456_7, "45.67%"),
        ("0.00E+00", 12_345.678, "1.23E+04"),
        ("0.00E+00", 0.000_123_45, "1.23E-04"),
        ("0.00E+00", 9.999, "1.00E+01"),
        ("##0.0E+0", 12_345.678, "12.3E+3"),
        ("0E-0", 1e7, "1E7"),
        ("\"$\"#,##0.00", 1234.5, "$1,234.50"),
        ("#,##0.00;[Red]-#,##0.00", -1234.5, "-1,234.50"),
        ("#,##0.00;(#,##0.00)", -1234.5, "(1,234.50)"),
        ("0;-0;\"none\"", 0.0, "none"),
        ("#,##0.00 \"€\"", 1234.5, "1,234.50 €"),
        ("[$€-407] #,##0.00", 1234.5, "€ 1,234.50"),
        ("0,", 1_234_567.0, "1235"),
        ("0.0,,\" M\"", 1_234_567.0, "1.2 M"),
        ("[<1000]0;[>=1000]0.0,\"k\"", 1234.0, "1.2k"),
        ("[<1000]0;[>=1000]0.0,\"k\"", 12.0, "12"),
        ("000\\-00\\-0000", 123_456_789.0, "123-45-6789"),
        ("# ?/?", 0.5, "1/2"),
        ("# ??/??", 3.25, "3 1/4"),
        ("# ?/8", 1.26, "1 2/8"),
        ("# ?/?", 2.99, "3"),
        ("?/?", -1.5, "-3/2"),
        ("\"about \"General", 2.5, "about 2.5"),
        ("@", 1234.5, "1234.5"),
        (";;;", 5.0, ""),
        ("0;;", -5.0, ""),
    ] {
        assert_eq!(shown(code, value), expected, "{code} {value}");
    }
    let with_blanks = "_(\"$\"* #,##0.00_);_(\"$\"* \\(#,##0.00\\);_(\"$\"* \"-\"??_);_(@_)";
    assert_eq!(shown(with_blanks, 1234.5).trim(), "$1,234.50");
    assert_eq!(shown(with_blanks, -1234.5).trim(), "$(1,234.50)");
    assert_eq!(shown(with_blanks, 0.0).trim(), "$-");
    assert!(NumberFormat::parse("General").shows_texts());
    assert!(!NumberFormat::parse(";;;").shows_texts());
    assert!(NumberFormat::parse("0;;;@").shows_texts());
}

/// 15 January 2024, 13:05:09.5, as a number of days.
const MOMENT: f64 = 45_306.0 + (13.0 * 3600.0 + 5.0 * 60.0 + 9.5) / 86_400.0;

#[test]
fn dates_are_shown_by_their_format() {
    for (code, expected) in [
        ("yyyy-mm-dd", "2024-01-15"),
        ("yyyy\\-mm\\-dd hh:mm:ss", "2024-01-15 13:05:10"),
        ("dd.mm.yyyy", "15.01.2024"),
        ("d/m/yy", "15/1/24"),
        ("mm-dd-yy", "2024-01-15"),
        ("m/d/yyyy\\ h:mm", "2024-01-15 13:05"),
        ("d-mmm-yy", "15-Jan-24"),
        ("mmmmm", "J"),
        ("dddd, mmmm d, yyyy", "Monday, January 15, 2024"),
        ("[$-407]ddd d. mmmm yyyy;@", "Mon 15. January 2024"),
        ("h:mm AM/PM", "1:05 PM"),
        ("hh:mm A/P", "01:05 P"),
        ("mm:ss.0", "05:09.5"),
        ("ss.000", "09.500"),
        ("[h]:mm", "1087357:05"),
        ("h \"hours\" m", "13 hours 5"),
        ("yyyy-mm-dd\"T\"hh:mm:ss", "2024-01-15T13:05:10"),
    ] {
        assert_eq!(shown(code, MOMENT), expected, "{code}");
    }
    assert_eq!(shown("[h]:mm:ss", 30.0 / 24.0), "30:00:00");
    assert_eq!(shown("[mm]:ss", 90.0 / 1440.0), "90:00");
    assert_eq!(shown("h AM/PM", 0.0), "12 AM");
    // A date before the epoch is shown as a number.
    assert_eq!(shown("yyyy-mm-dd", -3.0), "-3");
    let of = |number, epoch| NumberFormat::built_in(number).shown(43_844.0, epoch);
    assert_eq!(of(14, Epoch::Of1904), "2024-01-15");
    assert_eq!(of(0, Epoch::Of1904), "43844");
    assert_eq!(
        NumberFormat::built_in(22).shown(MOMENT, Epoch::Of1900),
        "2024-01-15 13:05"
    );
    assert_eq!(
        NumberFormat::built_in(46).shown(1.5, Epoch::Of1900),
        "36:00:00"
    );
}

#[test]
fn no_format_and_no_number_is_too_odd() {
    let pieces = [
        "0", "#", "?", ".", ",", "E+", "/", "%", "[h]", "m", "s", ".0", ";", "\"a", "\\", "_", "*",
        "[", "[<", "General", "AM/PM", "@", "é", "[$", "y", "8",
    ];
    let mut random = resemble_testutil::random::Random::new(3);
    for _ in 0..30_000 {
        let code: String = (0..random.below(12))
            .map(|_| pieces[random.below(pieces.len())])
            .collect();
        let format = NumberFormat::parse(&code);
        for value in [
            0.0,
            -0.5,
            1e300,
            -1e-300,
            45_000.7,
            f64::NAN,
            f64::INFINITY,
            1e15,
        ] {
            assert!(
                format.shown(value, Epoch::Of1904).len() < 4096,
                "{code} {value}"
            );
        }
    }
    let long = "0".repeat(100_000);
    assert!(shown(&long, 1.0).len() < 10);
}

//! The dates that documents state of themselves.
//!
//! A copy, a download and a restored backup have new times; what a document says of itself goes
//! with its bytes. So it is kept with the content, and says which version is the newest where all
//! versions state one.

/// The year, the month and the day that begins this many days after 1970 does. The algorithm is
/// Howard Hinnant's `civil_from_days`, which is exact for every day of the proleptic Gregorian
/// calendar.
pub const fn civil(days: i64) -> (i64, i64, i64) {
    // Days since 0000-03-01: leap days fall on the end of a year that starts in March.
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = era * 400 + year_of_era + (month <= 2) as i64;
    (year, month, day)
}

/// When a document says that it was written last, or first if it says no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentDate {
    /// Seconds since 1970, UTC. A date without a zone is taken for UTC.
    pub seconds: i64,
    /// What says so.
    pub source: DateSource,
}

/// The property of a document that states its date. The numbers are those that are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DateSource {
    /// Core properties of Microsoft Office (ISO 29500).
    OfficeModified = 0,
    /// The same, of a document without a later date.
    OfficeCreated = 1,
    /// `meta.xml` of Open Document.
    OpenModified = 2,
    /// The same, of a document without a later date.
    OpenCreated = 3,
    /// The information dictionary of PDF.
    PdfModified = 4,
    /// The same, of a document without a later date.
    PdfCreated = 5,
    /// The XMP packet of a PDF without a date in its dictionary.
    XmpModified = 6,
    /// The same, of a document without a later date.
    XmpCreated = 7,
    /// The header of a mail.
    MailDate = 8,
    /// Exif of a picture: when the file was changed.
    ExifModified = 9,
    /// The same, of a picture without a later date: when it was taken.
    ExifTaken = 10,
    /// The same, of a picture without the others: when it was made digital.
    ExifDigitized = 11,
    /// The head of a web page, by the Open Graph protocol.
    ArticleModified = 12,
    /// The same, by the terms of Dublin Core.
    TermsModified = 13,
    /// The same, by the microdata of schema.org.
    SchemaModified = 14,
    /// The same, as the server would state it.
    PageModified = 15,
    /// The head of a web page without a later date, by the Open Graph protocol.
    ArticlePublished = 16,
    /// The same, by the terms of Dublin Core.
    TermsCreated = 17,
    /// The same, by the elements of Dublin Core.
    ElementsDate = 18,
    /// The same, by the microdata of schema.org.
    SchemaPublished = 19,
    /// The same, without a vocabulary.
    PageDate = 20,
}

impl DateSource {
    /// All of them, by their numbers.
    pub const ALL: [Self; 21] = [
        Self::OfficeModified,
        Self::OfficeCreated,
        Self::OpenModified,
        Self::OpenCreated,
        Self::PdfModified,
        Self::PdfCreated,
        Self::XmpModified,
        Self::XmpCreated,
        Self::MailDate,
        Self::ExifModified,
        Self::ExifTaken,
        Self::ExifDigitized,
        Self::ArticleModified,
        Self::TermsModified,
        Self::SchemaModified,
        Self::PageModified,
        Self::ArticlePublished,
        Self::TermsCreated,
        Self::ElementsDate,
        Self::SchemaPublished,
        Self::PageDate,
    ];

    /// Those of web pages, the best first: when it was changed, else when it was written.
    pub fn of_pages() -> &'static [Self] {
        &Self::ALL[Self::ArticleModified as usize..]
    }

    /// The source with this number.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The name of the property, as its format has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OfficeModified => "dcterms:modified",
            Self::OfficeCreated => "dcterms:created",
            Self::OpenModified => "dc:date",
            Self::OpenCreated => "meta:creation-date",
            Self::PdfModified => "ModDate",
            Self::PdfCreated => "CreationDate",
            Self::XmpModified => "xmp:ModifyDate",
            Self::XmpCreated => "xmp:CreateDate",
            Self::MailDate => "Date",
            Self::ExifModified => "DateTime",
            Self::ExifTaken => "DateTimeOriginal",
            Self::ExifDigitized => "DateTimeDigitized",
            Self::ArticleModified => "article:modified_time",
            Self::TermsModified => "dcterms.modified",
            Self::SchemaModified => "dateModified",
            Self::PageModified => "last-modified",
            Self::ArticlePublished => "article:published_time",
            Self::TermsCreated => "dcterms.created",
            Self::ElementsDate => "DC.date",
            Self::SchemaPublished => "datePublished",
            Self::PageDate => "date",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_come_back_by_their_numbers() {
        for (number, source) in (0..).zip(DateSource::ALL) {
            assert_eq!(source as u8, number);
            assert_eq!(DateSource::of_number(number), Some(source));
        }
        assert_eq!(DateSource::of_number(21), None);
        assert_eq!(
            DateSource::of_pages().first(),
            Some(&DateSource::ArticleModified)
        );
    }
}

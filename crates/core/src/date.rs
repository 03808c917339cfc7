//! The dates that documents state about themselves.
//!
//! A copy, a download and a restored backup have new file times. But the date in a document is part
//! of its bytes. So it is stored with the content. If every version of a document states a date,
//! the dates show which version is the newest.

/// Returns the year, month and day of the day that begins this many days after 1970-01-01. The
/// algorithm is Howard Hinnant's `civil_from_days`, which is exact for every day of the proleptic
/// Gregorian calendar.
pub const fn civil(days: i64) -> (i64, i64, i64) {
    // Count days from 0000-03-01, so that leap days are at the end of a year.
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

/// The date that a document states about itself: the date of its last change. If that date is
/// missing, it is the date of its creation, sending or publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentDate {
    /// Seconds since 1970, UTC. A date without a time zone is taken as UTC.
    pub seconds: i64,
    /// The property that states the date.
    pub source: DateSource,
}

/// The property of a document that states its date. The index stores the numbers of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DateSource {
    /// The last change, stated in the core properties of a Microsoft Office document (ISO 29500).
    OfficeModified = 0,
    /// The creation, stated in the core properties of a Microsoft Office document without a last
    /// change.
    OfficeCreated = 1,
    /// The last change, stated in the `meta.xml` of an Open Document.
    OpenModified = 2,
    /// The creation, stated in the `meta.xml` of an Open Document without a last change.
    OpenCreated = 3,
    /// The last change, stated in the information dictionary of a PDF.
    PdfModified = 4,
    /// The creation, stated in the information dictionary of a PDF without a last change.
    PdfCreated = 5,
    /// The last change, stated in the XMP packet of a PDF whose dictionary has no date.
    XmpModified = 6,
    /// The creation, stated in the XMP packet of a PDF whose dictionary has no date, if the packet
    /// states no last change.
    XmpCreated = 7,
    /// The header `Date` of a mail.
    MailDate = 8,
    /// The last change of the file, stated in the Exif data of a picture.
    ExifModified = 9,
    /// The time when a picture was taken, if its Exif data state no last change.
    ExifTaken = 10,
    /// The time when a picture was digitized, if its Exif data state neither a last change nor the
    /// time when it was taken.
    ExifDigitized = 11,
    /// The last change, stated in the head of a web page by the Open Graph protocol.
    ArticleModified = 12,
    /// The last change, stated in the head of a web page by Dublin Core terms.
    TermsModified = 13,
    /// The last change, stated in the head of a web page by schema.org microdata.
    SchemaModified = 14,
    /// The last change, stated in the head of a web page by `last-modified`, the name of the HTTP
    /// header.
    PageModified = 15,
    /// The publication, stated by the Open Graph protocol in the head of a web page without a last
    /// change.
    ArticlePublished = 16,
    /// The publication, stated by Dublin Core terms in the head of a web page without a last
    /// change.
    TermsCreated = 17,
    /// The publication, stated by Dublin Core elements in the head of a web page without a last
    /// change.
    ElementsDate = 18,
    /// The publication, stated by schema.org microdata in the head of a web page without a last
    /// change.
    SchemaPublished = 19,
    /// The publication, stated by `date` in the head of a web page without a last change. No
    /// vocabulary defines this name.
    PageDate = 20,
}

impl DateSource {
    /// All sources, by number.
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

    /// Returns the sources in web pages, best first: the last changes, then the publications.
    pub fn of_pages() -> &'static [Self] {
        &Self::ALL[Self::ArticleModified as usize..]
    }

    /// Returns the source with this number, or `None` if no source has it.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Returns the property's name in files of its format.
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

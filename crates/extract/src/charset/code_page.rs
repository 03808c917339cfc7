//! Code pages of DOS, which the Encoding Standard does not have.

/// A code page: the characters of ASCII and 128 further characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodePage {
    /// The code page of the first PCs.
    Of437,
    /// Western Europe.
    Of850,
    /// Central Europe.
    Of852,
    /// Cyrillic, used in the Balkans.
    Of855,
}

/// The code pages with the numbers in their names.
const ALL: [(CodePage, &str); 4] = [
    (CodePage::Of850, "850"),
    (CodePage::Of437, "437"),
    (CodePage::Of852, "852"),
    (CodePage::Of855, "855"),
];

impl CodePage {
    /// Returns all code pages. If two of them fit equally well, the caller uses the first.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        ALL.into_iter().map(|(page, _)| page)
    }

    /// Returns the code page that markup names, for example `cp850` or `IBM-850`.
    pub(super) fn for_label(label: &[u8]) -> Option<Self> {
        let label = std::str::from_utf8(label).ok()?;
        let number = label.trim_start_matches(|c: char| !c.is_ascii_digit());
        let name = label[..label.len() - number.len()].trim_end_matches(['-', '_']);
        let is_page = ["cp", "ibm", "dos", ""]
            .iter()
            .any(|of| name.eq_ignore_ascii_case(of));
        let page = ALL.iter().find(|(_, known)| *known == number);
        page.filter(|_| is_page).map(|(page, _)| *page)
    }

    /// Returns the characters of the bytes from 128 on.
    pub(crate) fn upper_half(self) -> Vec<char> {
        let rows = match self {
            Self::Of437 => [
                "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐",
                "└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}",
            ],
            Self::Of850 => [
                "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐",
                "└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}",
            ],
            Self::Of852 => [
                "ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐",
                "└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u{ad}˝˛ˇ˘§÷¸°¨˙űŘř■\u{a0}",
            ],
            Self::Of855 => [
                "ђЂѓЃёЁєЄѕЅіІїЇјЈљЉњЊћЋќЌўЎџЏюЮъЪаАбБцЦдДеЕфФгГ«»░▒▓│┤хХиИ╣║╗╝йЙ┐",
                "└┴┬├─┼кК╚╔╩╦╠═╬¤лЛмМнНоОп┘┌█▄Пя▀ЯрРсСтТуУжЖвВьЬ№\u{ad}ыЫзЗшШэЭщЩчЧ§■\u{a0}",
            ],
        };
        rows.iter().flat_map(|row| row.chars()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_pages_have_128_different_characters() {
        for page in CodePage::all() {
            let mut characters = page.upper_half();
            assert_eq!(characters.len(), 128, "{page:?}");
            characters.sort_unstable();
            characters.dedup();
            assert_eq!(characters.len(), 128, "{page:?}");
        }
        // The expected characters were decoded with Python's codecs.
        assert_eq!(CodePage::Of850.upper_half()[0x81 - 128], 'ü');
        assert_eq!(CodePage::Of437.upper_half()[0xe1 - 128], 'ß');
        assert_eq!(CodePage::Of852.upper_half()[0x88 - 128], 'ł');
        assert_eq!(CodePage::Of855.upper_half()[0xa0 - 128], 'а');
    }

    #[test]
    fn labels_are_those_of_markup() {
        for label in ["cp850", "IBM850", "ibm-850", "850", "CP_850"] {
            assert_eq!(CodePage::for_label(label.as_bytes()), Some(CodePage::Of850));
        }
        for label in ["cp851", "iso-8859-1", "", "x850", "\u{e9}850"] {
            assert_eq!(CodePage::for_label(label.as_bytes()), None, "{label}");
        }
    }
}

//! The places that a request is about. Its answer names the gaps in these places.

use std::path::PathBuf;

use resemble_proto::message::Request;
use resemble_relate::gaps::AskedPlaces;

/// Returns the places of a request. A request that names no place is about the roots. A request
/// that cannot name a place has no places.
pub fn places_of(request: &Request, roots: &[PathBuf]) -> AskedPlaces {
    let places = match request {
        Request::Find(find) => AskedPlaces::within(&find.options.scope),
        Request::Holders(holders) => AskedPlaces::within(&holders.scope),
        Request::Pairs(pairs) => AskedPlaces::within(&pairs.scope),
        Request::Dirs(dirs) => AskedPlaces::within(&dirs.scope),
        Request::Groups(groups) | Request::Order(groups) => AskedPlaces::within(&groups.scope),
        Request::TemplatesMark(mark) => AskedPlaces::within(&mark.scope),
        Request::Compare(compare) => {
            AskedPlaces::new([&compare.a, &compare.b], &compare.options.scope.exclude)
        }
        Request::Covered(covered) => {
            AskedPlaces::new(std::iter::once(&covered.dir).chain(&covered.by), &[])
        }
        Request::Dump { roots } | Request::DumpAs { roots, .. } => AskedPlaces::new(roots, &[]),
        _ => return AskedPlaces::default(),
    };
    places.or_roots(roots)
}

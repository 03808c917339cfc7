//! Giving up rights, for good.
//!
//! All of this changes the calling thread alone, so it is done before there is a second one.

use std::io;

use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities,
    capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits,
    set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

/// From now on no more than these capabilities, and no way to more: not by becoming root, not by
/// executing a program. Needs `CAP_SETPCAP`, unless there is nothing to give up.
///
/// # Errors
///
/// What could not be given up.
pub fn keep_only(kept: CapabilitySet) -> io::Result<()> {
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    for bit in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        match capability_is_in_bounding_set(one) {
            Ok(true) if !kept.contains(one) => remove_capability_from_bounding_set(one)?,
            Ok(_) => {}
            // No more of them are known to this kernel.
            Err(_) => break,
        }
    }
    if capabilities(None)?
        .effective
        .contains(CapabilitySet::SETPCAP)
    {
        fix_root()?;
    }
    let now = capabilities(None)?;
    // A service manager hands over just these, and its filter may forbid to ask for them again.
    if now.effective != kept || now.permitted != kept {
        set_capabilities(
            None,
            CapabilitySets {
                effective: kept,
                permitted: kept,
                inheritable: CapabilitySet::empty(),
            },
        )?;
    }
    only(kept)
}

/// From now on user 0 is a user like all others: to become it, or to cease to be it, changes no
/// capabilities.
fn fix_root() -> io::Result<()> {
    set_capabilities_secure_bits(
        CapabilitiesSecureBits::NO_ROOT
            | CapabilitiesSecureBits::NO_ROOT_LOCKED
            | CapabilitiesSecureBits::NO_SETUID_FIXUP
            | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
            | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED,
    )?;
    Ok(())
}

/// Fails unless this process has just these capabilities and can get no others.
///
/// # Errors
///
/// What it has too many or too few of.
pub fn only(kept: CapabilitySet) -> io::Result<()> {
    let now = capabilities(None)?;
    let wrong = |what: &str| {
        let text = format!("the capabilities are {now:?}, and {what}");
        Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
    };
    // A program that is executed may inherit what this process has, and no more.
    let at_most = now.effective | now.inheritable;
    if now.permitted != kept || !kept.contains(at_most) {
        return wrong("they should be no others and no fewer");
    }
    if !rustix::thread::no_new_privs()? {
        return wrong("new ones could be had");
    }
    Ok(())
}

/// Becomes this user and group, without further groups. The capabilities stay what they are until
/// [`keep_only`] is called.
///
/// # Errors
///
/// If the kernel refuses.
pub fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    fix_root()?;
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

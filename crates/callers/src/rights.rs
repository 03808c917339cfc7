//! Drops privileges permanently.
//!
//! These functions change only the calling thread. So they must be called before a second thread is
//! started.

use std::io;

use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities,
    capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits,
    set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

/// Limits the capabilities to `kept`, permanently: neither becoming root nor executing a program
/// adds capabilities. This function needs `CAP_SETPCAP`, unless there is nothing to drop.
///
/// # Errors
///
/// Fails if a capability cannot be dropped.
pub fn keep_only(kept: CapabilitySet) -> io::Result<()> {
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    for bit in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        match capability_is_in_bounding_set(one) {
            Ok(true) if !kept.contains(one) => remove_capability_from_bounding_set(one)?,
            Ok(_) => {}
            // The kernel does not know this capability or any capability with a greater number.
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
    // If a service manager has already set exactly these capabilities, they are not set again. The
    // service manager's system call filter may even forbid that.
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

/// Makes user 0 an ordinary user: a thread that changes its ids to or from 0 keeps its
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

/// Checks that this process has exactly these capabilities and cannot gain others.
///
/// # Errors
///
/// Fails if the process has other capabilities, or fewer.
pub fn only(kept: CapabilitySet) -> io::Result<()> {
    let now = capabilities(None)?;
    let wrong = |what: &str| {
        let text = format!("the capabilities are {now:?}, and {what}");
        Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
    };
    // Neither the effective capabilities nor those that a program would inherit may exceed `kept`.
    let at_most = now.effective | now.inheritable;
    if now.permitted != kept || !kept.contains(at_most) {
        return wrong("they should be no others and no fewer");
    }
    if !rustix::thread::no_new_privs()? {
        return wrong("new ones could be had");
    }
    Ok(())
}

/// Changes to this user and group, without supplementary groups. The capabilities stay until
/// [`keep_only`] drops them.
///
/// # Errors
///
/// Fails if the kernel refuses.
pub fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    fix_root()?;
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

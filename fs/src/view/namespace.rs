//! The requests that the overlay answers as a read-only file system.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use resemble_callers::accounts::Account;
use rustix::fs::Stat;

use super::attr::{ATTRIBUTES, Attr, Entry, Kind, Refusal, Space};
use super::handles::{Handle, Handles};
use super::held::Store;
use super::inodes::{Inodes, Shown};
use super::node::{At, Node, Subject};
use super::reopening::Reopenings;
use super::seen::SeenTree;
use super::shares::Shares;
use super::tree::{RealKind, Tree};
use super::{Show, View};
use crate::names::{Answer, DIRS, REPORT, SimilarName, WHY};
use crate::neighbours::{Neighbours, Party};

/// The time for which the kernel may trust names and attributes that mirror the tree. For the
/// attributes of files see [`FILE_TTL`].
const MIRROR_TTL: Duration = Duration::from_secs(1);
/// The time for which the kernel may trust the attributes of a file that was not changed lately.
/// The kernel asks for attributes before each read unless it may trust the last attributes. So for
/// several reads in quick succession the kernel asks once. A change becomes visible at most this
/// much later, and no program notices the delay.
const FILE_TTL: Duration = Duration::from_millis(10);
/// The effort of a request. It decides on which thread the request runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A few system calls on the watched tree.
    Small,
    /// Asks the index, which takes milliseconds.
    Answer,
    /// May read whole files, which takes seconds.
    Text,
}

pub(super) type Result<T> = std::result::Result<T, Refusal>;

/// The overlay, without its connection to the kernel. All methods may be called from any thread.
pub struct Namespace {
    pub(super) view: View,
    pub(super) show: Show,
    pub(super) similar_name: SimilarName,
    view_key: u64,
    pub(super) tree: SeenTree,
    /// The node at the top of the mount. If there was only one root when the mount was made, it is
    /// that root. Otherwise it is the directory of all roots.
    top: Node,
    pub(super) neighbours: Arc<dyn Neighbours>,
    pub(super) inodes: Arc<Inodes>,
    pub(super) handles: Arc<Handles>,
    /// The bytes of texts, members and listings that are open.
    pub(super) store: Arc<Store>,
    /// The account for which open files are counted.
    pub(super) account: Account,
    /// The opens that were refused because the file had changed, and that the kernel is about to
    /// repeat.
    pub(super) reopenings: Arc<Mutex<Reopenings>>,
    pub(super) hidden: Arc<Mutex<HashSet<At>>>,
    pub(super) answers: Mutex<HashMap<Subject, (u64, Arc<Answer>)>>,
}

impl fmt::Debug for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Namespace")
            .field("view", &self.view)
            .field("show", &self.show)
            .field("tree", &self.tree)
            .finish_non_exhaustive()
    }
}

impl Namespace {
    /// Creates the overlay, and opens the roots that exist now. `roots` must be absolute, and none
    /// may lie in another. `exclude` has absolute paths that are not shown, with everything below
    /// them.
    ///
    /// Fails only if the kernel's mount table cannot be read.
    pub fn new(
        view: View,
        show: Show,
        roots: &[PathBuf],
        exclude: Vec<PathBuf>,
        neighbours: Arc<dyn Neighbours>,
    ) -> io::Result<Self> {
        let top = if roots.len() == 1 {
            Node::Dir(At::root(0))
        } else {
            Node::Top
        };
        let space = Self {
            view,
            show,
            similar_name: SimilarName::default(),
            view_key: match view {
                View::Folders => 1,
                View::Files => 2,
            },
            tree: SeenTree::of(Tree::new(exclude)?),
            inodes: Arc::new(Inodes::new(top.clone())),
            top,
            neighbours,
            handles: Arc::new(Handles::new()),
            store: Arc::new(Store::new(Shares::of_process(false), None)),
            account: Account::UNKNOWN,
            reopenings: Arc::default(),
            hidden: Arc::default(),
            answers: Mutex::default(),
        };
        space.set_roots(roots);
        Ok(space)
    }

    /// Returns the overlay as one of many callers sees it. Nodes and open files are shared between
    /// callers, but each caller has their own answers.
    #[must_use]
    pub fn seen_by(&self, party: Party, account: Account) -> Self {
        Self {
            view: self.view,
            show: self.show,
            similar_name: self.similar_name.clone(),
            view_key: self.view_key,
            tree: self.tree.seen_by(party.sight),
            top: self.top.clone(),
            neighbours: party.neighbours,
            inodes: Arc::clone(&self.inodes),
            handles: Arc::clone(&self.handles),
            store: Arc::clone(&self.store),
            account,
            reopenings: Arc::clone(&self.reopenings),
            hidden: Arc::clone(&self.hidden),
            answers: Mutex::default(),
        }
    }

    /// Sets the name under which listings show `.similar`. Looking up `.similar` still works.
    #[must_use]
    pub fn with_similar_name(mut self, name: SimilarName) -> Self {
        self.similar_name = name;
        self
    }

    /// Limits the memory and the disk space for open bytes. In a mount for all users, each account
    /// has a limit, too. Large contents are stored in nameless files in `folder`.
    #[must_use]
    pub fn bounded(mut self, is_for_all: bool, folder: Option<PathBuf>) -> Self {
        let store = Store::new(Shares::of_process(is_for_all), folder);
        self.store = Arc::new(store);
        self
    }

    /// Replaces the roots. If the mount shows the entries of its only root, it continues to show
    /// them, because paths in use must not change. A further root then becomes a folder beside
    /// these entries, with a name that no entry has. When the root whose entries are shown is
    /// removed, these entries vanish.
    pub fn set_roots(&self, roots: &[PathBuf]) {
        let is_free = |name: &OsStr| match &self.top {
            Node::Dir(at) => {
                !self.similar_name.stands_for(name) && self.tree.stat(&at.join(name)).is_err()
            }
            _ => true,
        };
        self.tree.set_roots(roots, &is_free);
    }

    /// Returns the roots that appear as folders in a directory of the overlay. Only the top has
    /// such folders.
    pub(super) fn roots_in(&self, dir: &Node) -> Vec<(At, OsString)> {
        if *dir != self.top {
            return Vec::new();
        }
        let mut roots = self.tree.roots();
        roots.retain(|(at, _)| Node::Dir(at.clone()) != self.top);
        roots
    }

    /// Returns each root with the name of its folder at the top. `None` if the top shows the root's
    /// own entries.
    pub fn roots(&self) -> Vec<(PathBuf, Option<OsString>)> {
        let roots = self.tree.roots().into_iter();
        roots
            .map(|(at, name)| {
                let path = self.tree.path(&at);
                (path, (Node::Dir(at) != self.top).then_some(name))
            })
            .collect()
    }

    /// Returns the number of real entries that were found hidden because they have the name of our
    /// `.similar`.
    pub fn hidden_similar_entries(&self) -> usize {
        self.hidden.lock().len()
    }

    // ---- costs of requests ----

    /// Returns the effort of a look-up.
    pub fn lookup_effort(&self, parent: u64, name: &OsStr) -> Effort {
        match self.inodes.node(parent).as_deref() {
            Some(Node::Similar(Subject::File(_))) if name == WHY || name == REPORT => Effort::Small,
            Some(Node::Similar(_) | Node::WhyDir(_)) => Effort::Answer,
            _ => Effort::Small,
        }
    }

    /// Returns the effort of opening or rewinding a directory.
    pub fn list_effort(&self, ino: u64) -> Effort {
        match self.inodes.node(ino).as_deref() {
            Some(Node::Similar(_) | Node::WhyDir(_) | Node::Index(_)) => Effort::Answer,
            _ => Effort::Small,
        }
    }

    /// Returns the effort of opening a file.
    pub fn open_effort(&self, ino: u64) -> Effort {
        match self.inodes.node(ino).as_deref() {
            Some(Node::Why { .. } | Node::Report(_) | Node::Member { .. }) => Effort::Text,
            Some(Node::More(_)) => Effort::Answer,
            _ => Effort::Small,
        }
    }

    /// Returns the effort of reading an extended attribute.
    pub fn attribute_effort(&self, ino: u64, name: &OsStr) -> Effort {
        let ours = ATTRIBUTES.iter().any(|known| name == *known);
        match self.inodes.node(ino).as_deref() {
            Some(Node::File(_) | Node::Folder(_)) if ours => Effort::Answer,
            _ => Effort::Small,
        }
    }

    // ---- names ----

    /// Looks up a name in a directory. `thread` is the kernel thread that asks; 0 if unknown. Each
    /// success counts as one look-up until [`Self::forget`].
    pub fn lookup(&self, parent: u64, name: &OsStr, thread: u32) -> Result<Entry> {
        let parent = self.node(parent)?;
        let found = self.resolve(&parent, name);
        if let (Err(_), Node::Dir(dir)) = (&found, &*parent)
            && !self.reopenings.lock().is_empty()
        {
            self.lookup_failed(&dir.join(name), thread);
        }
        let (node, stat) = found?;
        if let Some(entry) = self.lookup_again(&node, thread) {
            return Ok(entry);
        }
        // The attributes are read first. If that fails, the node must get no number, because the
        // kernel would never forget it.
        let stat = self.stat_of(&node, stat)?;
        let mut entry = self.entry(&node, attr(0, &node, stat.as_ref()));
        let hash = self.hash(&node);
        let is_file = matches!(node, Node::File(_));
        let shown = stat.as_ref().filter(|_| is_file).map(Shown::of);
        entry.attr.ino = self.inodes.acquire(node, hash, shown);
        Ok(entry)
    }

    /// Forgets `times` look-ups of an inode number.
    pub fn forget(&self, ino: u64, times: u64) {
        self.inodes.forget(ino, times);
    }

    /// Returns the attributes of a node, and the time for which the kernel may trust them.
    pub fn getattr(&self, ino: u64) -> Result<Entry> {
        let node = self.node(ino)?;
        loop {
            let refusal = match (&*node, self.stat_of(&node, None)) {
                (Node::File(_), Ok(Some(stat))) if !self.inodes.show(ino, Shown::of(&stat)) => None,
                (_, Ok(stat)) => return Ok(self.entry(&node, attr(ino, &node, stat.as_ref()))),
                (_, Err(refusal)) => Some(refusal),
            };
            // There are two cases in which the attributes of an open file are returned. If the path
            // is gone, this account must have the file open. If the path leads to another file now,
            // any account may have it open.
            let account = refusal.is_some().then_some(self.account);
            if let Some(open) = self.handles.open_file(ino, account) {
                return self.attr_of(ino, &open);
            }
            match refusal {
                Some(refusal) => return Err(refusal),
                // The last handle of the other file is just being added or closed, so this is tried
                // again.
                None => std::thread::yield_now(),
            }
        }
    }

    /// Returns the attributes of an open file, even if its path leads to another file now.
    pub fn getattr_open(&self, ino: u64, handle: u64) -> Result<Entry> {
        self.attr_of(ino, self.handles.get(handle)?.as_ref())
    }

    fn attr_of(&self, ino: u64, open: &Handle) -> Result<Entry> {
        match open {
            Handle::File { file, .. } => {
                let (node, stat) = (self.node(ino)?, rustix::fs::fstat(file)?);
                self.inodes.show(ino, Shown::of(&stat));
                Ok(self.entry(&node, attr(ino, &node, Some(&stat))))
            }
            _ => self.getattr(ino),
        }
    }

    pub(super) fn entry(&self, node: &Node, attr: Attr) -> Entry {
        let ttl = self.ttl(node);
        let attr_ttl = match node {
            Node::File(_) if attr.changed.is_recent() => Duration::ZERO,
            Node::File(_) => ttl.min(FILE_TTL),
            _ => ttl,
        };
        Entry {
            attr,
            ttl,
            attr_ttl,
        }
    }

    /// Returns the path to which a symbolic link leads, as bytes.
    pub fn readlink(&self, ino: u64) -> Result<Vec<u8>> {
        match self.node(ino)?.as_ref() {
            Node::Symlink(at) => Ok(self.tree.read_link(at)?),
            Node::Link { target, .. } => Ok(target.as_os_str().as_bytes().to_vec()),
            _ => Err(Refusal::Invalid),
        }
    }

    pub(super) fn node(&self, ino: u64) -> Result<Arc<Node>> {
        self.inodes.node(ino).ok_or(Refusal::Stale)
    }

    /// Returns the node that a name in a directory leads to. For a real entry it also returns the
    /// `stat` of the entry.
    fn resolve(&self, parent: &Node, name: &OsStr) -> Result<(Node, Option<Stat>)> {
        if name.is_empty() || name == "." || name == ".." {
            return Err(Refusal::NotFound);
        }
        let mut roots = self.roots_in(parent).into_iter();
        if let Some((root, _)) = roots.find(|(_, known)| known == name) {
            return Ok((Node::Dir(root), None));
        }
        let node = match parent {
            Node::Dir(at) if self.similar_name.stands_for(name) => {
                let real = at.join(name);
                let is_there = self.tree.stat(&real).is_ok();
                self.note_hidden(real, is_there);
                self.similar_of_dir(at)
            }
            Node::Dir(at) => {
                let at = at.join(name);
                let (_, stat) = self.tree.stat(&at)?;
                return Ok((self.mirrored(at, RealKind::of_stat(&stat))?, Some(stat)));
            }
            Node::Folder(at) if self.similar_name.stands_for(name) => {
                Node::Similar(Subject::File(at.clone()))
            }
            Node::Folder(at) if Some(name) == at.name() => Node::File(at.clone()),
            Node::Index(at) if name == DIRS => Node::Similar(Subject::Dir(at.clone())),
            Node::Index(at) if !self.similar_name.stands_for(name) => {
                let at = at.join(name);
                let (_, stat) = self.tree.stat(&at)?;
                if RealKind::of_stat(&stat) != RealKind::Regular {
                    return Err(Refusal::NotFound);
                }
                return Ok((Node::Similar(Subject::File(at)), Some(stat)));
            }
            Node::Similar(Subject::File(at)) if name == WHY => Node::WhyDir(at.clone()),
            Node::Similar(Subject::File(at)) if name == REPORT => Node::Report(at.clone()),
            Node::Similar(of) => self.similar_entry(of, name)?,
            Node::WhyDir(at) => {
                let target = self.neighbour(&Subject::File(at.clone()), name)?.path();
                Node::Why {
                    of: at.clone(),
                    target,
                }
            }
            Node::Top | Node::Folder(_) | Node::Index(_) => return Err(Refusal::NotFound),
            Node::File(_)
            | Node::Symlink(_)
            | Node::Link { .. }
            | Node::Member { .. }
            | Node::More(_)
            | Node::Why { .. }
            | Node::Report(_) => return Err(Refusal::NotADirectory),
        };
        Ok((node, None))
    }

    /// Returns the node of a real entry; fails if this view does not show entries of its kind.
    pub(super) fn mirrored(&self, at: At, kind: RealKind) -> Result<Node> {
        match (kind, self.view) {
            (RealKind::Directory, _) => Ok(Node::Dir(at)),
            (RealKind::Regular, View::Folders) => Ok(Node::Folder(at)),
            (RealKind::Regular, View::Files) => Ok(Node::File(at)),
            (RealKind::Symlink, View::Files) => Ok(Node::Symlink(at)),
            (RealKind::Symlink, View::Folders) | (RealKind::Special, _) => Err(Refusal::NotFound),
        }
    }

    pub(super) fn similar_of_dir(&self, at: &At) -> Node {
        match self.view {
            View::Folders => Node::Similar(Subject::Dir(at.clone())),
            View::Files => Node::Index(at.clone()),
        }
    }

    pub(super) fn parent(&self, node: &Node) -> Option<Node> {
        Some(match node {
            node if *node == self.top => return None,
            Node::Top => return None,
            Node::Dir(at) if at.is_root() => self.top.clone(),
            Node::File(at) if self.view == View::Folders => Node::Folder(at.clone()),
            Node::Dir(at) | Node::Folder(at) | Node::File(at) | Node::Symlink(at) => {
                Node::Dir(at.parent())
            }
            Node::Index(at) => Node::Dir(at.clone()),
            Node::Similar(of) => match (of, self.view) {
                (Subject::File(at), View::Folders) => Node::Folder(at.clone()),
                (Subject::File(at), View::Files) => Node::Index(at.parent()),
                (Subject::Dir(at), View::Folders) => Node::Dir(at.clone()),
                (Subject::Dir(at), View::Files) => Node::Index(at.clone()),
            },
            Node::Link { of, .. } | Node::More(of) => Node::Similar(of.clone()),
            Node::WhyDir(at) | Node::Report(at) | Node::Member { of: at, .. } => {
                Node::Similar(Subject::File(at.clone()))
            }
            Node::Why { of, .. } => Node::WhyDir(of.clone()),
        })
    }

    pub(super) fn hash(&self, node: &Node) -> u64 {
        let path = node.at().map(|at| self.tree.path(at)).unwrap_or_default();
        node.hash(self.view_key, &path)
    }

    pub(super) fn number(&self, node: &Node) -> u64 {
        self.inodes.peek(node, self.hash(node))
    }

    pub(super) fn note_hidden(&self, real: At, is_there: bool) {
        let mut hidden = self.hidden.lock();
        if is_there {
            hidden.insert(real);
        } else {
            hidden.remove(&real);
        }
    }

    // ---- attributes ----

    /// Returns the `stat` of the real file or directory that belongs to a node. `None` for
    /// [`Node::Top`], and if nothing is there now and the node is shown as an empty directory.
    pub(super) fn stat_of(&self, node: &Node, known: Option<Stat>) -> Result<Option<Stat>> {
        let Some(at) = node.at() else {
            return Ok(None);
        };
        let wanted = match node {
            Node::Dir(_)
            | Node::Index(_)
            | Node::Similar(Subject::Dir(_))
            | Node::More(Subject::Dir(_))
            | Node::Link {
                of: Subject::Dir(_),
                ..
            } => RealKind::Directory,
            Node::Symlink(_) => RealKind::Symlink,
            _ => RealKind::Regular,
        };
        match known.map_or_else(|| self.tree.stat(at).map(|(_, stat)| stat), Ok) {
            Ok(stat) if RealKind::of_stat(&stat) == wanted => Ok(Some(stat)),
            _ if *node != self.top && !self.tree.has_root(at) => Err(Refusal::Stale),
            // A root that is missing, or is no directory, is shown as an empty directory. In a
            // tree restricted to a caller, this holds only for the top of the mount.
            _ if at.is_root()
                && wanted == RealKind::Directory
                && (*node == self.top || !self.tree.is_partial()) =>
            {
                Ok(None)
            }
            Ok(_) => Err(Refusal::Stale),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Returns the sizes of the file system that a node is on.
    pub fn space(&self, ino: u64) -> Result<Space> {
        let node = self.node(ino)?;
        let first = || self.tree.roots().into_iter().next().map(|(at, _)| at);
        let at = (node.at().cloned()).or_else(first).unwrap_or(At::root(0));
        // If the real directory is gone, the sizes are 0. `df` must not fail.
        let Ok(real) = self.tree.space(&at) else {
            return Ok(Space::default());
        };
        Ok(Space {
            blocks: real.f_blocks,
            bfree: real.f_bfree,
            bavail: real.f_bavail,
            files: real.f_files,
            ffree: real.f_ffree,
            bsize: real.f_bsize as u32,
            frsize: real.f_frsize as u32,
        })
    }

    /// Returns the time for which the kernel may cache a name. It is zero in a mount for all users,
    /// because the kernel would use one caller's answer for another.
    fn ttl(&self, node: &Node) -> Duration {
        match node {
            _ if self.tree.is_partial() => Duration::ZERO,
            Node::Top | Node::Dir(_) | Node::Folder(_) | Node::File(_) | Node::Symlink(_) => {
                MIRROR_TTL
            }
            _ => Duration::ZERO,
        }
    }

    /// Returns the number of nodes that the kernel knows, and of open handles. Both are 0 while
    /// nobody uses the overlay.
    #[cfg(test)]
    pub(crate) fn in_use(&self) -> (usize, usize) {
        (self.inodes.len(), self.handles.len())
    }
}

/// Returns the attributes of a node. `stat` is that of the real file or directory that belongs to
/// the node.
pub(super) fn attr(ino: u64, node: &Node, stat: Option<&Stat>) -> Attr {
    let Some(stat) = stat else {
        return Attr::nowhere(ino);
    };
    match node {
        Node::Top | Node::Dir(_) => Attr::mirror(ino, Kind::Directory, stat),
        Node::File(_) => Attr::mirror(ino, Kind::File, stat),
        Node::Symlink(_) => Attr::mirror(ino, Kind::Link, stat),
        Node::Folder(_) | Node::Index(_) | Node::Similar(_) | Node::WhyDir(_) => {
            Attr::folder(ino, stat)
        }
        Node::Link { target, .. } => Attr::link(ino, stat, target.as_os_str().len()),
        Node::Member { size, .. } => Attr::member(ino, stat, *size),
        Node::Why { .. } | Node::Report(_) | Node::More(_) => Attr::text(ino, stat),
    }
}

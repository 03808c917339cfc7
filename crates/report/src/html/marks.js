
// ---- marks ---------------------------------------------------------------------------------------
// Files of equal bytes that a person wants to go. Goes on in the scope of page.js.
// 1. A set is a row of equal files. `marks` has for each row which of its files go; one always stays.
// 2. The page makes no plan: it saves the marks, and the command looks at the files as they are when
//    it makes the plan. So there is one writer of scripts, and a page may be as old as it is.
// 3. Names are compared as strings of bytes, and leave the page as ASCII.

const LAST = 'This is the last file of its set without a mark: one copy always stays.';
const ONLY_EQUAL = 'Only identical files can be marked; near copies are there to be looked at.';

const marks = new Map();
const markable = []; // sections whose rows have marks
let unsaved = false;
const isCover = doc.command === 'covered';

/** The files of a set; of a covered file first its equal elsewhere, which always stays. */
const filesOf = (row) => (isCover ? [name(row, 'by'), name(row, 'path')] : row.paths.map(loose));

const ASCII = /^[\0-\x7f]*$/;
/** The bytes of a name as a string of them. */
const binary = (name) => (name.b64 ? atob(name.b64)
  : ASCII.test(name.text) ? name.text
    : Array.from(new TextEncoder().encode(name.text), (b) => String.fromCharCode(b)).join(''));
const baseBytes = extra.base ? binary(loose(extra.base)).replace(/\/$/, '') : null;

/** The whole path of a name. The base is a real path, so `..` behind it can be resolved. */
function absolute(name) {
  let path = binary(name), from = baseBytes;
  if (path[0] === '/' || from === null) return path;
  for (let up; (up = path.match(/^\.\.?(\/+|$)/)); path = path.slice(up[0].length)) {
    if (up[0][1] === '.') from = from.slice(0, from.lastIndexOf('/'));
  }
  return path ? from + '/' + path : from || '/';
}

/** A string of bytes as a path of a document. */
function pathText(bytes) {
  if (ASCII.test(bytes)) return bytes;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(codesOf(bytes));
  } catch {
    return { b64: btoa(bytes) };
  }
}
const nameOf = (bytes) => loose(pathText(bytes));
const isBelow = (path, dir) => path === dir || path.startsWith(dir === '/' ? dir : dir + '/');
const dirOf = (text) => absolute({ text }).replace(/(.)\/+$/, '$1');

/** A glob of a name, as --keep has them: it matches bytes. Null if it is not one. */
function globOf(text) {
  const token = /\\(.)|(\*+)|(\?)|\[([!^]?)(\]?[^\]]*)\]|\{([^{}]*)\}|([.+^$|(){}\\[\]\/])/gs;
  const source = (part) => part.replace(token, (all, literal, star, any, not, inside, either, special) =>
    (star ? '.*' : any ? '.' : either !== undefined ? `(?:${either.split(',').map(source).join('|')})`
      : inside !== undefined ? `[${not && '^'}${inside.replace(/[\\[\]^]/g, '\\$&')}]`
        : (literal ?? special).replace(/[.+^$|(){}\\[\]*?\/]/, '\\$&')));
  try {
    return text.includes('/') ? null : new RegExp(`^${source(binary({ text }))}$`, 's');
  } catch {
    return null;
  }
}
const codesOf = (bytes) => Uint8Array.from(bytes, (c) => c.charCodeAt(0));
const lastOf = (path) => path.slice(path.lastIndexOf('/') + 1);

/** How many names the files have that have several; null in a page whose files were not looked at. */
const linksOf = extra.links && new Map(extra.links.map(([path, links]) => [keyOf(loose(path)), links]));

/** Whether a date counts: one more than a day ahead is unknown, as in `resemble_proto::clock`. */
const isPast = (time) => time <= Date.now() / 1000 + 86400;

/** The rules of --keep: word, label, what must be typed, and the rank of a file; the least stays. */
const RULES = [
  ['newest', 'the newest', null, (file) => (isPast(file.time) ? -file.time : Infinity)],
  ['oldest', 'the oldest', null, (file) => (isPast(file.time) ? file.time : Infinity)],
  ['shortest', 'the shortest path', null, (file) => file.path.length],
  ['longest', 'the longest path', null, (file) => -file.path.length],
  ['in', 'the one below', 'folder', (file, dir) => (isBelow(file.path, dir) ? 0 : 1)],
  ['not-in', 'the one not below', 'folder', (file, dir) => (isBelow(file.path, dir) ? 1 : 0)],
  ['name', 'the one named like', 'pattern', (file, glob) => (glob.test(lastOf(file.path)) ? 0 : 1)],
  ['not-name', 'the one not named like', 'pattern', (file, glob) => (glob.test(lastOf(file.path)) ? 1 : 0)],
  linksOf && ['most-links', 'the one with most hard links', null, (file) => -file.links],
].filter(Boolean);

/** The files of a set, those that stay by the rules first; then most links, the oldest, the least path. */
function ranked(row, rules) {
  const files = filesOf(row).map((name, at) =>
    ({ at, path: absolute(name), time: row.mtimes?.[at] ?? 0, links: linksOf?.get(keyOf(name)) ?? 1 }));
  const usual = (a, b) => b.links - a.links || a.time - b.time || (a.path < b.path ? -1 : 1);
  if (isCover) return files;
  return files.sort((a, b) => {
    for (const [rank, value] of rules) {
      const order = rank(a, value) - rank(b, value);
      if (order) return order;
    }
    return usual(a, b);
  });
}

function put(row, goes) {
  if (goes.size) marks.set(row, goes);
  else marks.delete(row);
  unsaved = true;
}

/** Marks a file or takes its mark away, or says why not. */
function mark(row, at, goes) {
  const now = new Set(marks.get(row));
  if (goes) now.add(at);
  else now.delete(at);
  const why = goes && now.size === filesOf(row).length ? LAST : '';
  if (!why) put(row, now);
  changed(why, row);
}

/** Of each set all files go but those that `staying` picks. Earlier marks of these rows are gone. */
function markAllBut(rows, rules, staying) {
  let sets = 0, files = 0;
  for (const row of rows) {
    const all = ranked(row, rules), stay = new Set(staying(all));
    if (!stay.size) continue;
    const goes = new Set(all.filter((file) => !stay.has(file)).map((file) => file.at));
    put(row, goes);
    sets += goes.size ? 1 : 0;
    files += goes.size;
  }
  changed(files ? `Marked ${plural(files, 'file')} of ${plural(sets, 'set')}.`
    : 'Nothing was marked: no set has such a file.');
}

/** What lies below a folder stays, in every set that has a file there; the other files of these sets go. */
const keepBelow = (rows, dir) =>
  markAllBut(rows, [], (files) => files.filter((file) => isBelow(file.path, dir)));

function tally() {
  let files = 0, bytes = 0;
  for (const [row, goes] of marks) {
    files += goes.size;
    for (const at of goes) bytes += row.allocated?.[at] ?? row.size;
  }
  return { sets: marks.size, files, bytes };
}

// ---- marks on the page -------------------------------------------------------------------------------

const fate = (row, at) => (marks.get(row)?.has(at) ? 'goes' : 'stays');
const goingText = (row) =>
  (marks.has(row) ? `${count(marks.get(row).size)} of ${count(filesOf(row).length)} go` : '');
const setBadge = (row) => el('span', { class: 'tag going' }, goingText(row));

/** A box for one file, with its fate in words. */
function markBox(row, at) {
  const box = el('input', { type: 'checkbox', 'data-at': at, 'aria-label': `${spell(filesOf(row)[at])} goes`,
    change: () => mark(row, at, box.checked) });
  box.checked = fate(row, at) === 'goes';
  return el('label', { class: 'fate' }, box, el('span', null, fate(row, at)));
}

function setDetail(row) {
  const files = filesOf(row);
  return [
    files.length > 2 && walkButton(files.map((name, at) => ({ name, size: row.size, time: row.mtimes?.[at] })),
      () => 'Equal, byte for byte.'),
    small('Files', [['File'], ['Changed (UTC)', true]], files, (name, at) => [
      [markBox(row, at), label(name, base), moreButton('keep this folder', () => {
        const path = absolute(name);
        keepBelow(setsListed(), path.slice(0, path.lastIndexOf('/')) || '/');
      })],
      row.mtimes && row.mtimes[at] !== undefined ? time(row.mtimes[at]) : ''])].filter(Boolean);
}

/** The sets that the filter lists. */
const setsListed = () => markable.flatMap((section) => section.order.map((i) => section.rows[i]));

/** Brings what is shown of the marks up to date: of one row, or of all. */
function changed(words, only) {
  for (const section of markable) {
    const tops = only ? [document.getElementById(`${section.id}-${section.rows.indexOf(only) + 1}`)]
      : section.body.querySelectorAll(':scope > tr.top');
    for (const top of tops) {
      const row = top && section.rows[rowOf(section, top)];
      if (!row) continue;
      const badge = top.querySelector('.going'), below = top.nextSibling;
      if (badge) badge.textContent = goingText(row);
      const detail = below?.classList.contains('detail') ? below.querySelectorAll('.fate') : [];
      for (const label of [...top.querySelectorAll('.fate'), ...detail]) {
        const [box, text] = label.children;
        text.textContent = fate(row, Number(box.dataset.at));
        box.checked = text.textContent === 'goes';
      }
    }
    if (section.only) section.update();
  }
  const { sets, files, bytes } = tally();
  bar.node.hidden = !files && !words;
  document.body.classList.toggle('has-bar', !bar.node.hidden);
  bar.sum.replaceChildren(...(files ? [
    el('b', null, `${plural(files, 'file')} of ${plural(sets, 'set')} to go`),
    ` frees up to ${size(bytes)}; loses nothing: each has an equal that stays`]
    : ['Nothing is marked.']));
  bar.said.textContent = words;
  bar.buttons.hidden = !files;
}

const bar = {};
function startMarks() {
  if (!markable.length) return;
  bar.sum = el('p');
  bar.said = el('p', { role: 'status' });
  bar.only = el('button', { type: 'button', 'aria-pressed': 'false', click: () => showOnly(!markable[0].only) },
    'Show marked');
  const clear = () => { marks.clear(); unsaved = false; showOnly(false); changed('All marks are gone.'); };
  bar.buttons = el('div', null,
    el('button', { type: 'button', class: 'main', click: planDialog }, 'Plan…'), bar.only,
    el('button', { type: 'button', click: clear }, 'Clear'));
  bar.node = el('aside', { id: 'bar', 'aria-label': 'What is marked', hidden: true }, bar.sum, bar.said, bar.buttons);
  document.body.append(bar.node);
  addEventListener('beforeunload', (event) => { if (unsaved && marks.size) event.preventDefault(); });
}

function showOnly(on) {
  bar.only.setAttribute('aria-pressed', String(on));
  for (const section of markable) {
    section.only = on ? (row) => marks.has(row) : null;
    section.update();
  }
  if (on) markable[0].node.scrollIntoView();
}

/** Marks by a rule, and by further ones where it leaves more than one. */
function ruleTools(section) {
  markable.push(section);
  if (isCover) {
    const all = () => markAllBut(section.order.map((i) => section.rows[i]), [], (files) => files.slice(0, 1));
    return el('div', { class: 'tools' },
      el('button', { type: 'button', class: 'by-rule', click: all }, 'Mark all that are listed'));
  }
  const list = el('span', { class: 'kinds' });
  const add = () => {
    const first = !list.children.length;
    const value = el('input', { type: 'text', hidden: true, 'aria-label': 'Folder or pattern' });
    const select = el('select', { 'aria-label': first ? 'Which file stays' : 'Which file stays then', change: () => {
      const wants = RULES.find(([word]) => word === select.value)[2];
      value.hidden = !wants;
      value.placeholder = wants || '';
    } }, RULES.map(([word, label]) => el('option', { value: word }, label)));
    list.append(el('span', { class: 'rule' }, first ? 'of each set listed keep ' : ' then ', select, value));
  };
  add();
  const byRule = () => {
    const rules = [];
    for (const rule of list.children) {
      const [select, value] = [rule.querySelector('select'), rule.querySelector('input')];
      const [, , wants, rank] = RULES.find(([word]) => word === select.value);
      if (wants && !value.value) { value.focus(); changed(`Type a ${wants} first.`); return; }
      const wanted = wants === 'folder' ? dirOf(value.value) : wants && globOf(value.value);
      if (wants && !wanted) { value.focus(); changed('This is no pattern of a name, such as *.bak or * (?).*'); return; }
      rules.push([rank, wanted]);
    }
    markAllBut(section.order.map((i) => section.rows[i]), rules, (files) => files.slice(0, 1));
  };
  return el('div', { class: 'tools' }, list, el('button', { type: 'button', click: add }, 'then …'),
    el('button', { type: 'button', class: 'by-rule', click: byRule }, 'Mark the others'));
}

// ---- the way to a plan ---------------------------------------------------------------------------------

/** The marks as a file for `resemble groups --from`: ASCII, a name a line. */
function marksText() {
  const escaped = (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0');
  const ascii = (value) => JSON.stringify(value).replace(/[\u007f-\uffff]/g, escaped);
  const asked = doc.parameters, path = (bytes) => ascii(pathText(bytes));
  const roots = (asked.roots || [asked.dir]).map((root) => absolute(loose(root))).filter((root) => !root.includes('\0'));
  const picked = asked.filter || asked;
  const head = `{"schema":${doc.schema},"version":${ascii(doc.version)},"command":"marks",\n` +
    `"roots":[${roots.map(path).join(',\n')}],\n` +
    `"include":${ascii(picked.include || [])},"exclude":${ascii(picked.exclude || [])},\n"marks":[`;
  const sets = markable.flatMap((section) => section.rows).filter((row) => marks.has(row)).map((row) => {
    const files = filesOf(row).map(absolute), goes = marks.get(row);
    const copies = [...goes].map((at) => path(files[at]));
    return `{"keep":${path(files.find((_, at) => !goes.has(at)))},"copies":[\n${copies.join(',\n')}]}`;
  });
  return head + '\n' + sets.join(',\n') + ']}\n';
}

const TREATMENTS = [
  ['trash', 'go to the trash (can be undone)'], ['move', 'are moved into a folder (can be undone)'],
  ['symlink', 'become symbolic links (can be undone)'], ['hardlink', 'become hard links'],
  ['reflink', 'become clones that share blocks'], ['remove', 'are removed'],
];
const shellQuoted = (text) => (/^[\w.,:=@%+\/-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);

/** What will be done, and the two ways to the plan: a file for the command, or all in one paste. */
function planDialog() {
  const { files, bytes } = tally();
  const how = el('select', { 'aria-label': 'What becomes of the files', change: () => draw() },
    TREATMENTS.map(([word, text]) => el('option', { value: word }, text)));
  const dir = el('input', { type: 'text', placeholder: 'folder outside of what was asked about',
    'aria-label': 'Folder', input: () => draw() });
  const code = el('pre', { tabindex: 0 });
  const plan = () => (how.value === 'move' ? shellQuoted('move=' + dir.value) : how.value);
  const command = (from) => `resemble groups --from ${from} --plan ${plan()} -o plan.sh`;
  const draw = () => {
    dir.hidden = how.value !== 'move';
    code.textContent = command('marks.json') +
      '\nsh plan.sh            # says what it would do\nsh plan.sh --do-it    # does it';
  };
  const said = el('p', { role: 'status' });
  const download = () => {
    const file = new Blob([marksText()], { type: 'application/json' });
    const link = el('a', { download: 'marks.json', href: URL.createObjectURL(file) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    unsaved = false;
    said.textContent = 'marks.json is saved. Run the lines above where it is.';
  };
  const copy = () => copyText(`${command('/dev/stdin')} <<'MARKS'\n${marksText()}MARKS\n`, said,
    'Copied: paste it into a shell. It writes plan.sh and does nothing else.')
    .then((done) => { unsaved &&= !done; });
  const pairs = [...marks].flatMap(([row, goes]) => {
    const names = filesOf(row), stays = names.find((_, at) => !goes.has(at));
    return [...goes].map((at) => [names[at], stays, row.size]);
  });
  const box = dialog('Plan', el('p', null, `${plural(files, 'marked file')}, up to ${size(bytes)}: they `, how, ' ', dir),
    el('p', { class: 'lead' }, 'The command looks at each file again and writes a script, which you read and then run. ' +
      'Each step compares the bytes once more, and what has changed since is left alone. ' +
      'What is a hard link or shares its blocks frees nothing: the plan says so.'),
    code, el('div', { class: 'tools' },
      el('button', { type: 'button', class: 'main', click: download }, 'Save marks.json'),
      el('button', { type: 'button', click: copy }, 'Copy the command with the marks')), said,
    small('What goes', [['Goes'], ['Stays'], ['Size', true]], pairs,
      ([goes, stays, bytes]) => [label(goes, base), label(stays, base), bytesCell(bytes)]));
  draw();
  box.showModal();
}

/** Puts a text into the clipboard; if that fails, shows it selected. */
async function copyText(text, said, done) {
  try {
    await navigator.clipboard.writeText(text);
    said.textContent = done;
    return true;
  } catch {
    const area = el('textarea', { readonly: true, rows: 6, 'aria-label': 'To be copied' });
    area.value = text;
    said.replaceChildren('The browser does not let the page copy. Press Ctrl+C: ', area);
    area.select();
    return false;
  }
}

function dialog(title, ...kids) {
  const close = el('button', { type: 'button', class: 'close', 'aria-label': 'Close', click: () => box.close() }, '×');
  const box = el('dialog', { 'aria-label': title, close: () => box.remove() },
    el('header', null, el('h2', null, title), close), kids);
  document.body.append(box);
  return box;
}

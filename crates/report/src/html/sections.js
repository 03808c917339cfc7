// What each report holds: its sections, and what their columns and details are. Goes on in the scope of page.js.

const has = (row, key) => row[key] !== null && row[key] !== undefined;
/** The names in these fields on a line each; `tags` stand behind the last. */
const lines = (row, keys, root, ...tags) => {
  const there = keys.filter((key) => has(row, key));
  return there.map((key, i) => line(label(name(row, key), root && root[key]), i === there.length - 1 ? tags : null));
};
const wordsOf = (...keys) => (row) => keys.map((key) => (has(row, key) ? spell(name(row, key)) : '')).join('\n');
const num = (label, key, cell, down = true) => ({ label, num: true, down, value: (row) => row[key], cell: (row) => cell(row[key], row) });
const shareColumn = (label, key) => num(label, key, (value, row) => share(value, row.identical || row.class === 'same' || row.class === 'moved'));
const discounted = (row) => row.discounted !== undefined && row.discounted !== null &&
  el('span', { class: 'tag', title: row.reason || '' }, `${percent(row.discounted)} without common text`);

function kindsOf(rows, kind, hidden = []) {
  const counts = new Map();
  for (const row of rows) counts.set(kind(row), (counts.get(kind(row)) || 0) + 1);
  return [...counts].map(([word, number]) => [word, hidden.includes(word), number]);
}

/** What names of pairs start from: those of a comparison from its two sides. */
const roots = doc.command === 'compare' ? { a: below(doc.parameters.a), b: below(doc.parameters.b) } : { a: base, b: base };

const ANY_NAMES = 'Whatever the names and the layout: how much of the bytes below one folder is in files below the other.';

/** Similar directories, or the sub-trees of a comparison, with their map. */
function foldersSection(rows, lead) {
  const section = new Section({
    id: 'folders', title: 'Similar folders', lead, rows, unit: ['pair', 'pairs'], step: 25,
    columns: [
      { label: 'Folders', names: true, value: (row) => row.a, cell: (row) => lines(row, ['a', 'b'], roots) },
      shareColumn('first in second', 'a_in_b'), shareColumn('second in first', 'b_in_a'),
      rows.some((row) => row.shared_bytes !== undefined) && num('In both', 'shared_bytes', bytesCell),
      { label: 'Files', num: true, down: true, value: (row) => row.files_a + row.files_b, cell: (row) => [line(count(row.files_a)), line(count(row.files_b))] },
      { label: 'Size', num: true, down: true, value: (row) => row.bytes_a + row.bytes_b, cell: (row) => [line(bytesCell(row.bytes_a)), line(bytesCell(row.bytes_b))] },
      { label: '', cell: (row) => row.identical && el('span', { class: 'tag good' }, 'identical') },
    ].filter(Boolean),
    words: wordsOf('a', 'b'), score: most,
  });
  const map = rows.length > 1 && mapOf(rows, section, doc.command === 'compare');
  if (map) section.node.insertBefore(map, section.node.querySelector('.tools'));
  return section;
}

/** The folder that all names lie in, and a function that leaves it out. */
function shortened(all) {
  const texts = all.map((name) => (name.b64 ? '' : name.text));
  let prefix = texts[0] || '';
  for (const text of texts) while (!text.startsWith(prefix)) prefix = prefix.slice(0, -1);
  prefix = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  return prefix.length < 2 ? ['', (name) => name] : [spell({ text: prefix }), (name) => ({ text: name.text.slice(prefix.length) })];
}

/** Which folders overlap which: row in column, in percent. Arrow keys move, Enter shows the pair below. */
function mapOf(pairs, section, twoSides) {
  const named = new Map(), cells = new Map();
  const note = (side, pair, key) => {
    const id = (twoSides ? side : '') + keyOf(name(pair, key));
    named.set(id, name(pair, key));
    return id;
  };
  const ends = pairs.map((pair) => [note('a', pair, 'a'), note('b', pair, 'b')]);
  pairs.forEach((pair, i) => {
    const [a, b] = ends[i];
    cells.set(a + '\u0001' + b, { part: pair.a_in_b, pair });
    if (!twoSides) cells.set(b + '\u0001' + a, { part: pair.b_in_a, pair });
  });
  // Both folders of the pairs that share most, as many as there is room for: so no row is empty.
  const shared = (i) => pairs[i].shared_bytes ?? Math.min(pairs[i].bytes_a, pairs[i].bytes_b);
  const chosen = twoSides ? [new Set(), new Set()] : Array(2).fill(new Set());
  for (const i of [...pairs.keys()].sort((x, y) => shared(y) - shared(x))) {
    const more = chosen.map((set, side) => (twoSides ? [ends[i][side]] : ends[i]).filter((id) => !set.has(id)).length);
    if (chosen.every((set, side) => set.size + more[side] <= MAP_SIZE)) ends[i].forEach((id, side) => chosen[side].add(id));
  }
  const [rows, columns] = chosen.map((set) => [...set].sort((x, y) => (spell(named.get(x)) < spell(named.get(y)) ? -1 : 1)));
  const box = (row, column, r, c) => {
    const cell = cells.get(row + '\u0001' + column);
    const from = spell(named.get(row)) || '.', to = spell(named.get(column)) || '.';
    const place = { role: 'gridcell', tabindex: -1, 'data-at': `${r},${c}` };
    if (row === column) return el('td', { ...place, class: 'self', 'aria-label': 'itself' }, '·');
    if (!cell) return el('td', { ...place, 'aria-label': `${from} and ${to}: no overlap listed` });
    const text = `${percent(cell.part, cell.pair.identical)} of ${from} is in ${to}`;
    const much = cell.part === null ? 1 : Math.min(5, 1 + Math.floor(cell.part * 4.999));
    return el('td', { ...place, 'data-much': much, 'aria-label': text, title: text },
      cell.part === null ? '?' : String(Math.min(cell.pair.identical ? 100 : 99, floorPercent(cell.part))));
  };
  const heading = (text) => el('span', { class: 'hidden' }, text);
  const [base, short] = shortened(rows.map((id) => named.get(id)));
  const grid = el('table', { role: 'grid', 'aria-label': 'Which folders overlap which' },
    el('thead', null, el('tr', { role: 'row' }, el('td', { role: 'presentation' }), columns.map((id, c) =>
      el('th', { scope: 'col', role: 'columnheader', title: spell(named.get(id)) }, String(c + 1), heading(' ' + spell(named.get(id))))))),
    el('tbody', null, rows.map((row, r) => el('tr', { role: 'row' },
      el('th', { scope: 'row', role: 'rowheader' }, !twoSides && el('span', { class: 'index' }, String(r + 1)), label(short(named.get(row)))),
      columns.map((column, c) => box(row, column, r, c))))));
  const at = (r, c) => grid.querySelector(`[data-at="${r},${c}"]`);
  const light = (target) => {
    grid.querySelectorAll('.lit').forEach((head) => head.classList.remove('lit'));
    const [r, c] = target.dataset.at.split(',').map(Number);
    grid.querySelectorAll('tbody th')[r].classList.add('lit');
    grid.querySelectorAll('thead th')[c].classList.add('lit');
  };
  const show = (target) => {
    const [r, c] = target.dataset.at.split(',').map(Number);
    const cell = cells.get(rows[r] + '\u0001' + columns[c]);
    if (!cell) return;
    const i = pairs.indexOf(cell.pair);
    section.showAll();
    section.render(Math.max(section.step, i + 1));
    section.node.querySelectorAll('tr.on').forEach((row) => row.classList.remove('on'));
    const found = section.body.children[i];
    found.classList.add('on');
    found.scrollIntoView({ block: 'center' });
    const link = found.querySelector('a');
    if (link) link.focus({ preventScroll: true });
  };
  grid.addEventListener('focusin', (event) => event.target.dataset.at && light(event.target));
  grid.addEventListener('click', (event) => { const cell = event.target.closest('[data-at]'); if (cell) show(cell); });
  grid.addEventListener('keydown', (event) => {
    const cell = event.target.closest('[data-at]');
    if (!cell) return;
    if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); show(cell); return; }
    const [r, c] = cell.dataset.at.split(',').map(Number);
    const next = { ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1], Home: [r, 0], End: [r, columns.length - 1] }[event.key];
    const target = next && at(...next);
    if (!target) return;
    event.preventDefault();
    cell.tabIndex = -1;
    target.tabIndex = 0;
    target.focus();
  });
  grid.querySelector('td[data-much]').tabIndex = 0;
  const left = named.size - new Set([...rows, ...columns]).size;
  return el('div', { class: 'overlaps' }, el('h3', null, 'Which folders overlap which'),
    el('p', { class: 'lead' }, twoSides
      ? 'Rows are folders of the first directory, columns those of the second: how many percent of the row lie in the column.'
      : 'How many percent of the folder in the row lie in the folder in the column; columns have the numbers of the rows.',
      left > 0 && ` The ${MAP_SIZE} that share most; ${plural(left, 'further folder')} in the table only.`,
      base && [' Names of rows are below ', el('bdi', null, base), '.'],
      el('span', { class: 'hint' }, ' Arrow keys move, Enter goes to the pair.')),
    el('div', { class: 'map' }, grid, twoSides && el('ol', { class: 'lead' }, columns.map((id) => el('li', null, spell(named.get(id)) || '.')))));
}

const evidence = new Map((extra.evidence || []).map((one, i) => [keyOf(name(one, 'a')) + '\u0001' + keyOf(name(one, 'b')), i]));
function evidenceLink(row) {
  const a = keyOf(name(row, 'a')), b = keyOf(name(row, 'b'));
  const at = evidence.get(a + '\u0001' + b) ?? evidence.get(b + '\u0001' + a);
  return at === undefined ? null : el('a', { class: 'tag', href: `#evidence-${at + 1}` }, 'side by side');
}

function clusterDetail(cluster) {
  const center = keyOf(name(cluster, 'center')), kin = components.get(cluster.component) || 1;
  const member = (row) => [
    line(label(name(row, 'path'), base), keyOf(name(row, 'path')) === center && el('span', { class: 'tag' }, 'centre'),
      row.newest && el('span', { class: 'tag good' }, 'newest'), row.copies > 1 && el('span', { class: 'tag' }, `${count(row.copies)} identical copies`),
      row.document_date && el('span', { class: 'tag', title: row.document_date.source }, 'states ', time(row.document_date.time))),
    ...(keyOf(name(row, 'path')) === center ? ['', ''] : [share(row.a_in_b), share(row.b_in_a)]), bytesCell(row.size), time(row.mtime)];
  return [
    walkButton(cluster.members.map((row) => ({ name: name(row, 'path'), size: row.size, time: row.mtime, newest: row.newest })),
      (one, other, called) => together(cluster, one, other, called)),
    small('Members', [['File'], ['of it in the centre', true], ['of the centre in it', true], ['Size', true], ['Changed (UTC)', true]], cluster.members, member),
    cluster.links.length && [el('h3', null, plural(cluster.links.length, 'link')),
      small('Links', [['Files'], ['first in second', true], ['second in first', true], ['In both', true]], cluster.links, (row) => [
        lines(row, ['a', 'b'], roots, evidenceLink(row), discounted(row)), share(row.a_in_b), share(row.b_in_a), sharedCell(row)])],
    el('p', { class: 'none' }, `Cluster ${cluster.id}. The least alike two members: ${percent(cluster.worst)}. `,
      kin > 1 && moreButton(`Show the ${count(kin)} clusters that hang together`, () => families.filterFor(cluster.component))),
  ].flat().filter(Boolean);
}

const components = new Map();
let families = null;
function groupSections() {
  for (const cluster of doc.clusters) components.set(cluster.component, (components.get(cluster.component) || 0) + 1);
  families = new Section({
    id: 'families', title: 'Families of similar files', rows: doc.clusters, unit: ['cluster', 'clusters'],
    lead: 'Every member of a cluster resembles its centre. Identical files stand for one here; they are listed below.',
    columns: [
      { label: 'Centre', names: true, value: (row) => row.center, cell: (row) => label(name(row, 'center'), base) },
      { label: 'Kind', word: true, value: (row) => row.kind, cell: (row) => row.kind },
      num('Similar', 'average', (value) => share(value)), num('Worst pair', 'worst', (value) => percent(value)),
      { label: 'Files', num: true, down: true, value: (row) => row.members.length, cell: (row) => count(row.members.length) },
      { label: 'Links', num: true, down: true, value: (row) => row.links.length, cell: (row) => count(row.links.length) },
      num('Size', 'bytes', bytesCell),
    ],
    words: (row) => [row.id, row.component, ...row.members.map((member) => spell(name(member, 'path')))].join('\n'),
    score: (row) => row.average, kind: (row) => row.kind, kinds: kindsOf(doc.clusters, (row) => row.kind), detail: clusterDetail, extras: overTime,
  });
  const overhead = ({ size, paths, allocated }) => (allocated
    ? allocated.reduce((sum, bytes) => sum + bytes) - allocated.reduce((most, bytes) => Math.max(most, bytes))
    : size * (paths.length - 1));
  const sets = new Section({
    id: 'identical', title: 'Identical files', rows: doc.identical, unit: ['set', 'sets'],
    lead: 'Files of equal bytes. Overhead is what all but one of a set take.',
    columns: [
      { label: 'First', names: true, value: (row) => loose(row.paths[0]).text, cell: (row) => label(loose(row.paths[0]), base) },
      { label: 'Files', num: true, down: true, value: (row) => row.paths.length, cell: (row) => count(row.paths.length) },
      { label: 'Overhead', num: true, down: true, value: overhead, cell: (row) => bytesCell(overhead(row)) },
      num('Size of one', 'size', bytesCell),
    ],
    words: (row) => row.paths.map((path) => spell(loose(path))).join('\n'),
    detail: setDetail, badge: setBadge, extras: ruleTools,
  });
  return [folders && foldersSection(folders.pairs, ANY_NAMES), families, sets, placesSection(sets)];
}

function compareSections() {
  const head = [['Further partners'], ['of it in the partner', true], ['of the partner in it', true], ['In both', true]];
  const partners = (row) => small('Further partners', head, row.others, (other) =>
    [label(name(other, 'path'), row.a === null ? roots.a : roots.b), share(other.a_in_b), share(other.b_in_a), sharedCell(other)]);
  const order = ['edited', 'moved-edited', 'contained', 'contains', 'moved', 'only-a', 'only-b', 'same'];
  const entries = new Section({
    id: 'entries', title: 'Files', rows: doc.entries, unit: ['row', 'rows'],
    lead: 'Every file of both sides stands here, with its partner on the other side if it has one. Click a class to hide or show it.',
    columns: [
      { label: 'Files, first over second', names: true, value: (row) => row.a ?? row.b, cell: (row) => lines(row, ['a', 'b'], roots,
        row.copy && el('span', { class: 'tag' }, 'surplus copy'), row.others && el('span', { class: 'tag' }, plural(row.others.length, 'further partner')),
        evidenceLink(row), discounted(row)) },
      { label: 'Class', word: true, value: (row) => order.indexOf(row.class), cell: (row) => row.class },
      shareColumn('first in second', 'a_in_b'), shareColumn('second in first', 'b_in_a'),
      num('In both', 'shared_bytes', (_, row) => (row.a === null || row.b === null ? '' : sharedCell(row))),
      { label: 'Size', num: true, down: true, value: (row) => Math.max(row.size_a || 0, row.size_b || 0),
        cell: (row) => [has(row, 'a') && line(bytesCell(row.size_a)), has(row, 'b') && line(bytesCell(row.size_b))] },
    ],
    words: wordsOf('a', 'b'), score: most, kind: (row) => row.class,
    kinds: kindsOf(doc.entries, (row) => row.class, ['same']).sort((x, y) => order.indexOf(x[0]) - order.indexOf(y[0])),
    detail: doc.entries.some((row) => row.others) ? partners : null, hasDetail: (row) => Boolean(row.others),
  });
  const other = doc.others.length && new Section({
    id: 'others', title: 'Links and special files', rows: doc.others, unit: ['entry', 'entries'],
    lead: 'What is no regular file, or could not be read, and is not the same on both sides.',
    columns: [{ label: 'Path', names: true, value: (row) => row.path, cell: (row) => label(name(row, 'path')) },
      { label: 'First', value: (row) => row.a, cell: (row) => row.a || '—' },
      { label: 'Second', value: (row) => row.b, cell: (row) => row.b || '—' }],
    words: wordsOf('path'),
  });
  return [doc.trees.length && foldersSection(doc.trees, 'Folders of the first directory whose bytes lie in a folder of the second.'), entries, other];
}

function coveredSections() {
  const root = { path: base, by: base };
  const file = (title, key) => ({ label: title, names: true, value: (row) => row[key], cell: (row) => label(name(row, key), root[key]) });
  const pairs = (id, title, rows, lead, marks) => rows.length && new Section({
    id, title, rows, lead, unit: ['file', 'files'], words: wordsOf('path', 'by'), ...marks,
    columns: [file('File', 'path'), file('Its equal', 'by'), num('Size', 'size', bytesCell)],
  });
  return [
    doc.missing.length && new Section({
      id: 'missing', title: 'Not covered', rows: doc.missing, unit: ['entry', 'entries'], words: wordsOf('path'),
      lead: 'These have no equal elsewhere: they would be lost.',
      columns: [file('File', 'path'), num('Size', 'size', bytesCell),
        { label: 'Why', value: (row) => row.reason, cell: (row) => spell({ text: row.reason }) }],
      kind: (row) => row.reason, kinds: kindsOf(doc.missing, (row) => row.reason).slice(0, 8),
    }),
    doc.near.length && new Section({
      id: 'near', title: 'Near copies: not safe', rows: doc.near, unit: ['file', 'files'], words: wordsOf('path', 'by'), score: most,
      lead: 'Of those not covered, the ones that resemble a file elsewhere. Resembling is not having: part of their bytes is nowhere else.',
      columns: [file('File', 'path'), file('Resembles', 'by'), shareColumn('of it elsewhere', 'a_in_b'),
        shareColumn('of the other in it', 'b_in_a'), num('In both', 'shared_bytes', (_, row) => sharedCell(row))],
    }),
    pairs('linked', 'Covered by a hard link', doc.linked, 'The equal is the same inode under another name: the bytes stay as long as that name does.'),
    pairs('copies', 'Covered by a copy', doc.copies, 'Compared byte by byte when the report was made.',
      { badge: (row) => markBox(row, 1), extras: ruleTools }),
  ];
}

/** One list of similar files: pairs, or the files found for those that were named. */
function listSections(id, title, rows, keys, lead) {
  const root = Object.fromEntries(keys.map((key) => [key, base]));
  const same = (row) => row.identical || row.relation === 'identical';
  const part = (label, key) => num(label, key, (value, row) => share(value, same(row)));
  return [new Section({
    id, title, rows, lead, unit: ['pair', 'pairs'],
    columns: [
      { label: 'Files', names: true, value: (row) => row[keys[0]], cell: (row) => lines(row, keys, root, discounted(row)) },
      rows.some((row) => row.relation) && { label: 'Relation', word: true, value: (row) => row.relation || '', cell: (row) => row.relation || '?' },
      part('first in second', 'a_in_b'), part('second in first', 'b_in_a'), part('Resemblance', 'resemblance'),
      num('In both', 'shared_bytes', (_, row) => sharedCell(row)),
    ].filter(Boolean),
    words: wordsOf(...keys), score: most,
    ...(rows.some((row) => row.relation) && { kind: (row) => row.relation || '?', kinds: kindsOf(rows, (row) => row.relation || '?') }),
  })];
}
const findSections = () => listSections('results', 'Similar files', doc.results, ['file', 'path'],
  'First the file that was named, then the one that resembles it; best first.');
const pairsSections = () => listSections('pairs', 'Pairs of similar files', doc.pairs, ['a', 'b'],
  'Every pair with something in common, best first.');

// ---- evidence ------------------------------------------------------------------------------------

/** Both files side by side, shared parts in the same colour and number on both sides. */
function sides(one) {
  const seen = new Set();
  const spans = (line, side) => line.map(([run, text]) => {
    if (!run) return text;
    const first = !seen.has(side + run);
    seen.add(side + run);
    return el('mark', { 'data-run': run % 6, title: `shared part ${run}` }, first && el('sup', null, String(run)), text);
  });
  const half = (side, key) => side === null ? [el('td', { class: 'number' }), el('td', { class: 'text' })]
    : side.cut ? [el('td', { class: 'number' }), el('td', { class: 'cut' }, side.cut)]
      : [el('td', { class: 'number' }, one.text ? String(side.n) : side.n.toString(16).padStart(8, '0')), el('td', { class: 'text' }, spans(side.s, key))];
  const body = el('tbody', null, one.rows.map(([left, right]) => el('tr', null, half(left, 'a'), half(right, 'b'))));
  return [
    one.rows.length ? el('table', { class: 'sides' },
      el('caption', { class: 'hidden' }, 'Side by side: what is shared is marked in the same colour and number on both sides'),
      el('colgroup', null, el('col', { class: 'number' }), el('col'), el('col', { class: 'number' }), el('col')),
      el('thead', null, el('tr', null, ['a', 'b'].map((key) => el('th', { scope: 'col', colspan: 2 }, label(name(one, key), roots[key]))))), body) : null,
    one.note && el('p', { class: 'none' }, one.note)].filter(Boolean);
}

function evidenceSection() {
  const rows = extra.evidence || [];
  return rows.length && new Section({
    id: 'evidence', title: 'Evidence, side by side', rows, unit: ['pair', 'pairs'],
    lead: 'The pairs that share most. What both files have is marked, with the same colour and number on both sides; what is not marked is in one file only.',
    columns: [{ label: 'Files', names: true, value: (row) => row.a, cell: (row) => lines(row, ['a', 'b'], roots) },
      shareColumn('first in second', 'a_in_b'), shareColumn('second in first', 'b_in_a'), num('In both', 'shared_bytes', (_, row) => sharedCell(row))],
    words: wordsOf('a', 'b'), score: most, detail: sides,
  });
}

function errorSection() {
  return doc.errors.length && new Section({
    id: 'errors', title: 'Could not be looked at', rows: doc.errors, unit: ['entry', 'entries'],
    lead: 'The report says nothing about these, or too little: some could be read in part.',
    columns: [{ label: 'Path', names: true, value: (row) => row.path, cell: (row) => label(name(row, 'path'), base) },
      { label: 'Why', value: (row) => row.message, cell: (row) => spell({ text: row.message }) }],
    words: (row) => wordsOf('path')(row) + '\n' + row.message,
  });
}

// ---- the page --------------------------------------------------------------------------------------

/** Unfolds a row, and shows it or one of the files in it. */
function openRow(section, i, file) {
  const id = `${section.id}-${i + 1}`;
  if (!document.getElementById(id)) section.render(Math.max(section.step, section.order.indexOf(i) + 1));
  section.fold(i, true);
  const top = document.getElementById(id);
  const row = top.nextSibling?.querySelector('tr[tabindex]')?.parentNode.rows[file];
  (row || top).scrollIntoView({ block: row ? 'center' : 'start' });
  (row || top.querySelector('button'))?.focus({ preventScroll: true });
}

/** Unfolds what the address names: links to evidence work from anywhere, and from outside. */
function reveal() {
  const [, id, number] = location.hash.match(/^#([a-z]+)-(\d+)$/) || [];
  const section = sections.find((one) => one.id === id);
  const i = Number(number) - 1;
  if (!section || !section.rows[i]) return;
  if (!section.order.includes(i)) section.showAll();
  openRow(section, i);
}

function start() {
  const main = document.getElementById('main'), nav = document.getElementById('nav');
  const dirsSections = () => [foldersSection(doc.pairs, ANY_NAMES)];
  const made = {
    groups: groupSections, compare: compareSections, covered: coveredSections, dirs: dirsSections, find: findSections, pairs: pairsSections,
  }[doc.command]();
  for (const section of [...made, evidenceSection(), errorSection()].filter(Boolean)) {
    main.append(section.node);
    nav.append(el('a', { href: '#' + section.id }, section.title, ' ',
      section.rows && el('span', { class: 'count' }, count(section.rows.length))));
  }
  nav.append(el('a', { href: '#about' }, 'About'));
  nav.hidden = false;
  addEventListener('beforeprint', () => sections.forEach((section) => section.print(true)));
  addEventListener('afterprint', () => sections.forEach((section) => section.print(false)));
  addEventListener('hashchange', reveal);
  addEventListener('keydown', pressed);
  startMarks();
  reveal();
}
start();


// ---- one file after the other --------------------------------------------------------------------------
// Going through a group, through folders, and all keys. Goes on in the scope of page.js.

/** Opens a comparison of each file of a group with its newest or largest. `about` says what both have. */
function walkButton(files, about) {
  const box = el('div', { class: 'walk' });
  const open = () => { box.replaceChildren(); walk(box, files, about); };
  box.append(el('button', { type: 'button', class: 'more next', click: open }, 'Go through it file by file'));
  return box;
}

function walk(box, files, about) {
  const date = (file) => (isPast(file.time) ? file.time : -Infinity);
  const most = (of) => files.reduce((best, file) => (of(file) > of(best) ? file : best));
  const pivots = { newest: files.find((file) => file.newest) || most(date), largest: most((file) => file.size) };
  let pivot = 'newest', at = 0;
  const card = (file, what) => el('div', null, el('span', { class: 'tag' }, what), line(label(file.name, base)),
    line(bytesCell(file.size), file.time !== undefined && `, changed ${time(file.time)} (UTC)`));
  const button = (text, kind, action) => el('button', { type: 'button', class: kind, click: action }, text);
  const draw = (focus) => {
    const one = pivots[pivot], others = files.filter((file) => file !== one);
    at = (at + others.length) % others.length;
    const other = pivot === 'newest' ? 'largest' : 'newest', called = [`the ${pivot}`, `file ${count(at + 1)}`];
    box.replaceChildren(el('div', { class: 'tools' },
      others.length > 1 && [button('Previous', 'previous', () => { at--; draw('previous'); }),
        button('Next', 'next', () => { at++; draw('next'); })],
      pivots[other] !== one && button(`beside the ${other}`, 'pivot', () => { pivot = other; at = 0; draw('pivot'); }),
      el('span', { role: 'status' }, `${count(at + 1)} of ${count(others.length)}`)),
    el('div', { class: 'two' }, card(one, called[0]), card(others[at], called[1])), about(one, others[at], called));
    box.querySelector('.' + focus)?.focus({ preventScroll: true });
  };
  draw('next');
}

/** What the report says about two files of a cluster. */
function together(cluster, one, other, [its, mine]) {
  const [a, b] = [keyOf(one.name), keyOf(other.name)];
  const at = evidence.get(a + '\u0001' + b) ?? evidence.get(b + '\u0001' + a);
  const ends = (row) => [keyOf(name(row, 'a')), keyOf(name(row, 'b'))];
  const link = cluster.links.find((row) => ends(row).includes(a) && ends(row).includes(b));
  const parts = link && [link.a_in_b, link.b_in_a].map((part) => percent(part));
  if (parts && ends(link)[0] === a) parts.reverse();
  return el('div', null,
    link && el('p', null, `${parts[0]} of ${mine} is in ${its}, ${parts[1]} of ${its} in ${mine}.`),
    at !== undefined ? sides(extra.evidence[at]) : el('p', { class: 'none' }, 'Line by line: ', el('code', null,
      `resemble why ${[other, one].map((file) => shellName(file.name)).join(' ')}`)));
}

/** A name for a shell; bytes that are no plain text are spelled for $'…' of bash, zsh and ksh. */
function shellName(name) {
  const path = absolute(name), whole = nameOf(path);
  if (!whole.b64 && !HIDDEN.test(whole.text)) return shellQuoted(whole.text);
  const code = (c) => (/[\w.\/ -]/.test(c) ? c : '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0'));
  // A digit behind \xff would belong to it in some shells, so the quotes end there.
  return `$'${Array.from(path, code).join('').replace(/(\\x..)(?=[0-9a-fA-F])/g, "$1'$'")}'`;
}

// ---- folders by what is in them more than once ----------------------------------------------------------

const MAX_CHILDREN = 30; // folders and files of a map

/** Which folders the bytes lie in that are there more than once: areas by size; a click goes down. */
function placesSection(sets) {
  if (sets.rows.length < 2) return null;
  const files = sets.rows.flatMap((row) => filesOf(row).map((name) => [absolute(name), row.size]));
  const parent = (path) => path.slice(0, path.lastIndexOf('/'));
  let top = parent(files[0][0]);
  for (const [path] of files) while (!path.startsWith(top + '/')) top = parent(top);
  const place = el('p', { class: 'place' }), map = el('div', { class: 'treemap' });
  const draw = (dir) => {
    const found = new Map();
    for (const [path, bytes] of files) {
      if (!path.startsWith(dir + '/')) continue;
      const end = path.indexOf('/', dir.length + 1), key = end < 0 ? path : path.slice(0, end);
      const child = found.get(key) || found.set(key, { path: key, bytes: 0, files: 0, isDir: end >= 0 }).get(key);
      child.bytes += bytes;
      child.files++;
    }
    const all = [...found.values()].sort((a, b) => b.bytes - a.bytes || (a.path < b.path ? -1 : 1));
    const sum = (list, key) => list.reduce((sum, child) => sum + child[key], 0);
    const rest = all.splice(MAX_CHILDREN);
    if (rest.length) all.push({ bytes: sum(rest, 'bytes'), files: sum(rest, 'files'), others: rest.length });
    place.replaceChildren(el('span', null, dir !== top && [moreButton('Up', () => draw(parent(dir))), ' '],
      label(nameOf(dir || '/'), null), ` ${size(sum(all, 'bytes'))} in ${plural(sum(all, 'files'), 'file')} `,
      dir !== top && moreButton('Keep what is below this one', () => keepBelow(setsListed(), dir))));
    map.replaceChildren();
    tile(all, { x: 0, y: 0, w: 100, h: 100 }, (child, area) => {
      const text = child.others ? `${count(child.others)} others`
        : spell(nameOf(child.path.slice(dir.length + 1))) + (child.isDir ? '/' : '');
      const title = `${text}: ${size(child.bytes)} in ${plural(child.files, 'file')}`;
      const kids = el('span', null, el('bdi', null, text), el('small', null, size(child.bytes)));
      const box = child.isDir ? el('button', { type: 'button', title, click: () => draw(child.path) }, kids) : el('div', { title }, kids);
      const edges = { left: area.x, top: area.y, width: area.w, height: area.h };
      for (const [edge, value] of Object.entries(edges)) box.style.setProperty(edge, value + '%');
      map.append(box);
    });
  };
  draw(top);
  return { id: 'places', title: 'Where they lie', node: el('section', { id: 'places', 'aria-labelledby': 'places-title' },
    el('h2', { id: 'places-title' }, 'Where they lie'),
    el('p', { class: 'lead' }, 'Folders by the bytes of identical files below them. Choose a folder to go down.'), place, map) };
}

/** Cuts an area into parts as large as the weights: two halves along the longer side, and these again. */
function tile(list, area, put) {
  if (list.length < 2) { list.forEach((child) => put(child, area)); return; }
  const weigh = (some) => some.reduce((sum, child) => sum + Math.max(1, child.bytes), 0);
  const whole = weigh(list);
  let cut = 1;
  while (cut < list.length - 1 && weigh(list.slice(0, cut)) < whole / 2) cut++;
  const part = weigh(list.slice(0, cut)) / whole;
  // The map is about three times as wide as high.
  const wide = area.w * 3 > area.h, side = wide ? 'w' : 'h', at = wide ? 'x' : 'y';
  tile(list.slice(0, cut), { ...area, [side]: area[side] * part }, put);
  tile(list.slice(cut), { ...area, [at]: area[at] + area[side] * part, [side]: area[side] * (1 - part) }, put);
}

// ---- keys -------------------------------------------------------------------------------------------------

const KEYS = [
  ['j k ↓ ↑', 'next, previous row'], ['Enter', 'unfold or fold the row'],
  ['x', 'mark a file to go; in a folded row all of its set but one'],
  ['n p', 'go through the group: next, previous file'], ['/', 'filter the list'],
  ['Escape', 'leave the filter, or close'], ['?', 'this list'],
];

/** The row that has the focus, and what it belongs to. */
function current() {
  const here = document.activeElement.closest('main tr[tabindex]');
  const top = here?.closest('tr.detail')?.previousSibling || here?.closest('tr.top');
  const section = top && sections.find((one) => one.body === top.parentNode);
  return { here, top, section, i: section && rowOf(section, top) };
}

function go(step) {
  const { here, section } = current();
  const list = () => [...document.querySelectorAll('main tr[tabindex]')];
  let rows = list(), at = rows.indexOf(here) + step;
  if (!here) at = rows.findIndex((row) => row.getBoundingClientRect().top > 80);
  else if (step > 0 && section && !section.more.hidden && !section.body.contains(rows[at] || null)) {
    section.showMore();
    rows = list();
  }
  const row = rows[Math.max(0, Math.min(at, rows.length - 1))];
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: 'nearest' });
}

function pressed(event) {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest('dialog')) return;
  if (target.closest('input:not([type=checkbox]), select, textarea')) {
    if (key === 'Escape') target.blur();
    return;
  }
  const { top, here, section, i } = current(), inMap = target.closest('[role=grid]');
  const step = { n: 'next', p: 'previous' }[key];
  if ((key === 'j' || (key === 'ArrowDown' && here && !inMap))) go(1);
  else if ((key === 'k' || (key === 'ArrowUp' && here && !inMap))) go(-1);
  else if (key === 'Enter' && target === top && section) section.fold(i);
  else if (key === 'x' && here) toggle(section, top, here, i);
  else if (step && section?.detail) {
    section.fold(i, true);
    const walk = top.nextSibling?.querySelector('.walk');
    (walk?.querySelector('.' + step) || walk?.querySelector('.next'))?.click();
  } else if (key === '/') {
    const filter = (section || sections.find((one) => one.text.isConnected))?.text;
    filter?.focus();
    filter?.select();
  } else if (key === '?') {
    const list = KEYS.map(([keys, text]) => el('div', null, el('dt', null, keys), el('dd', null, text)));
    dialog('Keys', el('dl', { class: 'keys' }, list)).showModal();
  } else return;
  event.preventDefault();
}

/** Marks the file of a row, or all files of a set but one; again takes the marks away. */
function toggle(section, top, here, i) {
  const box = here.querySelector('input[data-at]'), row = section?.rows[i];
  if (box) box.click();
  else if (!markable.includes(section) || here !== top) markable.length && changed(ONLY_EQUAL);
  else if (marks.has(row)) { put(row, new Set()); changed('', row); } else markAllBut([row], [], (files) => files.slice(0, 1));
}

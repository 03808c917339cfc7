
// ---- families over time ----------------------------------------------------------------------------------
// When the files of families were made or changed: an axis for each. Goes on in the scope of page.js.

const FAMILIES = 10; // families at first; each "more" doubles them, but adds no more than STEP
const SLOTS = 60; // places on an axis: files of one place are one point with their number
const NARROW_SLOTS = 20;

/** The dated files of a family, oldest first. As for `newest`, the dates count that all state, else those of the files. */
function datesOf(cluster) {
  const stated = cluster.members.every((row) => row.document_date && isPast(row.document_date.time));
  const all = cluster.members.map((row, at) => ({ row, at, date: stated ? row.document_date.time : row.mtime }));
  // Systems that know no date write 0.
  const known = all.filter(({ date }) => date && isPast(date) && !isNaN(new Date(date * 1000))).sort((a, b) => a.date - b.date);
  const newest = known.find(({ row }) => row.newest);
  return { stated, known, newest, undated: all.length - known.length };
}

/** The ends of an axis that has all these dates. One date is in its middle. */
function ends(dates) {
  const from = Math.min(...dates), to = Math.max(...dates);
  return from === to ? [from - 43200, to + 43200] : [from, to];
}

/** A family: its name, its span, and its points. Each of them unfolds it in the list. */
function familyRow(section, i, { stated, known, newest, undated }, [from, to]) {
  const cluster = section.rows[i], center = name(cluster, 'center'), text = spell(center);
  const cut = text.slice(0, -1).lastIndexOf('/') + 1, day = ({ date }) => time(date).slice(0, 10);
  const first = known[0], last = known.at(-1);
  const said = (one) => `${spell(name(one.row, 'path'))}, ${stated ? 'states' : 'changed'} ${time(one.date)}, ` +
    (keyOf(name(one.row, 'path')) === keyOf(center) ? 'centre' : `${percent(one.row.a_in_b)} of it in the centre`) +
    (one === newest ? ', newest' : '');
  const slots = new Map(), parts = matchMedia('(max-width: 46rem)').matches ? NARROW_SLOTS : SLOTS;
  for (const one of known) {
    const slot = Math.round((one.date - from) / (to - from) * parts);
    if (!slots.get(slot)?.push(one)) slots.set(slot, [one]);
  }
  const point = ([slot, files]) => {
    const title = files.slice(-5).reverse().map(said).join('\n') + (files.length > 5 ? `\nand ${count(files.length - 5)} earlier` : '');
    const kind = `point${files.length > 1 ? ' several' : ''}${files.includes(newest) ? ' newest' : ''}`;
    const node = el('button', { type: 'button', class: kind, tabindex: -1, title, 'aria-label': title,
      click: () => openRow(section, i, files.at(-1).at) }, files.length > 1 && count(files.length));
    node.style.setProperty('--at', slot / parts);
    return node;
  };
  const span = first && (first.date === last.date ? day(first) : day(first) !== day(last) ? `${day(first)} to ${day(last)}`
    : `${time(first.date)} to ${time(last.date).slice(11)}`);
  const words = [plural(cluster.members.length, 'file'), span, stated && 'as they state',
    known.length > 1 && first.date === last.date && 'all at one time', undated && `${count(undated)} without a date`];
  return el('div', { class: 'family' },
    el('button', { type: 'button', tabindex: -1, title: text, click: () => openRow(section, i) },
      el('bdi', { class: 'name' }, el('span', { class: 'where' }, text.slice(0, cut)), el('span', { class: 'last' }, text.slice(cut))),
      el('small', null, words.filter(Boolean).join(', '))),
    el('div', { class: 'axis' }, [...slots].map(point)));
}

/** The first families that a section lists, over time. It is one stop of the Tab key; arrow keys move in it. */
function overTime(section) {
  if (!section.rows.length) return null;
  let shown = FAMILIES;
  const own = el('input', { type: 'checkbox', 'aria-label': 'each on a scale of its own', change: () => draw() });
  const ticks = el('div', { class: 'family ticks', 'aria-hidden': 'true' });
  const list = el('div', { role: 'group', 'aria-label': 'Families over time' });
  const more = moreButton('', () => { shown += Math.min(shown, STEP); draw(); });
  const draw = () => {
    const drawn = section.order.slice(0, shown).map((i) => [i, datesOf(section.rows[i])]);
    const spans = drawn.map(([, { known }]) => (known.length ? [known[0].date, known.at(-1).date] : []));
    const whole = ends(spans.flat());
    list.replaceChildren(...drawn.map(([i, dates], at) => familyRow(section, i, dates, own.checked ? ends(spans[at]) : whole)));
    const first = list.querySelector('button');
    if (first) first.tabIndex = 0;
    // A label has what changes between two ticks: a month, a day or a time.
    const [from, to] = whole, part = to - from > 1e8 ? [0, 7] : to - from > 3e5 ? [0, 10] : [5, 16];
    const tick = (at) => {
      const node = el('span', null, time(Math.round(from + (to - from) * at)).slice(...part));
      node.style.setProperty('--at', at);
      return node;
    };
    ticks.hidden = own.checked || !Number.isFinite(from);
    ticks.replaceChildren(el('span'), el('div', { class: 'axis' }, ticks.hidden ? null : [0, 0.25, 0.5, 0.75, 1].map(tick)));
    const rest = section.order.length - drawn.length;
    more.hidden = rest === 0;
    more.textContent = `${count(rest)} more over time`;
  };
  list.addEventListener('keydown', (event) => {
    const row = event.target.closest('.family'), stops = (one) => (one ? [...one.querySelectorAll('button')] : []);
    const here = stops(row), at = here.indexOf(event.target);
    const target = { ArrowLeft: here[at - 1], ArrowRight: here[at + 1], Home: here[0], End: here.at(-1),
      ArrowUp: stops(row.previousSibling)[0], ArrowDown: stops(row.nextSibling)[0] }[event.key];
    if (!target || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    target.tabIndex = 0;
    target.focus();
  });
  section.redraw = () => { shown = FAMILIES; draw(); };
  const sample = (kind, text) => [el('i', { class: kind }), ` ${text} `];
  return el('div', { class: 'times' }, el('h3', null, 'Over time'),
    el('p', { class: 'lead' }, sample('point', 'a file,'), sample('point newest', 'the newest of its family;'),
      'a number: files of about one time. Families are in the order of the list; a click unfolds one there.',
      el('span', { class: 'hint' }, ' Arrow keys move, Enter unfolds.'), el('label', null, own, ' each on a scale of its own')),
    ticks, list, more);
}

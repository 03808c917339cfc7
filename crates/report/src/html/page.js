'use strict';
// A report is one to three JSON documents in the page; this shows them. What to know before changing it:
// 1. Everything that comes from outside (names, messages, text of files) reaches the page as text nodes only.
//    There is no innerHTML here, and the page's policy would stop what slipped through.
// 2. A table is a list of row objects, a list of indexes into it (filtered and sorted), and as many
//    rendered rows as were asked for. Sorting and filtering touch indexes; only what is seen is in the page.
// 3. A name is text, or text and the base64 of its exact bytes; see `bytesOf` and `pieces`.

const STEP = 100; // rows of a table rendered at first; each "more" doubles what is there,
const MAX_MORE = 1000; // but adds no more than this: more would be seen as a stall
const PRINTED = 1000; // rows of a table on paper
const PRINTED_OPEN = 100; // of these with their details
const MAP_SIZE = 20; // folders in the map

const read = (id) => {
  const node = document.getElementById(id);
  return node && node.textContent.trim() ? JSON.parse(node.textContent) : null;
};
const doc = read('document');
const folders = read('folders');
const extra = read('extra') || {};

// ---- building blocks ---------------------------------------------------------------------------

/** An element; `attrs` are attributes, functions are listeners; `kids` are nodes, text or nothing. */
function el(tag, attrs, ...kids) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attrs || {})) {
    if (typeof value === 'function') node.addEventListener(key, value);
    else if (value === true) node.setAttribute(key, '');
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...kids.flat().filter((kid) => kid !== null && kid !== undefined && kid !== '' && kid !== false));
  return node;
}
const count = (n) => n.toLocaleString('en');
const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + 's'}`;
const floorPercent = (share) => Math.floor(Math.round(share * 1e6) / 1e4);
const percent = (share, same) =>
  share === null || share === undefined ? '?' : same ? '100 %' : `${Math.min(99, floorPercent(share))} %`;
const most = (row) => (row.a_in_b === null && row.b_in_a === null ? null : Math.max(row.a_in_b || 0, row.b_in_a || 0));

function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  let value = bytes / 1024, unit = 0;
  while (value >= 1000 && unit < 4) { value /= 1024; unit++; }
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ${['KiB', 'MiB', 'GiB', 'TiB', 'PiB'][unit]}`;
}
const bytesCell = (bytes) =>
  bytes === null || bytes === undefined ? '' : el('span', { title: `${count(bytes)} bytes` }, size(bytes));
/** The bytes that both files of a row have. For an estimate, common chunks prove them, and none is no proof of nothing. */
const sharedCell = (row) => !row.estimate ? bytesCell(row.shared_bytes)
  : row.shared_bytes > 0 ? ['at least ', bytesCell(row.shared_bytes)]
    : el('span', { title: 'no whole chunk in common: the shares are estimated from samples' }, '–');

function time(seconds) {
  const date = new Date(seconds * 1000);
  return isNaN(date) ? `${seconds} s` : date.toISOString().slice(0, 16).replace('T', ' ');
}

const line = (...kids) => el('div', { class: 'line' }, ...kids);

/** A share as a figure and a bar. */
function share(value, same) {
  const bar = el('b');
  bar.style.setProperty('--part', value || 0);
  return el('span', { class: 'share' }, el('span', null, percent(value, same)), el('i', { 'aria-hidden': 'true' }, bar));
}

// ---- names ---------------------------------------------------------------------------------------

/** The name in field `key` of a row: text, and the exact bytes where the text is not faithful. */
const name = (row, key) => ({ text: row[key], b64: row[key + '_b64'] });
const loose = (value) => (value && value.b64 !== undefined ? { text: '', b64: value.b64 } : { text: value || '' });
const keyOf = (name) => (name.b64 ? '\u0000' + name.b64 : name.text);

const bytesOf = (name) =>
  name.b64 ? Uint8Array.from(atob(name.b64), (c) => c.charCodeAt(0)) : new TextEncoder().encode(name.text);

// Controls, invisible and direction-changing characters: shown as codes, never obeyed.
const HIDDEN = /[\p{Cc}\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;
const SHORT = { '\n': '\\n', '\t': '\\t', '\r': '\\r' };
const code = (c) => SHORT[c] || (c < '\u0080' ? '\\x' : '\\u{') + c.codePointAt(0).toString(16).padStart(2, '0') + (c < '\u0080' ? '' : '}');

/** The name as pieces of plain text and of escaped bytes: [text, isEscaped]. */
function pieces(name) {
  const out = [];
  const add = (text, escaped) => {
    const last = out[out.length - 1];
    if (last && last[1] === escaped) last[0] += text;
    else out.push([text, escaped]);
  };
  const plain = (text) => { for (const c of text) HIDDEN.test(c) ? add(code(c), true) : add(c, false); };
  if (!name.b64) {
    if (HIDDEN.test(name.text)) plain(name.text);
    else if (name.text) out.push([name.text, false]);
    return out;
  }
  const bytes = bytesOf(name), decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  for (let at = 0; at < bytes.length;) {
    const first = bytes[at], length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    try {
      plain(decoder.decode(bytes.subarray(at, at + length)));
      at += length;
    } catch {
      add('\\x' + first.toString(16).padStart(2, '0'), true);
      at++;
    }
  }
  return out;
}
const spell = (name) => pieces(name).map((piece) => piece[0]).join('');

/** The file: address of a name, from its bytes; a relative one needs to know below what. */
function address(name, below) {
  const path = bytesOf(name);
  const root = path[0] === 0x2f ? [] : below;
  if (!root) return null;
  let text = '';
  const put = (bytes) => {
    for (const b of bytes) {
      const c = String.fromCharCode(b);
      text += /[A-Za-z0-9._~\/-]/.test(c) ? c : '%' + b.toString(16).toUpperCase().padStart(2, '0');
    }
  };
  for (const part of root) { put(part); text += '/'; }
  put(path);
  return 'file://' + text;
}
const base = extra.base ? [bytesOf(loose(extra.base))] : null;
const below = (parameter) => {
  const dir = bytesOf(loose(parameter));
  return dir[0] === 0x2f ? [dir] : base && [...base, dir];
};

/** A name as a link to the file, folders faint and the last part strong. */
function label(name, root) {
  const parts = pieces(name);
  let cut = -1, into = 0;
  parts.forEach(([text, escaped], i) => {
    const slash = escaped ? -1 : text.replace(/\/+$/, i === parts.length - 1 ? '' : '$&').lastIndexOf('/');
    if (slash >= 0) { cut = i; into = slash + 1; }
  });
  const where = el('span', { class: 'where' }), last = el('span', { class: 'last' });
  parts.forEach(([text, escaped], i) => {
    const put = (to, part) => part && to.append(escaped ? el('span', { class: 'esc' }, part) : part);
    if (i < cut) put(where, text);
    else if (i > cut) put(last, text);
    else { put(where, text.slice(0, into)); put(last, text.slice(into)); }
  });
  if (!parts.length) last.append('.');
  const href = address(name, root);
  return el(href ? 'a' : 'span', { class: 'name', href }, el('bdi', null, where, last));
}

// ---- tables ----------------------------------------------------------------------------------------

/** Asks for more rows under a table. */
function moreButton(text, action) {
  return el('button', { type: 'button', class: 'more', click: action }, text);
}

/** A plain table in a detail: `head` of [label, isNumber], rows made on demand. Keys go from row to row. */
function small(caption, head, rows, cells) {
  const body = el('tbody');
  const box = el('div', null, el('table', null, el('caption', { class: 'hidden' }, caption),
    el('thead', null, el('tr', null, head.map(([text, num]) => el('th', { scope: 'col', class: num ? 'num' : null }, text)))), body));
  let shown = 0;
  const add = () => {
    const until = Math.min(rows.length, Math.max(STEP, shown * 2));
    for (; shown < until; shown++) {
      body.append(el('tr', { tabindex: -1 }, cells(rows[shown], shown).map((cell, i) =>
        el('td', { class: head[i][1] ? 'num' : 'wide', 'data-label': i ? head[i][0] : null }, cell))));
    }
    if (shown < rows.length) {
      const more = moreButton(`${count(rows.length - shown)} more`, () => { more.remove(); add(); });
      box.append(more);
    }
  };
  add();
  return box;
}

const sections = [];
/** Which row of a section a table row shows. */
const rowOf = (section, top) => Number(top.id.slice(section.id.length + 1)) - 1;

/**
 * A section with a table that sorts, filters and folds. `spec`: id, title, lead, rows, unit (one, many),
 * columns of {label, num or names or word, value(row) for sorting, cell(row), down: sorts high to low first},
 * words(row) for the text filter, score(row) for the least score, kind(row) with kinds [word, hidden at first],
 * detail(row) and hasDetail(row), step: rows at first, badge(row): what marks add to the first cell,
 * extras: tools of its own, which may set redraw: it is called when other rows are listed.
 */
class Section {
  constructor(spec) {
    Object.assign(this, spec);
    this.order = this.rows.map((_, i) => i);
    this.open = new Set();
    this.shown = 0;
    this.sorted = null;
    this.step ??= STEP;
    this.hasDetail ??= () => Boolean(this.detail);
    this.hiddenKinds = new Set((this.kinds || []).filter((kind) => kind[1]).map((kind) => kind[0]));
    this.build();
    sections.push(this);
  }

  build() {
    this.state = el('span', { class: 'state', role: 'status' });
    this.text = el('input', { type: 'search', 'aria-label': `Filter ${this.title}`, placeholder: 'filter by name', input: () => this.later() });
    this.least = this.score && el('input', { type: 'number', min: 0, max: 100, step: 5, 'aria-label': `Least percent in ${this.title}`, placeholder: '0', input: () => this.later() });
    this.body = el('tbody', { click: (event) => this.clicked(event) });
    this.more = moreButton('', () => this.showMore());
    this.heads = this.columns.map((column) => el('th', { scope: 'col', class: column.num ? 'num' : null, 'aria-sort': column.value ? 'none' : null },
      column.value ? el('button', { type: 'button', click: () => this.sortBy(column) }, column.label) : column.label));
    const fold = this.detail && [
      el('button', { type: 'button', class: 'unfold', click: () => this.foldAll(true) }, 'Unfold all'),
      el('button', { type: 'button', class: 'foldup', click: () => this.foldAll(false) }, 'Fold all')];
    const tools = this.rows.length > 1 && el('div', { class: 'tools' }, this.text,
      this.least && el('label', null, 'at least ', this.least, ' %'),
      this.kinds && this.kinds.length > 1 && el('span', { class: 'kinds', role: 'group', 'aria-label': 'Kinds' }, this.kinds.map(([word, hidden, number]) =>
        el('button', { type: 'button', 'aria-pressed': String(!hidden), click: (event) => this.toggleKind(word, event.currentTarget) }, `${word} ${count(number)}`))),
      fold, this.state);
    this.node = el('section', { id: this.id, 'aria-labelledby': this.id + '-title' },
      el('h2', { id: this.id + '-title' }, this.title, ' ', el('span', { class: 'count' }, count(this.rows.length))),
      this.lead && el('p', { class: 'lead' }, this.lead), tools || null, this.extras && this.extras(this),
      el('div', { class: 'rows' }, el('table', null, el('caption', { class: 'hidden' }, this.title),
        el('thead', null, el('tr', null, this.detail && el('th', { class: 'fold', scope: 'col' }, el('span', { class: 'hidden' }, 'Details')), this.heads)), this.body)),
      this.more);
    this.update();
  }

  /** Filters once the keys rest: a keystroke never waits for the table. */
  later() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.update());
  }

  sortBy(column, down) {
    const index = this.columns.indexOf(column);
    const same = this.sorted && this.sorted.index === index;
    this.sorted = { index, down: down !== undefined ? down : same ? !this.sorted.down : Boolean(column.down) };
    this.heads.forEach((head, i) => head.hasAttribute('aria-sort') &&
      head.setAttribute('aria-sort', i !== index ? 'none' : this.sorted.down ? 'descending' : 'ascending'));
    this.update();
  }

  toggleKind(word, button) {
    const hidden = !this.hiddenKinds.delete(word);
    if (hidden) this.hiddenKinds.add(word);
    button.setAttribute('aria-pressed', String(!hidden));
    this.update();
  }

  foldAll(open) {
    this.open = new Set(open ? this.order.slice(0, this.shown) : []);
    this.render(this.shown);
  }

  update() {
    const wanted = this.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const least = this.least && this.least.value !== '' ? Number(this.least.value) / 100 : null;
    this.cache = this.cache || [];
    const words = (i) => (this.cache[i] ??= this.words(this.rows[i]).toLowerCase());
    this.order = [];
    this.rows.forEach((row, i) => {
      if (this.hiddenKinds.size && this.hiddenKinds.has(this.kind(row))) return;
      if (least !== null && !((this.score(row) ?? -1) + 1e-9 >= least)) return;
      if (wanted.length && !wanted.every((word) => words(i).includes(word))) return;
      if (this.only && !this.only(row)) return;
      this.order.push(i);
    });
    if (this.sorted) {
      const { index, down } = this.sorted, value = this.columns[index].value;
      const values = new Map(this.order.map((i) => [i, value(this.rows[i])]));
      const sign = down ? -1 : 1;
      // What has no value comes last either way; equals keep the report's order.
      this.order.sort((i, j) => {
        const a = values.get(i), b = values.get(j);
        if (a === b) return i - j;
        if (a === null || a === undefined) return 1;
        if (b === null || b === undefined) return -1;
        return a < b ? -sign : sign;
      });
    }
    this.render(this.step);
    this.redraw?.();
  }

  render(limit, from = 0) {
    this.shown = Math.min(limit, this.order.length);
    const nodes = document.createDocumentFragment();
    for (const i of this.order.slice(from, this.shown)) nodes.append(...this.rowNodes(i));
    if (from) this.body.append(nodes);
    else this.body.replaceChildren(nodes);
    const rest = this.order.length - this.shown;
    this.more.hidden = rest === 0;
    this.more.textContent = `Show ${count(Math.min(rest, this.shown, MAX_MORE))} more of ${count(rest)}`;
    const [one, many] = this.unit;
    this.state.textContent = (this.order.length === this.rows.length ? plural(this.rows.length, one, many)
      : `${count(this.order.length)} of ${plural(this.rows.length, one, many)}`) + (rest ? `, ${count(this.shown)} shown` : '');
  }

  showMore() {
    this.render(this.shown + Math.min(this.shown, MAX_MORE), this.shown);
  }

  rowNodes(i) {
    const row = this.rows[i];
    const cells = this.columns.map((column, at) => el('td',
      { class: column.num ? 'num' : column.names ? 'names' : column.word ? 'word' : 'wide', 'data-label': column.names ? null : column.label },
      column.cell(row), at === 0 && this.badge && this.badge(row)));
    const has = this.hasDetail(row), open = has && this.open.has(i), id = `${this.id}-detail-${i + 1}`;
    const button = has && el('button', { type: 'button', 'aria-expanded': String(open), 'aria-controls': id, 'aria-label': `Details of row ${i + 1}`, click: () => this.fold(i) });
    const top = el('tr', { class: 'top', id: `${this.id}-${i + 1}`, tabindex: -1 }, this.detail && el('td', { class: 'fold' }, button || ''), cells);
    return open ? [top, this.detailNode(i, id)] : [top];
  }

  detailNode(i, id) {
    return el('tr', { class: 'detail', id }, el('td', { colspan: this.columns.length + 1 }, this.detail(this.rows[i], i)));
  }

  /** A click into a row unfolds it, also on its name, which leads to the file again in what is unfolded. */
  clicked(event) {
    const top = event.target.closest('tr.top'), link = event.target.closest('a.name');
    if (!top || String(getSelection()) || (!link && event.target.closest('a, button, input, label'))) return;
    const i = rowOf(this, top);
    if (link && (!this.hasDetail(this.rows[i]) || !event.detail || event.ctrlKey || event.metaKey || event.shiftKey)) return;
    event.preventDefault();
    this.fold(i);
  }

  fold(i, open = !this.open.has(i)) {
    const top = document.getElementById(`${this.id}-${i + 1}`);
    if (!top || open === this.open.has(i) || !this.hasDetail(this.rows[i])) return;
    const button = top.querySelector('.fold button');
    button.setAttribute('aria-expanded', String(open));
    if (open) {
      this.open.add(i);
      top.after(this.detailNode(i, button.getAttribute('aria-controls')));
    } else {
      this.open.delete(i);
      top.nextSibling.remove();
    }
  }

  /** Takes back every filter and order. */
  showAll() {
    this.text.value = '';
    if (this.least) this.least.value = '';
    this.hiddenKinds.clear();
    this.only = null;
    this.node.querySelectorAll('.kinds button').forEach((button) => button.setAttribute('aria-pressed', 'true'));
    this.heads.forEach((head) => head.hasAttribute('aria-sort') && head.setAttribute('aria-sort', 'none'));
    this.sorted = null;
    this.update();
  }

  /** Puts a text into the filter and brings the section into view. */
  filterFor(text) {
    this.text.value = text;
    this.update();
    this.node.scrollIntoView();
    this.text.focus({ preventScroll: true });
  }

  print(on) {
    if (on) {
      this.beforePrint = { open: this.open, shown: this.shown };
      const printed = this.order.slice(0, PRINTED);
      if (this.detail) this.open = new Set(printed.slice(0, PRINTED_OPEN));
      this.render(PRINTED);
      if (this.order.length > PRINTED) {
        const left = `${count(this.order.length - PRINTED)} further rows are not printed.`;
        this.cut = el('tbody', null, el('tr', null, el('td', { colspan: this.columns.length + 1 }, left)));
        this.body.after(this.cut);
      }
    } else if (this.beforePrint) {
      this.open = this.beforePrint.open;
      if (this.cut) this.cut.remove();
      this.render(this.beforePrint.shown);
      this.beforePrint = this.cut = null;
    }
  }
}


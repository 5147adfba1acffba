// One chart: curves or stacked areas of any number of runs, drawn as SVG; numbers and ticks as text.
'use strict';

const SVG = 'http://www.w3.org/2000/svg';

function svg(name, attributes, parent) {
  const e = document.createElementNS(SVG, name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (parent) parent.appendChild(e);
  return e;
}

function el(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const k in attributes) if (attributes[k] !== undefined) e.setAttribute(k, attributes[k]);
  for (const c of children) e.append(c);
  return e;
}

// 1234567 -> 1.23M; small ones keep four significant digits.
function short(x) {
  const a = Math.abs(x);
  if (!isFinite(x)) return '\u2013';
  for (const [size, letter] of [[1e12, 'T'], [1e9, 'B'], [1e6, 'M'], [1e3, 'k']])
    if (a >= size * 0.99999) return String(+(x / size).toPrecision(4)) + letter;
  return a !== 0 && a < 1e-3 ? x.toExponential(2).replace(/\.?0+e/, 'e') : String(+x.toPrecision(4));
}

// What the tooltip and the tables show: more digits.
function exact(x) {
  if (x === null || !isFinite(x)) return '\u2013';
  const a = Math.abs(x);
  if (a >= 1e5 || x === Math.round(x)) return Math.round(x).toLocaleString('en-US');
  return a !== 0 && a < 1e-3 ? x.toExponential(4) : String(+x.toPrecision(6));
}

function duration(s) {
  if (!isFinite(s)) return '\u2013';
  if (s < 60) return +s.toPrecision(3) + ' s';
  const d = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
  const pair = (a, x, b, y) => a + ' ' + x + (b ? ' ' + b + ' ' + y : '');
  return d ? pair(d, 'd', h, 'h') : h ? pair(h, 'h', m, 'min') : pair(m, 'min', Math.floor(s % 60), 's');
}

const X = {
  step: { title: 'step', text: short, long: x => 'step ' + x.toLocaleString('en-US') },
  tokens: { title: 'tokens', text: short, long: x => x.toLocaleString('en-US') + ' tokens' },
  time: { title: 'time', text: duration, long: duration },
};

function linearTicks(low, high, n, units) {
  const raw = (high - low) / Math.max(1, n);
  let step = Math.pow(10, Math.floor(Math.log10(raw)));
  step *= [1, 2, 5, 10].find(k => k * step >= raw * 0.999);
  if (units) step = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400].find(k => k >= raw) || step;
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(i * step);
  return ticks;
}

function logTicks(low, high) {
  const ticks = [], wide = Math.log10(high / low) > 2.5;
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++)
    for (const k of wide ? [1] : [1, 2, 5]) {
      const x = k * Math.pow(10, e);
      if (x >= low * 0.999 && x <= high * 1.001) ticks.push(x);
    }
  return ticks.length > 1 ? ticks : linearTicks(low, high, 4);
}

// Exponential mean without the bias to its start; gaps stay gaps. In thinned curves it runs over the means of buckets.
function smooth(points, weight) {
  let sum = 0, norm = 0;
  return points.map(p => {
    if (p.v === null) return p;
    sum = weight * sum + (1 - weight) * p.m;
    norm = weight * norm + (1 - weight);
    return { x: p.x, v: sum / norm };
  });
}

// The d of a path through the points that are there; a lone one becomes a dot (round caps).
function pathThrough(points, px, py) {
  let d = '', pen = false;
  for (let i = 0; i < points.length; i++) {
    const p = points[i];
    if (p.v === null || !isFinite(py(p.v))) { pen = false; continue; }
    const next = points[i + 1], lone = !pen && (!next || next.v === null);
    d += (pen ? 'L' : 'M') + px(p.x).toFixed(1) + ' ' + py(p.v).toFixed(1) + (lone ? 'h0' : '');
    pen = true;
  }
  return d;
}

function nearest(points, x) {
  let low = 0, high = points.length - 1;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (points[mid].x < x) low = mid + 1; else high = mid;
  }
  if (low > 0 && x - points[low - 1].x < points[low].x - x) low--;
  return points[low];
}

// lines: [{name, run, tag, color, dash, points: [{x, v, m}]}]; stacked: areas on top of each other, from the first up.
class Chart {
  constructor(title, unit, options) {
    this.options = options || {};
    this.card = el('section', { class: 'card' });
    this.keys = el('div', { class: 'keys' });
    this.card.append(el('div', { class: 'head' }, el('h2', {}, title, ' ', el('small', {}, unit)), this.keys));
    this.svg = svg('svg', { role: 'img', 'aria-label': title, 'data-chart': title }, this.card);
    this.tip = el('div', { class: 'tip', hidden: '' });
    this.card.append(this.tip);
    this.lines = [];
    this.svg.addEventListener('pointermove', e => this.point(e));
    this.svg.addEventListener('pointerleave', () => this.unpoint());
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  set(lines, view) {
    this.lines = lines;
    this.view = view;
    this.draw();
  }

  range() {
    let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
    for (const l of this.lines)
      for (const p of l.points) {
        if (p.v === null || (this.log && p.v <= 0)) continue;
        if (p.x < x0) x0 = p.x;
        if (p.x > x1) x1 = p.x;
        if (p.v < y0) y0 = p.v;
        if (p.v > y1) y1 = p.v;
      }
    if (x0 > x1) return null;
    if (x0 === x1) { x0 -= 0.5; x1 += 0.5; }
    if (this.options.stacked) y0 = 0;
    if (y0 === y1) { const pad = Math.abs(y0) * 0.05 || 0.5; y0 -= this.log ? 0 : pad; y1 += pad; }
    if (this.log) { const k = Math.pow(y1 / y0, 0.05); y0 /= k; y1 *= k; }
    else { const pad = (y1 - y0) * 0.06; y1 += pad; if (!this.options.stacked) y0 = y0 >= 0 && y0 < pad ? 0 : y0 - pad; }
    return { x0, x1, y0, y1 };
  }

  draw() {
    if (!this.view) return;
    const box = this.svg.getBoundingClientRect(), w = box.width || 600, h = box.height || 250;
    this.log = this.view.log && !this.options.stacked;
    this.svg.replaceChildren();
    this.unpoint();
    this.svg.setAttribute('viewBox', '0 0 ' + w + ' ' + h);
    const r = this.scale = this.range();
    if (!r) {
      svg('text', { x: w / 2, y: h / 2, 'text-anchor': 'middle' }, this.svg).textContent = 'no values to show';
      return;
    }
    const yTicks = this.log ? logTicks(r.y0, r.y1) : linearTicks(r.y0, r.y1, 5);
    const left = Math.max(...yTicks.map(t => short(t).length)) * 6.4 + 12, right = 12, top = 8, bottom = 22;
    const fy = this.log ? Math.log : y => y;
    this.px = x => left + (x - r.x0) / (r.x1 - r.x0) * (w - left - right);
    this.py = y => h - bottom - (fy(y) - fy(r.y0)) / (fy(r.y1) - fy(r.y0)) * (h - top - bottom);
    this.unx = p => r.x0 + (p - left) / (w - left - right) * (r.x1 - r.x0);
    this.plot = { left, right: w - right, top, bottom: h - bottom };
    for (const t of yTicks) {
      svg('line', { class: 'gridline', x1: left, x2: w - right, y1: this.py(t), y2: this.py(t) }, this.svg);
      svg('text', { x: left - 7, y: this.py(t) + 4, 'text-anchor': 'end' }, this.svg).textContent = short(t);
    }
    svg('line', { class: 'axis', x1: left, x2: w - right, y1: h - bottom, y2: h - bottom }, this.svg);
    const x = X[this.view.x];
    for (const t of linearTicks(r.x0, r.x1, Math.max(2, Math.floor((w - left) / 105)), this.view.x === 'time')) {
      if (this.view.x !== 'time' && t !== Math.round(t)) continue;
      const anchor = this.px(t) > w - right - 20 ? 'end' : 'middle';
      svg('text', { x: this.px(t), y: h - 6, 'text-anchor': anchor }, this.svg).textContent = x.text(t);
    }
    if (this.options.stacked) this.drawAreas(); else this.drawCurves();
    this.cursor = svg('g', {}, this.svg);
  }

  attributes(l, more) {
    const there = l.points.filter(p => p.v !== null), last = there[there.length - 1];
    return Object.assign({ style: '--of: var(--' + l.color + ')', 'data-run': l.run, 'data-tag': l.tag, 'data-points': there.length,
      'data-first': there.length ? there[0].own : '', 'data-last': last ? last.own : '', 'data-last-x': last ? last.x : '' }, more);
  }

  drawCurves() {
    for (const l of this.lines) {
      const shown = this.view.smooth > 0 && l.points.length > 2 && !l.dash ? smooth(l.points, this.view.smooth) : l.points;
      l.shown = shown.filter(p => p.v !== null);
      if (shown !== l.points)
        svg('path', { class: 'curve raw', style: '--of: var(--' + l.color + ')', d: pathThrough(l.points, this.px, this.py) }, this.svg);
      svg('path', this.attributes(l, { class: l.dash ? 'curve dash' : 'curve', d: pathThrough(shown, this.px, this.py) }), this.svg);
      if (l.dash && l.shown.length < 60)
        for (const p of l.shown)
          if (isFinite(this.py(p.v))) svg('circle', { class: 'mark', style: '--of: var(--' + l.color + ')', cx: this.px(p.x), cy: this.py(p.v), r: 3 }, this.svg);
    }
  }

  drawAreas() {
    let below = null;
    for (const l of this.lines) {
      l.shown = l.points;
      let d = l.points.map((p, i) => (i ? 'L' : 'M') + this.px(p.x).toFixed(1) + ' ' + this.py(p.v).toFixed(1)).join('');
      const base = below ? below.points : l.points.map(p => ({ x: p.x, v: 0 }));
      for (let i = base.length - 1; i >= 0; i--) d += 'L' + this.px(base[i].x).toFixed(1) + ' ' + this.py(base[i].v).toFixed(1);
      svg('path', this.attributes(l, { class: 'area', d: d + 'Z' }), this.svg);
      below = l;
    }
  }

  point(e) {
    if (!this.scale) return;
    const box = this.svg.getBoundingClientRect(), at = e.clientX - box.left;
    if (at < this.plot.left - 5 || at > this.plot.right + 5) { this.unpoint(); return; }
    const x = this.unx(at), found = [];
    for (const l of this.lines) if (l.shown && l.shown.length) found.push([l, nearest(l.shown, x)]);
    if (!found.length) return;
    const main = found.reduce((a, b) => Math.abs(b[1].x - x) < Math.abs(a[1].x - x) ? b : a)[1].x;
    this.cursor.replaceChildren();
    svg('line', { class: 'cursor', x1: this.px(main), x2: this.px(main), y1: this.plot.top, y2: this.plot.bottom }, this.cursor);
    this.tip.replaceChildren(el('b', {}, X[this.view.x].long(main)));
    if (this.options.stacked) found.reverse();
    for (const [l, p] of found) {
      if (!this.options.stacked && isFinite(this.py(p.v)))
        svg('circle', { class: 'mark', style: '--of: var(--' + l.color + ')', cx: this.px(p.x), cy: this.py(p.v), r: 3.5 }, this.cursor);
      this.tip.append(el('div', {}, el('span', { class: 'swatch', style: '--of: var(--' + l.color + ')' }), el('span', {}, l.name),
        el('span', {}, this.options.stacked ? duration(p.own) : exact(p.v))));
    }
    this.tip.hidden = false;
    const space = this.card.clientWidth, wide = this.tip.offsetWidth, left = this.px(main) + 14;
    this.tip.style.left = Math.max(4, left + 14 + wide > space ? left - wide - 14 : left + 14) + 'px';
    this.tip.style.top = '40px';
  }

  unpoint() {
    this.tip.hidden = true;
    if (this.cursor) this.cursor.replaceChildren();
  }
}

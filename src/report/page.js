// The page: controls, charts, tables, from the data that stands in the document.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const COLORS = 8;
const view = { x: data.x, log: false, smooth: 0, off: new Set() };

// What is chosen stands behind the # of the address, so that a view can be kept and sent: #x=time&log=1&smooth=0.9&off=2
const asked = new URLSearchParams(location.hash.slice(1));
if (['step', 'tokens', 'time'].includes(asked.get('x'))) view.x = asked.get('x');
view.log = asked.get('log') === '1';
view.smooth = Math.min(0.99, Math.max(0, +asked.get('smooth') || 0));
for (const i of (asked.get('off') || '').split(',')) if (i !== '' && data.runs[+i]) view.off.add(+i);

function keepView() {
  const kept = new URLSearchParams();
  if (view.x !== data.x) kept.set('x', view.x);
  if (view.log) kept.set('log', 1);
  if (view.smooth) kept.set('smooth', view.smooth);
  if (view.off.size) kept.set('off', [...view.off].join(','));
  history.replaceState(null, '', '#' + kept);
}

const CHARTS = [
  ['Loss', '', ['loss_metrics/global_avg_loss', 'validation_metrics/loss'], ['training', 'validation']],
  ['Gradient norm', 'before clipping', ['grad_norm']],
  ['Learning rate', '', ['lr']],
  ['Throughput', 'tokens/s per device', ['throughput(tps)']],
  ['TFLOP/s', 'per device', ['tflops']],
  ['MFU', '% of the peak', ['mfu(%)']],
  ['Memory', 'peak, GiB', ['memory/max_reserved(GiB)']],
];
const TIMES = ['forward_backward', 'communication', 'optimizer', 'data_loading', 'checkpoint', 'validation', 'other'];
const timeTag = kind => 'time_metrics/' + kind + '(s)';

const color = i => 'c' + i % COLORS;

// Points of one tag of a run on the x axis that is shown; v null is a gap, m what is smoothed.
function pointsOf(run, tag) {
  const s = run.series[tag], at = run.rows[view.x];
  if (!s) return [];
  return s.v.map((v, i) => ({ x: at[s.r ? s.r[i] : i], v, m: s.m ? s.m[i] : v, own: v })).filter(p => p.x !== null);
}

const hasValues = (run, tag) => run.series[tag] && run.series[tag].v.some(v => v !== null);

const charts = [];

function addCurves(parent, title, unit, tags, names) {
  if (!data.runs.some(r => tags.some(t => hasValues(r, t)))) return;
  const chart = new Chart(title, unit);
  const used = tags.map((t, k) => [t, k]).filter(([t]) => data.runs.some(r => hasValues(r, t)));
  if (names && used.length > 1)
    for (const [, k] of used) chart.keys.append(el('span', {}, el('i', { class: k ? 'dash' : '' }), names[k]));
  parent.append(chart.card);
  charts.push(() => {
    const lines = [];
    data.runs.forEach((run, i) => {
      if (view.off.has(i)) return;
      for (const [tag, k] of used)
        if (hasValues(run, tag))
          lines.push({ name: k && names ? run.name + ' \u00b7 ' + names[k] : run.name, run: run.name, tag, color: color(i), dash: k > 0, points: pointsOf(run, tag) });
    });
    chart.set(lines, view);
  });
}

// Seconds per step by kind, of one run; each area lies on those before.
function addTimes(parent, run, index) {
  const kinds = TIMES.filter(k => run.series[timeTag(k)] && run.series[timeTag(k)].v.some(v => v > 0));
  if (!kinds.length) return;
  const chart = new Chart('Time per step', data.runs.length > 1 ? 's \u00b7 ' + run.name : 's', { stacked: true });
  const colorOf = k => color(TIMES.indexOf(k));
  for (const k of kinds) chart.keys.append(el('span', {}, el('span', { class: 'swatch', style: '--of: var(--' + colorOf(k) + ')' }), k.replace(/_/g, ' ')));
  parent.append(chart.card);
  charts.push(() => {
    chart.card.hidden = view.off.has(index);
    if (view.off.has(index)) { chart.set([], view); return; }
    const rows = new Map();
    kinds.forEach((k, i) => {
      for (const p of pointsOf(run, timeTag(k)))
        if (p.v !== null) {
          if (!rows.has(p.x)) rows.set(p.x, new Array(kinds.length).fill(null));
          rows.get(p.x)[i] = p.m; // of a thinned curve the mean: extremes of several kinds do not add up
        }
    });
    const xs = [...rows.keys()].sort((a, b) => a - b), held = new Array(kinds.length).fill(0), lines = kinds.map(k => (
      { name: k.replace(/_/g, ' '), run: run.name, tag: timeTag(k), color: colorOf(k), points: [] }));
    for (const x of xs) {
      let sum = 0;
      kinds.forEach((k, i) => {
        const own = rows.get(x)[i];
        if (own !== null) held[i] = own;
        sum += Math.max(0, held[i]);
        lines[i].points.push({ x, v: sum, own: held[i] });
      });
    }
    chart.set(lines, view);
  });
}

function drawAll() {
  for (const draw of charts) draw();
  keepView();
}

// --- controls -----------------------------------------------------------------------------------------------------------

function switchOf(names, chosen, choose, disabled) {
  const box = el('div', { class: 'switch' });
  for (const name of names) {
    const b = el('button', { type: 'button', 'aria-pressed': String(name === chosen), 'data-x': name }, name);
    b.disabled = disabled(name);
    b.onclick = () => {
      for (const other of box.children) other.setAttribute('aria-pressed', String(other === b));
      choose(name);
    };
    box.append(b);
  }
  return box;
}

function controls() {
  const runs = el('div', { class: 'runs' });
  data.runs.forEach((run, i) => {
    const b = el('button', { type: 'button', 'aria-pressed': String(!view.off.has(i)), title: run.path }, el('i', { class: 'swatch', style: '--of: var(--' + color(i) + ')' }), el('span', {}, run.name));
    b.onclick = () => {
      if (!view.off.delete(i)) view.off.add(i);
      b.setAttribute('aria-pressed', String(!view.off.has(i)));
      drawAll();
    };
    runs.append(b);
  });
  const missing = x => !data.runs.some(r => r.rows[x].some(v => v !== null && v > 0));
  const x = switchOf(['step', 'tokens', 'time'], view.x, name => { view.x = name; drawAll(); }, missing);
  const log = el('input', { type: 'checkbox', id: 'log' }), smoothing = el('input', { type: 'range', min: 0, max: 0.99, step: 0.01, value: view.smooth, id: 'smooth' });
  const shown = el('output', {}, String(view.smooth));
  log.checked = view.log;
  log.onchange = () => { view.log = log.checked; drawAll(); };
  smoothing.oninput = () => { view.smooth = +smoothing.value; shown.textContent = smoothing.value; drawAll(); };
  return el('div', { class: 'bar' }, el('div', {}, runs, el('div', { class: 'group' }, 'x', x), el('label', { class: 'group' }, log, 'log y'),
    el('label', { class: 'group' }, 'smoothing', smoothing, shown)));
}

// --- tables -------------------------------------------------------------------------------------------------------------

function table(heads, rows) {
  const row = (cells, name) => el('tr', {}, ...cells.map((c, i) => el(name, { class: heads[i][1] ? 'number' : undefined }, c)));
  return el('div', { class: 'scroll' }, el('table', {}, el('thead', {}, row(heads.map(h => h[0]), 'th')),
    el('tbody', {}, ...rows.map(r => row(r, 'td')))));
}

const nameOf = (run, i) => el('span', { class: 'name', title: run.path }, el('i', { class: 'swatch', style: '--of: var(--' + color(i) + ')' }), run.name);
const atStep = p => p === null ? '\u2013' : exact(p.value) + ' @ ' + p.step.toLocaleString('en-US');

function summary() {
  const heads = [['run'], ['last step', 1], ['tokens', 1], ['last loss', 1], ['best loss', 1], ['best validation', 1], ['median tokens/s', 1],
    ['peak GiB', 1], ['time in steps', 1], ['starts', 1], ['ranks', 1], ['started'], ['titan']];
  const dash = x => x === null ? '\u2013' : x;
  const t = table(heads, data.runs.map((run, i) => {
    const s = run.summary;
    return [nameOf(run, i), s.steps.toLocaleString('en-US'), exact(s.tokens), exact(s.last_loss), atStep(s.best_loss), atStep(s.best_validation),
      s.median_tps === null ? '\u2013' : short(s.median_tps), s.peak_gib === null ? '\u2013' : short(s.peak_gib), s.seconds === null ? '\u2013' : duration(s.seconds), dash(s.starts), dash(s.ranks),
      s.started === null ? '\u2013' : s.started.replace('T', ' ').replace(/:\d\dZ$/, ' UTC'), dash(s.version)];
  }));
  t.id = 'summary';
  return t;
}

function differences() {
  if (data.runs.length < 2) return null;
  const heads = [['key'], ...data.runs.map(r => [r.name])];
  const without = data.runs.filter(r => !r.has_config).map(r => r.name);
  const cell = (value, origin, run) => {
    const box = el('span', {}, el('code', {}, !run.has_config ? '\u2013' : value === null ? 'unset' : value));
    if (origin) box.append(el('span', { class: 'origin' }, origin));
    return box;
  };
  const t = table(heads, data.config.map(d => [el('code', {}, d.key), ...d.values.map((v, i) => cell(v, d.origins[i], data.runs[i]))]));
  t.id = 'config';
  const same = without.length > data.runs.length - 2 ? 'Fewer than two runs have their configuration (config.cfg) beside their metrics.'
    : 'The configurations are the same.';
  return data.config.length ? t : el('p', { class: 'sub', id: 'config' }, same);
}

// --- all together -------------------------------------------------------------------------------------------------------

function build() {
  const main = document.querySelector('main'), grid = el('div', { class: 'grid' });
  const notes = data.runs.flatMap(r => r.notes.map(n => r.name + ': ' + n));
  main.before(controls());
  main.append(grid);
  for (const c of CHARTS) addCurves(grid, ...c);
  data.runs.forEach((run, i) => addTimes(grid, run, i));
  main.append(el('h3', {}, 'Runs'), summary());
  if (notes.length) main.append(el('ul', { class: 'notes' }, ...notes.map(n => el('li', {}, n))));
  const config = differences();
  if (config) main.append(el('h3', {}, 'What differs in their configuration'), config);
  const known = new Set([...CHARTS.flatMap(c => c[2]), ...TIMES.map(timeTag), 'n_tokens_seen']);
  const rest = [...new Set(data.runs.flatMap(r => Object.keys(r.series)))].filter(t => !known.has(t)), more = el('div', { class: 'grid' });
  for (const tag of rest) addCurves(more, tag, '', [tag]);
  if (more.children.length) main.append(el('details', {}, el('summary', {}, 'More curves (' + more.children.length + ')'), more));
  drawAll();
  document.body.setAttribute('data-ready', charts.length);
}
build();

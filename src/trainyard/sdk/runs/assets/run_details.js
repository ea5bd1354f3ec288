// A run, drawn: state and phases, charts, what it used, its log, the runs below it. With charts.js before it, it is one
// module: no library, no build step.
// The model has the parts `run`, `metrics`, `system`, `log`, `children`; `chosen_log` goes back.

const SCALE = ["#3b2f8f", "#2f6fde", "#1fa187", "#8fc23c", "#f2b134"];
const KINDS = {
  Completed: "good", Failed: "bad", Canceled: "off", CancelRequested: "off",
  Running: "live", Finalizing: "live", Starting: "live",
};

function card(title, value, about, body, wide = false) {
  return h("section", { class: wide ? "ty-card ty-wide" : "ty-card", "data-name": title },
    h("header", {}, h("h4", { title: about || title }, title), value !== null && h("output", {}, value)),
    about && h("p", { class: "ty-about" }, about), body);
}

function metricCard(metric, at) {
  const about = metric.about;
  if (metric.kind === "line" && metric.points.length > 1) {
    return card(metric.name, short(metric.last), about, chart(metric, { colour: COLOURS[at % COLOURS.length] }));
  }
  if (metric.lines) {
    return card(metric.name, null, about || `${metric.up} over ${metric.across}`, [chart(metric), legend(metric.lines)]);
  }
  if (metric.bars) return card(metric.name, null, about, bars(metric, { colour: COLOURS[at % COLOURS.length] }));
  if (metric.kind === "table") return card(metric.name, `${metric.count} ${metric.count === 1 ? "row" : "rows"}`, about, tableOf(metric), true);
  if (metric.kind === "confusion_matrix" && metric.matrix) return card(metric.name, null, about, matrixOf(metric.matrix));
  if (metric.image) return card(metric.name, null, about, h("img", { src: metric.image, alt: metric.name }));
  if (metric.kind === "line" || metric.kind === "text") return null;
  return card(metric.name, null, about, h("code", {}, metric.file || ""));
}

function tile(metric) {
  return h("div", { class: "ty-tile", title: metric.about || metric.name, "data-name": metric.name },
    h("span", {}, metric.name), h("b", {}, metric.last === null ? "None" : short(metric.last)));
}

function tableOf(metric) {
  const names = Object.keys(metric.columns), columns = names.map((name) => metric.columns[name]);
  const rows = columns.length ? columns[0].map((_, at) => columns.map((column) => column[at])) : [];
  return h("div", { class: "ty-scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, names.map((name) => h("th", {}, name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, short(cell))))))));
}

function matrixOf(data) {
  const rows = data.matrix || [], labels = data.class_labels || rows.map((_, at) => at);
  const most = Math.max(1, ...rows.flat());
  return h("div", { class: "ty-scroll" }, h("table", { class: "ty-matrix" },
    h("thead", {}, h("tr", {}, h("th", {}), labels.map((label) => h("th", {}, String(label))))),
    h("tbody", {}, rows.map((row, at) => h("tr", {}, h("th", {}, String(labels[at])), row.map((count) => {
      const share = count / most;
      return h("td", { style: `background: rgba(47, 111, 222, ${0.06 + 0.74 * share}); color: ${share > 0.55 ? "#fff" : "inherit"}` }, short(count));
    }))))));
}

function tagged(name, value) {
  return h("span", { class: "ty-tag" }, value ? `${name}: ${value}` : name);
}

// The head: who, what state, for how long, and the phases as a bar.

function head(run) {
  const state = h("span", { class: `ty-state ty-${KINDS[run.status] || "wait"}` },
    KINDS[run.status] === "live" && h("i", {}), run.status);
  const facts = [run.experiment && `${run.experiment} #${run.number}`, run.target || "this machine",
    run.nodes > 1 && `${run.nodes} nodes`, run.script];
  return h("div", { class: "ty-head" },
    h("div", { class: "ty-title" }, state,
      h("a", { href: run.url, target: "_blank", rel: "noopener", class: "ty-name" }, run.name || run.id),
      h("time", { class: "ty-elapsed" }, span(age(run)))),
    h("div", { class: "ty-facts" }, facts.filter(Boolean).map((fact) => h("span", {}, fact)),
      Object.entries(run.tags).map(([name, value]) => tagged(name, value))),
    run.description && h("p", { class: "ty-about" }, run.description),
    phases(run),
    run.error && h("div", { class: "ty-error" }, h("b", {}, run.error.message),
      run.error.lines.length > 0 && h("pre", {}, run.error.lines.join("\n"))),
    run.warnings.map((warning) => h("div", { class: "ty-warning" }, warning)));
}

function age(run) {
  return (run.ended || Date.now()) - (run.started || run.created);
}

function phases(run) {
  const end = run.ended || Date.now(), total = Math.max(1, end - run.created);
  const begun = run.phases.filter((phase, at, all) => !at || phase.status !== all[at - 1].status);
  const parts = begun.map((phase, at) => ({
    ...phase, took: (at + 1 < begun.length ? begun[at + 1].at : end) - phase.at,
  })).filter((phase, at, all) => at + 1 < all.length || !run.over);
  return h("div", { class: "ty-phases", title: run.reason }, parts.filter((phase) => phase.took > 0).map((phase) =>
    h("span", {
      class: `ty-phase ty-${KINDS[phase.status] || "wait"}`, title: `${phase.status}: ${phase.reason} (${span(phase.took)})`,
      style: `flex-grow: ${Math.max(0.02, phase.took / total).toFixed(4)}`,
    }, phase.took / total > 0.14 ? `${phase.status} ${span(phase.took)}` : "")));
}

// What the nodes, ranks and GPUs did.

const USE = {
  cpu_percent: ["CPU", (v) => `${short(Math.round(v))} %`], utilization_percent: ["GPU", (v) => `${short(Math.round(v))} %`],
  memory_bytes: ["memory", bytes], disk_free_bytes: ["disk, free", bytes],
  disk_read_bytes_per_s: ["disk, read", (v) => `${bytes(v)}/s`], disk_written_bytes_per_s: ["disk, written", (v) => `${bytes(v)}/s`],
  network_received_bytes_per_s: ["network, in", (v) => `${bytes(v)}/s`], network_sent_bytes_per_s: ["network, out", (v) => `${bytes(v)}/s`],
  power_w: ["power", (v) => `${short(Math.round(v))} W`], temperature_c: ["temperature", (v) => `${short(Math.round(v))} °C`],
};

function systemPart(system) {
  const groups = new Map();
  for (const metric of system) {
    const at = metric.name.lastIndexOf("/"), where = metric.name.slice(0, at), what = metric.name.slice(at + 1);
    if (!groups.has(where)) groups.set(where, []);
    groups.get(where).push([what, metric]);
  }
  const order = (name) => name.replace(/\d+/g, (n) => n.padStart(6, "0"));
  const names = [...groups.keys()].sort((a, b) => (order(a) < order(b) ? -1 : 1)), ranks = names.filter((name) => /rank-\d+$/.test(name));
  const apart = names.filter((name) => ranks.length < 2 || !ranks.includes(name));
  return [...apart.map((where) => [
    h("h5", {}, where.replace("/", " · ")),
    h("div", { class: "ty-grid-of" }, groups.get(where).filter(([, metric]) => metric.points.length).map(([what, metric], at) => {
      const [title, format] = USE[what] || [what, short];
      return card(title, format(lastOf(metric)), null, chart(metric, { colour: COLOURS[at % COLOURS.length], format, height: 110, floor: 0 }));
    })),
  ]), ranks.length > 1 && ranksPart(groups, ranks)];
}

// All ranks in one picture for each thing: the one that lags, or eats more, stands out.
function ranksPart(groups, ranks) {
  const nodes = new Set(ranks.map((rank) => rank.slice(0, rank.lastIndexOf("/"))));
  const called = (rank) => (nodes.size > 1 ? rank.replace("/", " · ") : rank.slice(rank.lastIndexOf("/") + 1));
  const things = [...new Set(ranks.flatMap((rank) => groups.get(rank).map(([what]) => what)))];
  return [h("h5", {}, `${ranks.length} ranks`), h("div", { class: "ty-grid-of" }, things.map((what) => {
    const [title, format] = USE[what] || [what, short];
    const lines = ranks.map((rank) => [rank, (groups.get(rank).find(([name]) => name === what) || [])[1]])
      .filter(([, metric]) => metric && metric.points.length)
      .map(([rank, metric]) => ({ label: called(rank), points: metric.points }));
    if (!lines.length) return null;
    const lasts = lines.map(lastOf), low = format(Math.min(...lasts)), high = format(Math.max(...lasts));
    const metric = { name: title, kind: "times", lines };
    return card(`${title}, each rank`, low === high ? low : `${low} … ${high}`, null,
      [chart(metric, { format, height: 150, floor: 0 }), lines.length <= 16 && legend(lines)], lines.length > 4);
  }))];
}

function lastOf(series) {
  return series.points[series.points.length - 1][1];
}

// The runs below: lines through every parameter and metric, and a table.

function valueOf(row, axis) {
  const raw = axis.part === "params" ? row.params[axis.name] : row.metrics[axis.name];
  if (raw === undefined || raw === null || typeof raw === "object") return null;
  const number = typeof raw === "number" ? raw : raw.trim() === "" ? NaN : Number(raw);
  return Number.isNaN(number) ? String(raw) : number;
}

function axesOf(children) {
  const primary = children.primary, plain = (name) => name.replace(/^-+/, "");
  const wanted = primary && primary.space.length ? primary.space : children.params;
  const named = (name) => children.params.find((p) => p === name || plain(p) === plain(name)) || name;
  const log = new Set(primary ? primary.logarithmic.map(named) : []);
  const metrics = primary ? [primary.name] : children.metrics.slice(0, 3);
  return [...new Set(wanted.map(named))].slice(0, 8).map((name) => ({ name, part: "params", log: log.has(name) }))
    .concat(metrics.map((name) => ({ name, part: "metrics" })))
    .filter((axis) => children.rows.some((row) => valueOf(row, axis) !== null));
}

function shade(share) {
  const at = Math.max(0, Math.min(0.9999, share)) * (SCALE.length - 1), low = Math.floor(at);
  const mix = (n) => [1, 3, 5].map((i) => parseInt(SCALE[n].slice(i, i + 2), 16));
  const [a, b] = [mix(low), mix(low + 1)];
  return `rgb(${a.map((v, i) => Math.round(v + (b[i] - v) * (at - low))).join(",")})`;
}

function colourer(children, axes) {
  const axis = axes.filter((each) => each.part === "metrics").pop();
  const values = axis ? children.rows.map((row) => valueOf(row, axis)).filter((v) => typeof v === "number") : [];
  const low = Math.min(...values), high = Math.max(...values);
  const smaller = children.primary && children.primary.smaller;
  return (row) => {
    const value = axis ? valueOf(row, axis) : null;
    if (typeof value !== "number") return "#9aa3af";
    const share = high > low ? (value - low) / (high - low) : 1;
    return shade(smaller ? 1 - share : share);
  };
}

// Round numbers on a logarithmic scale: 1, 2, 5, 10 …, or powers of ten alone where those are many.
export function logTicks(low, high) {
  const found = [], decades = Math.log10(high / low);
  for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e += Math.max(1, Math.round(decades / 5))) {
    for (const n of decades > 3 ? [1] : [1, 2, 5]) found.push(Number((n * 10 ** e).toPrecision(1)));
  }
  const inside = found.filter((v) => v >= low && v <= high);
  return inside.length > 1 ? inside : ticks(low, high, 4);
}

export function parallel(children, axes, colour, room = 900) {
  const width = Math.max(90 * axes.length, Math.min(900, room > 0 ? room : 900)); // its words are as large as others while they fit
  const height = 270, top = 44, bottom = 22, side = 70, primary = children.primary;
  const at = (n) => (axes.length > 1 ? side + (n * (width - 2 * side)) / (axes.length - 1) : width / 2);
  const scales = axes.map((axis) => {
    const values = children.rows.map((row) => valueOf(row, axis)).filter((v) => v !== null);
    const inside = (share) => height - bottom - share * (height - top - bottom);
    if (values.some((v) => typeof v === "string")) {
      const names = [...new Set(values.map(String))].sort();
      const place = (v) => inside(names.length > 1 ? names.indexOf(String(v)) / (names.length - 1) : 0.5);
      return { place, marks: names.slice(0, 12).map((name) => [name.slice(0, 14), place(name)]) };
    }
    const few = [...new Set(values)].sort((a, b) => a - b);
    if (axis.part === "params" && few.length > 1 && few.length <= 8 && few.length * 2 <= values.length) {
      const place = (v) => inside(few.indexOf(v) / (few.length - 1));  // options: each has its place and its name
      return { place, marks: few.map((v) => [short(v), place(v)]) };
    }
    const low = Math.min(...values), high = Math.max(...values), log = low > 0 && (axis.log ? high > low : high / low >= 100);
    const of = log ? Math.log10 : (v) => v;
    const place = (v) => inside(high > low ? (of(v) - of(low)) / (of(high) - of(low)) : 0.5);
    const marks = high > low ? (log ? logTicks(low, high) : ticks(low, high, 4)) : [low];
    return { place, marks: marks.map((v) => [short(v), place(v)]) };
  });
  // worst first: the better is drawn over it
  const order = primary ? [...children.rows].sort((a, b) => worth(primary, a) - worth(primary, b)) : children.rows;
  const lines = order.map((row) => {
    let way = "", before = null;
    axes.forEach((axis, n) => {
      const value = valueOf(row, axis);
      if (value === null) { before = null; return; }
      const [x, y] = [at(n), scales[n].place(value)];
      way += before ? `C${before[0] + 50},${before[1]} ${x - 50},${y} ${x},${y}` : `M${x},${y}`;
      before = [x, y];
    });
    return svg("path", { d: way, stroke: colour(row), class: isBest(children, row) ? "ty-thread ty-best" : "ty-thread", "data-run": row.id },
      svg("title", {}, nameOf(row)));
  });
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "ty-parallel", role: "img", "aria-label": "runs, parameters and metrics" },
    lines, axes.map((axis, n) => svg("g", {},
      svg("line", { x1: at(n), x2: at(n), y1: top, y2: height - bottom, class: "ty-axis" }),
      svg("text", { x: at(n), y: 16, "text-anchor": "middle", class: axis.part === "metrics" ? "ty-label ty-strong" : "ty-label" }, axis.name.replace(/^-+/, "")),
      primary && axis.part === "metrics" && svg("text", { x: at(n), y: 30, "text-anchor": "middle", class: "ty-tick" }, primary.smaller ? "smaller is better" : "larger is better"),
      scales[n].marks.map(([text, y]) => [
        svg("line", { x1: at(n) - 4, x2: at(n), y1: y, y2: y, class: "ty-axis" }),
        svg("text", { x: at(n) - 8, y: y + 3.5, "text-anchor": "end", class: "ty-tick" }, text),
      ]))));
}

function isBest(children, row) {
  return Boolean(children.primary) && children.primary.best === row.id;
}

// Higher is better; without a value, worst.
function worth(primary, row) {
  const value = row.metrics[primary.name];
  return typeof value !== "number" ? -Infinity : primary.smaller ? -value : value;
}

function stateOf(row) {
  return row.stopped && row.status === "Canceled" ? "Stopped" : row.status;
}

// How far a sweep is, and what it has found: its best run, with its sample.
function found(children, axes) {
  const { name, total, best } = children.primary, rows = children.rows;
  const leader = rows.find((row) => row.id === best), stopped = rows.filter((row) => row.stopped).length;
  const facts = [["runs over", `${rows.filter((row) => row.over).length} of ${total}`], stopped && ["stopped early", stopped]];
  if (leader) {
    facts.push([`best ${name}`, short(leader.metrics[name])], ["by", nameOf(leader)]);
    for (const axis of axes) if (axis.part === "params") facts.push([axis.name.replace(/^-+/, ""), short(valueOf(leader, axis))]);
  }
  return h("div", { class: "ty-tiles ty-found" }, facts.filter(Boolean).map(([what, value]) =>
    h("div", { class: "ty-tile" }, h("span", {}, what), h("b", {}, value))));
}

function nameOf(row) {
  const trial = row.id.match(/_(\d{1,5})$/);
  return row.name || (trial ? `#${trial[1]}` : row.id.slice(-12));
}

function childrenPart(children, sort, room, resort) {
  const axes = axesOf(children), colour = colourer(children, axes);
  const columns = [
    { name: "run", of: (row) => row.number, show: nameOf, title: (row) => row.id },
    { name: "status", of: stateOf, title: (row) => row.stopped, show: (row) => h("span", { class: `ty-dotted ty-${KINDS[row.status] || "wait"}` }, stateOf(row)) },
    ...axes.map((axis) => ({ name: axis.name.replace(/^-+/, ""), of: (row) => valueOf(row, axis), show: (row) => short(valueOf(row, axis)), strong: axis.part === "metrics" })),
    { name: "time", of: (row) => (row.started ? (row.ended || Date.now()) - row.started : null), show: (row) => (row.started ? span((row.ended || Date.now()) - row.started) : "") },
  ];
  const primary = children.primary && children.primary.name;
  const by = columns.find((column) => column.name === (sort.by || primary)) || columns[0];
  const down = sort.by ? sort.down : Boolean(children.primary && !children.primary.smaller);
  const rows = [...children.rows].sort((a, b) => {
    const [x, y] = [by.of(a), by.of(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
  });
  const picture = axes.length > 1 && children.rows.length > 1 ? parallel(children, axes, colour, room) : null;
  const light = (id, on) => {
    if (!picture) return;
    picture.classList.toggle("ty-dimmed", on);
    picture.querySelectorAll(".ty-thread").forEach((thread) => thread.classList.toggle("ty-lit", on && thread.dataset.run === id));
  };
  return [children.primary ? found(children, axes) : null, picture, h("div", { class: "ty-scroll ty-tall" }, h("table", { class: "ty-runs" },
    h("thead", {}, h("tr", {}, columns.map((column) => h("th", {
      onclick: () => resort({ by: column.name, down: column.name === by.name ? !down : false }),
      class: column.name === by.name ? "ty-sorted" : null,
    }, column.name, column.name === by.name ? (down ? " ↓" : " ↑") : "")))),
    h("tbody", {}, rows.map((row) => h("tr", { class: isBest(children, row) ? "ty-leads" : null, onmouseenter: () => light(row.id, true), onmouseleave: () => light(row.id, false) },
      columns.map((column, n) => h("td", { title: column.title ? column.title(row) : null, class: column.strong ? "ty-strong" : null },
        n === 0 && h("i", { class: "ty-swatch", style: `background: ${colour(row)}` }), column.show(row))))))))];
}

function logPart(log, choose) {
  if (!log.name) return [h("p", { class: "ty-none" }, "Nothing has been written.")];
  const pick = h("select", { onchange: (event) => choose(event.target.value) },
    log.names.map((name) => h("option", { value: name, selected: name === log.name }, name)));
  return [pick, h("pre", { class: "ty-log" }, written(log))];
}

function written(log) {
  return (log.cut ? "…\n" : "") + drawn(log.text);
}

// New lines below the list of logs, which somebody may have open. False: the list is another now.
function renewLog(body, log) {
  const pick = body.querySelector("select"), text = body.querySelector("pre.ty-log");
  if (!pick || !text || [...pick.options].map((each) => each.value).join("\n") !== log.names.join("\n")) return false;
  text.textContent = written(log);
  return true;
}

function metricsPart(metrics) {
  const place = (metric) => (metric.kind === "line" ? 0 : metric.kind === "table" ? 2 : 1);
  const cards = [...metrics].sort((a, b) => place(a) - place(b)).map(metricCard);
  const tiles = metrics.filter((metric) => metric.kind === "text" || (metric.kind === "line" && metric.points.length <= 1));
  if (!metrics.length) return [h("p", { class: "ty-none" }, "Nothing has been logged.")];
  return [tiles.length > 0 && h("div", { class: "ty-tiles" }, tiles.map(tile)), h("div", { class: "ty-grid-of" }, cards)];
}

const PART_OF = { runs: "children", metrics: "metrics", system: "system", log: "log" }; // what a tab shows

export function render({ model, el }) {
  let tab = null, last = null, sort = { by: null, down: false };
  const root = h("div", { class: "ty-run" }), top = h("div"), bar = h("nav", { role: "tablist" }), body = h("div", { class: "ty-body" });
  root.append(top, bar, body);
  el.append(root);

  const parts = () => {
    const rows = model.get("children").rows || [], metrics = model.get("metrics") || [], system = model.get("system") || [];
    const hoped = !rows.length && !model.get("run").over;
    return [
      rows.length && ["runs", `Runs (${rows.length})`], (metrics.length || hoped) && ["metrics", "Metrics"],
      system.length && ["system", "System"], ["log", "Log"],
    ].filter(Boolean);
  };

  function drawHead() {
    if (!model.get("run").id) return;
    top.replaceChildren(head(model.get("run")));
    const why = top.querySelector(".ty-error pre");
    if (why) why.scrollTop = why.scrollHeight; // the last line says most
  }

  function drawBar() {
    const known = parts();
    const shown = known.some(([name]) => name === tab) ? tab : known[0][0];
    bar.replaceChildren(...known.map(([name, title]) => h("button", {
      role: "tab", "aria-selected": String(name === shown), "data-tab": name, onclick: () => { tab = name; drawBody(); },
    }, title)));
    return shown;
  }

  // What is in sight; of a `changed` part only if that is.
  function drawBody(changed = null) {
    const shown = drawBar(), same = shown === last;
    last = shown;
    if (changed && same && PART_OF[shown] !== changed) return;
    const old = body.querySelector("pre.ty-log");
    const place = old && old.scrollTop + old.clientHeight < old.scrollHeight - 8 ? old.scrollTop : null;
    if (!(changed === "log" && same && renewLog(body, model.get("log")))) fill(shown);
    const log = body.querySelector("pre.ty-log");
    if (log) log.scrollTop = place === null ? log.scrollHeight : place;
  }

  function fill(shown) {
    const made = {
      runs: () => childrenPart(model.get("children"), sort, body.clientWidth - 28, (next) => { sort = next; drawBody(); }),
      metrics: () => metricsPart(model.get("metrics")),
      system: () => systemPart(model.get("system")),
      log: () => logPart(model.get("log"), (name) => { model.set("chosen_log", name); model.save_changes(); }),
    }[shown]();
    body.replaceChildren(...made.flat(3).filter(Boolean));
  }

  const draw = { run: () => { drawHead(); drawBody("run"); } };
  for (const part of Object.values(PART_OF)) draw[part] = () => drawBody(part);
  for (const [part, again] of Object.entries(draw)) model.on(`change:${part}`, again);
  drawHead();
  drawBody();
  const clock = setInterval(() => {
    const run = model.get("run"), shown = top.querySelector(".ty-elapsed");
    if (shown && !run.over) shown.textContent = span(age(run));
  }, 500);
  return () => {
    clearInterval(clock);
    for (const [part, again] of Object.entries(draw)) model.off(`change:${part}`, again);
  };
}

export default { render };

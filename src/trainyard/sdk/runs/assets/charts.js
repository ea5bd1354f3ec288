// Elements, numbers in words, and charts: what the widget draws with.

const COLOURS = ["#2f6fde", "#d9612c", "#2a9d68", "#9a4fc4", "#c23b6b", "#8a7a12", "#138a9e", "#6b7280"];

export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  return filled(made, attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

// Numbers and times in words.

export function short(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2).replace("e+", "e");
  return String(Number(value.toPrecision(4)));
}

export function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (Math.abs(value) >= 1000 && at < units.length - 1) { value /= 1000; at += 1; }
  return `${at && Math.abs(value) < 100 ? value.toFixed(1) : Math.round(value)} ${units[at]}`;
}

export function span(milliseconds) {
  const seconds = Math.max(0, milliseconds / 1000);
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds), minutes = Math.floor(whole / 60), two = (n) => String(n).padStart(2, "0");
  if (minutes < 1) return `${whole} s`;
  if (minutes < 60) return `${minutes}:${two(whole % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}

export function ticks(low, high, about = 4) {
  if (!(high > low)) return [low];
  const raw = (high - low) / about, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw * 0.7);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) {
    found.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  }
  return found;
}

// What stands on a line after every carriage return has drawn over it, as a terminal shows it.
export function drawn(text) {
  return text.split("\n").map((line) => {
    const parts = line.replace(/\r+$/, "").split("\r");
    return parts[parts.length - 1];
  }).join("\n").replace(/\x1b\[[0-9;?]*[A-Za-z]/g, "");
}

// The ticks of a value's axis, without the digits that all of them have in common.
function marks(values, format) {
  const texts = values.map(format);
  return texts.every((text) => /\.0(?!\d)/.test(text) || !/\d\.\d/.test(text)) ? texts.map((text) => text.replace(/\.0(?!\d)/, "")) : texts;
}

const SIZE = { width: 340, left: 46, right: 10, top: 8, bottom: 20 };

// Where values stand in a picture of that height; the ends are widened so that no line lies on the frame.
function scales(xs, ys, height, floor) {
  const { width, left, right, top, bottom } = SIZE;
  let [x0, x1] = [Math.min(...xs), Math.max(...xs)], [y0, y1] = [Math.min(...ys), Math.max(...ys)];
  if (floor !== null) y0 = Math.min(y0, floor);
  if (x0 === x1) { x0 -= 0.5; x1 += 0.5; }
  const flat = y0 === y1;
  if (flat) { const room = Math.abs(y0) * 0.1 || 1; y0 -= floor === null ? room : 0; y1 += room; }
  const pad = floor === null ? (y1 - y0) * 0.06 : 0;
  y0 -= pad; y1 += (y1 - y0) * 0.06;
  return {
    x0, x1, y0, y1, flat,
    px: (x) => left + ((x - x0) / (x1 - x0)) * (width - left - right),
    py: (y) => top + (1 - (y - y0) / (y1 - y0)) * (height - top - bottom),
  };
}

function axes({ x0, x1, y0, y1, flat, px, py }, { xs, ys, height, format, across }) {
  const up = flat ? [ys[0]] : ticks(y0, y1, 3), names = marks(up, format);
  const along = ticks(x0, x1, 4).filter((x) => xs.length > 1 || x === xs[0]), below = marks(along, across);
  return [
    up.map((y, at) => [
      svg("line", { x1: SIZE.left, x2: SIZE.width - SIZE.right, y1: py(y), y2: py(y), class: "ty-grid" }),
      svg("text", { x: SIZE.left - 6, y: py(y) + 3.5, class: "ty-tick", "text-anchor": "end" }, names[at]),
    ]),
    along.map((x, at) => svg("text", { x: px(x), y: height - 5, class: "ty-tick", "text-anchor": "middle" }, below[at])),
  ];
}

// Lines with axes, and the nearest value under the pointer. `metric.lines` are several, each with a label; else it is
// one, of `metric.points`.
export function chart(metric, { colour = COLOURS[0], format = short, height = 150, floor = null } = {}) {
  const lines = (metric.lines || [{ label: "", points: metric.points }]).filter((line) => line.points.length)
    .map((line, at) => ({ ...line, colour: line.faint ? "var(--off)" : metric.lines ? COLOURS[at % COLOURS.length] : colour }));
  const all = lines.flatMap((line) => line.points), xs = all.map((p) => p[0]), ys = all.map((p) => p[1]);
  const scale = scales(xs, ys, height, floor), { y0, y1, px, py } = scale, alone = lines.length === 1;
  const across = metric.kind === "times" ? (x) => span(x * 1000) : short;
  const said = metric.kind === "times" ? across : (x) => (metric.lines ? short(x) : `${metric.stepped ? "step" : "#"} ${short(x)}`);
  const spot = (p) => `${px(p[0]).toFixed(1)},${py(p[1]).toFixed(1)}`;
  const base = py(Math.max(y0, Math.min(y1, floor === null ? y0 : floor)));
  const drawn = lines.map(({ points, colour: stroke, faint }) => {
    const way = points.map((p, at) => `${at ? "L" : "M"}${spot(p)}`).join(""), end = points[points.length - 1];
    const dots = points.length === 1 || (alone && points.length <= 40) ? points : alone ? [end] : [];
    return [
      alone && points.length > 1 && svg("path", { d: `${way}L${px(end[0]).toFixed(1)},${base}L${px(points[0][0]).toFixed(1)},${base}Z`, fill: stroke, opacity: 0.08 }),
      points.length > 1 && svg("path", { d: way, fill: "none", stroke, class: "ty-line", "stroke-width": faint ? 1 : 1.8, "stroke-dasharray": faint ? "4 3" : null, "stroke-linejoin": "round" }),
      dots.map((p) => svg("circle", { cx: px(p[0]), cy: py(p[1]), r: points.length <= 40 ? 2.2 : 2.6, fill: stroke, class: "ty-dot" })),
    ];
  });
  const mark = svg("g", { class: "ty-mark", visibility: "hidden" },
    svg("line", { y1: SIZE.top, y2: height - SIZE.bottom, class: "ty-cross" }), svg("circle", { r: 3.5 }));
  const tip = h("div", { class: "ty-tip", hidden: true });
  const picture = svg("svg", { viewBox: `0 0 ${SIZE.width} ${height}`, class: "ty-chart", role: "img", "aria-label": metric.name },
    axes(scale, { xs, ys, height, format, across }), drawn, mark);
  picture.addEventListener("mousemove", (event) => {
    const box = picture.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * SIZE.width, up = ((event.clientY - box.top) / box.height) * height;
    const far = (p) => Math.abs(px(p[0]) - at) + (alone ? 0 : Math.abs(py(p[1]) - up));
    const [line, near] = lines.flatMap((each) => each.points.map((p) => [each, p])).reduce((best, next) => (far(next[1]) < far(best[1]) ? next : best));
    const [x, y] = [px(near[0]), py(near[1])];
    mark.setAttribute("visibility", "visible");
    mark.firstChild.setAttribute("x1", x); mark.firstChild.setAttribute("x2", x);
    mark.lastChild.setAttribute("cx", x); mark.lastChild.setAttribute("cy", y);
    mark.lastChild.setAttribute("fill", line.colour);
    tip.hidden = false;
    tip.textContent = [line.label, said(near[0]), format(near[1])].filter(Boolean).join("   ");
    tip.style.left = `${(x / SIZE.width) * 100}%`;
    tip.classList.toggle("ty-flip", x > SIZE.width * 0.6);
  });
  picture.addEventListener("mouseleave", () => { mark.setAttribute("visibility", "hidden"); tip.hidden = true; });
  return h("div", { class: "ty-plot" }, picture, tip);
}

export function legend(lines) {
  return h("div", { class: "ty-legend" }, lines.map((line, at) => !line.faint && h("span", {},
    h("i", { class: "ty-swatch", style: `background: ${COLOURS[at % COLOURS.length]}` }), line.label)));
}

// A histogram: [from, to, how many].
export function bars(metric, { colour = COLOURS[0], height = 150 } = {}) {
  const xs = metric.bars.flatMap(([low, high]) => [low, high]), ys = metric.bars.map((bar) => bar[2]);
  const scale = scales(xs, ys, height, 0), { px, py } = scale;
  return h("div", { class: "ty-plot" }, svg("svg", { viewBox: `0 0 ${SIZE.width} ${height}`, class: "ty-chart", role: "img", "aria-label": metric.name },
    axes(scale, { xs, ys, height, format: short, across: short }),
    metric.bars.map(([low, high, count]) => svg("rect", {
      x: px(low) + 0.5, y: py(count), width: Math.max(1, px(high) - px(low) - 1), height: Math.max(0, py(0) - py(count)),
      fill: colour, opacity: 0.75, class: "ty-bar",
    }, svg("title", {}, `${short(low)} to ${short(high)}: ${short(count)}`)))));
}

// The other pages: the list of notes, two readers, audit, model, in and out.
import { ask, figure, fillWith, h, percent, plural, toast } from "./dom.js";
import { app, failed, go, refresh } from "./main.js";
import { reading } from "./read.js";

const head = (title, said, ...rest) => h("div", { class: "head" }, h("div", null, h("h1", null, title), said && h("p", { class: "hint" }, said)), ...rest);

function table(heads, rows, given = {}) {
  return h(
    "div",
    { class: "scroller" },
    h(
      "table",
      given,
      h("thead", null, h("tr", null, heads.map((title) => h("th", { scope: "col", class: title.startsWith("#") ? "number" : "" }, title.replace("#", ""))))),
      h("tbody", null, rows),
    ),
  );
}

const cell = (content, kind = "") => h("td", { class: kind }, content ?? "–");
const number = (content) => cell(content, "number");
const card = (title, value, said = "") => h("div", { class: "figure" }, h("span", { class: "title" }, title), h("strong", null, value), h("span", { class: "hint" }, said));

// --- notes ------------------------------------------------------------------------------------------------------------

export async function notes(view) {
  const wanted = { start: 0 };
  const box = h("div");
  const chosen = (name) => (event) => {
    const { type, value, checked } = event.target;
    const now = type === "checkbox" ? checked : value;
    if (now === "" || now === false) delete wanted[name];
    else wanted[name] = now;
    wanted.start = 0;
    fill();
  };
  const types = h("select", { onchange: chosen("label"), "aria-label": "Type" }, h("option", { value: "" }, "All types"), app.state.labels.map(({ name }) => h("option", { value: name }, name)));
  const states = h(
    "select",
    { onchange: chosen("state"), "aria-label": "State" },
    [["", "All notes"], ["new", "Not begun"], ["begun", "Begun"], ["done", "Submitted"]].map(([value, title]) => h("option", { value }, title)),
  );
  const scores = h(
    "select",
    { onchange: chosen("below"), "aria-label": "Score" },
    [["", "Any score"], ["0.9", "a score below 0.90"], ["0.8", "a score below 0.80"], ["0.6", "a score below 0.60"]].map(([value, title]) => h("option", { value }, title)),
  );
  const { progress } = app.state;
  fillWith(
    view,
    head("Notes", `${plural(progress.notes, "note")}, ${progress.settled} settled, ${progress.mine} submitted by you. The queue brings doubtful notes, different ones, and always a random slice.`, h("a", { class: "button main", href: "#/read" }, "Read the next")),
    h("div", { class: "filters wide" }, states, types, scores, h("label", { class: "check" }, h("input", { type: "checkbox", onchange: chosen("disagree") }), "detectors disagree")),
    box,
  );
  async function fill() {
    try {
      const { total, notes: rows } = await ask(`/api/notes?${new URLSearchParams(wanted)}`);
      const page = (start, title) => h("button", { type: "button", disabled: start < 0 || start >= total, onclick: () => ((wanted.start = start), fill()) }, title);
      fillWith(box,
        table(
          ["Note", "Yours", "Types", "#Lowest score", "#Disagree", "#Doubt", "#Characters"],
          rows.map((row) =>
            h(
              "tr",
              null,
              cell(h("button", { type: "button", class: "link", onclick: () => open(row) }, row.key)),
              cell(h("span", { class: `pill ${row.state}` }, { new: "not begun", begun: "begun", done: "submitted" }[row.state])),
              cell(h("span", { class: "types" }, row.labels.slice(0, 6).join(", ") + (row.labels.length > 6 ? " …" : ""))),
              number(figure(row.lowest, 2)),
              number(row.disagree),
              number(figure(row.doubt, 2)),
              number(row.size.toLocaleString("en")),
            ),
          ),
        ),
        h("div", { class: "pager" }, page(wanted.start - 100, "Before"), h("span", { class: "hint" }, total ? `${wanted.start + 1}–${Math.min(wanted.start + 100, total)} of ${total}` : "none"), page(wanted.start + 100, "After")),
      );
    } catch (error) {
      failed(error);
    }
  }
  async function open(row) {
    try {
      const { reading: id } = await ask("/api/notes/open", { id: row.id });
      go("read", { id });
    } catch (error) {
      failed(error);
    }
  }
  await fill();
}

// --- two readers ------------------------------------------------------------------------------------------------------

export async function adjudicate(view) {
  const { notes: waiting } = await ask("/api/adjudicate");
  fillWith(
    view,
    head("Adjudicate", "Where two readers marked the same, the note is settled by itself. The rest is yours."),
    h(
      "div",
      { class: "empty" },
      h("p", null, waiting.length ? `${plural(waiting.length, "note")} on which two readers disagree.` : "No two readers disagree on a note now."),
      waiting.length ? h("button", { type: "button", class: "main", onclick: () => go("read", { adjudicate: "next" }) }, "Adjudicate the next") : h("a", { class: "button", href: "#/agreement" }, "How well do readers agree?"),
    ),
  );
}

export async function agreement(view) {
  const found = await ask("/api/agreement");
  const { all, times } = found;
  const pace = (row) => (row.median === null ? "–" : `${row.median.toFixed(0)} s`);
  const bar = (value) => (value === null ? "–" : h("span", { class: "meter" }, h("meter", { min: 0, max: 1, low: 0.8, high: 0.95, optimum: 1, value }), figure(value, 3)));
  fillWith(
    view,
    head("Agreement", "F1 of one blind reader against the other. Notes on which both marked nothing count for nothing."),
    found.documents.length
      ? h(
          "div",
          null,
          h(
            "div",
            { class: "figures" },
            card("Span and label", figure(all.label), "same extent, same type"),
            card("Span", figure(all.span), "same extent"),
            card("Overlap", figure(all.overlap), "anything in common"),
            card("Found by both", found.both, `by one alone: ${found.only_first + found.only_second}`),
            card("Missed by both, at least", figure(found.missed_by_both, 1), "as if they erred independently (Chapman)"),
          ),
          h(
            "div",
            { class: "columns" },
            h(
              "section",
              null,
              h("h2", null, "By note"),
              table(
                ["Note", "#First", "#Second", "Span and label", "Span", "Overlap"],
                found.documents.map((row) => h("tr", null, cell(row.id), number(row.first), number(row.second), cell(bar(row.label)), cell(bar(row.span)), cell(bar(row.overlap)))),
              ),
            ),
            h(
              "section",
              null,
              h("h2", null, "By type"),
              table(["Type", "#First", "#Second", "Span and label"], Object.entries(found.labels).map(([name, row]) => h("tr", null, cell(name), number(row.first), number(row.second), cell(bar(row.label))))),
              h("h2", null, "Time"),
              table(["Shown", "#Notes", "#Median for 1,000 characters"], [["with pre-annotation", times.with], ["without", times.without]].map(([name, row]) => h("tr", null, cell(name), number(row.notes), number(pace(row))))),
            ),
          ),
        )
      : h("div", { class: "empty" }, h("p", null, "No note has been read by two yet.")),
  );
}

// --- audit ------------------------------------------------------------------------------------------------------------

export async function audit(view) {
  const { audits } = await ask("/api/audits");
  const size = h("input", { type: "number", min: "1", max: "100000", value: "30", id: "size" });
  const draw = async (event) => {
    event.preventDefault();
    try {
      const { audit: id } = await ask("/api/audits", { size: Number(size.value) });
      go("read", { audit: id });
    } catch (error) {
      failed(error);
    }
  };
  fillWith(
    view,
    head("Audit", "How much does the machine leave? Read a random sample of the notes that nobody has read, and add what it missed."),
    app.state.admin && h("form", { class: "inline card", onsubmit: draw }, h("label", { for: "size" }, "Notes to draw"), size, h("button", { type: "submit", class: "main" }, "Draw and begin")),
    audits.length
      ? table(
          ["Drawn", "#Version", "#Notes", "#Read", "#That leak", "#Missed", "Share of notes that leak", ""],
          audits.map((row) =>
            h(
              "tr",
              null,
              cell(`${row.made.slice(0, 16).replace("T", " ")}`),
              number(row.version),
              number(`${row.drawn} of ${row.population}`),
              number(row.read),
              number(row.leaking),
              number(row.missed),
              cell(row.read ? h("span", null, percent(row.share), h("span", { class: "hint" }, `, at most ${percent(row.bound)} (${Math.round(row.confidence * 100)} % sure)`)) : "–"),
              cell(row.read < row.drawn && h("button", { type: "button", onclick: () => go("read", { audit: row.id }) }, "Read the next")),
            ),
          ),
        )
      : h("div", { class: "empty" }, h("p", null, "No audit yet. With 60 notes and no leak found, at most 5 % of notes leak, with 95 % confidence.")),
  );
}

// --- model ------------------------------------------------------------------------------------------------------------

export async function model(view) {
  const body = h("div");
  let timer = null;
  fillWith(
    view,
    head("Model", "Learns from the notes that are settled, in a process of its own. Nothing changes until a version is taken into use."),
    body,
  );
  async function fill() {
    clearTimeout(timer);
    const { versions, training } = await ask("/api/versions");
    const runs = ["training", "scoring", "applying"].includes(training.state);
    const used = versions.find((row) => row.in_use);
    const begin = async () => {
      try {
        await ask("/api/retrain", {});
        await fill();
      } catch (error) {
        failed(error);
      }
    };
    const use = async (row) => {
      try {
        await ask("/api/versions/use", { id: row.id });
        toast(`Version ${row.id} is in use from now`);
        await fill();
      } catch (error) {
        failed(error);
      }
    };
    const change = (row, group, key) => {
      const [now, then] = [row.scores[group]?.[key], used?.scores[group]?.[key]];
      const text = figure(now);
      if (row === used || now === undefined || then === undefined || now === null || then === null) return text;
      const by = now - then;
      return h("span", null, text, h("span", { class: by >= 0 ? "better" : "worse" }, ` ${by >= 0 ? "+" : "−"}${Math.abs(by).toFixed(3)}`));
    };
    fillWith(body,
      h(
        "div",
        { class: "card train" },
        h(
          "div",
          { class: "row" },
          h("button", { type: "button", class: "main", disabled: runs, onclick: begin }, "Retrain"),
          training.state === "training" && h("button", { type: "button", onclick: () => ask("/api/retrain/stop", {}).then(fill, failed) }, "Stop"),
          h("span", { class: `said ${training.state}`, role: "status" }, training.message || `${plural(app.state.progress.settled, "note")} settled so far; batches of 10 to 40 are a good size.`),
        ),
        runs && h("progress", { max: 1, value: training.part, "aria-label": "Training" }),
      ),
      h(
        "div",
        { class: "columns" },
        h(
          "section",
          null,
          h("h2", null, "Versions"),
          table(
            ["#Version", "Made", "#Learned from", "#Recall", "#Precision", "#F1, by span", "#Clean notes", ""],
            versions.map((row) =>
              h(
                "tr",
                { class: row.in_use ? "used" : "" },
                number(row.id),
                cell(row.made.slice(0, 16).replace("T", " ")),
                number(row.notes || "none"),
                number(change(row, "binary-hipaa", "r")),
                number(change(row, "binary-hipaa", "p")),
                number(change(row, "strict", "f")),
                number(row.scores.held ? `${row.scores.clean} of ${row.scores.held}` : "–"),
                cell(row.in_use ? h("span", { class: "pill done" }, "in use") : h("button", { type: "button", disabled: runs, onclick: () => use(row) }, "Use")),
              ),
            ),
          ),
          h("p", { class: "hint" }, "Figures are of the whole pipeline on settled notes that no version learns from; recall and precision by token of the HIPAA types."),
        ),
        h("section", null, h("h2", null, "Learning curve"), curve(versions)),
      ),
    );
    if (runs) timer = setTimeout(() => fill().catch(failed), 700);
    else refresh().catch(failed);
  }
  await fill();
  return () => clearTimeout(timer);
}

/** Recall and F1 on the notes held out, over the notes that were learned from. */
function curve(versions) {
  const points = versions.filter((row) => row.scores.held).map((row) => ({ x: row.notes, recall: row.scores["binary-hipaa"].r, f: row.scores.strict.f, id: row.id }));
  if (points.length < 2) return h("p", { class: "hint" }, "Two versions, and some settled notes that were held out, make a curve.");
  points.sort((a, b) => a.x - b.x || a.id - b.id);
  const [width, height, left, bottom] = [460, 250, 44, 34];
  const values = points.flatMap(({ recall, f }) => [recall, f]).filter((value) => value !== null);
  const low = Math.max(0, Math.floor((Math.min(...values) - 0.02) * 20) / 20);
  const most = Math.max(...points.map(({ x }) => x), 1);
  const x = (value) => left + (value / most) * (width - left - 24);
  const y = (value) => height - bottom - ((value - low) / (1 - low)) * (height - bottom - 16);
  const svg = (name, given, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(given)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const lines = [0, 0.25, 0.5, 0.75, 1].map((part) => low + part * (1 - low));
  const series = (key, kind) => {
    const drawn = points.filter((point) => point[key] !== null);
    return [
      svg("polyline", { class: kind, points: drawn.map((point) => `${x(point.x)},${y(point[key])}`).join(" ") }),
      ...drawn.map((point) => svg("circle", { class: kind, cx: x(point.x), cy: y(point[key]), r: 4 }, svg("title", {}, `version ${point.id}: ${point[key].toFixed(3)}`))),
    ];
  };
  return h(
    "figure",
    null,
    svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": points.map((point) => `${point.x} notes: recall ${figure(point.recall)}, F1 ${figure(point.f)}`).join("; ") },
      ...lines.flatMap((value) => [svg("line", { class: "grid", x1: left, x2: width - 20, y1: y(value), y2: y(value) }), svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, value.toFixed(2))]),
      ...[...new Set(points.map((point) => point.x))].map((value) => svg("text", { x: x(value), y: height - bottom + 16, "text-anchor": "middle" }, String(value))),
      svg("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, "notes learned from"),
      ...series("f", "f"),
      ...series("recall", "recall"),
    ),
    h("figcaption", null, h("span", { class: "key recall" }, "recall, by token"), h("span", { class: "key f" }, "F1, by span")),
  );
}

// --- in and out -------------------------------------------------------------------------------------------------------

export async function exchange(view) {
  const names = (first, known) => [first && h("option", { value: "" }, first), ...known.map((name) => h("option", { value: name }, name))];
  const form = h("select", { id: "as" }, names("told from the files", app.state.formats));
  const picker = h("input", { type: "file", multiple: true, id: "files", onchange: () => bring(picker.files) });
  const said = h("div", { class: "result", role: "status" });
  const drop = h(
    "label",
    { class: "drop", for: "files", ondragover: (event) => (event.preventDefault(), drop.classList.add("over")), ondragleave: () => drop.classList.remove("over"), ondrop: dropped },
    h("strong", null, "Choose files, or drop them here"),
    h("span", { class: "hint" }, "Notes stay on this machine: they go into the project and nowhere else."),
    picker,
  );
  function dropped(event) {
    event.preventDefault();
    drop.classList.remove("over");
    bring(event.dataTransfer.files);
  }
  async function bring(files) {
    if (!files.length) return;
    fillWith(said, h("p", null, `Reading ${plural(files.length, "file")} …`));
    try {
      const sent = await Promise.all([...files].map(async (file) => ({ name: file.webkitRelativePath || file.name, data: base64(await file.arrayBuffer()) })));
      const done = await ask("/api/import", { files: sent, format: form.value || null });
      fillWith(said,
        h("p", null, `${plural(done.new, "note")} came in.${done.known ? ` ${plural(done.known, "note")} ${done.known === 1 ? "was" : "were"} there already.` : ""}`),
        done.failed.length > 0 && h("ul", { class: "bad" }, done.failed.slice(0, 20).map((reason) => h("li", null, reason))),
        done.new > 0 && h("a", { class: "button main", href: "#/read" }, "Begin to read"),
      );
      await refresh();
    } catch (error) {
      fillWith(said, h("p", { class: "bad" }, error.message));
    }
    picker.value = "";
  }
  const to = h("select", { id: "to" }, names(null, app.state.targets));
  to.value = "jsonl";
  const what = h("select", { id: "what" }, h("option", { value: "spans" }, "the notes with their spans"), h("option", { value: "scrubbed" }, "the notes as they become, without identifiers"));
  const half = h("input", { type: "checkbox" });
  const out = async (event) => {
    event.preventDefault();
    try {
      const answer = await ask("/api/export", { format: to.value, what: what.value, half: half.checked }, { raw: true });
      const name = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition"))[1];
      const address = URL.createObjectURL(await answer.blob());
      h("a", { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10000);
      toast(`${name} is saved`);
    } catch (error) {
      failed(error);
    }
  };
  fillWith(
    view,
    head("In and out"),
    h(
      "div",
      { class: "columns even" },
      h("section", { class: "card" }, h("h2", null, "Bring notes in"), h("label", { for: "as" }, "Format"), form, drop, said),
      h(
        "form",
        { class: "card", onsubmit: out },
        h("h2", null, "Take them out"),
        h("p", { class: "hint" }, `${plural(app.state.progress.settled, "note")} settled: read by one where one is enough, else by two and their disagreements adjudicated.`),
        h("label", { for: "what" }, "What"),
        what,
        h("label", { for: "to" }, "Format"),
        to,
        h("label", { class: "check" }, half, "also notes that wait for their second reader"),
        h("div", { class: "buttons" }, h("button", { type: "submit", class: "main" }, "Save")),
      ),
    ),
  );
}

function base64(buffer) {
  const bytes = new Uint8Array(buffer);
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return btoa(text);
}

export { reading };

// Reading one note: judging, adding, stretching, by keyboard or mouse. Every action is saved before it is shown.
import { ask, byId, dialog, fillWith, h, plural, toast } from "./dom.js";
import { draw, selection, Text } from "./text.js";
import { app, failed, go, refresh } from "./main.js";

const FRESH = { label: "", below: 1, disagree: false, state: "" };

export async function reading(view, query) {
  let number = query.get("id");
  const round = { audit: query.get("audit"), adjudicate: query.get("adjudicate") };
  if (!number) {
    if (round.audit) number = (await ask("/api/audits/next", { id: Number(round.audit) })).reading;
    else if (round.adjudicate) {
      const { notes } = await ask("/api/adjudicate");
      number = notes.length ? (await ask("/api/adjudicate", { id: notes[0] })).reading : null;
    } else number = (await ask("/api/next", {})).reading;
  }
  if (!number) {
    fillWith(view, nothing(round));
    return null;
  }
  const desk = new Desk(view, await ask(`/api/readings/${number}`), round);
  return () => desk.leave();
}

function nothing(round) {
  const { progress, admin } = app.state;
  const said = round.audit
    ? ["All notes of this audit are read or being read.", h("a", { class: "button main", href: "#/audit" }, "To its result")]
    : round.adjudicate
      ? ["There is nothing to adjudicate.", h("a", { class: "button main", href: "#/agreement" }, "How well do readers agree?")]
      : progress.notes
        ? ["There is no note left for you to read.", h("a", { class: "button main", href: "#/notes" }, "To the list of notes")]
        : ["There are no notes yet.", admin && h("a", { class: "button main", href: "#/exchange" }, "Bring some in")];
  return h("div", { class: "empty" }, h("p", null, said[0]), said[1]);
}

class Desk {
  constructor(view, note, round) {
    this.note = note;
    this.round = round;
    this.text = new Text(note.text);
    this.filter = { ...FRESH };
    this.current = null;
    this.cursor = null; // a word, by its index
    this.anchor = null; // where a selection by keyboard began
    this.selected = null;
    this.hits = [];
    this.redactedShown = sessionStorage.getItem("redacted") === "yes";
    this.queue = Promise.resolve();
    const categories = new Map(app.state.labels.map(({ name, category }) => [name, category.toLowerCase()]));
    this.category = (label) => categories.get(label) ?? "other";
    this.byKey = new Map(Object.entries(app.state.keys).map(([name, key]) => [key, name]));
    this.build(view);
    this.keydown = (event) => this.key(event);
    document.addEventListener("keydown", this.keydown);
    const first = this.note.marks.find((mark) => mark.state === "unjudged") ?? this.note.marks[0];
    this.current = first?.number ?? null;
    this.show({ scroll: true });
    this.textBox.focus({ preventScroll: true });
  }

  leave() {
    document.removeEventListener("keydown", this.keydown);
    this.tip(null);
  }

  // --- the page -----------------------------------------------------------------------------------------------------

  build(view) {
    const keys = app.state.keys;
    const button = (name, title, work, given = {}) =>
      h("button", { type: "button", onclick: work, "aria-keyshortcuts": keys[name], ...given }, title, keyCap(keys[name]));
    this.textBox = h("div", {
      class: "text", tabindex: "0", role: "document", "aria-label": "The note", spellcheck: "false",
      onmousedown: () => (this.dragged = false), onmouseup: () => this.mouseUp(), onclick: (event) => this.clicked(event),
      onmouseover: (event) => this.tip(event), onmouseout: () => this.tip(null),
    });
    this.redactedBox = h("div", { class: "text redacted", tabindex: "0", role: "document", "aria-label": "What it becomes" });
    this.left = h("span", { class: "left", "aria-live": "polite" });
    this.bar = h("progress", { max: 1, value: 0, "aria-label": "Judged" });
    this.submitButton = button("submit", "Submit", () => this.submit(), { class: "main" });
    this.undoButton = button("undo", "Undo", () => this.undo());
    this.viewButton = button("redacted", "Redacted", () => this.toggle(), { "aria-pressed": "false" });
    this.list = h("ol", { class: "marks", "aria-label": "Marks" });
    this.detail = h("section", { class: "detail", "aria-label": "The mark" });
    this.bubble = h("div", { class: "bubble", hidden: true });
    const select = h(
      "select",
      { "aria-label": "Type", onchange: (event) => this.filtered({ label: event.target.value }) },
      h("option", { value: "" }, "All types"),
      app.state.labels.map(({ name }) => h("option", { value: name }, name)),
    );
    const states = h(
      "select",
      { "aria-label": "State", onchange: (event) => this.filtered({ state: event.target.value }) },
      ["", "unjudged", "accepted", "rejected"].map((name) => h("option", { value: name }, name || "All states")),
    );
    const score = h("input", {
      type: "range", min: "0", max: "1", step: "0.05", value: "1", "aria-label": "Score at most",
      oninput: (event) => this.filtered({ below: Number(event.target.value) }),
    });
    this.scoreSaid = h("output", null, "any");
    this.typeSelect = select;
    const { round, bare, key } = this.note;
    const kind = round === "adjudicate" ? "Adjudication" : round.startsWith("audit") ? "Audit" : "Reading";
    fillWith(
    view,
      h(
        "div",
        { class: "bar" },
        h("div", { class: "title" }, h("span", { class: "kind" }, kind), h("h1", null, key)),
        h("div", { class: "progress" }, this.bar, this.left),
        h("div", { class: "actions" }, this.undoButton, this.viewButton, button("help", "Keys", () => this.help()), this.submitButton),
      ),
      h(
        "div",
        { class: "desk" },
        h("div", { class: "sheet" }, this.textBox, this.bubble),
        (this.redactedSheet = h("div", { class: "sheet side", hidden: true }, this.redactedBox)),
        h(
          "aside",
          { "aria-label": "Marks" },
          bare && round === "read" && h("p", { class: "hint box" }, "This note is shown without what the machine found. Mark what you see."),
          round === "adjudicate" && h("p", { class: "hint box" }, "What both readers marked is accepted. Judge the rest: A and B are the two readers, in no order."),
          round.startsWith("audit") && h("p", { class: "hint box" }, "This is what the machine would remove. Add what it missed."),
          h("div", { class: "filters" }, select, states),
          h("label", { class: "slider" }, "score ≤", score, this.scoreSaid),
          h(
            "label",
            { class: "check" },
            h("input", { type: "checkbox", onchange: (event) => this.filtered({ disagree: event.target.checked }) }),
            "only where detectors disagree",
          ),
          this.list,
          this.detail,
        ),
      ),
    );
    this.textBox.parentElement.addEventListener("scroll", () => this.follow());
  }

  // --- drawing ------------------------------------------------------------------------------------------------------

  get marks() {
    return this.note.marks;
  }

  get mark() {
    return this.marks.find((mark) => mark.number === this.current) ?? null;
  }

  shown() {
    const { label, below, disagree, state } = this.filter;
    return this.marks.filter(
      (mark) =>
        (!label || mark.label === label) && (!state || mark.state === state) && (below >= 1 || mark.score <= below) &&
        (!disagree || differing(mark)),
    );
  }

  filtered(change) {
    Object.assign(this.filter, change);
    this.scoreSaid.textContent = this.filter.below >= 1 ? "any" : this.filter.below.toFixed(2);
    const shown = this.shown();
    if (shown.length && !shown.some((mark) => mark.number === this.current)) this.current = shown[0].number;
    this.show({ scroll: true });
  }

  show({ scroll = false } = {}) {
    const { text } = this;
    const cursor = this.cursor === null ? null : { start: text.tokens[this.cursor][0], end: text.tokens[this.cursor][1] };
    draw(this.textBox, text, this.marks, {
      current: this.current, selected: this.selected, cursor, hits: this.hits, category: this.category,
    });
    const left = this.marks.filter((mark) => mark.state === "unjudged").length;
    const whole = this.marks.length;
    this.bar.max = Math.max(1, whole);
    this.bar.value = whole ? whole - left : 1;
    this.left.textContent = this.note.submitted ? "submitted" : left ? `${left} of ${whole} to judge` : `all ${whole} judged`;
    this.submitButton.disabled = left > 0 && !this.note.submitted;
    this.submitButton.firstChild.textContent = this.note.submitted ? "Open again" : "Submit";
    this.submitButton.title = left ? "Locked until every mark is judged" : "";
    this.undoButton.disabled = !this.note.undoable || this.note.submitted;
    this.showList();
    this.showDetail();
    this.showBubble();
    if (scroll) this.reveal();
    this.redacted();
  }

  showList() {
    const rows = this.shown().map((mark) =>
      h(
        "li",
        { class: `${mark.state} c-${this.category(mark.label)}`, "aria-current": mark.number === this.current ? "true" : null },
        h(
          "button",
          { type: "button", tabindex: "-1", onclick: () => this.choose(mark.number) },
          h("span", { class: "state", "aria-label": mark.state }, sign(mark.state)),
          h("span", { class: "words" }, short(this.text.slice(mark.start, mark.end))),
          h("span", { class: "label" }, mark.label),
        ),
      ),
    );
    fillWith(this.list, ...(rows.length ? rows : [h("li", { class: "none" }, this.marks.length ? "None like this" : "No marks yet")]));
    this.list.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
  }

  showDetail() {
    const mark = this.mark;
    if (!mark) {
      fillWith(this.detail, h("p", { class: "hint" }, "Select words and press ", keyCap(app.state.keys.add), " to mark them."));
      return;
    }
    const { keys } = app.state;
    const act = (name, title, work) => h("button", { type: "button", onclick: work, "aria-keyshortcuts": keys[name] }, title, keyCap(keys[name]));
    fillWith(this.detail,
      h("h2", { class: `c-${this.category(mark.label)}` }, h("span", { class: "label" }, mark.label), h("span", { class: "words" }, short(this.text.slice(mark.start, mark.end), 60))),
      h(
        "p",
        { class: "where" },
        `${mark.state}, ${mark.start}–${mark.end}`,
        mark.origin === "machine" ? `, score ${mark.score.toFixed(2)}, ${mark.source}` : `, ${mark.origin === "reader" ? "added" : mark.source}`,
      ),
      mark.finds.length > 0 &&
        h(
          "ul",
          { class: "finds" },
          mark.finds.map((find) =>
            h(
              "li",
              null,
              h("span", { class: "label" }, find.label),
              ` ${find.score.toFixed(2)} `,
              h("span", { class: "source" }, find.source),
              find.start !== mark.start || find.end !== mark.end ? ` (${short(this.text.slice(find.start, find.end), 24)})` : "",
              h("span", { class: "why" }, find.why),
            ),
          ),
        ),
      h(
        "div",
        { class: "buttons" },
        act("accept", "Accept", () => this.judge("accept")),
        act("reject", mark.origin === "reader" ? "Remove" : "Reject", () => this.judge("reject")),
        act("relabel", "Relabel", () => this.relabel()),
        act("accept-all-same", "Accept all same", () => this.judge("accept", true)),
        act("add-everywhere", "Mark everywhere", () => this.everywhere()),
      ),
    );
  }

  showBubble() {
    const { bubble, selected } = this;
    bubble.hidden = !selected || this.note.submitted;
    if (bubble.hidden) return;
    const { keys } = app.state;
    const act = (name, title, work) => h("button", { type: "button", onclick: work }, title, keyCap(keys[name]));
    fillWith(bubble,
      act("add", "Mark", () => this.add()),
      act("add-everywhere", "Everywhere", () => this.everywhere()),
      ...(this.mark ? [act("fit", "Fit the mark", () => this.fit())] : []),
    );
    const piece = [...this.textBox.querySelectorAll(".selected")].pop();
    if (!piece) return;
    const sheet = this.textBox.parentElement;
    const place = piece.getClientRects()[piece.getClientRects().length - 1] ?? piece.getBoundingClientRect();
    const frame = sheet.getBoundingClientRect();
    const left = Math.min(place.left - frame.left, sheet.clientWidth - bubble.offsetWidth - 16);
    bubble.style.left = `${Math.max(8, left)}px`;
    bubble.style.top = `${place.bottom - frame.top + sheet.scrollTop + 6}px`;
  }

  reveal() {
    const piece = this.textBox.querySelector(this.cursor !== null ? ".cursor" : ".current");
    piece?.scrollIntoView({ block: "nearest" });
    const box = this.textBox.parentElement;
    if (!piece) return;
    const [inner, outer] = [piece.getBoundingClientRect(), box.getBoundingClientRect()];
    if (inner.bottom > outer.bottom - 60) box.scrollTop += inner.bottom - outer.bottom + box.clientHeight / 3;
    else if (inner.top < outer.top + 40) box.scrollTop -= outer.top - inner.top + box.clientHeight / 3;
  }

  tip(event) {
    const box = byId("tip");
    const piece = event?.target.closest?.("[data-m]");
    box.hidden = !piece;
    if (!piece) return;
    const marks = piece.dataset.m.split(" ").map((number) => this.marks.find((mark) => String(mark.number) === number));
    fillWith(box,
      ...marks.filter(Boolean).flatMap((mark) => [
        h("strong", { class: `c-${this.category(mark.label)}` }, mark.label),
        h("span", null, ` ${mark.state}`),
        h("div", null, mark.origin === "machine" ? `${mark.source}, score ${mark.score.toFixed(2)}` : mark.source),
        ...mark.finds.slice(0, 3).map((find) => h("div", { class: "why" }, find.why)),
      ]),
    );
    const place = piece.getBoundingClientRect();
    box.style.left = `${Math.min(place.left, innerWidth - 340)}px`;
    box.style.top = place.bottom + 150 > innerHeight ? `${place.top - box.offsetHeight - 6}px` : `${place.bottom + 8}px`;
  }

  // --- what the note becomes ----------------------------------------------------------------------------------------

  toggle() {
    this.redactedShown = !this.redactedShown;
    sessionStorage.setItem("redacted", this.redactedShown ? "yes" : "no");
    this.redacted();
  }

  async redacted() {
    this.viewButton.setAttribute("aria-pressed", String(this.redactedShown));
    this.redactedSheet.hidden = !this.redactedShown;
    if (!this.redactedShown) return;
    const wanted = this.note.revision;
    if (this.redactedOf === wanted) return;
    this.redactedOf = wanted;
    try {
      const { text, spans } = await ask(`/api/readings/${this.note.id}/redacted`);
      if (this.note.revision !== wanted) return;
      const marks = spans.map(([start, end, label], at) => ({ number: at, start, end, label, state: "accepted", origin: "" }));
      draw(this.redactedBox, new Text(text), marks, { category: this.category });
      this.follow();
    } catch (error) {
      failed(error);
    }
  }

  follow() {
    const [from, to] = [this.textBox.parentElement, this.redactedSheet];
    const room = from.scrollHeight - from.clientHeight;
    to.scrollTop = room > 0 ? (from.scrollTop / room) * (to.scrollHeight - to.clientHeight) : 0;
  }

  // --- saving -------------------------------------------------------------------------------------------------------

  /** One thing after the other: what is pressed while another is saved waits for it. */
  run(work) {
    this.queue = this.queue.then(work).catch(async (error) => {
      if (error.status === 409) {
        this.note = await ask(`/api/readings/${this.note.id}`).catch(() => this.note);
        this.show();
      }
      failed(error);
    });
    return this.queue;
  }

  async save(path, body) {
    const before = this.marks;
    const saved = await ask(`/api/readings/${this.note.id}/${path}`, { revision: this.note.revision, ...body });
    Object.assign(this.note, saved);
    return before;
  }

  act(body, after) {
    return this.run(async () => {
      if (this.note.submitted) {
        toast("This note is submitted. Open it again to change it.");
        return;
      }
      const asked = typeof body === "function" ? body() : body;
      if (!asked) return;
      const before = await this.save("act", asked);
      after?.(before);
      this.show({ scroll: true });
    });
  }

  /** The next mark that is not judged, after this one, among those shown. */
  advance() {
    const shown = this.shown();
    const at = shown.findIndex((mark) => mark.number === this.current);
    const rest = [...shown.slice(at + 1), ...shown.slice(0, at + 1)];
    const next = rest.find((mark) => mark.state === "unjudged");
    if (next) this.current = next.number;
    else if (!this.mark) this.current = shown[0]?.number ?? null;
  }

  // --- what can be done ---------------------------------------------------------------------------------------------

  choose(number) {
    this.current = number;
    this.cursor = null;
    this.selected = null;
    this.show({ scroll: true });
  }

  step(direction) {
    const shown = this.shown();
    if (!shown.length) return;
    const at = shown.findIndex((mark) => mark.number === this.current);
    this.choose(shown[(at + direction + shown.length) % shown.length].number);
  }

  judge(kind, everywhere = false) {
    this.act(
      () => this.mark && { kind, number: this.current, everywhere },
      (before) => {
        if (everywhere) {
          const count = changes(before, this.marks);
          toast(`${kind === "accept" ? "Accepted" : "Rejected"} ${plural(count, "mark")}`);
        }
        this.advance();
      },
    );
  }

  async relabel() {
    if (!this.mark || this.note.submitted) return;
    const label = await this.palette("Which type is it?");
    if (label) this.act(() => this.mark && { kind: "relabel", number: this.current, label }, () => this.advance());
  }

  stretch(edge, direction, byCharacter) {
    this.act(() => {
      const mark = this.mark;
      const to = mark && this.text.moved(mark, edge, direction, byCharacter);
      return to && (to.start !== mark.start || to.end !== mark.end) ? { kind: "resize", number: mark.number, ...to } : null;
    });
  }

  fit() {
    const chosen = this.selected;
    if (!chosen || !this.mark) return;
    this.selected = null;
    this.act(() => ({ kind: "resize", number: this.current, ...chosen }));
  }

  async add() {
    const chosen = this.selected ?? this.word();
    if (!chosen || this.note.submitted) {
      if (!chosen) toast("Select the words first: with the mouse, or with the arrow keys and Shift.");
      return;
    }
    const label = await this.palette("Which type is it?");
    if (label) this.put({ kind: "add", ...chosen, label });
  }

  put(body) {
    this.act(body, (before) => {
      const known = new Map(before.map((mark) => [mark.number, mark]));
      const made = this.marks.filter((mark) => mark.state === "accepted" && known.get(mark.number)?.state !== "accepted");
      this.current = this.marks.find((mark) => mark.start === body.start && mark.state === "accepted")?.number ?? this.current;
      this.selected = this.anchor = null;
      this.hits = [];
      if (body.everywhere) toast(`Marked ${plural(made.length, "place")}`);
    });
  }

  word() {
    if (this.cursor === null) return null;
    const [start, end] = this.text.tokens[this.cursor];
    return { start, end };
  }

  async everywhere() {
    const chosen = this.selected ?? this.word() ?? this.mark;
    if (!chosen || this.note.submitted) return;
    const { start, end } = chosen;
    const label = this.selected || this.cursor !== null ? await this.palette("Which type is it, everywhere?") : this.mark.label;
    if (!label) return;
    try {
      const { starts } = await ask(`/api/readings/${this.note.id}/same`, { start, end });
      const size = end - start;
      this.hits = starts.map((at) => ({ start: at, end: at + size }));
      this.show();
      const besides = await this.choosePlaces(starts, size, start, label);
      this.hits = [];
      if (besides) this.put({ kind: "add", start, end, label, everywhere: true, besides });
      else this.show();
    } catch (error) {
      failed(error);
    }
  }

  /** Each place of a string with what stands around it; those that are unticked are exceptions. */
  choosePlaces(starts, size, first, label) {
    return dialog(
      (close) => {
        const boxes = new Map();
        const go = h("button", { type: "submit", class: "main" });
        const count = () => {
          const chosen = [...boxes.values()].filter((box) => box.checked).length;
          go.textContent = `Mark ${plural(chosen, "place")} as ${label}`;
        };
        const rows = starts.map((at) => {
          const box = h("input", { type: "checkbox", checked: true, disabled: at === first, onchange: count });
          boxes.set(at, box);
          const before = this.text.slice(Math.max(0, at - 34), at);
          const after = this.text.slice(at + size, Math.min(this.text.size, at + size + 34));
          return h("li", null, h("label", null, box, h("span", { class: "context" }, squeeze(before), h("mark", null, squeeze(this.text.slice(at, at + size))), squeeze(after))));
        });
        count();
        const submit = (event) => {
          event.preventDefault();
          close([...boxes].filter(([, box]) => !box.checked).map(([at]) => at));
        };
        queueMicrotask(() => go.focus());
        return [
          h(
            "form",
            { onsubmit: submit },
            h("h2", null, `${plural(starts.length, "place")} with the same text`),
            h("p", { class: "hint" }, "Untick where it is something else."),
            h("ul", { class: "places" }, rows),
            h("div", { class: "buttons" }, go, h("button", { type: "button", onclick: () => close() }, "Cancel")),
          ),
        ];
      },
      { label: "Everywhere", wide: true },
    );
  }

  /** The types by their categories; each has its key. */
  palette(title) {
    const keys = app.state.labels.map(({ name }) => [app.state.labelKeys[name], name]);
    const byKey = new Map(keys);
    const groups = new Map();
    for (const { name, category } of app.state.labels) {
      if (!groups.has(category)) groups.set(category, []);
      groups.get(category).push(name);
    }
    return dialog(
      (close) => {
        byId("dialog").onkeydown = (event) => {
          if (event.ctrlKey || event.metaKey || event.altKey) return;
          const label = byKey.get(event.key);
          if (label) {
            event.preventDefault();
            event.stopPropagation();
            close(label);
          }
        };
        return [
          h("h2", null, title),
          h(
            "div",
            { class: "palette" },
            [...groups].map(([category, names]) =>
              h(
                "fieldset",
                { class: `c-${category.toLowerCase()}` },
                h("legend", null, category.toLowerCase()),
                names.map((name) =>
                  h(
                    "button",
                    { type: "button", autofocus: name === this.mark?.label, onclick: () => close(name) },
                    keyCap(app.state.labelKeys[name]),
                    name,
                  ),
                ),
              ),
            ),
          ),
        ];
      },
      { label: title, wide: true },
    );
  }

  undo() {
    this.run(async () => {
      if (!this.note.undoable || this.note.submitted) return;
      const before = await this.save("undo", {});
      const changed = this.marks.find((mark) => JSON.stringify(before.find((old) => old.number === mark.number)) !== JSON.stringify(mark));
      this.current = changed?.number ?? (this.mark ? this.current : (this.marks[0]?.number ?? null));
      this.show({ scroll: true });
      toast("Undone");
    });
  }

  submit() {
    this.run(async () => {
      if (this.note.submitted) {
        Object.assign(this.note, await ask(`/api/readings/${this.note.id}/reopen`, {}));
        this.show();
        toast("Open again");
        return;
      }
      const left = this.marks.filter((mark) => mark.state === "unjudged").length;
      if (left) {
        toast(`${plural(left, "mark")} to judge before this note can be submitted.`);
        this.filtered({ ...FRESH });
        return;
      }
      await ask(`/api/readings/${this.note.id}/submit`, { revision: this.note.revision });
      toast("Submitted");
      await refresh();
      if (this.note.round.startsWith("audit")) go("read", { audit: this.note.round.slice("audit-".length) });
      else if (this.note.round === "adjudicate") go("read", { adjudicate: "next" });
      else go("read");
    });
  }

  async find() {
    const field = h("input", { type: "search", "aria-label": "Find in the note", autocomplete: "off", spellcheck: "false" });
    const wanted = await dialog(
      (close) => [
        h(
          "form",
          { onsubmit: (event) => (event.preventDefault(), close(field.value)) },
          h("h2", null, "Find in the note"),
          field,
          h("div", { class: "buttons" }, h("button", { type: "submit", class: "main" }, "Find")),
        ),
      ],
      { label: "Find" },
    );
    if (!wanted) return;
    const lower = this.text.text.toLowerCase();
    const from = this.selected ? this.text.unit(this.selected.end) : 0;
    // where lower case has another length, positions would be wrong; then case counts
    const [where, what] = lower.length === this.text.text.length ? [lower, wanted.toLowerCase()] : [this.text.text, wanted];
    let at = where.indexOf(what, from);
    if (at < 0) at = where.indexOf(what);
    if (at < 0) {
      toast("It is not in the note.");
      return;
    }
    this.selected = { start: this.text.point(at), end: this.text.point(at + what.length) };
    this.cursor = this.anchor = this.text.tokenAt(this.selected.start);
    this.show({ scroll: true });
  }

  // --- mouse --------------------------------------------------------------------------------------------------------

  mouseUp() {
    const chosen = selection(this.textBox, this.text);
    if (!chosen) return;
    this.dragged = true;
    this.selected = chosen;
    this.cursor = this.anchor = null;
    document.getSelection().removeAllRanges();
    this.show();
  }

  clicked(event) {
    if (this.dragged) {
      this.dragged = false;
      return;
    }
    const piece = event.target.closest("[data-s]");
    this.selected = null;
    const numbers = piece?.dataset.m?.split(" ").map(Number) ?? [];
    if (numbers.length) {
      // a click again goes to the next one of those that lie here
      const at = numbers.indexOf(this.current);
      this.current = numbers[(at + 1) % numbers.length];
      this.cursor = null;
    } else if (piece) this.cursor = null;
    this.show();
  }

  // --- keyboard -----------------------------------------------------------------------------------------------------

  key(event) {
    const { target } = event;
    if (byId("dialog").open || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
    if (event.ctrlKey || event.metaKey) return;
    if (target.tagName === "BUTTON" && (event.key === "Enter" || event.key === " ")) return;
    if (target.tagName === "A" && event.key === "Enter") return;
    if (this.arrow(event)) return;
    const name = this.byKey.get(event.altKey && event.code.startsWith("Key") ? event.code.slice(3)[event.shiftKey ? "toUpperCase" : "toLowerCase"]() : event.key);
    if (!name) return;
    event.preventDefault();
    const work = {
      next: () => this.step(1),
      previous: () => this.step(-1),
      accept: () => this.judge("accept"),
      reject: () => this.judge("reject"),
      reset: () => this.judge("reset"),
      relabel: () => this.relabel(),
      "accept-all-same": () => this.judge("accept", true),
      "reject-all-same": () => this.judge("reject", true),
      "grow-end": () => this.stretch("end", 1, event.altKey),
      "shrink-end": () => this.stretch("end", -1, event.altKey),
      "grow-start": () => this.stretch("start", -1, event.altKey),
      "shrink-start": () => this.stretch("start", 1, event.altKey),
      fit: () => this.fit(),
      add: () => this.add(),
      "add-everywhere": () => this.everywhere(),
      undo: () => this.undo(),
      submit: () => this.submit(),
      redacted: () => this.toggle(),
      filter: () => this.typeSelect.focus(),
      find: () => this.find(),
      help: () => this.help(),
    }[name];
    work();
  }

  /** The cursor goes by words; with Shift it selects. */
  arrow(event) {
    const { tokens } = this.text;
    if (event.key === "Escape") {
      this.cursor = this.anchor = this.selected = null;
      this.show();
      return true;
    }
    if (!event.key.startsWith("Arrow") || event.altKey || !tokens.length) return false;
    if (event.target.closest("aside")) return false;
    event.preventDefault();
    const first = this.cursor === null;
    let at = first ? this.text.tokenAt(this.mark?.start ?? 0) : this.cursor;
    if (event.key === "ArrowRight") at += first ? 0 : 1;
    else if (event.key === "ArrowLeft") at -= 1;
    else at = this.lineStep(at, event.key === "ArrowDown" ? 1 : -1);
    at = Math.max(0, Math.min(tokens.length - 1, at));
    if (event.shiftKey) {
      this.anchor ??= first ? at : this.cursor;
      const [low, high] = [Math.min(this.anchor, at), Math.max(this.anchor, at)];
      this.selected = { start: tokens[low][0], end: tokens[high][1] };
    } else {
      this.anchor = this.selected = null;
    }
    this.cursor = at;
    this.show({ scroll: true });
    return true;
  }

  /** The word below or above, as far from the start of its line. */
  lineStep(at, direction) {
    const { text, tokens } = this.text;
    const lineOf = (place) => text.lastIndexOf("\n", this.text.unit(place) - 1) + 1;
    const start = lineOf(tokens[at][0]);
    const column = this.text.unit(tokens[at][0]) - start;
    let next = at;
    while (tokens[next + direction] && lineOf(tokens[next][0]) === start) next += direction;
    const line = lineOf(tokens[next][0]);
    if (line === start) return next;
    while (tokens[next + direction] && lineOf(tokens[next + direction][0]) === line) {
      const [here, there] = [next, next + direction].map((place) => Math.abs(this.text.unit(tokens[place][0]) - line - column));
      if (there > here && direction > 0) break;
      if (there > here && direction < 0) break;
      next += direction;
    }
    return next;
  }

  help() {
    const { keys } = app.state;
    const said = {
      next: "next mark", previous: "previous mark", accept: "accept", reject: "reject, or remove what you added", relabel: "give another type",
      reset: "take the judgement back", "accept-all-same": "accept all with the same text", "reject-all-same": "reject all with the same text",
      "grow-end": "end one word later", "shrink-end": "end one word earlier", "grow-start": "start one word earlier", "shrink-start": "start one word later",
      fit: "fit the mark to what is selected", add: "mark what is selected", "add-everywhere": "mark it everywhere in the note", undo: "undo",
      submit: "submit; open again", redacted: "show what the note becomes", filter: "filter the marks", find: "find in the note", help: "this list",
    };
    dialog(
      (close) => [
        h("h2", null, "Keys"),
        h(
          "dl",
          { class: "keys" },
          Object.entries(said).map(([name, title]) => h("div", null, h("dt", null, keyCap(keys[name])), h("dd", null, title))),
          h("div", null, h("dt", null, keyCap("← → ↑ ↓")), h("dd", null, "go through the words; with Shift, select them")),
          h("div", null, h("dt", null, keyCap("Alt"), "+", keyCap(keys["grow-end"])), h("dd", null, "stretch by one character")),
          h("div", null, h("dt", null, keyCap("Esc")), h("dd", null, "leave the words, the selection, a window")),
        ),
        h("div", { class: "buttons" }, h("button", { type: "button", class: "main", onclick: () => close() }, "Close")),
      ],
      { label: "Keys", wide: true },
    );
  }
}

const keyCap = (key) => h("kbd", { "aria-hidden": "true" }, key === "Enter" ? "↵" : key);
const sign = (state) => ({ unjudged: "?", accepted: "✓", rejected: "✕" })[state];
const squeeze = (text) => text.replace(/\s+/gu, " ");

function short(text, most = 34) {
  const one = squeeze(text);
  return one.length > most ? `${one.slice(0, most - 1)}…` : one;
}

function differing(mark) {
  return new Set(mark.finds.map((find) => `${find.label} ${find.start} ${find.end}`)).size > 1;
}

function changes(before, after) {
  const old = new Map(before.map((mark) => [mark.number, mark.state]));
  const now = new Map(after.map((mark) => [mark.number, mark.state]));
  return [...old].filter(([number, state]) => now.get(number) !== state).length;
}

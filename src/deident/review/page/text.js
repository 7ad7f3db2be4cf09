// Offsets and drawing. The server counts code points; JavaScript counts UTF-16 units; this file stands between.

/** A text with its offsets in both counts. */
export class Text {
  constructor(text) {
    this.text = text;
    const astral = /[\ud800-\udbff]/.test(text);
    if (astral) {
      const units = [];
      for (let unit = 0; unit < text.length; ) {
        units.push(unit);
        unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
      }
      units.push(text.length);
      this.units = units; // by code point
    }
    this.size = astral ? this.units.length - 1 : text.length;
    this.tokens = this.#tokens();
  }

  /** Code points → UTF-16 units. */
  unit(point) {
    return this.units ? this.units[point] : point;
  }

  /** UTF-16 units → code points; within a pair, the one before. */
  point(unit) {
    if (!this.units) return unit;
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.units[middle] <= unit) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  slice(start, end) {
    return this.text.slice(this.unit(start), this.unit(end));
  }

  /** Words, by which spans grow and the cursor goes: 3/4/2021 and O'Brien are one. */
  #tokens() {
    const found = [];
    for (const match of this.text.matchAll(/[\p{L}\p{N}\p{M}]+(?:['’.\-/@:_][\p{L}\p{N}\p{M}]+)*|\S/gu)) {
      found.push([this.point(match.index), this.point(match.index + match[0].length)]);
    }
    return found;
  }

  /** The index of the first token that ends after a place. */
  tokenAt(place) {
    let low = 0;
    let high = this.tokens.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tokens[middle][1] > place) high = middle;
      else low = middle + 1;
    }
    return Math.min(low, this.tokens.length - 1);
  }

  /** An extent without the blanks at its ends; null where nothing is left. */
  trimmed(start, end) {
    const blank = (at) => /\s/u.test(this.slice(at, at + 1));
    while (start < end && blank(start)) start += 1;
    while (end > start && blank(end - 1)) end -= 1;
    return start < end ? { start, end } : null;
  }

  /** Where a span ends or starts when it grows or shrinks there by one word, or by one character. */
  moved(span, edge, direction, byCharacter) {
    let { start, end } = span;
    if (byCharacter) {
      if (edge === "end") end += direction;
      else start += direction;
    } else if (edge === "end") {
      if (direction > 0) {
        const next = this.tokens.find(([, stop]) => stop > end);
        end = next ? next[1] : end;
      } else {
        const inside = this.tokens.filter(([from, stop]) => from >= start && stop < end);
        end = inside.length ? inside[inside.length - 1][1] : end - 1;
      }
    } else if (direction < 0) {
      const before = this.tokens.filter(([from]) => from < start);
      start = before.length ? before[before.length - 1][0] : start;
    } else {
      const next = this.tokens.find(([from, stop]) => from > start && stop <= end);
      start = next ? next[0] : start + 1;
    }
    start = Math.max(0, start);
    end = Math.min(this.size, end);
    return start < end ? { start, end } : null;
  }
}

/** In which lane each mark is drawn, so that those that overlap lie below each other. */
export function lanes(marks) {
  const ends = [];
  const lane = new Map();
  for (const mark of [...marks].sort((a, b) => a.start - b.start || b.end - a.end)) {
    let place = ends.findIndex((end) => end <= mark.start);
    if (place < 0) place = ends.length;
    ends[place] = mark.end;
    lane.set(mark.number, place);
  }
  return lane;
}

/**
 * Draws a text with its marks into an element. Each piece between two boundaries is one span that knows where it starts
 * (data-s) and which marks cover it (data-m).
 */
export function draw(box, text, marks, { current = null, selected = null, cursor = null, hits = [], category }) {
  const bounds = new Set([0, text.size]);
  const extents = [...marks, ...hits, ...(selected ? [selected] : []), ...(cursor ? [cursor] : [])];
  for (const { start, end } of extents) {
    bounds.add(start);
    bounds.add(end);
  }
  const places = [...bounds].filter((at) => at <= text.size).sort((a, b) => a - b);
  const lane = lanes(marks);
  const starts = [...marks].sort((a, b) => a.start - b.start);
  const pieces = document.createDocumentFragment();
  let open = [];
  let next = 0;
  const inside = (extent, from) => extent && extent.start <= from && from < extent.end;
  for (let at = 0; at + 1 < places.length; at += 1) {
    const [from, to] = [places[at], places[at + 1]];
    open = open.filter((mark) => mark.end > from);
    while (next < starts.length && starts[next].start <= from) open.push(starts[next++]);
    const piece = document.createElement("span");
    piece.dataset.s = from;
    piece.textContent = text.slice(from, to);
    if (open.length) dress(piece, open, to, lane, current, category);
    if (inside(selected, from)) piece.classList.add("selected");
    if (inside(cursor, from)) piece.classList.add("cursor");
    if (hits.some((hit) => inside(hit, from))) piece.classList.add("hit");
    pieces.append(piece);
  }
  box.replaceChildren(pieces);
}

const order = { accepted: 0, unjudged: 1, rejected: 2 };

function dress(piece, open, to, lane, current, category) {
  const shown = [...open].sort((a, b) => order[a.state] - order[b.state] || a.number - b.number);
  const top = shown.find((mark) => mark.number === current) ?? shown[0];
  piece.dataset.m = open.map((mark) => mark.number).join(" ");
  piece.classList.add("m", `c-${category(top.label)}`, top.state);
  if (open.some((mark) => mark.number === current)) piece.classList.add("current");
  const bars = shown.filter((mark) => mark.state !== "rejected");
  if (bars.length > 1) {
    piece.classList.add("over");
    piece.style.boxShadow = bars
      .map((mark) => `0 ${2 + 3 * lane.get(mark.number)}px 0 -0px var(--bar-${category(mark.label)})`)
      .slice(0, 3)
      .join(",");
  }
  const ending = shown.filter((mark) => mark.end === to);
  if (ending.length) {
    piece.dataset.tag = ending
      .map((mark) => (mark.origin === "A" || mark.origin === "B" ? `${mark.origin}: ${mark.label}` : mark.label))
      .join(" · ");
  }
}

/** The extent in code points of what is selected with the mouse within an element, or null. */
export function selection(box, text) {
  const chosen = document.getSelection();
  if (!chosen || chosen.isCollapsed || !chosen.rangeCount) return null;
  const range = chosen.getRangeAt(0);
  const [from, to] = [place(box, text, range.startContainer, range.startOffset), place(box, text, range.endContainer, range.endOffset)];
  return from === null || to === null ? null : text.trimmed(Math.min(from, to), Math.max(from, to));
}

function place(box, text, node, offset) {
  if (!box.contains(node)) return null;
  if (node.nodeType === Node.TEXT_NODE) {
    return text.point(text.unit(Number(node.parentElement.dataset.s)) + offset);
  }
  if (node === box) {
    const child = box.children[offset];
    return child ? Number(child.dataset.s) : text.size;
  }
  const start = Number(node.dataset.s);
  return offset === 0 ? start : text.point(text.unit(start) + node.textContent.length);
}

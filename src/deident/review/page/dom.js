// Small tools: elements, requests, messages, dialogs.

/** An element: h("p", {class: "x", onclick: f}, "text", child). Text never becomes markup. */
export function h(name, given, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(given ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "dataset") Object.assign(made.dataset, value);
    else if (key in made && key !== "list" && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** What an element holds from now; what is null or false is nothing. */
export function fillWith(box, ...children) {
  box.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
}

export const byId = (id) => document.getElementById(id);

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Asks the server; what it refuses is raised with its sentence. */
export async function ask(path, body, { raw = false } = {}) {
  const headers = { "X-Deident": "review" };
  const given = { headers, cache: "no-store" };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    given.method = "POST";
    given.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(path, given);
  } catch {
    throw new Refused(0, "The server does not answer. Nothing is lost: every action that was shown is saved.");
  }
  if (!answer.ok) {
    let message = `The server answered ${answer.status}.`;
    try {
      message = (await answer.json()).error;
    } catch {
      // an answer without a sentence
    }
    throw new Refused(answer.status, message);
  }
  return raw ? answer : answer.json();
}

/** A message that goes by itself; read out to those who do not see it. */
export function toast(message, kind = "") {
  const box = h("div", { class: `toast ${kind}` }, message);
  byId("toasts").append(box);
  setTimeout(() => box.remove(), kind === "bad" ? 7000 : 3200);
}

/** A dialog with these children; resolves with what `close(value)` is given, or null. */
export function dialog(build, { label, wide = false } = {}) {
  const box = byId("dialog");
  return new Promise((resolve) => {
    let answer = null;
    const close = (value = null) => {
      answer = value;
      box.close();
    };
    box.className = wide ? "wide" : "";
    box.setAttribute("aria-label", label ?? "");
    box.replaceChildren(...build(close));
    box.onclose = () => {
      box.replaceChildren();
      box.onkeydown = null;
      resolve(answer);
    };
    box.onclick = (event) => {
      if (event.target === box) close();
    };
    box.showModal();
  });
}

export const percent = (share, digits = 1) => (share === null || share === undefined ? "–" : `${(share * 100).toFixed(digits)} %`);
export const figure = (value, digits = 3) => (value === null || value === undefined ? "–" : value.toFixed(digits));
export const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

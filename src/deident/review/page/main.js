// Who is in, which page is shown.
import { ask, byId, h, Refused, toast } from "./dom.js";
import { reading } from "./read.js";
import { adjudicate, agreement, audit, exchange, model, notes } from "./pages.js";

export const app = { state: null, leave: null };

const PAGES = [
  ["read", "Read", reading, false],
  ["notes", "Notes", notes, false],
  ["adjudicate", "Adjudicate", adjudicate, true],
  ["agreement", "Agreement", agreement, true],
  ["audit", "Audit", audit, false],
  ["model", "Model", model, true],
  ["exchange", "In and out", exchange, true],
];

/** What the server knows of the project and of who is in. */
export async function refresh() {
  app.state = await ask("/api/state");
  const { progress } = app.state;
  byId("project").textContent = app.state.project;
  byId("reader").textContent = app.state.reader;
  for (const link of byId("tabs").querySelectorAll("a")) {
    const count = link.dataset.page === "adjudicate" ? progress.adjudicate : 0;
    link.querySelector(".count").textContent = count ? String(count) : "";
  }
  return app.state;
}

export function go(page, parts = {}) {
  const query = new URLSearchParams(parts).toString();
  const hash = `#/${page}${query ? `?${query}` : ""}`;
  if (location.hash === hash) show();
  else location.hash = hash;
}

async function show() {
  const [, name = "", query = ""] = /^#\/(\w*)\??(.*)$/.exec(location.hash) ?? [];
  const page = PAGES.find(([id, , , admin]) => id === name && (!admin || app.state.admin)) ?? PAGES[0];
  app.leave?.();
  app.leave = null;
  for (const link of byId("tabs").querySelectorAll("a")) {
    if (link.dataset.page === page[0]) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const view = byId("view");
  view.className = page[0];
  document.title = `${page[1]} – ${app.state.project} – deident review`;
  try {
    await refresh();
    app.leave = (await page[2](view, new URLSearchParams(query))) ?? null;
  } catch (error) {
    failed(error);
  }
}

/** What went wrong, in its own words; whose session has ended signs in again. */
export function failed(error) {
  if (error instanceof Refused && error.status === 401) {
    location.reload();
    return;
  }
  if (!(error instanceof Refused)) console.error(error);
  toast(error.message, "bad");
}

function enter() {
  byId("head").hidden = false;
  byId("tabs").replaceChildren(
    ...PAGES.filter(([, , , admin]) => !admin || app.state.admin).map(([id, title]) =>
      h("li", null, h("a", { href: `#/${id}`, dataset: { page: id } }, title, h("span", { class: "count" }))),
    ),
  );
  byId("leave").onclick = async () => {
    await ask("/api/logout", {}).catch(() => {});
    location.hash = "";
    location.reload();
  };
  addEventListener("hashchange", show);
  show();
}

async function signIn(by) {
  const key = new URLSearchParams(location.hash.slice(1)).get("key");
  if (key) {
    sessionStorage.setItem("key", key);
    history.replaceState(null, "", location.pathname);
  }
  const held = key ?? sessionStorage.getItem("key");
  const name = by === "token" ? "token" : "reader";
  const field = h("input", {
    id: "in", name, required: true, autocomplete: "off", spellcheck: false, maxlength: by === "token" ? "200" : "64",
    type: by === "token" ? "password" : "text", value: by === "token" ? "" : (localStorage.getItem("reader") ?? ""),
  });
  const wrong = h("p", { class: "bad", role: "alert" });
  const submit = async (event) => {
    event.preventDefault();
    const body = by === "token" ? { token: field.value.trim() } : { key: held ?? "", reader: field.value };
    try {
      await ask("/api/login", body);
      if (by !== "token") localStorage.setItem("reader", field.value);
      app.state = await ask("/api/state");
      byId("view").replaceChildren();
      enter();
    } catch (error) {
      wrong.textContent = error.message;
    }
  };
  byId("view").className = "login";
  byId("view").replaceChildren(
    h(
      "form",
      { class: "card", onsubmit: submit },
      h("img", { src: "/page/icon.svg", alt: "", width: "44", height: "44" }),
      h("h1", null, "deident review"),
      h("label", { for: "in" }, by === "token" ? "Your token" : "Who reads?"),
      field,
      h(
        "p",
        { class: "hint" },
        by === "token"
          ? "As deident token new printed it. What you read is told by it."
          : "Your judgements are kept under this name. Two who read the same note do not see each other's.",
      ),
      h("button", { type: "submit", class: "main" }, "Begin"),
      wrong,
    ),
  );
  field.focus();
}

async function begin() {
  try {
    app.state = await ask("/api/state");
    enter();
  } catch (error) {
    if (error instanceof Refused && error.status === 401) signIn((await ask("/api/hello")).by);
    else failed(error);
  }
}

begin();

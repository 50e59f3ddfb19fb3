"use strict";
// What ties the page together: the search, the keys, the overview, the theme.

const HELP = [
  ["Filters", [["method:tools/call", "messages of a method, and the answers to them"],
    ["about:add", "requests about a tool, a prompt or a URI of this name"], ["status:error", "also ok, open (no answer), 404, or the status of a task"],
    ["party:client", "also server"], ["kind:stderr", "also message, http, process, note"],
    ["duration>100ms", "requests that took longer; also <, and s or m"],
    ["rule:tools", "steps with findings of a rule"], ["revision: connection: exchange:", "as they are called"],
    ["text:\"two words\"", "in the bytes; a word alone means the same"], ["-party:server", "a minus turns a filter round"]]],
  ["Keys", [["/", "filter"], ["j k, arrows", "down and up"], ["PageUp PageDown Home End", "further"],
    ["Enter, p", "the other half of a request or a response"], ["n", "next finding"], ["o", "fold streams, rounds and tasks"],
    ["t", "light or dark"], ["Escape", "close"], ["?", "this help"]]],
];

class Page {
  constructor(record) {
    this.record = record;
    this.session = new Session(record);
    this.details = new Details(at("details"), this.session, (place) => this.go(place));
    this.ladder = new Ladder(at("ladder"), at("rows"), at("axis"), this.session, (place) => this.details.show(place));
    this.folded = false;
    this.listen();
    at("summary").textContent = this.summary();
    this.overview();
    this.filter();
  }

  summary() {
    const steps = this.session.steps, messages = steps.reduce((count, step) => count + (step[NUMBER] > 0), 0);
    const roots = this.record.findings.filter((each) => each.cause < 0);
    const count = (verdict) => roots.filter((each) => each.verdict === verdict).length;
    const last = steps.length ? steps[steps.length - 1][TIME] : 0;
    return [this.record.revisions.join(", "), several(messages, "message"), seconds(last), this.record.started,
      roots.length ? several(count("violation"), "violation") + ", " + several(roots.length - count("violation"), "warning")
        : "nothing found",
    ].filter(Boolean).join(" · ");
  }

  listen() {
    const press = (id, act) => at(id).addEventListener("click", act);
    at("search").addEventListener("input", () => this.filter());
    press("next", () => this.nextFinding());
    press("fold", () => this.fold());
    press("theme", () => this.theme());
    press("help", () => this.help());
    press("overview", () => {
      const open = at("side").classList.toggle("open");
      at("overview").setAttribute("aria-expanded", String(open));
    });
    document.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || at("keys").open) return;
    const typing = event.target === at("search");
    if (!typing && /^(input|textarea|select)$/i.test(event.target.tagName)) return;
    if (event.key === "Escape") {
      if (typing) at("ladder").focus();
      else { this.details.show(-1); at("ladder").focus(); }
      return;
    }
    if (typing || (event.key === "Enter" && event.target !== at("ladder"))) return;
    const page = Math.max(1, Math.floor(at("ladder").clientHeight / ROW) - 1);
    const acts = {
      "/": () => at("search").focus(), j: () => this.ladder.move(1), k: () => this.ladder.move(-1),
      n: () => this.nextFinding(), o: () => this.fold(), t: () => this.theme(), "?": () => this.help(),
      p: () => this.partner(), Enter: () => this.partner(),
    };
    if (at("ladder").contains(event.target)) {
      Object.assign(acts, {
        ArrowDown: acts.j, ArrowUp: acts.k, PageDown: () => this.ladder.move(page), PageUp: () => this.ladder.move(-page),
        Home: () => this.ladder.move(-Infinity), End: () => this.ladder.move(Infinity),
      });
    }
    if (Object.hasOwn(acts, event.key)) {
      event.preventDefault();
      acts[event.key]();
    }
  }

  filter() {
    const search = at("search");
    try {
      const places = this.session.filter(search.value, this.folded);
      search.removeAttribute("aria-invalid");
      at("shown").textContent = places.length === this.session.steps.length ? "" : places.length + " of " + this.session.steps.length;
      this.ladder.show(places);
    } catch (error) {
      search.setAttribute("aria-invalid", "true");
      at("shown").textContent = error.message;
    }
  }

  // Take what came since the last time; follow: go to the last step.
  append(news, follow) {
    if (news.steps.length === 0 && news.findings.length === 0 && news.phases.length === 0) return;
    this.session.append(news);
    // Folded rows turn up when their groups grow, and phases late: both are drawn anew, but not in a flood.
    if (this.folded || news.phases.length || news.steps.length === 0) this.filter();
    else {
      try {
        this.ladder.extend(news.from, this.session.filter(at("search").value, false, news.from), false);
      } catch (error) { /* what is wrong with the filter stands beside it */ }
    }
    if (follow && at("details").hidden) at("ladder").scrollTop = this.ladder.shown.length * ROW;
    if (!this.drawing) {
      this.drawing = setTimeout(() => {
        this.drawing = 0;
        at("summary").textContent = this.summary();
        this.overview();
      }, 500);
    }
  }

  // Go to a step, also if the filter hides it.
  go(place) {
    if (!this.ladder.at.has(place)) {
      at("search").value = "";
      this.folded = false;
      at("fold").setAttribute("aria-pressed", "false");
      this.filter();
    }
    this.ladder.select(place);
  }

  partner() {
    const other = this.ladder.chosen >= 0 ? this.session.partner(this.ladder.chosen) : -1;
    if (other >= 0) this.go(other);
  }

  nextFinding() {
    const places = [...this.session.findings.keys()].filter((place) => place >= 0).sort((one, other) => one - other);
    if (places.length) this.go(places.find((place) => place > this.ladder.chosen) ?? places[0]);
  }

  fold() {
    this.folded = !this.folded;
    at("fold").setAttribute("aria-pressed", String(this.folded));
    this.filter();
  }

  theme() {
    const dark = document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    document.documentElement.dataset.theme = dark === "dark" ? "light" : "dark";
  }

  help() {
    const box = at("keys");
    if (box.children.length === 0) {
      box.append(element("h2", "", "Keys and filters", {id: "keys-title"}));
      for (const [title, rows] of HELP) {
        const table = element("table");
        for (const [name, text] of rows) {
          const row = element("tr"), cell = element("td");
          cell.append(element("kbd", "mono", name));
          row.append(cell, element("td", "", text));
          table.append(row);
        }
        box.append(element("h3", "", title), table);
      }
      const close = element("button", "", "Close", {type: "button"});
      close.addEventListener("click", () => box.close());
      box.append(close);
    }
    box.showModal();
  }

  overview() {
    const side = at("side"), record = this.record;
    const list = (title, rows) => {
      if (rows.length === 0) return [];
      const made = element("ul");
      for (const [text, act, classes] of rows) {
        const row = element("li"), button = element("button", classes || "", text, {type: "button"});
        button.addEventListener("click", act);
        row.append(button);
        made.append(row);
      }
      return [element("h3", "", title), made];
    };
    const search = (text) => () => { at("search").value = text; this.filter(); };
    const roots = new Map();
    for (const each of record.findings) if (each.cause < 0) add(roots, each.verdict + ": " + each.rule, each);
    const groups = record.groups.filter(([kind, , , places]) => kind !== "phase" && places.length > 1).slice(0, 200);
    const facts = element("dl");
    for (const [name, value] of [["Recorder", record.recorder], ["Started", record.started],
      ["Recorded", record.recorded.join(", ")]]) if (value) facts.append(element("dt", "", name), element("dd", "", value));
    side.replaceChildren(
      ...list("Findings", [...roots].map(([name, found]) => [name + (found.length > 1 ? " (" + found.length + ")" : ""),
        () => found[0].step >= 0 && this.go(found[0].step), "badge " + found[0].verdict])),
      ...list("Connections", record.connections.length < 2 ? [] : record.connections.map(([name, transport]) => [
        (name || "1") + " " + transport, search("connection:" + (name || "1"))])),
      ...list("Methods", record.counted.map((method) => [method, search("method:" + method)])),
      ...list("Streams, rounds and tasks", groups.map(([kind, label, , places]) => [label, () => this.go(places[0])])),
      element("h3", "", "The recording"), facts);
  }
}

function several(count, name) {
  return count + " " + name + (count === 1 ? "" : "s");
}

function at(id) {
  return document.getElementById(id);
}

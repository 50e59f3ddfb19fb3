"use strict";
// The page of a session that goes on: connections, questions, calls, and the messages as they come.

const ERAS = [["", "any revision"], ["modern", "without a handshake"], ["legacy", "with a handshake"], ...["2026-07-28", "2025-11-25",
  "2025-06-18", "2025-03-26", "2024-11-05"].map((name) => [name, name]), ["all", "all five side by side"]];

class Live {
  constructor(page, can) {
    Object.assign(this, {page, can, objects: new Map(), panels: new Map(), questions: new Map(), chosen: "", following: true});
    // The token leaves the address bar, so that a picture or a copy of it does not give it away.
    let token = location.hash.slice(1);
    if (token) history.replaceState({token}, "", location.pathname);
    else token = history.state && history.state.token || "";
    this.wire = new Wire(token);
    this.desk = at("desk");
    this.desk.hidden = false;
    this.build();
    this.wire.follow((news) => this.take(news), (text) => { this.lost.textContent = text; });
  }

  build() {
    this.lost = element("p", "badge", "", {role: "status"});
    this.asked = element("div", "", "", {"aria-live": "assertive"});
    this.servers = element("div", "servers");
    this.panel = element("div");
    this.compared = element("div", "comparison-box");
    this.callList = element("div", "calls", "", {"aria-live": "polite"});
    this.calls = new Calls(this, this.callList);
    const follow = this.tool("Follow", "follow", () => {
      this.following = !this.following;
      follow.setAttribute("aria-pressed", String(this.following));
    }, {"aria-pressed": "true", title: "Go to the last message as it comes"});
    this.tool("Save", "save", () => this.save(), {title: "Keep the session as a page"});
    const show = this.tool("Servers", "servers", () => {
      const open = this.desk.classList.toggle("away");
      show.setAttribute("aria-expanded", String(!open));
    }, {"aria-expanded": "true", "aria-controls": "desk"});
    const active = this.can.includes("request");
    this.desk.append(this.lost, this.asked, ...(active ? [this.connectForm()] : []), this.servers, this.panel, this.compared,
      ...(active ? [element("h2", "", "Calls")] : []), this.callList);
    if (!active) show.hidden = this.desk.hidden = true;
  }

  tool(title, id, act, attributes) {
    const made = element("button", "", title, {type: "button", id, ...attributes});
    made.addEventListener("click", act);
    at("theme").before(made);
    return made;
  }

  connectForm() {
    const box = element("details", "connect"), given = {};
    box.open = true;
    box.append(element("summary", "", "Connect to a server"));
    const field = (name, title, tag, attributes = {}) => {
      const label = element("label", "", title);
      given[name] = element(tag, "", "", {name, spellcheck: "false", autocomplete: "off", ...attributes});
      label.append(given[name]);
      return label;
    };
    const more = element("details"), secret = element("input", "", "", {type: "checkbox"}), shown = element("label", "check");
    shown.append(secret, " show what is in these two");
    more.append(element("summary", "", "Environment, header fields, authorization"), field("env", "Environment, NAME=VALUE a line", "textarea", {rows: 2, class: "secret"}),
      field("headers", "Header fields, NAME=VALUE a line", "textarea", {rows: 2, class: "secret"}), shown,
      field("cwd", "Folder to start it in", "input"), field("roots", "Roots, one a line", "textarea", {rows: 2}),
      field("oauth", "Get a token if the server wants one ", "input", {type: "checkbox"}));
    secret.addEventListener("change", () => { for (const name of ["env", "headers"]) given[name].classList.toggle("secret", !secret.checked); });
    const era = field("era", "Revision", "select");
    for (const [value, title] of ERAS) given.era.append(element("option", "", title, {value}));
    const server = field("server", "Command, URL, tcp://host:port, unix:///path or mcp.json:NAME", "input", {placeholder: "python3 server.py"});
    const button = element("button", "", "Connect", {type: "button", id: "connect"}), foot = element("p", "buttons");
    const connect = () => {
      const form = {do: "connect"};
      for (const [name, input] of Object.entries(given)) form[name] = input.type === "checkbox" ? input.checked : input.value;
      const eras = form.era === "all" ? ERAS.slice(3, 8).map(([name]) => name) : [form.era];
      for (const each of eras) this.act(foot, "servers", {...form, era: each});
    };
    button.addEventListener("click", connect);
    given.server.addEventListener("keydown", (event) => { if (event.key === "Enter") connect(); });
    foot.append(button);
    this.entries = element("p", "entries");
    this.fill = (text) => { given.server.value = text; given.server.focus(); };
    this.connectBox = box;
    box.append(server, era, more, foot, this.entries);
    return box;
  }

  // Ask for something; what went wrong is told beside where it was asked for.
  async act(place, address, given) {
    try { return await this.wire.ask(address, given); } catch (error) { this.tell(place, error.message); return null; }
  }

  tell(place, text) {
    const before = place.querySelector(":scope > .told");
    if (before) before.remove();
    place.append(element("p", "told badge", visible(text), {role: "alert"}));
  }

  nameOf(name) {
    const server = this.objects.get("server " + name);
    return server ? visible((server.name || server.server) + (server.revision ? ", " + server.revision : "")).slice(0, 120) : "server " + name;
  }

  panelOf(name) {
    if (!this.panels.has(name)) this.panels.set(name, new Panel(this, name));
    return this.panels.get(name);
  }

  take(news) {
    let servers = false;
    for (const [kind, name, value] of news.objects) {
      if (value === null) this.objects.delete(kind + " " + name);
      else this.objects.set(kind + " " + name, value);
      if (kind === "call") this.calls.take(name, value);
      else if (kind === "question") this.question(name, value);
      else if (kind === "entry") this.entry(name, value);
      else servers = true;
    }
    if (servers) this.drawServers();
    this.page.append(news, this.following);
    this.notice(news);
  }

  // A list that has changed is fetched again, if it is shown.
  notice(news) {
    for (const step of news.steps) {
      const found = /^notifications\/(tools|resources|prompts)\/list_changed/.exec(step[LABEL]);
      if (!found) continue;
      for (const [name, panel] of this.panels) {
        const server = this.objects.get("server " + name);
        if (!server || news.connections[step[CONNECTION]][0] !== server.connection) continue;
        const tabs = Object.keys(LISTS).filter((tab) => LISTS[tab][0] === found[1]);
        tabs.forEach((tab) => panel.lists.delete(tab));
        if (name === this.chosen && tabs.includes(panel.tab)) panel.load(panel.tab);
      }
    }
  }

  question(name, value) {
    if (this.questions.has(name)) this.questions.get(name).remove();
    this.questions.delete(name);
    if (!value) return;
    const node = new Question(this, name, value).node;
    this.questions.set(name, node);
    this.asked.append(node);
  }

  entry(name, value) {
    const button = element("button", "", visible(name), {type: "button"});
    button.addEventListener("click", () => this.fill(value.server));
    this.entries.append(button, " ");
  }

  drawServers() {
    const all = [...this.objects].filter(([key]) => key.startsWith("server ")).map(([key, server]) => [key.slice(7), server])
      .sort(([one], [other]) => Number(one) - Number(other));
    this.servers.replaceChildren(...all.map(([name, server]) => this.card(name, server, all)));
    const open = all.filter(([, server]) => server.state === "open").map(([name]) => name);
    if (open.length && this.connectBox && !this.collapsed) { this.collapsed = true; this.connectBox.open = false; }
    if (!open.includes(this.chosen)) this.choose(open.length ? open[0] : "");
    else if (this.panelOf(this.chosen).tab === "More") this.panelOf(this.chosen).open("More");
  }

  card(name, server, all) {
    const card = element("article", "server-card" + (name === this.chosen ? " chosen" : ""), "", {"aria-label": "server " + name});
    const title = element("button", "title", this.nameOf(name), {type: "button", "aria-pressed": String(name === this.chosen)});
    title.addEventListener("click", () => { this.choose(name); this.drawServers(); });
    card.append(title, element("span", "state " + server.state, server.state + (server.era ? " (" + server.era + ")" : "")),
      element("p", "dim mono", visible(server.server).slice(0, 300)));
    if (server.error && server.state === "failed") card.append(element("p", "badge", drawn(server.error, 1000)));
    if (server.cause) {
      card.append(element("p", "", "Why: " + drawn(server.cause.sentence, 1000)), element("p", "", "What to do: " + drawn(server.cause.advice, 1000)));
      if (server.cause.stderr.length) card.append(element("pre", "", drawn(server.cause.stderr.join("\n"), 4000)));
    }
    const buttons = element("p", "buttons");
    const button = (text, act) => {
      const made = element("button", "", text, {type: "button"});
      made.addEventListener("click", act);
      buttons.append(made);
    };
    const ask = (what) => () => this.act(card, "servers", {do: what, server: name});
    button("Reconnect", () => { this.panels.delete(name); ask("reconnect")(); });
    if (server.state === "open") button("Close", ask("close"));
    button("Remove", ask("forget"));
    const first = all.find(([each, other]) => each !== name && other.state === "open");
    if (first && server.state === "open") {
      button("Compare with " + this.nameOf(this.chosen !== name && this.chosen ? this.chosen : first[0]), () =>
        new Comparison(this).show(this.chosen !== name && this.chosen ? this.chosen : first[0], name, this.compared));
    }
    card.append(buttons);
    return card;
  }

  choose(name) {
    this.chosen = name;
    if (!name) { this.panel.replaceChildren(); return; }
    const panel = this.panelOf(name);
    this.panel.replaceChildren(panel.node);
    panel.open(panel.tab);
  }

  async save() {
    try {
      const made = URL.createObjectURL(new Blob([await this.wire.report()], {type: "text/html"}));
      const link = element("a", "", "", {href: made, download: "session.html"});
      link.click();
      setTimeout(() => URL.revokeObjectURL(made), 10000);
    } catch (error) { this.lost.textContent = error.message; }
  }
}

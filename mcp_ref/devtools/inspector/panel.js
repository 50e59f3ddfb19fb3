"use strict";
// One server: what it offers, and what can be done with it.

const LISTS = {
  Tools: ["tools", "tools/list", "tools"], Resources: ["resources", "resources/list", "resources"],
  Templates: ["resources", "resources/templates/list", "resourceTemplates"], Prompts: ["prompts", "prompts/list", "prompts"],
  Tasks: ["tasks", "tasks/list", "tasks"],
};
const MOST_ITEMS = 200, MOST_PAGES = 1000;
const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

class Panel {
  constructor(live, name) {
    Object.assign(this, {live, name, lists: new Map(), tab: "Tools", wanted: ""});
    this.node = element("section", "panel", "", {"aria-label": "The chosen server"});
    this.bar = element("div", "tabs", "", {role: "tablist"});
    this.body = element("div", "", "", {role: "tabpanel"});
    for (const tab of [...Object.keys(LISTS), "More"]) {
      const button = element("button", "", tab, {type: "button", role: "tab", "data-panel": tab, "aria-selected": "false"});
      button.addEventListener("click", () => this.open(tab));
      this.bar.append(button);
    }
    this.node.append(this.bar, this.body);
  }

  get server() { return this.live.objects.get("server " + this.name); }

  open(tab) {
    this.tab = tab;
    for (const button of this.bar.children) button.setAttribute("aria-selected", String(button.dataset.panel === tab));
    if (tab === "More") { this.body.replaceChildren(...this.more()); return; }
    if (this.lists.has(tab)) this.draw(tab);
    else this.load(tab);
  }

  // Fetch all pages of a list.
  async load(tab) {
    const [capability, method, member] = LISTS[tab];
    const declared = memberOf(parseJson(this.server.capabilities || "{}"), capability);
    if (!declared) {
      if (this.tab === tab) this.body.replaceChildren(element("p", "dim", "This server declares no " + capability + "."));
      return;
    }
    if (this.tab === tab) this.body.replaceChildren(element("p", "dim", "Asking…"));
    const items = [];
    let cursor = null;
    for (let page = 0; page < MOST_PAGES; page++) {
      const call = await this.live.calls.request(this.name, method, cursor ? '{"cursor": ' + cursor + "}" : "", {quiet: true}).catch((error) => ({error: error.message}));
      if (call.error !== undefined || call.result === undefined) {
        if (this.tab === tab) this.body.replaceChildren(element("p", "badge", visible(method + ": " + (call.error || call.state))));
        return;
      }
      const tree = parseJson(call.result), found = memberOf(tree, member), next = memberOf(tree, "nextCursor");
      items.push(...(found && found.items ? found.items : []));
      if (!next || next.kind !== "string") break;
      cursor = next.text;
    }
    this.lists.set(tab, items);
    if (this.tab === tab) this.draw(tab);
  }

  draw(tab) {
    const items = this.lists.get(tab), find = element("input", "", "", {type: "search", "aria-label": "Find in " + tab, placeholder: "Find among " + items.length});
    const again = element("button", "", "List again", {type: "button"}), list = element("ul", "items");
    again.addEventListener("click", () => { this.lists.delete(tab); this.load(tab); });
    const show = () => {
      const wanted = find.value.toLowerCase();
      const found = items.filter((item) => !wanted || compact(item).toLowerCase().includes(wanted));
      list.replaceChildren(...found.slice(0, MOST_ITEMS).map((item) => this.item(tab, item)));
      if (found.length > MOST_ITEMS) list.append(element("li", "dim", found.length - MOST_ITEMS + " more: find them by a word"));
    };
    find.addEventListener("input", show);
    show();
    const bar = element("div", "find");
    bar.append(find, again);
    this.body.replaceChildren(bar, list, element("div", "use"));
  }

  item(tab, item) {
    const key = textMember(item, tab === "Resources" ? "uri" : tab === "Templates" ? "uriTemplate" : tab === "Tasks" ? "taskId" : "name");
    const row = element("li"), button = element("button", "", visible(key).slice(0, 200) || "(no name)", {type: "button"});
    button.addEventListener("click", () => this.use(tab, item, key));
    row.append(button);
    const about = textMember(item, "title") || textMember(item, "description") || textMember(item, "status") || textMember(item, "name");
    if (about && about !== key) row.append(element("span", "dim", visible(about).slice(0, 200)));
    return row;
  }

  use(tab, item, key) {
    const place = this.body.querySelector(".use"), about = textMember(item, "description");
    const parts = [element("h3", "", visible(key).slice(0, 200))];
    if (about) parts.push(element("p", "peer", drawn(about, 4000)));
    const act = {
      Tools: () => this.tool(item, key), Resources: () => this.resource(item.names ? memberOf(item, "uri").text : '""'),
      Templates: () => this.template(key), Prompts: () => this.prompt(item, key), Tasks: () => this.task(memberOf(item, "taskId")),
    }[tab];
    parts.push(...act());
    const whole = element("details");
    whole.append(element("summary", "", "As the server describes it"));
    whole.addEventListener("toggle", () => { if (whole.open && whole.children.length === 1) { const block = element("div", "json mono"); drawTree(block, item); whole.append(block); } });
    place.replaceChildren(...parts, whole);
    place.scrollIntoView({block: "nearest"});
  }

  button(title, act) {
    const made = element("button", "", title, {type: "button"});
    made.addEventListener("click", async () => {
      try { await act(); } catch (error) { this.live.tell(made.parentNode, error.message); }
    });
    return made;
  }

  tool(item, key) {
    const editor = new Editor(memberOf(item, "inputSchema"), "arguments");
    const task = element("input", "", "", {type: "checkbox"}), label = element("label", "check");
    label.append(task, " as a task");
    const name = memberOf(item, "name").text;
    const call = this.button("Call", () => this.live.calls.request(this.name, "tools/call", '{"name": ' + name + ', "arguments": ' + editor.text
      + (task.checked ? ', "task": {}' : "") + "}", {progress: true}));
    return [editor.node, call, ...(this.server.revision === "2025-11-25" ? [label] : [])];
  }

  resource(uri) {
    const read = this.button("Read", () => this.live.calls.request(this.name, "resources/read", '{"uri": ' + uri + "}"));
    const listen = this.button("Subscribe", () => this.listen([...this.uris(), stringOf(uri)]));
    return [read, " ", listen];
  }

  template(key) {
    const input = element("input", "", "", {"aria-label": "URI", spellcheck: "false"});
    input.value = key;
    return [input, this.button("Read", () => this.live.calls.request(this.name, "resources/read", '{"uri": ' + JSON.stringify(input.value) + "}"))];
  }

  prompt(item, key) {
    const given = memberOf(item, "arguments"), items = given && given.items ? given.items : [];
    const properties = items.map((each) => memberOf(each, "name").text + ': {"type": "string", "description": ' + JSON.stringify(textMember(each, "description")) + "}");
    const required = items.filter((each) => (memberOf(each, "required") || {}).text === "true").map((each) => memberOf(each, "name").text);
    const editor = new Editor(parseJson('{"type": "object", "properties": {' + properties.join(", ") + '}, "required": [' + required.join(", ") + "]}"), "arguments");
    return [editor.node, this.button("Get", () => this.live.calls.request(this.name, "prompts/get",
      '{"name": ' + JSON.stringify(key) + ', "arguments": ' + editor.text + "}", {progress: true}))];
  }

  task(id) {
    const params = '{"taskId": ' + id.text + "}";
    return ["tasks/get", "tasks/result", "tasks/cancel"].map((method) => this.button(method, () => this.live.calls.request(this.name, method, params)));
  }

  uris() { return (this.wanted || "").split("\n").filter(Boolean); }

  async listen(uris) {
    this.wanted = [...new Set(uris)].join("\n");
    const stateless = this.server.revision >= "2026";
    await this.live.wire.ask("servers", {do: "listen", server: this.name, uris: this.wanted,
      features: stateless && uris.length ? "tools\nprompts\nresources" : ""});
  }

  // Log level, roots, subscriptions, any request.
  more() {
    const server = this.server, level = element("select", "", "", {"aria-label": "Log level"});
    for (const each of LEVELS) level.append(element("option", "", each, {value: each, ...(each === (server.level || "info") ? {selected: ""} : {})}));
    const roots = element("textarea", "mono", "", {"aria-label": "Roots, one a line", rows: 2, placeholder: "/a/folder"});
    const method = element("input", "mono", "", {"aria-label": "Method", spellcheck: "false", value: "ping"});
    const editor = new Editor(null, "params", "{}"), row = (title, ...parts) => {
      const made = element("div", "row-of");
      made.append(element("h3", "", title), ...parts);
      return made;
    };
    const ask = (given) => this.live.wire.ask("servers", {server: this.name, ...given});
    return [
      row("Capabilities", element("pre", "", indented(parseJson(server.capabilities || "{}")))),
      ...(server.instructions ? [row("Instructions", element("p", "peer", drawn(server.instructions, 4000)))] : []),
      row("Log level", level, this.button("Set", () => ask({do: "log", level: level.value}))),
      row("Changes", element("p", "dim", server.listens ? "Listening to: " + visible(server.listens) : "Not listening to any."),
        this.button("Listen to lists", () => ask({do: "listen", features: "tools\nprompts\nresources", uris: this.wanted})),
        this.button("Stop", () => { this.wanted = ""; return ask({do: "listen"}); })),
      row("Roots", roots, this.button("Set roots", () => ask({do: "roots", roots: roots.value}))),
      row("Any request", method, editor.node, this.button("Send", () => this.live.calls.request(this.name, method.value, editor.text, {progress: true})),
        this.button("Send as notification", () => this.live.wire.ask("request", {server: this.name, method: method.value, params: editor.text, notify: true}))),
    ];
  }
}

"use strict";
// Two servers, or two revisions of one, side by side: capabilities, and each list by name.

class Comparison {
  constructor(live) {
    this.live = live;
  }

  async show(one, other, box) {
    box.replaceChildren(element("p", "dim", "Asking both…"));
    const names = [one, other], panels = names.map((name) => this.live.panelOf(name));
    const rows = [];
    const servers = names.map((name) => this.live.objects.get("server " + name));
    this.compare(rows, "capabilities", ...servers.map((server) => this.members(parseJson(server.capabilities || "{}"))));
    for (const tab of ["Tools", "Resources", "Templates", "Prompts"]) {
      for (const panel of panels) if (!panel.lists.has(tab)) await panel.load(tab).catch(() => null);
      this.compare(rows, tab, ...panels.map((panel) => new Map((panel.lists.get(tab) || []).map((item) =>
        [textMember(item, {Resources: "uri", Templates: "uriTemplate"}[tab] || "name"), item]))));
    }
    const table = element("table", "comparison"), head = element("tr");
    for (const title of ["", ...names.map((name) => this.live.nameOf(name))]) head.append(element("th", "", title, {scope: "col"}));
    table.append(head, ...rows);
    box.replaceChildren(element("h2", "", "Compared"), rows.length ? table : element("p", "", "Nothing differs."));
  }

  members(tree) {
    return new Map(tree && tree.kind === "object" ? tree.names.map((token, at) => [stringOf(token), tree.items[at]]) : []);
  }

  // Add a row for each name whose value differs; the members that do are told one by one.
  compare(rows, title, one, other) {
    for (const name of new Set([...one.keys(), ...other.keys()])) {
      const [a, b] = [one.get(name), other.get(name)];
      if (a && b && canonical(a) === canonical(b)) continue;
      const inner = a && b && a.kind === "object" && b.kind === "object"
        ? [...new Set([...this.members(a).keys(), ...this.members(b).keys()])].filter((key) => {
          const [x, y] = [memberOf(a, key), memberOf(b, key)];
          return !x || !y || canonical(x) !== canonical(y);
        }) : [null];
      for (const key of inner) {
        const row = element("tr"), pair = [a, b].map((value) => key === null ? value : memberOf(value, key));
        row.append(element("th", "", visible(title + " " + name + (key === null ? "" : " " + key)), {scope: "row"}),
          ...pair.map((value) => element("td", "mono", value ? drawn(compact(value), 2000) : "(none)")));
        rows.push(row);
      }
    }
  }
}

// Return a node as text in which the order of members does not count.
function canonical(node) {
  if (node.kind === "object") {
    return "{" + node.names.map((token, at) => JSON.stringify(stringOf(token)) + ":" + canonical(node.items[at])).sort().join(",") + "}";
  }
  return node.kind === "array" ? "[" + node.items.map(canonical).join(",") + "]" : node.kind === "string" ? JSON.stringify(stringOf(node.text)) : node.text;
}

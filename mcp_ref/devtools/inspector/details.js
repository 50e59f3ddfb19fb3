"use strict";
// One step: what it says, what its members mean, its bytes, its HTTP exchange, what was found about it.

const MOST_LINES = 2000, MOST_SIGNS = 50000;

// Return a text as it is drawn: a long one is cut, because a browser needs seconds to break megabytes into lines.
function drawn(text, most = MOST_SIGNS) {
  const more = text.length - most;
  return visible(more > 0 ? text.slice(0, most) : text) + (more > 0 ? " \u2026 " + more + " more characters: Copy has them" : "");
}

class Details {
  constructor(panel, session, go) {
    Object.assign(this, {panel, session, go, tab: "members"});
  }

  // Show a step; -1: nothing.
  show(place) {
    this.panel.hidden = place < 0;
    if (place < 0) return;
    const session = this.session, step = session.steps[place];
    const close = element("button", "close", "Close", {type: "button", title: "Close (Escape)"});
    close.addEventListener("click", () => this.show(-1));
    this.panel.replaceChildren(close, element("h2", "", step[LABEL]), this.facts(place),
      ...(session.findings.get(place) || []).map((finding) => this.finding(finding)), ...this.body(place));
    this.panel.scrollTop = 0;
  }

  facts(place) {
    const session = this.session, step = session.steps[place], other = session.partner(place);
    const list = element("dl", "facts");
    const taken = session.duration(place);
    const rows = [["From", session.party(place)], ["About", step[ABOUT]], ["Time", step[TIME].toFixed(6) + " s"],
      ["Took", taken === null ? "" : seconds(taken)], ["Message", step[NUMBER] ? String(step[NUMBER]) : ""],
      ["Revision", session.revision(place)], ["Task", step[STATUS]],
      ["Connection", session.record.connections.length > 1 ? session.connectionName(step[CONNECTION]) : ""]];
    for (const [name, value] of rows) if (value) list.append(element("dt", "", name), element("dd", "", value));
    if (other >= 0) {
      const button = element("button", "", session.steps[other][LABEL], {type: "button"});
      button.addEventListener("click", () => this.go(other));
      const cell = element("dd");
      cell.append(button);
      list.append(element("dt", "", step[SENSE] === REQUEST ? "Response" : "Request"), cell);
    }
    return list;
  }

  finding(finding) {
    const box = element("div", "finding " + finding.verdict);
    const clause = element("p", "", finding.level + " in " + finding.page + (finding.heading ? " §" + finding.heading : ""));
    if (/^https:\/\//.test(finding.url)) {
      clause.append(" ", element("a", "", "read it", {href: finding.url, rel: "noreferrer noopener", target: "_blank"}));
    }
    box.append(element("p", "", "✖ " + finding.verdict + " by the " + finding.party + ": " + finding.rule),
      element("p", "", finding.text), element("p", "mono", visible(finding.evidence + (finding.where ? " (" + finding.where + ")" : ""))),
      clause);
    if (finding.cause >= 0) {
      box.append(element("p", "", "It follows from " + this.session.record.findings[finding.cause].rule + "."));
    }
    return box;
  }

  body(place) {
    const step = this.session.steps[place], exchange = this.session.exchange(place);
    const tree = step[NUMBER] ? parseJson(step[TEXT]) : null;
    const tabs = [];
    if (tree) tabs.push(["members", "Members", () => this.members(place, tree)]);
    if (step[TEXT]) tabs.push(["raw", "Raw", () => [element("pre", "", drawn(step[TEXT]))]]);
    if (exchange) tabs.push(["http", "HTTP", () => headFields(exchange)]);
    if (tree) tabs.push(["copy", "Copy", () => this.copies(place, tree)]);
    if (tabs.length === 0) return [];
    const bar = element("div", "tabs", "", {role: "tablist"}), under = element("div", "", "", {role: "tabpanel"});
    const open = (name) => {
      const chosen = tabs.find((tab) => tab[0] === name) || tabs[0];
      for (const button of bar.children) button.setAttribute("aria-selected", String(button.dataset.tab === chosen[0]));
      under.replaceChildren(...chosen[2]());
    };
    for (const [name, title] of tabs) {
      const button = element("button", "", title, {type: "button", role: "tab", "data-tab": name});
      button.addEventListener("click", () => { this.tab = name; open(name); });
      bar.append(button);
    }
    open(this.tab);
    return [bar, under];
  }

  // The members of a message, one a line; a click on a name tells what it means in the revision in force.
  members(place, tree) {
    const block = element("div", "json mono"), meaning = element("div", "meaning");
    const glossary = new Glossary(this.session.record.glossary[this.session.revision(place)]);
    const root = glossary.message(this.session.method(place), this.session.steps[place][SENSE] === RESPONSE);
    const tell = (path) => meaning.replaceChildren(...glossary.meaning(tree, path, root));
    const lines = prettyLines(tree);
    for (const line of lines.slice(0, MOST_LINES)) {
      const row = element("span", "line");
      row.style.setProperty("--depth", line.depth);
      for (const [kind, text] of line.pieces) {
        if (kind === "name") {
          const button = element("button", "name", drawn(text, 400), {type: "button"});
          button.addEventListener("click", () => tell(line.path));
          row.append(button);
        } else row.append(element("span", kind, drawn(text, 4000)));
      }
      block.append(row);
    }
    tell([]);
    const rest = lines.length - MOST_LINES;
    const more = rest > 0 ? [element("p", "", rest + " more lines are not drawn: Raw has all of it.")] : [];
    return [meaning, block, ...more];
  }

  copies(place, tree) {
    const exchange = this.session.exchange(place), method = memberOf(tree, "method");
    const forms = [["JSON", () => this.session.steps[place][TEXT]]];
    if (method && this.session.party(place) === "client") {
      const params = memberOf(tree, "params");
      const given = pythonString(method.text) + (params ? ", " + asPython(params) : "");
      if (memberOf(tree, "id")) {
        forms.push(["Python", () => "client.request(" + given + ")"]);
        forms.push(["test", () => this.asTest(place, given)]);
      }
      if (exchange && exchange.method === "POST") forms.push(["curl", () => asCurl(exchange, this.session.steps[place][TEXT])]);
    }
    return forms.flatMap(([name, make]) => {
      const text = make(), button = element("button", "", "Copy as " + name, {type: "button"});
      button.addEventListener("click", () => copy(button, text));
      return [element("h3", "", name), button, element("pre", "", drawn(text))];
    });
  }

  asTest(place, given) {
    const response = this.session.partner(place), tree = response < 0 ? null : parseJson(this.session.steps[response][TEXT]);
    const result = tree && memberOf(tree, "result");
    const name = this.session.method(place).replace(/\W+/g, "_");
    return "def test_" + name + "(client):\n    result = client.request(" + given + ")\n" + (result
      ? "    assert result == " + asPython(result) + "\n" : "    assert result is not None\n");
  }
}

function headFields(exchange) {
  const table = (title, rows) => {
    const made = element("table");
    for (const [name, value] of rows) {
      const row = element("tr");
      row.append(element("th", "mono", name, {scope: "row"}), element("td", "mono", visible(String(value))));
      made.append(row);
    }
    return [element("h3", "", title), made];
  };
  return [...table((exchange.method || "?") + " " + (exchange.target || ""), exchange.fields || []),
    ...table(exchange.status ? "Status " + exchange.status : "No response", exchange.answered || [])];
}

// Return a command line of a POSIX shell that sends the message again. What was masked has to be filled in.
function asCurl(exchange, text) {
  const quoted = (value) => "'" + String(value).replace(/'/g, "'\\''") + "'";
  const host = (exchange.fields || []).find(([name]) => name.toLowerCase() === "host");
  const fields = (exchange.fields || []).filter(([name]) => !/^(host|content-length|connection|accept-encoding)$/i.test(name));
  return ["curl -sS -N " + quoted("http://" + (host ? host[1] : "HOST") + exchange.target),
    ...fields.map(([name, value]) => "-H " + quoted(name + ": " + value)), "--data-binary " + quoted(text)].join(" \\\n  ");
}

async function copy(button, text) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch (error) {  // a page of a file may not: the old way works there
    const area = element("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    button.textContent = document.execCommand("copy") ? "Copied" : "Select the text below";
    area.remove();
    button.focus();
  }
  setTimeout(() => { button.textContent = before; }, 1500);
}

// What the members of a message mean in one revision.
class Glossary {
  constructor(words) {
    this.words = words || {methods: {}, types: {}};
  }

  // Return what is known of a message: its method, and the names of the types of its params and result.
  message(method, response) {
    const row = this.words.methods[method];
    return row ? {...row, name: method, response} : null;
  }

  // Return elements that tell what the value at a path means.
  meaning(tree, path, root) {
    if (!root) return [element("p", "", "No table has this method in this revision: nothing is known of its members.")];
    const link = root.url ? [element("a", "", root.page || root.url, {href: root.url, rel: "noreferrer noopener", target: "_blank"})] : [];
    const said = this.walk(tree, path, root);
    const title = element("p");
    title.append(element("strong", "mono", visible(path.length ? path.join(".") : root.name)), " ", said.type);
    const parts = [title];
    if (said.text) parts.push(element("p", "", said.text));
    const where = element("p", "", "Described in ");
    where.append(...(link.length ? link : [said.page || "the schema"]));
    return [...parts, where];
  }

  walk(tree, path, root) {
    const envelope = {jsonrpc: "The version of JSON-RPC: \"2.0\".", id: "The id of the request: a string or an integer.",
      method: "The method.", error: "The error: a code, a message and data."};
    if (path.length === 0) return {type: "", text: root.text};
    const [top, ...rest] = path;
    const names = top === "params" ? root.params : top === "result" ? [root.result, root.otherResult].filter(Boolean).join(" or ") : "";
    if (!names) return {type: "", text: envelope[top] || "", page: "basic/index"};
    let node = memberOf(tree, top), type = names, found = this.typeOf(names, node);
    let text = found ? found.text : "";
    for (const part of rest) {
      node = node === null ? null : node.kind === "array" ? node.items[part] : memberOf(node, part);
      if (typeof part === "number") { found = this.typeOf(type, node); continue; }
      const member = found && found.members[part];
      if (!member) return {type: "", text: "The schema of this revision does not name this member.", page: found && found.page};
      type = member.type;
      text = (member.required ? "Required. " : "") + member.note;
      const next = this.typeOf(type, node);
      if (next && !member.note) text += next.text;
      if (next) found = next; else found = null;
    }
    return {type, text, page: found && found.page};
  }

  // Return the type among those that a text names which a value is of: by its constants, then by its required members.
  typeOf(text, node) {
    const names = (text || "").match(/[A-Z]\w+/g) || [];
    const all = names.flatMap((name) => this.alternatives(name, 0)).filter(Boolean);
    const fits = (type) => node && node.kind === "object" && Object.entries(type.members).every(([name, member]) => {
      const value = memberOf(node, name);
      return value === null ? !member.required : !/^"[^"]*"$/.test(member.type) || value.text === member.type;
    });
    return all.find(fits) || all[0] || null;
  }

  alternatives(name, depth) {
    const type = this.words.types[name];
    if (!type || depth > 4) return [];
    if (type.members) return [type];
    return ((type.alternatives || "").match(/[A-Z]\w+/g) || []).flatMap((each) => this.alternatives(each, depth + 1));
  }
}

"use strict";
// Forms from a JSON Schema, beside an editor of the JSON text. The text is what is sent: a form writes pieces of text
// into it, and never a number or an object of JavaScript, so nothing is rounded, dropped or put in another order.

const DEEPEST_FORM = 8, MOST_FIELDS = 200, ABSENT = null;

// Return what a schema means where it refers to a part of the whole one.
function settled(schema, root, depth = 0) {
  const ref = memberOf(schema, "$ref");
  if (!ref || depth > 20 || ref.kind !== "string") return schema;
  let found = root;
  for (const part of stringOf(ref.text).replace(/^#\/?/, "").split("/").filter(Boolean)) {
    found = found && memberOf(found, decodeURIComponent(part).replace(/~1/g, "/").replace(/~0/g, "~"));
  }
  return found ? settled(found, root, depth + 1) : schema;
}

function textMember(schema, name) {
  const found = memberOf(schema, name);
  return found && found.kind === "string" ? stringOf(found.text) : "";
}

// Return the names of the types that a schema allows.
function typesOf(schema) {
  const type = memberOf(schema, "type");
  if (type && type.kind === "string") return [stringOf(type.text)];
  if (type && type.kind === "array") return type.items.filter((each) => each.kind === "string").map((each) => stringOf(each.text));
  if (memberOf(schema, "properties")) return ["object"];
  return memberOf(schema, "items") ? ["array"] : [];
}

// A field: `node` is drawn, `text()` returns its JSON text or ABSENT, `fill(tree)` shows a value and tells if it could.
class Field {
  constructor(schema, root, change, depth, label) {
    Object.assign(this, {root, change, depth, label, schema: settled(schema, root)});
    const made = this.build();
    this.node = made.node;
    this.text = made.text;
    this.fill = made.fill;
    const preset = memberOf(this.schema, "default") || memberOf(this.schema, "const");
    if (preset) this.fill(preset);
  }

  build() {
    const schema = this.schema, choices = memberOf(schema, "enum"), types = typesOf(schema);
    const union = memberOf(schema, "oneOf") || memberOf(schema, "anyOf");
    if (this.depth > DEEPEST_FORM || schema.kind !== "object") return this.raw();
    if (memberOf(schema, "const")) return this.choice([memberOf(schema, "const")]);
    if (choices && choices.kind === "array") return this.choice(choices.items);
    if (union && union.kind === "array" && union.items.length) {
      if (union.items.every((each) => memberOf(each, "const"))) {
        return this.choice(union.items.map((each) => memberOf(each, "const")), union.items.map((each) => textMember(each, "title")));
      }
      return this.union(union.items);
    }
    if (types.length > 1) {
      return this.union(types.map((type) => ({kind: "object", names: [...schema.names.filter((each) => stringOf(each) !== "type"), '"type"'],
        items: [...schema.items.filter((item, at) => stringOf(schema.names[at]) !== "type"), {kind: "string", text: JSON.stringify(type)}]})));
    }
    const make = {string: this.string, integer: this.number, number: this.number, boolean: this.boolean, null: this.nothing,
      object: memberOf(schema, "properties") ? this.object : this.raw, array: memberOf(schema, "items") ? this.array : this.raw}[types[0]];
    return (make || this.raw).call(this);
  }

  input(tag, attributes = {}) {
    const made = element(tag, "", "", {"aria-label": this.label, ...attributes});
    made.addEventListener("input", () => this.change());
    return made;
  }

  string() {
    const long = Number(memberOf(this.schema, "maxLength")?.text || 0) > 200;
    const node = this.input(long ? "textarea" : "input", {spellcheck: "false", autocomplete: "off"});
    // An empty text and no text differ: the box beside it says which is meant.
    let given = false;
    node.addEventListener("input", () => { given = true; });
    return {node, text: () => node.value || given ? JSON.stringify(node.value) : ABSENT,
      fill: (tree) => { if (tree.kind === "string") { node.value = stringOf(tree.text); given = true; } return tree.kind === "string"; }};
  }

  number() {
    // A text field, because the browser's own for numbers rounds what is long.
    const node = this.input("input", {inputmode: "decimal", autocomplete: "off", placeholder: typesOf(this.schema)[0]});
    return {node, text: () => {
      const typed = node.value.trim();
      node.setAttribute("aria-invalid", String(typed !== "" && !isNumber(typed)));
      return typed === "" ? ABSENT : isNumber(typed) ? typed : JSON.stringify(typed);
    }, fill: (tree) => { if (tree.kind === "number") node.value = tree.text; return tree.kind === "number"; }};
  }

  boolean() {
    return this.choice([{kind: "word", text: "true"}, {kind: "word", text: "false"}]);
  }

  nothing() {
    return this.choice([{kind: "word", text: "null"}]);
  }

  // One of some values, which stay the text that the schema has: null, "null" and 1.0 are three.
  choice(values, titles = []) {
    const node = this.input("select");
    node.append(element("option", "", "(left out)", {value: ""}));
    values.forEach((value, at) => node.append(element("option", "", visible(titles[at] || compact(value)).slice(0, 200), {value: String(at)})));
    return {node, text: () => node.value === "" ? ABSENT : compact(values[Number(node.value)]), fill: (tree) => {
      const at = values.findIndex((value) => compact(value) === compact(tree));
      if (at >= 0) node.value = String(at);
      return at >= 0;
    }};
  }

  union(schemas) {
    const node = element("div", "union"), select = this.input("select", {"aria-label": this.label + ": which kind"}), place = element("div");
    let field = null;
    const open = (at) => {
      field = new Field(schemas[at], this.root, this.change, this.depth + 1, this.label);
      place.replaceChildren(field.node);
    };
    schemas.forEach((schema, at) => {
      const found = settled(schema, this.root);
      select.append(element("option", "", visible(textMember(found, "title") || typesOf(found).join(", ") || "kind " + (at + 1)), {value: String(at)}));
    });
    select.addEventListener("input", () => { open(Number(select.value)); this.change(); });
    open(0);
    node.append(select, place);
    return {node, text: () => field.text(), fill: (tree) => schemas.some((schema, at) => {
      if (!fitsType(settled(schema, this.root), tree)) return false;
      select.value = String(at);
      open(at);
      return field.fill(tree);
    })};
  }

  object() {
    const node = element("fieldset"), properties = memberOf(this.schema, "properties"), required = memberOf(this.schema, "required");
    const must = new Set(required && required.items ? required.items.map((each) => each.kind === "string" ? stringOf(each.text) : "") : []);
    node.append(element("legend", "", this.label));
    const fields = [];
    let others = [];    // members that the schema does not name are kept as they are
    properties.names.slice(0, MOST_FIELDS).forEach((token, at) => {
      const name = stringOf(token), field = new Field(properties.items[at], this.root, this.change, this.depth + 1, name);
      const about = textMember(field.schema, "description");
      const row = element("div", "field");
      row.append(element("span", "name mono", visible(name) + (must.has(name) ? " *" : ""), {title: must.has(name) ? "required" : ""}));
      if (about) row.append(element("span", "about-field", visible(about).slice(0, 400)));
      row.append(field.node);
      node.append(row);
      fields.push([token, field, must.has(name)]);
    });
    return {node, text: () => {
      const parts = fields.map(([token, field]) => [token, field.text()]).filter(([, text]) => text !== ABSENT);
      const all = [...parts, ...others].map(([token, text]) => token + ": " + text);
      const wanted = this.depth === 0 || must.size > 0 && fields.some(([, field, needed]) => needed && field.text() !== ABSENT);
      return all.length || wanted ? "{" + all.join(", ") + "}" : ABSENT;
    }, fill: (tree) => {
      if (tree.kind !== "object") return false;
      others = [];
      return tree.names.every((token, at) => {
        const found = fields.find(([each]) => stringOf(each) === stringOf(token));
        if (!found) others.push([token, compact(tree.items[at])]);
        return !found || found[1].fill(tree.items[at]);
      });
    }};
  }

  array() {
    const node = element("fieldset"), rows = element("div"), items = memberOf(this.schema, "items");
    let fields = [], given = false;
    const add = () => {
      const field = new Field(items, this.root, this.change, this.depth + 1, this.label + " " + (fields.length + 1));
      const row = element("div", "item"), remove = element("button", "", "Remove", {type: "button"});
      remove.addEventListener("click", () => { fields = fields.filter((each) => each !== field); row.remove(); this.change(); });
      row.append(field.node, remove);
      rows.append(row);
      fields.push(field);
      given = true;
      return field;
    };
    const more = element("button", "", "Add to " + this.label, {type: "button"});
    more.addEventListener("click", () => { add(); this.change(); });
    node.append(element("legend", "", this.label), rows, more);
    return {node, text: () => given ? "[" + fields.map((field) => field.text() ?? "null").join(", ") + "]" : ABSENT, fill: (tree) => {
      if (tree.kind !== "array" || tree.items.length > MOST_FIELDS) return false;
      fields = [];
      rows.replaceChildren();
      given = true;
      return tree.items.every((item) => add().fill(item));
    }};
  }

  raw() {
    const node = this.input("textarea", {spellcheck: "false", placeholder: "JSON"});
    return {node, text: () => {
      const typed = node.value.trim();
      node.setAttribute("aria-invalid", String(typed !== "" && !isJson(typed)));
      return typed === "" ? ABSENT : isJson(typed) ? typed : JSON.stringify(typed);
    }, fill: (tree) => { node.value = compact(tree); return true; }};
  }
}

function fitsType(schema, tree) {
  const types = typesOf(schema), word = tree.kind === "word" ? (tree.text === "null" ? "null" : "boolean") : tree.kind;
  return types.length === 0 || types.includes(word) || word === "number" && types.includes("integer");
}

function isNumber(text) {
  return /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text);
}

// Tell whether a text is JSON. It is only looked at: what is sent is the text.
function isJson(text) {
  try { JSON.parse(text); return true; } catch (error) { return false; }
}

// A form and the text that it makes, side by side: either can be changed, and the other follows.
class Editor {
  constructor(schema, label, first = "") {
    this.node = element("div", "editor");
    this.area = element("textarea", "mono", "", {"aria-label": label + " as JSON", spellcheck: "false", rows: 5});
    this.state = element("output", "", "");
    this.form = null;
    if (schema) {
      this.form = new Field(schema, schema, () => this.write(), 0, label);
      this.node.append(this.form.node);
    }
    this.area.addEventListener("input", () => this.read());
    this.node.append(this.area, this.state);
    if (first && (!this.form || this.form.fill(parseJson(first)))) this.area.value = first;
    if (!this.area.value) this.write();
  }

  write() {
    const tree = this.form && parseJson(this.form.text() ?? "{}");
    this.area.value = tree ? indented(tree) : this.area.value || "{}";
    this.state.textContent = "";
  }

  read() {
    const text = this.area.value;
    const right = isJson(text);
    this.area.setAttribute("aria-invalid", String(!right));
    this.state.textContent = right ? "" : "This is no JSON yet.";
    if (right && this.form && !this.form.fill(parseJson(text))) this.state.textContent = "The form cannot show this; the text is what is sent.";
  }

  // Return the JSON text; throws Error if it is none.
  get text() {
    if (!isJson(this.area.value)) throw new Error("The text is no JSON.");
    return this.area.value;
  }
}

function indented(tree) {
  return prettyLines(tree, 60).map((line) => "  ".repeat(line.depth) + line.pieces.map(([, text]) => text).join("")).join("\n");
}

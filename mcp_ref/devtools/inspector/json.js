"use strict";
// JSON as text. Nothing is parsed into numbers or strings of JavaScript: what is shown and copied is what was sent.

const TOKEN = /\s*(?:([{}[\]:,])|("(?:[^"\\]|\\.)*")|(-?\d[\w.+-]*)|(true|false|null))/y;
const DEEPEST = 200;

// Return the tree of a JSON text, or null where it is none. A node has `kind`: object, array, string, number or word;
// `text` of a scalar; `names` (of an object, with quotes) and `items` of the others.
function parseJson(text) {
  TOKEN.lastIndex = 0;
  const open = [];
  let root = null, name = null;
  for (;;) {
    const at = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    if (!found) return open.length === 0 && text.slice(at).trim() === "" ? root : null;
    const [, sign, string, number, word] = found;
    const top = open[open.length - 1];
    if (sign === ":" || sign === ",") continue;
    if (sign === "}" || sign === "]") { open.pop(); continue; }
    if (string && top && top.kind === "object" && name === null) { name = string; continue; }
    const node = sign ? {kind: sign === "{" ? "object" : "array", names: [], items: []}
      : {kind: string ? "string" : number ? "number" : "word", text: string || number || word};
    if (top) {
      if (top.kind === "object") { top.names.push(name); name = null; }
      top.items.push(node);
    } else if (root) return null;
    else root = node;
    if (sign) {
      open.push(node);
      if (open.length > DEEPEST) return null;
    }
  }
}

// Return the text that a string token stands for, with what people should not see as it is written out.
function stringOf(token) {
  try { return JSON.parse(token); } catch (error) { return token.slice(1, -1); }
}

// Return the member of an object node by its name, or null.
function memberOf(node, name) {
  const at = node && node.kind === "object" ? node.names.findIndex((token) => stringOf(token) === name) : -1;
  return at < 0 ? null : node.items[at];
}

// Return a node as JSON text on one line.
function compact(node) {
  if (node.kind === "object") {
    return "{" + node.items.map((item, at) => node.names[at] + ": " + compact(item)).join(", ") + "}";
  }
  return node.kind === "array" ? "[" + node.items.map(compact).join(", ") + "]" : node.text;
}

const WORDS = {true: "True", false: "False", null: "None"};

// Return a node as a literal of Python. Escapes of JSON mean the same there, but for pairs of surrogates.
function asPython(node) {
  if (node.kind === "object") {
    return "{" + node.items.map((item, at) => pythonString(node.names[at]) + ": " + asPython(item)).join(", ") + "}";
  }
  if (node.kind === "array") return "[" + node.items.map(asPython).join(", ") + "]";
  return node.kind === "string" ? pythonString(node.text) : node.kind === "word" ? WORDS[node.text] : node.text;
}

function pythonString(token) {
  return JSON.stringify(stringOf(token)).replace(/[\u007f-\uffff]/g, (sign) =>
    "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0")).replace(/\\u(d[89ab]..)\\u(d[c-f]..)/g, (all, high, low) =>
    "\\U" + (((parseInt(high, 16) - 0xd800) << 10) + parseInt(low, 16) - 0xdc00 + 0x10000).toString(16).padStart(8, "0"));
}

// Return the lines of a node: {depth, path, name, pieces}. `path` leads to the value, `pieces` are [class, text].
// An array or object that is short stands on one line.
function prettyLines(root, width = 76) {
  const lines = [];
  const put = (node, depth, path, name, comma) => {
    const head = name === null ? [] : [["name", name], ["", ": "]];
    const tail = comma ? [["", ","]] : [];
    if (!node.items || node.items.length === 0 || (leaf(node) && compact(node).length + depth * 2 < width)) {
      lines.push({depth, path, name, pieces: [...head, ...piecesOf(node), ...tail]});
      return;
    }
    const [first, last] = node.kind === "object" ? "{}" : "[]";
    lines.push({depth, path, name, pieces: [...head, ["", first]]});
    node.items.forEach((item, at) => put(item, depth + 1, [...path, node.kind === "object" ? stringOf(node.names[at]) : at],
      node.kind === "object" ? node.names[at] : null, at < node.items.length - 1));
    lines.push({depth, path, name: null, pieces: [["", last], ...tail]});
  };
  put(root, 0, [], null, false);
  return lines;
}

function leaf(node) {
  return node.kind === "array" && node.items.every((item) => !item.items);
}

function piecesOf(node) {
  return [[{string: "s", number: "n", word: "k"}[node.kind] || "", compact(node)]];
}

// Return a text in which signs that have no form, or that turn the direction of the text, are written as escapes.
function visible(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, (sign) =>
    "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0"));
}

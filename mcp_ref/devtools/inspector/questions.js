"use strict";
// What a server asks, and a person answers: a form, a link, the answer of a model, the page of an authorization server.

class Question {
  constructor(live, name, asked) {
    this.node = element("section", "question", "", {"aria-label": "A question of the server"});
    const answer = (action, text) => live.act(this.node, "answer", {question: name, action, text: text === undefined ? "" : text});
    const buttons = element("p", "buttons");
    const button = (title, act) => {
      const made = element("button", "", title, {type: "button"});
      made.addEventListener("click", () => { try { act(); } catch (error) { live.tell(this.node, error.message); } });
      buttons.append(made);
    };
    const from = live.nameOf(asked.connection);
    this.node.append(element("h3", "", {form: "asks you", link: "wants you to open a link", sampling: "asks the model, which is you",
      authorize: "wants authorization"}[asked.kind]), element("p", "", "Server: " + from));
    this[asked.kind](asked, answer, button);
    if (asked.kind !== "authorize") button("Decline", () => answer("decline"));
    button(asked.kind === "authorize" ? "Done" : "Cancel", () => answer("cancel"));
    this.node.append(buttons);
  }

  form(asked, answer, button) {
    const editor = new Editor(parseJson(asked.schema), "answer");
    this.node.append(element("p", "peer", visible(asked.message)), editor.node);
    button("Send", () => answer("accept", editor.text));
  }

  link(asked, answer, button) {
    this.node.append(element("p", "peer", visible(asked.message)), element("p", "mono", visible(asked.url)),
      element("p", "", "It leads to " + asked.host + (asked.looks ? ", which is shown as " + visible(asked.looks) : "") + "."));
    for (const warning of asked.warnings) this.node.append(element("p", "badge", "Warning: " + warning));
    this.open(asked.url);
    button("Agree", () => answer("accept"));
  }

  authorize(asked) {
    this.node.append(element("p", "", asked.message), element("p", "mono", visible(asked.url)));
    this.open(asked.url);
  }

  open(url) {
    if (/^https?:\/\//i.test(url)) {
      this.node.append(element("a", "", "Open it in a new tab", {href: url, target: "_blank", rel: "noopener noreferrer"}));
    }
  }

  sampling(asked, answer, button) {
    const area = element("textarea", "", "", {"aria-label": "answer of the model: text, or a result as JSON", rows: 4});
    const block = element("div", "json mono");
    drawTree(block, parseJson(asked.params));
    this.node.append(block, area);
    button("Send", () => answer("accept", area.value));
  }
}

// Draw JSON, as much of it as can be drawn quickly.
function drawTree(block, tree) {
  for (const line of tree ? prettyLines(tree).slice(0, MOST_LINES) : []) {
    const row = element("span", "line");
    row.style.setProperty("--depth", line.depth);
    for (const [kind, text] of line.pieces) row.append(element("span", kind === "name" ? "name" : kind, drawn(text, 4000)));
    block.append(row);
  }
}

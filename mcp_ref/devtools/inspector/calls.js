"use strict";
// Requests, their progress and what came of them. A call is a card: method, state, result as it came.

class Calls {
  constructor(live, place) {
    Object.assign(this, {live, place, cards: new Map(), waiting: new Map()});
  }

  // Send a request whose params are JSON text, and return the object of the call when it is over.
  async request(server, method, params, more = {}) {
    const {call} = await this.live.wire.ask("request", {server, method, params, ...more});
    const before = this.live.objects.get("call " + call);
    if (before && before.state !== "running") return before;
    return new Promise((done) => this.waiting.set(call, done));
  }

  take(name, call) {
    const done = this.waiting.get(name);
    if (done && call && call.state !== "running") {
      this.waiting.delete(name);
      done(call);
    }
    if (call && call.quiet) return;
    let card = this.cards.get(name);
    if (!call) {
      if (card) card.remove();
      this.cards.delete(name);
      return;
    }
    if (!card) {
      card = element("article", "call", "", {"aria-label": "call " + name});
      this.cards.set(name, card);
      this.place.prepend(card);
    }
    card.replaceChildren(...this.drawn(name, call));
  }

  drawn(name, call) {
    const head = element("h3", "", call.method + (call.about ? " " + visible(call.about) : ""));
    const state = element("span", "state " + call.state, call.state + (call.seconds === undefined ? "" : ", " + seconds(call.seconds)));
    const parts = [head, state, element("span", "dim", " " + this.live.nameOf(call.server))];
    if (call.state === "running") {
      const cancel = element("button", "", "Cancel", {type: "button"});
      cancel.addEventListener("click", () => this.live.act(cancel.parentNode, "servers", {do: "cancel", call: name}));
      if (call.progress !== undefined) {
        const bar = element("progress", "", "", {"aria-label": "progress", ...(call.total ? {max: call.total, value: call.progress} : {})});
        parts.push(bar, element("span", "", " " + call.progress + (call.total ? " of " + call.total : "") + " " + visible(call.message || "")));
      }
      parts.push(cancel);
    }
    if (call.error !== undefined) {
      parts.push(element("p", "peer badge", "Error" + (call.code === undefined ? "" : " " + call.code) + ": " + drawn(call.error, 4000)));
      if (call.data) parts.push(element("pre", "", drawn(call.data, 4000)));
    }
    if (call.result !== undefined) parts.push(...this.result(call.result));
    return parts;
  }

  // The text of a result first, as people read it; then all of it, as it came.
  result(text) {
    const tree = parseJson(text), content = memberOf(tree, "content") || memberOf(tree, "contents");
    const failed = memberOf(tree, "isError"), parts = [];
    if (failed && failed.text === "true") parts.push(element("p", "badge", "The tool says that it failed."));
    for (const block of content && content.items ? content.items.slice(0, 20) : []) {
      const said = memberOf(block, "text");
      if (said && said.kind === "string") parts.push(element("pre", "peer", drawn(stringOf(said.text), 20000)));
    }
    const whole = element("details"), copyAll = element("button", "", "Copy", {type: "button"});
    whole.append(element("summary", "", "The whole result, " + text.length + " characters"));
    whole.addEventListener("toggle", () => {
      if (!whole.open || whole.children.length > 1) return;
      const block = element("div", "json mono");
      drawTree(block, tree);
      copyAll.addEventListener("click", () => copy(copyAll, text));
      whole.append(copyAll, block);
    });
    return [...parts, whole];
  }
}

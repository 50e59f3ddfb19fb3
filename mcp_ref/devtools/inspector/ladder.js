"use strict";
// The drawing. A row for each step, of which only those that are seen are in the page.

const ROW = 24, BEYOND = 12;

// Make an element. `text` becomes a text node: what peers have written is never markup.
function element(tag, classes = "", text = "", attributes = {}) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  if (text !== "") made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

class Ladder {
  constructor(frame, rows, axis, session, choose) {
    Object.assign(this, {frame, rows, axis, session, choose, shown: [], chosen: -1, waiting: false});
    frame.addEventListener("scroll", () => this.soon());
    new ResizeObserver(() => this.soon()).observe(frame);
    rows.addEventListener("click", (event) => {
      const row = event.target.closest(".row[data-place]");
      if (row) this.select(Number(row.dataset.place));
    });
  }

  // Show these steps; a heading stands before the first step of a phase.
  show(places) {
    this.shown = [];
    this.at = new Map();
    for (const place of places) {
      if (this.session.phases.has(place)) this.shown.push(-1 - place);
      this.at.set(place, this.shown.length);
      this.shown.push(place);
    }
    this.rows.style.height = Math.max(1, this.shown.length) * ROW + "px";
    this.soon();
  }

  // Show these steps behind the ones that are shown, all of which are before a place; follow: go to the last one.
  extend(from, places, follow) {
    while (this.shown.length && this.shown[this.shown.length - 1] >= from) this.at.delete(this.shown.pop());
    if (this.shown.length && this.shown[this.shown.length - 1] < 0) this.shown.pop();
    for (const place of places) {
      if (this.session.phases.has(place)) this.shown.push(-1 - place);
      this.at.set(place, this.shown.length);
      this.shown.push(place);
    }
    this.rows.style.height = Math.max(1, this.shown.length) * ROW + "px";
    if (follow) this.frame.scrollTop = this.shown.length * ROW;
    this.soon();
  }

  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  draw() {
    const first = Math.max(0, Math.floor(this.frame.scrollTop / ROW) - BEYOND);
    const last = Math.min(this.shown.length, Math.ceil((this.frame.scrollTop + this.frame.clientHeight) / ROW) + BEYOND);
    const seen = this.shown.slice(first, last);
    const times = seen.filter((place) => place >= 0).map((place) => this.session.steps[place][TIME]);
    const from = times.reduce((one, other) => Math.min(one, other), Infinity);
    const to = Math.max(times.reduce((one, other) => Math.max(one, other), -Infinity), from + 1e-6);
    this.axis.textContent = times.length ? from.toFixed(3) + " s to " + to.toFixed(3) + " s" : "";
    this.partner = this.chosen >= 0 ? this.session.partner(this.chosen) : -1;
    this.rows.replaceChildren(...(this.shown.length === 0
      ? [element("p", "empty", "No step passes the filter.")]
      : seen.map((place, at) => this.row(place, first + at, from, to))));
    const active = this.at.has(this.chosen) ? "step" + this.chosen : "";
    if (active) this.frame.setAttribute("aria-activedescendant", active);
    else this.frame.removeAttribute("aria-activedescendant");
  }

  row(place, at, from, to) {
    if (place < 0) {
      const row = element("div", "row heading", this.session.phases.get(-1 - place), {role: "presentation"});
      row.style.top = at * ROW + "px";
      return row;
    }
    const step = this.session.steps[place];
    const kind = this.session.kind(place), outcome = this.session.outcome(place);
    const row = element("div", "row" + (place === this.partner ? " pair" : ""), "", {
      role: "option", id: "step" + place, "aria-selected": String(place === this.chosen), "data-place": place,
      "aria-setsize": this.shown.length, "aria-posinset": at + 1, "aria-label": this.spoken(place)});
    row.style.top = at * ROW + "px";
    const gutter = element("span", "gutter");
    for (const [group, where] of this.session.tracks.get(place) || []) gutter.append(element("i", group + " " + where));
    const arrow = element("span", ["arrow", kind, this.session.party(place), outcome === "error" && step[SENSE] !== REQUEST
      ? "error" : "", step[SENSE] === RESPONSE ? "answer" : ""].join(" "));
    for (const finding of this.session.findings.get(place) || []) {
      arrow.append(element("span", "badge " + finding.verdict, finding.verdict === "violation" ? "✖" : "⚠", {
        title: finding.verdict + ": " + finding.rule}));
    }
    arrow.append(element("span", "label", step[LABEL], {title: step[LABEL]}));
    if (step[ABOUT]) arrow.append(element("span", "about", step[ABOUT], {title: step[ABOUT]}));
    if (this.session.party(place) && (kind === "message" || kind === "http")) arrow.append(element("span", "shaft"));
    row.append(element("span", "number", step[NUMBER] ? String(step[NUMBER]) : ""),
      element("span", "time", step[TIME].toFixed(3)), gutter, arrow, this.bar(place, from, to));
    return row;
  }

  // Return the time of a request: a bar over the times of the rows that are seen, and how long it took.
  bar(place, from, to) {
    const cell = element("span", "span"), step = this.session.steps[place];
    const taken = step[SENSE] === REQUEST ? this.session.duration(place) : null;
    if (step[SENSE] === REQUEST) {
      const bar = element("i"), left = (step[TIME] - from) / (to - from);
      bar.style.left = 100 * left + "%";
      bar.style.width = 100 * Math.min(taken === null ? 1 : taken / (to - from), 1 - left) + "%";
      const bars = element("span", "bars");
      bars.append(bar);
      cell.append(bars, element("b", "", taken === null ? "no answer" : seconds(taken)));
    }
    return cell;
  }

  // Return a step in words, for who hears the page.
  spoken(place) {
    const step = this.session.steps[place];
    const found = (this.session.findings.get(place) || []).map((each) => each.verdict + " " + each.rule);
    const taken = step[SENSE] === REQUEST ? this.session.duration(place) : null;
    return [step[NUMBER] ? "message " + step[NUMBER] : this.session.kind(place), this.session.party(place) &&
      "from the " + this.session.party(place), step[LABEL], step[ABOUT], taken === null ? "" : "took " + seconds(taken), ...found]
      .filter(Boolean).join(", ");
  }

  select(place) {
    this.chosen = place;
    this.reveal(place);
    this.soon();
    this.choose(place);
  }

  reveal(place) {
    const top = (this.at.get(place) ?? 0) * ROW, height = this.frame.clientHeight;
    if (top < this.frame.scrollTop || top + 2 * ROW > this.frame.scrollTop + height) {
      this.frame.scrollTop = Math.max(0, top - height / 2);
    }
  }

  // Go some rows up or down from the chosen one.
  move(rows) {
    const steps = this.shown.filter((place) => place >= 0);
    if (steps.length === 0) return;
    const at = steps.indexOf(this.chosen);
    this.select(steps[at < 0 ? 0 : Math.min(Math.max(at + rows, 0), steps.length - 1)]);
  }
}

"use strict";
// The session: its steps, what belongs together, and which steps a filter lets through.

const [KIND, FROM, LABEL, TIME, CONNECTION, EXCHANGE, NUMBER, COUNTED, SENSE, STATUS, ANSWERS, REVISION, ABOUT, TEXT] =
  Array(14).keys();
const REQUEST = 1, RESPONSE = 2;
const PARTIES = ["client", "server"];

class Session {
  constructor(record) {
    this.record = record;
    this.steps = record.steps;
    this.response = new Map();   // place of a request -> place of its response
    this.findings = new Map();   // place -> its findings
    this.inside = new Map();     // place -> the groups that have it neither first nor last
    this.phases = new Map();     // place -> the label of the phase that begins there
    this.tracks = new Map();     // place -> [kind, "first", "last" or ""]
    this.steps.forEach((step, place) => {
      if (step[ANSWERS] >= 0) this.response.set(step[ANSWERS], place);
    });
    record.findings.forEach((finding) => add(this.findings, finding.step, finding));
    for (const [kind, label, connection, places] of record.groups) this.group(kind, label, connection, places);
  }

  // Take what came since the last time; the members of a record, each with what is new alone.
  append(news) {
    for (const name of ["kinds", "counted", "revisions", "connections"]) this.record[name] = news[name];
    Object.assign(this.record.exchanges, news.exchanges);
    for (const [revision, words] of Object.entries(news.glossary)) {
      const known = this.record.glossary[revision] ??= {methods: {}, types: {}};
      Object.assign(known.methods, words.methods);
      Object.assign(known.types, words.types);
    }
    news.steps.forEach((step, at) => {
      this.steps[news.from + at] = step;
      if (step[ANSWERS] >= 0) this.response.set(step[ANSWERS], news.from + at);
    });
    for (const [label, connection, place] of news.phases) this.group("phase", label, connection, [place]);
    for (const [number, kind, label, connection, places] of news.groups) this.grow(number, kind, label, connection, places);
    for (const finding of news.findings) {
      this.record.findings.push(finding);
      add(this.findings, finding.step, finding);
    }
  }

  // Add steps to a group. What was its last step is inside it now.
  grow(number, kind, label, connection, places) {
    const group = this.record.groups[number] ??= [kind, label, connection, []], known = group[3];
    for (const place of places) {
      const last = known.length ? known[known.length - 1] : -1;
      if (place <= last) continue;
      for (let at = Math.max(last, place - 5000); known.length && at < place; at++) {
        const tracks = this.tracks.get(at) || [], mine = tracks.find((track) => track[2] === number);
        if (mine) { if (mine[1] === "last") mine[1] = ""; } else add(this.tracks, at, [kind, "", number]);
      }
      add(this.tracks, place, [kind, known.length ? "last" : "first", number]);
      if (known.length > 1) add(this.inside, last, [kind, label]);
      known.push(place);
    }
  }

  group(kind, label, connection, places) {
    if (kind === "phase") {
      const name = this.record.connections.length > 1 ? label + ", connection " + this.connectionName(connection) : label;
      if (label) this.phases.set(places[0], name);
      return;
    }
    if (places.length < 2) return;
    const [first, last] = [places[0], places[places.length - 1]];
    for (let place = first; place <= last; place++) {
      const where = place === first ? "first" : place === last ? "last" : "";
      if (last - first <= 5000 || where) add(this.tracks, place, [kind, where]);
    }
    places.slice(1, -1).forEach((place) => add(this.inside, place, [kind, label]));
  }

  connectionName(at) {
    return this.record.connections[at][0] || "1";
  }

  kind(place) { return this.record.kinds[this.steps[place][KIND]] || ""; }
  method(place) { return this.record.counted[this.steps[place][COUNTED]] || ""; }
  revision(place) { return this.record.revisions[this.steps[place][REVISION]] || ""; }
  party(place) { return PARTIES[this.steps[place][FROM]] || ""; }
  exchange(place) { return this.record.exchanges[this.steps[place][EXCHANGE]] || null; }

  // Return the other half of a request or a response; -1 if there is none.
  partner(place) {
    const step = this.steps[place];
    return step[SENSE] === REQUEST ? this.response.get(place) ?? -1 : step[ANSWERS];
  }

  // Return the seconds from a request to its response; null for any other step, and for a request without one.
  duration(place) {
    const other = this.partner(place);
    if (other < 0) return null;
    return Math.abs(this.steps[other][TIME] - this.steps[place][TIME]);
  }

  // Return ok, error, open (a request without a response) or "" for what has no status.
  outcome(place) {
    const step = this.steps[place];
    if (step[SENSE] === REQUEST) {
      const other = this.response.get(place);
      return other === undefined ? "open" : this.outcome(other);
    }
    if (this.kind(place) !== "message") {
      const status = this.exchange(place) && this.exchange(place).status;
      return status ? (status >= 400 ? "error" : "ok") : "";
    }
    if (step[SENSE] !== RESPONSE) return "";
    return step[LABEL].startsWith("error") || /"isError": ?true/.test(step[TEXT]) ? "error" : "ok";
  }

  // Return the places that a filter lets through. Raises Error with a text for people.
  filter(text, folded, from = 0) {
    const tests = parseFilter(text);
    const found = [];
    for (let place = from; place < this.steps.length; place++) {
      if (folded && this.inside.has(place) && !this.findings.has(place)) continue;
      if (tests.every((test) => test(this, place))) found.push(place);
    }
    return found;
  }
}

function add(map, key, value) {
  if (map.has(key)) map.get(key).push(value);
  else map.set(key, [value]);
}

const has = (text, part) => text.toLowerCase().includes(part);
const FILTERS = {
  method: (value) => (session, place) => has(session.method(place), value),
  status: (value) => (session, place) => {
    const exchange = session.exchange(place);
    return session.outcome(place) === value || session.steps[place][STATUS] === value
      || (exchange !== null && String(exchange.status) === value);
  },
  party: (value) => (session, place) => session.party(place) === value,
  kind: (value) => (session, place) => session.kind(place) === value,
  revision: (value) => (session, place) => has(session.revision(place), value),
  connection: (value) => (session, place) => session.connectionName(session.steps[place][CONNECTION]) === value,
  exchange: (value) => (session, place) => String(session.steps[place][EXCHANGE]) === value,
  rule: (value) => (session, place) => (session.findings.get(place) || []).some((each) => has(each.rule, value)),
  about: (value) => (session, place) => has(session.steps[place][ABOUT], value),
  text: (value) => (session, place) => has(session.steps[place][TEXT], value) || has(session.steps[place][LABEL], value),
};
const UNITS = {ms: 0.001, s: 1, m: 60, "": 1};

// Return the tests of a filter, all of which a step has to pass. Raises Error for a term that cannot be read.
function parseFilter(text) {
  return [...text.matchAll(/(-?)(?:(\w+)([:<>]))?("[^"]*"?|\S+)/g)].map(([all, not, key, sign, quoted]) => {
    const value = quoted.replace(/^"|"$/g, "").toLowerCase();
    const test = key === undefined ? FILTERS.text(value) : sign === ":" ? named(key, value) : longer(all, key, sign, value);
    return not ? (session, place) => !test(session, place) : test;
  });
}

function named(key, value) {
  if (!Object.hasOwn(FILTERS, key)) throw new Error("There is no filter " + key + ": use " + Object.keys(FILTERS).join(", "));
  return FILTERS[key](value);
}

function longer(all, key, sign, value) {
  const found = /^(\d*\.?\d+)(ms|s|m|)$/.exec(value);
  if (key !== "duration" || !found) throw new Error(all + " cannot be read: write duration>100ms or duration<2s");
  const limit = Number(found[1]) * UNITS[found[2]];
  return (session, place) => {
    const taken = session.steps[place][SENSE] === REQUEST ? session.duration(place) : null;
    return taken !== null && (sign === ">" ? taken > limit : taken < limit);
  };
}

// Return seconds as people read them.
function seconds(value) {
  return value < 0.001 ? (value * 1e6).toFixed(0) + " µs" : value < 1 ? (value * 1e3).toFixed(value < 0.1 ? 1 : 0) + " ms"
    : value < 100 ? value.toFixed(2) + " s" : (value / 60).toFixed(1) + " min";
}

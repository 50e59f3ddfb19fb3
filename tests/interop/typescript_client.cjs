// The client of version 2 of the official TypeScript SDK against a server: `typescript_client.cjs URL`, or a command and its
// arguments over stdio. MCP_MODE is `auto` (ask `server/discover` first), `legacy` (`initialize` at once) or a revision of
// the stateless era. It does what `official_walk` and `official_everything` do; one JSON line for each step.
// NODE_PATH tells where the package is.
"use strict";
const assert = require("node:assert/strict");
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const CONFIG = "config://app";
const STATELESS = "2026-07-28";
const LOG_LEVEL = "io.modelcontextprotocol/logLevel";
const SECONDS = 120;
const person = { logs: [], heard: [], waiting: [] };
let started = performance.now();

function report(step, seen) {
  const now = performance.now();
  console.log(JSON.stringify({ step, seconds: Math.round(now - started) / 1000, ...seen }));
  started = now;
}

function until(what, condition) {
  return new Promise((done, failed) => {
    const timer = setTimeout(() => failed(new Error(what + " did not come; heard " + person.heard)), SECONDS * 1000);
    const look = () => condition() && (clearTimeout(timer), done());
    person.waiting.push(look);
    look();
  });
}

function hear(method) {
  person.heard.push(method);
  person.waiting.forEach((look) => look());
}

// The person and the model behind the client.
function made(mode) {
  const versionNegotiation = { mode: ["auto", "legacy"].includes(mode) ? mode : { pin: mode } };
  const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };
  const client = new Client({ name: "interop", version: "2" }, { capabilities, versionNegotiation });
  client.setRequestHandler("elicitation/create", async ({ params }) => params.mode === "url" ? { action: "accept" }
    : { action: "accept", content: { name: "Ada", ...("colour" in params.requestedSchema.properties && { colour: "green" }) } });
  client.setRequestHandler("sampling/createMessage", async () =>
    ({ role: "assistant", content: { type: "text", text: "42" }, model: "m" }));
  client.setRequestHandler("roots/list", async () => ({ roots: [{ uri: "file:///tmp/work", name: "work" }] }));
  client.setNotificationHandler("notifications/message", ({ params }) => {
    person.logs.push(params.data);
    hear("notifications/message");
  });
  for (const method of ["notifications/resources/updated", "notifications/tools/list_changed"]) {
    client.setNotificationHandler(method, () => hear(method));
  }
  return client;
}

function transport(target) {
  const [command, ...args] = target;
  return command.includes("://") ? new StreamableHTTPClientTransport(new URL(command))
    : new StdioClientTransport({ command, args, env: { ...process.env }, stderr: "ignore" });
}

async function said(client, name, args = {}, meta = {}) {
  const result = await client.callTool({ name, arguments: args, ...meta });
  assert.ok(!result.isError, name + ": " + JSON.stringify(result));
  return result.content[0].text;
}

async function lists(client) {
  const listed = {
    tools: (await client.listTools()).tools, resources: (await client.listResources()).resources,
    templates: (await client.listResourceTemplates()).resourceTemplates, prompts: (await client.listPrompts()).prompts,
  };
  for (const [what, found] of Object.entries(listed)) assert.ok(found.length, "no " + what);
  report("lists", Object.fromEntries(Object.entries(listed).map(([what, found]) => [what, found.length])));
}

async function results(client) {
  assert.equal(await said(client, "echo", { text: "h\u00e9llo" }), "h\u00e9llo");
  assert.equal(await said(client, "add", { a: 2, b: 3 }), "5");
  const weather = await client.callTool({ name: "weather", arguments: { city: "Bern" } });
  assert.deepEqual(weather.structuredContent, { city: "Bern", celsius: 21.5, wet: false });
  for (const region of ["us-west1", " caf\u00e9 "]) {
    assert.equal(await said(client, "route", { region }), "routed to " + region);
  }
  const failed = await client.callTool({ name: "fail", arguments: {} });
  assert.ok(failed.isError && failed.content[0].text.includes("another one"), "fail");
  const read = await client.readResource({ uri: CONFIG });
  assert.ok(read.contents[0].text.includes("everything"), "read");
  await assert.rejects(client.readResource({ uri: "nothing://here" }));
  const prompt = await client.getPrompt({ name: "review", arguments: { code: "x" } });
  assert.ok(prompt.messages[0].content.text.endsWith("x"), "prompt");
  report("results");
}

async function progressAndCancel(client, overStdio) {
  const seen = [];
  await client.callTool({ name: "count", arguments: { to: 3 } }, { onprogress: (step) => seen.push(step.progress) });
  // This client drops the progress that arrives in one piece with the answer, as it does over stdio.
  assert.deepEqual(seen, [1, 2, 3].slice(0, overStdio ? seen.length : 3));
  const giveUp = new AbortController();
  const slow = client.callTool({ name: "slow", arguments: { seconds: 3 } }, { signal: giveUp.signal });
  setTimeout(() => giveUp.abort("interop"), 200);
  await assert.rejects(slow);
  assert.equal(await said(client, "echo", { text: "after" }), "after");
  report("progress and cancel", { seen });
}

async function asked(client, stateless, lacking) {
  const answers = [await said(client, "ask_name"), await said(client, "ask_model", { question: "6 times 7?" }),
    await said(client, "interview")];
  assert.deepEqual(answers, ["Ada likes green", "42", "Ada, 42, 1"]);
  assert.ok((await said(client, "show_roots")).includes("file:///tmp/work"), "roots");
  if (!lacking.includes("ask_payment")) assert.ok((await said(client, "ask_payment")).endsWith("accept"), "a link");
  if (stateless || !lacking.includes("needs_login")) {
    const letter = await client.getPrompt({ name: "letter", arguments: {} });
    assert.ok(letter.messages[0].content.text.includes("Please write to Ada."), "letter");
  }
  report("asked", { answers });
}

async function told(client, stateless) {
  const loudly = stateless ? { _meta: { [LOG_LEVEL]: "warning" } } : {};
  if (!stateless) await client.setLoggingLevel("warning");
  await said(client, "log", { text: "too quiet", level: "info" }, loudly);
  await said(client, "log", { text: "loud", level: "error" }, loudly);
  await until("a log message", () => person.logs.length);
  assert.deepEqual(person.logs, [{ text: "loud" }]);
  const wanted = { toolsListChanged: true, resourceSubscriptions: [CONFIG] };
  const listening = stateless ? await client.listen(wanted) : await client.subscribeResource({ uri: CONFIG });
  if (stateless) assert.deepEqual(listening.honoredFilter, wanted);
  await said(client, "visit");
  await until("an update", () => person.heard.includes("notifications/resources/updated"));
  await said(client, "learn", { name: "brand_new" });
  await until("a change", () => person.heard.includes("notifications/tools/list_changed"));
  if (stateless) {
    await listening.close();
    assert.equal(await listening.closed, "local");
  } else {
    await client.unsubscribeResource({ uri: CONFIG });
  }
  assert.equal(await said(client, "brand_new"), "I am new");
  report("told", { heard: [...new Set(person.heard)].sort() });
}

async function completed(client) {
  const complete = async (ref, name, value, args) => {
    const context = args ? { context: { arguments: args } } : {};
    return (await client.complete({ ref, argument: { name, value }, ...context })).completion.values;
  };
  const travel = { type: "ref/prompt", name: "travel" };
  assert.deepEqual(await complete(travel, "start", "B"), ["Berlin", "Bern", "Bologna", "Brno"]);
  assert.deepEqual(await complete(travel, "goal", "ber", { start: "Bern" }), ["Berlin"]);
  const city = { type: "ref/resource", uri: "city://{name}" };
  assert.deepEqual(await complete(city, "name", "L"), ["Lima", "Lisbon", "London"]);
  report("completion");
}

const LACKING = {
  "everything": [],
  "official-python": ["ask_payment", "needs_login", "changes in sessions"],
  "official-typescript": ["needs_login", "changes in sessions"],
};

async function main(target) {
  const client = made(process.env.MCP_MODE || "auto");
  await client.connect(transport(target));
  const protocol = client.getNegotiatedProtocolVersion();
  const server = client.getServerVersion().name;
  const stateless = protocol === STATELESS;
  report("connect", { protocol, server });
  const lacking = LACKING[server];
  if (lacking) {
    await lists(client);
    await results(client);
    await progressAndCancel(client, !target[0].includes("://"));
    await asked(client, stateless, lacking);
    if (stateless || !lacking.includes("changes in sessions")) await told(client, stateless);
    await completed(client);
  } else { // a server that we know nothing of, but that it has these two
    assert.equal(await said(client, "echo", { text: "h\u00e9llo" }), "h\u00e9llo");
    assert.equal(await said(client, "add", { a: 2, b: 3 }), "5");
    report("calls");
  }
  await client.close();
  report("close");
}

main(process.argv.slice(2)).then(() => process.exit(0), (error) => {
  console.log(JSON.stringify({ step: "failed", causes: [String(error.stack || error)] }));
  process.exit(1);
});

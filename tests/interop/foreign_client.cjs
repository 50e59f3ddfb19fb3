// A client of the official TypeScript SDK that does the steps it is given: `foreign_client.cjs TARGET...`.
// TARGET is a URL (HTTP+SSE where its path ends in `/sse`) or a command and its arguments. FOREIGN_SDK is `1` or `2`,
// FOREIGN_STEPS has the steps as JSON (see `foreign_sessions.py`), FOREIGN_MODE says how version 2 connects,
// FOREIGN_TASKS that version 1 runs questions of the server as tasks. NODE_PATH tells where the SDK is. One JSON line for each step, with the error that it got: an error is a result like another.
"use strict";
const FIRST = process.env.FOREIGN_SDK === "1";
const SECONDS = 120;

function earlier(load) {  // what a version of 2024 does not have
  try { return load(); } catch (error) { return {}; }
}

function sdk() {
  if (!FIRST) {
    return { ...require("@modelcontextprotocol/client"), ...require("@modelcontextprotocol/client/stdio") };
  }
  return {
    ...require("@modelcontextprotocol/sdk/client/index.js"), ...require("@modelcontextprotocol/sdk/client/stdio.js"),
    ...earlier(() => require("@modelcontextprotocol/sdk/client/streamableHttp.js")),
    ...require("@modelcontextprotocol/sdk/client/sse.js"), ...require("@modelcontextprotocol/sdk/types.js"),
    ...earlier(() => require("@modelcontextprotocol/sdk/experimental/tasks")),
  };
}

const parts = sdk();

function made() {
  const mode = process.env.FOREIGN_MODE || "auto";
  const versionNegotiation = { mode: ["auto", "legacy"].includes(mode) ? mode : { pin: mode } };
  const capabilities = { sampling: {}, roots: { listChanged: true } };
  if (!FIRST || parts.ElicitRequestSchema) capabilities.elicitation = { form: {}, url: {} };
  const receives = process.env.FOREIGN_TASKS && {
    taskStore: new parts.InMemoryTaskStore(), taskMessageQueue: new parts.InMemoryTaskMessageQueue(),
  };
  if (receives) {
    capabilities.tasks = { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } };
  }
  const client = new parts.Client({ name: "foreign", version: "1" },
    FIRST ? { capabilities, ...receives } : { capabilities, versionNegotiation });
  const inTask = (handler) => async (request, extra) => {
    if (!receives || !request.params.task) return handler(request);
    const task = await extra.taskStore.createTask({ ttl: extra.taskRequestedTtl, pollInterval: 500 });
    setTimeout(async () => extra.taskStore.storeTaskResult(task.taskId, "completed", await handler(request)), 700);
    return { task };
  };
  const answer = (method, schema, handler) => {
    if (!FIRST || parts[schema]) client.setRequestHandler(FIRST ? parts[schema] : method, FIRST ? inTask(handler) : handler);
  };
  answer("elicitation/create", "ElicitRequestSchema", async ({ params }) => params.mode === "url" ? { action: "accept" }
    : process.env.FOREIGN_ANSWER === "decline" ? { action: "decline" } : {
      action: "accept", content: { name: "Ada", ...("colour" in params.requestedSchema.properties && { colour: "green" }) },
    });
  answer("sampling/createMessage", "CreateMessageRequestSchema", async () =>
    ({ role: "assistant", content: { type: "text", text: "42" }, model: "m" }));
  answer("roots/list", "ListRootsRequestSchema", async () => ({ roots: [{ uri: "file:///tmp", name: "work" }] }));
  return client;
}

function transport([command, ...args]) {
  if (!command.includes("://")) {
    return new parts.StdioClientTransport({ command, args, env: { ...process.env }, stderr: "ignore" });
  }
  const url = new URL(command);
  return url.pathname.endsWith("/sse") ? new parts.SSEClientTransport(url) : new parts.StreamableHTTPClientTransport(url);
}

const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

function words(client) {
  const call = (name, args, options) => FIRST ? client.callTool({ name, arguments: args }, undefined, options)
    : client.callTool({ name, arguments: args }, options);
  return {
    tools: () => client.listTools(), resources: () => client.listResources(),
    templates: () => client.listResourceTemplates(), prompts: () => client.listPrompts(),
    call, both: (name, args) => Promise.all([1, 2, 3].map(() => call(name, args))),
    progress: (name, args) => call(name, args, { onprogress: () => undefined }),
    cancel: async (name, args) => {
      const giveUp = new AbortController();
      setTimeout(() => giveUp.abort("enough"), 400);
      await call(name, args, { signal: giveUp.signal }).catch(() => undefined);
    },
    task: async (name, args) => {
      const told = client.experimental.tasks.callToolStream({ name, arguments: args }, parts.CallToolResultSchema,
        { task: { ttl: 60000 } });
      for await (const each of told) if (each.type === "error") throw each.error;
    },
    plain: (name, args) =>
      client.request({ method: "tools/call", params: { name, arguments: args } }, parts.CallToolResultSchema),
    abandon: async (name, args) => {
      const asked = { method: "tools/call", params: { name, arguments: args, task: {} } };
      const { taskId } = (await client.request(asked, parts.CreateTaskResultSchema)).task;
      const { tasks } = client.experimental;
      await tasks.getTask(taskId);
      await tasks.listTasks();
      await tasks.cancelTask(taskId);
      await tasks.cancelTask(taskId).catch(() => undefined);
      await tasks.getTask("786512e2-9e0d-44bd-8f29-789f320fe840").catch(() => undefined);
      await tasks.getTask(taskId);
    },
    read: (uri) => client.readResource({ uri }),
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: (kind, of, name, value) => client.complete({
      ref: kind === "prompt" ? { type: "ref/prompt", name: of } : { type: "ref/resource", uri: of },
      argument: { name, value } }),
    level: (level) => client.setLoggingLevel(level),
    subscribe: (uri) => client.subscribeResource({ uri }), unsubscribe: (uri) => client.unsubscribeResource({ uri }),
    listen: async (uri, tool) => {
      const listening = await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
      await call(tool, {});
      await pause(0.3);
      await listening.close();
    },
    ping: () => client.ping(), roots: () => client.sendRootsListChanged(), wait: pause,
  };
}

async function main(target) {
  const client = made();
  const way = transport(target);
  await client.connect(way);
  const known = words(client);
  for (const [word, ...args] of JSON.parse(process.env.FOREIGN_STEPS)) {
    let error = null;
    const late = new Promise((_, failed) => setTimeout(() => failed(new Error("no end")), SECONDS * 1000).unref());
    await Promise.race([known[word](...args), late]).catch((reason) => { error = String(reason).slice(0, 200); });
    console.log(JSON.stringify({ step: [word, ...args].slice(0, 2), error }));
  }
  if (process.env.FOREIGN_END === "delete" && way.terminateSession) await way.terminateSession();
  await client.close();
}

main(process.argv.slice(2)).then(() => process.exit(0), (error) => {
  console.log(JSON.stringify({ step: "failed", error: String(error.stack || error) }));
  process.exit(1);
});

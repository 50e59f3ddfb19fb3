// A client of the official TypeScript SDK, version 1 or 2, or of the AI SDK, that does everything that it can with a
// server: `examined_client.cjs first|second|ai MODE SERVER`. SERVER is a URL (HTTP+SSE where its path ends in `/sse`), or
// the command of a server over stdio, as one word. MODE says how version 2 connects: `auto`, `legacy` or a revision of
// the stateless era. NODE_PATH tells where the package is. See `examine_clients`, and `examined_client.py` for what it does.
"use strict";
const [kind, mode, server] = process.argv.slice(2);
const LONG = 20000;
const SOON = 500; // the milliseconds after which the tool `slow` is given up
const VALUES = { number: 1, integer: 1, boolean: true, string: "x", array: [], object: {} };
const MODEL = { role: "assistant", content: { type: "text", text: "Yes." }, model: "none" };
const ROOTS = { roots: [{ uri: "file:///tmp", name: "work" }] };

function earlier(load) { // what a version of 2024 does not have
  try { return load(); } catch (error) { return {}; }
}

// The words of a command that Python's shlex.quote has quoted.
function words(command) {
  return command.match(/(?:'[^']*'|\\.|"'"|[^\s'"])+/g).map((word) => word.replace(/'"'"'/g, "\u0000").replace(/'/g, "")
    .replace(/\u0000/g, "'"));
}

const filled = (schema) => Object.fromEntries(Object.entries((schema || {}).properties || {}).map(
  ([name, each]) => [name, each.type in VALUES ? VALUES[each.type] : 1]));
const elicited = (params) => params.mode === "url" ? { action: "accept" }
  : { action: "accept", content: filled(params.requestedSchema) };

async function tried(call) {
  try {
    return await call();
  } catch (error) {
    console.error("refused: " + error);
    return undefined;
  }
}

async function pages(call, name) {
  const found = [];
  for (let cursor; ;) {
    const page = await tried(() => call(cursor === undefined ? undefined : { cursor }));
    found.push(...((page && page[name]) || []));
    cursor = page && page.nextCursor;
    if (cursor === undefined) return found;
  }
}

function official() {
  const FIRST = kind === "first";
  const parts = FIRST ? {
    ...require("@modelcontextprotocol/sdk/client/index.js"), ...require("@modelcontextprotocol/sdk/client/stdio.js"),
    ...earlier(() => require("@modelcontextprotocol/sdk/client/streamableHttp.js")),
    ...require("@modelcontextprotocol/sdk/client/sse.js"), ...require("@modelcontextprotocol/sdk/types.js"),
  } : { ...require("@modelcontextprotocol/client"), ...require("@modelcontextprotocol/client/stdio") };
  const capabilities = { sampling: {}, roots: { listChanged: true } };
  if (!FIRST || parts.ElicitRequestSchema) capabilities.elicitation = { form: {}, url: {} };
  const versionNegotiation = { mode: ["auto", "legacy"].includes(mode) ? mode : { pin: mode } };
  const client = new parts.Client({ name: "examined", version: "1" }, { capabilities, ...(FIRST ? {} : { versionNegotiation }) });
  const answer = (method, schema, handler) => {
    if (!FIRST || parts[schema]) client.setRequestHandler(FIRST ? parts[schema] : method, handler);
  };
  answer("elicitation/create", "ElicitRequestSchema", async ({ params }) => elicited(params));
  answer("sampling/createMessage", "CreateMessageRequestSchema", async () => MODEL);
  answer("roots/list", "ListRootsRequestSchema", async () => ROOTS);
  return [parts, client];
}

async function everything(client, first) {
  const declared = client.getServerCapabilities() || {};
  const given = (name) => ({ timeout: name === "slow" ? SOON : LONG });
  for (const { name, inputSchema } of declared.tools ? await pages((at) => client.listTools(at), "tools") : []) {
    const called = { name, arguments: filled(inputSchema) };
    await tried(() => first ? client.callTool(called, undefined, given(name)) : client.callTool(called, given(name)));
  }
  if (declared.resources) {
    for (const { uri } of await pages((at) => client.listResources(at), "resources")) {
      await tried(() => client.readResource({ uri }));
    }
    await pages((at) => client.listResourceTemplates(at), "resourceTemplates");
  }
  for (const { name, arguments: wanted } of declared.prompts ? await pages((at) => client.listPrompts(at), "prompts") : []) {
    await tried(() => client.getPrompt({ name, arguments: Object.fromEntries((wanted || []).map((each) => [each.name, "x"])) }));
    if (declared.completions) {
      await tried(() => client.complete({ ref: { type: "ref/prompt", name }, argument: { name: "code", value: "o" } }));
    }
  }
}

async function sdk() {
  const [parts, client] = official();
  let way;
  if (!/^https?:/.test(server)) {
    const [command, ...args] = words(server);
    way = new parts.StdioClientTransport({ command, args, env: { ...process.env } });
  } else {
    const url = new URL(server);
    way = url.pathname.endsWith("/sse") ? new parts.SSEClientTransport(url) : new parts.StreamableHTTPClientTransport(url);
  }
  await client.connect(way);
  await everything(client, kind === "first");
  if (way.terminateSession) await tried(() => way.terminateSession());
  await client.close();
}

async function ai() {
  const { createMCPClient, ElicitationRequestSchema } = require("@ai-sdk/mcp");
  const { Experimental_StdioMCPTransport } = require("@ai-sdk/mcp/mcp-stdio");
  const [command, ...args] = words(server);
  const transport = !/^https?:/.test(server) ? new Experimental_StdioMCPTransport({ command, args, env: { ...process.env } })
    : { type: server.endsWith("/sse") ? "sse" : "http", url: server };
  const client = await createMCPClient({ transport, clientName: "examined", capabilities: { elicitation: {} } });
  client.onElicitationRequest(ElicitationRequestSchema, async ({ params }) => elicited(params));
  const tools = [];
  await tried(async () => {
    const found = await pages((at) => client.listTools(at && { params: at }), "tools");
    tools.push(...found);
  });
  const runnable = tools.length ? client.toolsFromDefinitions({ tools }) : {};
  for (const { name, inputSchema } of tools) {
    const abortSignal = name === "slow" ? AbortSignal.timeout(SOON) : undefined;
    await tried(() => runnable[name].execute(filled(inputSchema), { toolCallId: name, messages: [], abortSignal }));
  }
  for (const { uri } of await pages((at) => client.listResources(at && { params: at }), "resources")) {
    await tried(() => client.readResource({ uri }));
  }
  await tried(() => client.listResourceTemplates());
  for (const { name } of await pages((at) => client.experimental_listPrompts(at && { params: at }), "prompts")) {
    await tried(() => client.experimental_getPrompt({ name, arguments: { code: "x" } }));
  }
  await client.close();
}

setTimeout(() => process.exit(3), 2 * LONG).unref();
(kind === "ai" ? ai() : sdk()).then(() => process.exit(0), (error) => {
  console.error("failed: " + (error.stack || error));
  process.exit(1);
});

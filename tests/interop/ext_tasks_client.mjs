// The client of @modelcontextprotocol/ext-tasks against the server of tests/conformance: `ext_tasks_client.mjs URL`.
// MCP_MODE is `legacy`, for the tasks of 2025-11-25, or a revision of the stateless era. One JSON line for each step.
// NODE_PATH tells where the packages are: they are found by their paths, as `import` does not look there.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const packages = pathToFileURL(process.env.NODE_PATH + "/@modelcontextprotocol/");
const { createTaskSessionFromClient, toolDeclarationFromMcpTool } = await import(
  new URL("ext-tasks/dist/client/index.js", packages));
const { Client, StreamableHTTPClientTransport } = await import(new URL("client/dist/index.mjs", packages));

const [url] = process.argv.slice(2);
const mode = process.env.MCP_MODE;
const legacy = mode === "legacy";
const clientInfo = { name: "ext-tasks", version: "1" };
const clientCapabilities = { elicitation: { form: {} }, sampling: {} };
let started = performance.now();
let lastId = 1000;
const asked = [];
const sent = new Set();

function report(step, seen) {
  const now = performance.now();
  console.log(JSON.stringify({ step, seconds: Math.round(now - started) / 1000, ...seen }));
  started = now;
}

// The official SDK knows no tasks of 2026-07-28; the package leaves it to its user to send such requests.
async function rawDispatch(request, options) {
  const named = request.params.taskId ?? request.params.name;
  sent.add(request.method);
  const id = ++lastId;
  const response = await fetch(url, {
    method: "POST", signal: options?.signal, body: JSON.stringify({ jsonrpc: "2.0", id, ...request }),
    headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", "Mcp-Name": named,
      "MCP-Protocol-Version": mode, "Mcp-Method": request.method },
  });
  const text = await response.text();
  const streamed = response.headers.get("content-type").startsWith("text/event-stream");
  const lines = streamed ? text.split(/\r?\n/).filter((line) => /^data: ?\{/.test(line)).map((line) => line.slice(5)) : [text];
  const answer = lines.map((line) => JSON.parse(line)).find((message) => message.id === id);
  return answer.error ? { kind: "error", error: answer.error } : { kind: "result", result: answer.result };
}

const client = new Client(clientInfo, {
  capabilities: clientCapabilities, versionNegotiation: { mode: legacy ? mode : { pin: mode } } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const session = createTaskSessionFromClient(client, {
  endpointId: "ours",
  onInputRequest: async (request, context) => {
    asked.push(`${request.kind} ${context.delivery}`);
    const fields = Object.keys(request.params.requestedSchema.properties);
    return { action: "accept", content: Object.fromEntries(fields.map((name) => [name, name === "name" ? "Ada" : true])) };
  },
  ...(legacy ? {} : { rawDispatch, v2RequestFraming: { protocolVersion: mode, clientInfo, clientCapabilities } }),
});
const { tools } = await client.listTools();

function begin(name, params) {
  const declaration = toolDeclarationFromMcpTool(tools.find((tool) => tool.name === name));
  return session.callTool(name, params, { declaration, task: { preference: "prefer" } });
}

// Call a tool, and compare how that went.
async function call(name, params, kind, status, text) {
  const execution = await begin(name, params);
  const { outcome } = await execution.settle();
  assert.equal(execution.kind, kind, name);
  assert.equal(outcome.status, status, name);
  assert.equal(outcome.error?.message ?? outcome.result.content[0].text, text, name);
  report(name, { kind, status });
}

report("connect", { capabilities: session.capabilities });
await call("greet", { name: "Bo" }, "immediate", "completed", "Hello, Bo!");
await call("slow_compute", { seconds: 0.2 }, "task", "completed", "Computed something for 0.2 seconds.");
await call("failing_job", {}, "task", legacy ? "failed" : "completed", "The job has failed.");
await call("protocol_error_job", {}, "task", "failed", "The job cannot be done.");
assert.deepEqual(asked, []);
await call("confirm_delete", { filename: "x" }, "task", "completed", "Deleted.");
await call("multi_input", {}, "task", "completed", "Answers: name accept, confirm accept");
const delivery = legacy ? "elicitation peer-request" : "elicitation task-update";
assert.deepEqual(asked, [delivery, delivery, delivery]);
await call("test_tool_with_task", {}, "task", "completed", "Hello, Ada!");
assert.equal(asked[3], legacy ? delivery : "elicitation request-retry");

const long = await begin("slow_compute", { seconds: 60 });
const settled = long.settle();
await session.cancelTask(long.handle.taskId);
assert.equal((await settled).outcome.status, "cancelled");
report("cancelled", {});
await assert.rejects(session.task("nobody's").snapshot(), { code: -32602 });
if (!legacy) assert.deepEqual([...sent].sort(), ["tasks/cancel", "tasks/get", "tasks/update", "tools/call"]);
await session.close();
await client.close();
report("close", {});

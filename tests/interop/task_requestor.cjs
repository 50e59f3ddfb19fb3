// A server made with version 1 of the official TypeScript SDK that asks its client by tasks of 2025-11-25, over stdio.
// Its three tools tell what they have seen as JSON: `write` (a sampling), `ask` (a form), and `give_up`, which finds the
// task in the list of the client, cancels it, and looks at what is left. NODE_PATH tells where the package is.
"use strict";
const { McpServer } = require("@modelcontextprotocol/sdk/server/mcp.js");
const { StdioServerTransport } = require("@modelcontextprotocol/sdk/server/stdio.js");

const server = new McpServer({ name: "requestor", version: "1" }, { capabilities: { tools: {} } });
const tasks = server.server.experimental.tasks;
const SAMPLE = { messages: [{ role: "user", content: { type: "text", text: "Which colour?" } }], maxTokens: 5 };
const FORM = { mode: "form", message: "Who?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } };

async function followed(stream, onTask = async () => {}) {
  const seen = [];
  for await (const message of stream) {
    seen.push(message.type === "taskStatus" ? message.task.status : message.type);
    if (message.type === "taskCreated") await onTask(message.task);
    if (message.type === "result") return { seen, result: message.result };
    if (message.type === "error") return { seen, error: { code: message.error.code, text: message.error.message } };
  }
  return { seen };
}

async function refused(call) {
  try {
    return { unexpected: await call() };
  } catch (error) {
    return { code: error.code, text: error.message };
  }
}

const told = (value) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
const task = { ttl: 60000 };

server.registerTool("write", { description: "Have the model write." }, async () =>
  told(await followed(tasks.createMessageStream(SAMPLE, { task }))));
server.registerTool("ask", { description: "Ask the user." }, async () =>
  told(await followed(tasks.elicitInputStream(FORM, { task }))));
server.registerTool("give_up", { description: "Cancel a sampling." }, async () => {
  const found = {};
  const end = await followed(tasks.createMessageStream(SAMPLE, { task }), async ({ taskId }) => {
    found.listed = (await tasks.listTasks()).tasks.some((each) => each.taskId === taskId);
    found.cancelled = (await tasks.cancelTask(taskId)).status;
    found.again = await refused(() => tasks.cancelTask(taskId));
    found.state = (await tasks.getTask(taskId)).status;
    found.unknown = await refused(() => tasks.getTask("nobody's"));
  });
  return told({ ...end, ...found });
});

server.connect(new StdioServerTransport());

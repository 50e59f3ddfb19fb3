// A server made with version 2 of the official TypeScript SDK: `typescript_server.cjs [PORT]`, over stdio or over HTTP on
// that port. It speaks both eras. What it offers is named and answers as in `examples/everything_server.py`, as far as that
// SDK has the feature, so that the same walks suit both. NODE_PATH tells where the packages are.
"use strict";
const http = require("node:http");
const { toNodeHandler } = require("@modelcontextprotocol/node");
const {
  McpServer, ResourceTemplate, acceptedContent, completable, createMcpHandler, createRequestStateCodec, inputRequired,
  inputResponse,
} = require("@modelcontextprotocol/server");
const { serveStdio } = require("@modelcontextprotocol/server/stdio");
const { z } = require("zod");

const CITIES = ["Berlin", "Bern", "Bologna", "Brno", "Lima", "Lisbon", "London"];
const CONFIG = "config://app";
const DOT =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
const PERSON = z.object({ name: z.string(), colour: z.enum(["red", "green", "blue"]) });
const NAME = z.object({ name: z.string() });
const learned = []; // a server is made for each request, so what lasts is kept out here
let visits = 0;
let handler; // over HTTP: whom to tell of changes
const state = createRequestStateCodec({ key: "interop, interop, interop, interop, interop" });

const text = (said) => ({ content: [{ type: "text", text: said }] });
const cities = (value) => CITIES.filter((name) => name.toLowerCase().startsWith(value.toLowerCase()));
const ask = {
  who: () => inputRequired.elicit({ message: "Who are you?", requestedSchema: PERSON }),
  model: (question) =>
    inputRequired.createMessage({
      messages: [{ role: "user", content: { type: "text", text: question } }],
      maxTokens: 100,
    }),
};

function results(server) {
  server.registerTool("echo", { description: "Give back the text.", inputSchema: z.object({ text: z.string() }) },
    async ({ text: said }) => text(said));
  server.registerTool("add", { description: "Add.", inputSchema: z.object({ a: z.number().int(), b: z.number().int() }) },
    async ({ a, b }) => text(String(a + b)));
  server.registerTool("weather", {
    description: "A result with structured content.",
    inputSchema: z.object({ city: z.string() }),
    outputSchema: z.object({ city: z.string(), celsius: z.number(), wet: z.boolean() }),
  }, async ({ city }) => {
    const found = { city, celsius: 21.5, wet: false };
    return { ...text(JSON.stringify(found)), structuredContent: found };
  });
  server.registerTool("route", {
    description: "An argument that is repeated in a header field of HTTP.",
    inputSchema: z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) }),
  }, async ({ region }) => text("routed to " + region));
  server.registerTool("media", { description: "Every kind of content." }, async () => ({
    content: [
      { type: "text", text: "for the user" }, { type: "image", data: DOT, mimeType: "image/png" },
      { type: "audio", data: SILENCE, mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "note://inside", text: "read me", mimeType: "text/plain" } },
      { type: "resource_link", uri: CONFIG, name: "config" },
    ],
  }));
  server.registerTool("fail", { description: "Always fail." }, async () => {
    throw new Error("This tool always fails: try another one.");
  });
}

function whileItRuns(server) {
  server.registerTool("count", { description: "Report progress.", inputSchema: z.object({ to: z.number().int() }) },
    async ({ to }, ctx) => {
      for (let step = 1; step <= to; step++) {
        await ctx.mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken: ctx.mcpReq._meta.progressToken, progress: step, total: to, message: "step " + step },
        });
      }
      return text("counted to " + to);
    });
  server.registerTool("slow", { description: "Take its time.", inputSchema: z.object({ seconds: z.number() }) },
    async ({ seconds }) => {
      await new Promise((done) => setTimeout(done, seconds * 1000).unref());
      return text("done");
    });
  server.registerTool("log", {
    description: "Send a log message.",
    inputSchema: z.object({ text: z.string(), level: z.string().default("info") }),
  }, async ({ text: said, level }, ctx) => {
    await ctx.mcpReq.log(level, { text: said }, "everything");
    return text("logged");
  });
}

// A tool that asks returns the question, and is called again with the answer.
function asking(server) {
  server.registerTool("ask_name", { description: "Ask the user." }, async (ctx) => {
    const person = acceptedContent(ctx.mcpReq.inputResponses, "who", PERSON);
    return person ? text(person.name + " likes " + person.colour) : inputRequired({ inputRequests: { who: ask.who() } });
  });
  server.registerTool("ask_payment", { description: "Send the user to a page." }, async (ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, "pay");
    const link = { message: "Please pay there.", url: "https://example.com/pay?order=7" };
    return answer.kind === "elicit" ? text("the user said: " + answer.action)
      : inputRequired({ inputRequests: { pay: inputRequired.elicitUrl(link) } });
  });
  server.registerTool("ask_model", { description: "Ask the model.", inputSchema: z.object({ question: z.string() }) },
    async ({ question }, ctx) => {
      const answer = inputResponse(ctx.mcpReq.inputResponses, "model");
      return answer.kind === "sampling" ? text(answer.result.content.text)
        : inputRequired({ inputRequests: { model: ask.model(question) } });
    });
  server.registerTool("show_roots", { description: "Ask for the roots." }, async (ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, "roots");
    return answer.kind === "roots" ? text(answer.roots.map((root) => root.uri).join(" "))
      : inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
  });
  server.registerTool("interview", { description: "Ask three times, one after the other." }, async (ctx) => {
    const known = ctx.mcpReq.requestState() || {};
    const person = acceptedContent(ctx.mcpReq.inputResponses, "who", PERSON);
    const answer = inputResponse(ctx.mcpReq.inputResponses, "model");
    const listed = inputResponse(ctx.mcpReq.inputResponses, "roots");
    if (person) known.name = person.name;
    if (answer.kind === "sampling") known.said = answer.result.content.text;
    if (listed.kind === "roots") return text([known.name, known.said, listed.roots.length].join(", "));
    const next = known.said ? { roots: inputRequired.listRoots() }
      : known.name ? { model: ask.model("What suits " + known.name + "?") } : { who: ask.who() };
    return inputRequired({ inputRequests: next, requestState: await state.mint(known) });
  });
}

function changes(server) {
  server.registerTool("visit", { description: "Change " + CONFIG }, async () => {
    visits += 1;
    if (handler) handler.notify.resourceUpdated(CONFIG);
    else await server.server.sendResourceUpdated({ uri: CONFIG });
    return text("visited " + visits + " times");
  });
  const teach = (name) =>
    server.registerTool(name, { description: "A tool made by a tool." }, async () => text("I am new"));
  server.registerTool("learn", { description: "Make one tool more.", inputSchema: z.object({ name: z.string() }) },
    async ({ name }) => {
      learned.push(name);
      if (handler) handler.notify.toolsChanged();
      else teach(name); // which tells the client
      return text("learned " + name);
    });
  learned.forEach(teach);
}

function resourcesAndPrompts(server) {
  server.registerResource("config", CONFIG, { mimeType: "application/json" }, async () => ({
    contents: [{ uri: CONFIG, mimeType: "application/json", text: JSON.stringify({ name: "everything", visits }) }],
  }));
  const template = new ResourceTemplate("city://{name}", { list: undefined, complete: { name: cities } });
  server.registerResource("city", template, {}, async (uri, { name }) => ({
    contents: [{ uri: uri.href, text: name + " is a city we know." }],
  }));
  const said = (words) => ({ messages: [{ role: "user", content: { type: "text", text: words } }] });
  server.registerPrompt("review", {
    description: "Ask for a review.", argsSchema: z.object({ code: z.string(), language: z.string().default("python") }),
  }, async ({ code, language }) => said("Please review this " + language + " code:\n\n" + code));
  server.registerPrompt("travel", {
    description: "Ask for a way.",
    argsSchema: z.object({
      start: completable(z.string(), cities),
      goal: completable(z.string(), (value, context) =>
        cities(value).filter((name) => name !== context?.arguments?.start)),
    }),
  }, async ({ start, goal }) => said("How do I get from " + start + " to " + goal + "?"));
  server.registerPrompt("letter", { description: "Ask the user on the way to a prompt." }, async (ctx) => {
    const to = acceptedContent(ctx.mcpReq.inputResponses, "to", NAME);
    return to ? said("Please write to " + to.name + ".")
      : inputRequired({ inputRequests: { to: inputRequired.elicit({ message: "To whom?", requestedSchema: NAME }) } });
  });
}

function made() {
  const server = new McpServer({ name: "official-typescript", version: "2" }, {
    capabilities: { logging: {}, resources: { subscribe: true, listChanged: true }, tools: { listChanged: true } },
    requestState: { verify: state.verify },
  });
  for (const part of [results, whileItRuns, asking, changes, resourcesAndPrompts]) part(server);
  return server;
}

if (process.argv[2]) {
  handler = createMcpHandler(made);
  http.createServer(toNodeHandler(handler)).listen(Number(process.argv[2]), "127.0.0.1");
} else {
  serveStdio(made);
}

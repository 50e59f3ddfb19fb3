// Reads streams of Server-Sent Events with `eventsource-parser`: standard input is a JSON list of streams, each a list of
// pieces in base64; standard output the list of what was read, each [[[event, data, id or null], ...], retry or null].
const { createParser } = require("eventsource-parser");

const streams = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(streams.map((pieces) => {
  const events = [];
  let retry = null;
  const parser = createParser({
    onEvent: (event) => events.push([event.event ?? "message", event.data, event.id ?? null]),
    onRetry: (given) => { retry = given; },
  });
  const decoder = new TextDecoder();
  for (const piece of pieces) parser.feed(decoder.decode(Buffer.from(piece, "base64"), { stream: true }));
  return [events, retry];
})));

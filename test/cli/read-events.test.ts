import fc from "fast-check";
import { expect, it } from "vitest";
import { readEvents, type StreamEvent } from "../../src/cli/alerts/follow-changes.ts";

async function read(chunks: Uint8Array[]): Promise<StreamEvent[]> {
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const events: StreamEvent[] = [];
  for await (const event of readEvents(stream)) events.push(event);
  return events;
}

const text =
  'retry: 2000\n\n: ready\n\nevent: alert\nid: 7\ndata: {"title":"é🚨"}\n\ndata:one\r\ndata: two\r\n\r\nid: 9\rdata\r\revent: cut\ndata: off';
const events: StreamEvent[] = [
  { type: "alert", data: '{"title":"é🚨"}', lastEventId: "7" },
  { type: "message", data: "one\ntwo", lastEventId: "7" },
  { type: "message", data: "", lastEventId: "9" },
];

it("reads events however the network cuts them, and none that is not complete", async () => {
  const bytes = Buffer.from(text);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 }), async (cuts) => {
      const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
      const chunks = edges.slice(1).map((end, index) => bytes.subarray(edges[index], end));
      expect(await read(chunks)).toEqual(events);
    }),
  );
});

import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { IncomingRequest } from "../../src/core/store.ts";
import { startDatabaseThread } from "../../src/store/database-thread.ts";
import type { Call } from "../../src/store/group-commit.ts";
import { packBodies, unpackBodies } from "../../src/store/thread-protocol.ts";
import { request } from "../conformance/store/scene-samples.ts";
import { compiledThread } from "../support/compiled-thread.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

/** A thread that opens, and then does this with the first message. */
function threadThat(acts: string): URL {
  const script = `
    import { parentPort } from "node:worker_threads";
    parentPort.once("message", (message) => { ${acts} });
    parentPort.postMessage({ kind: "ready" });`;
  return new URL(`data:text/javascript,${encodeURIComponent(script)}`);
}

const accept = (body: Uint8Array): Call => ({ name: "acceptRequest", arguments: [request({ body })] });
const count: Call = { name: "countAlerts", arguments: [] };

async function openReal() {
  const thread = await startDatabaseThread(
    { path: join(makeTempFolder(), "tocsin.db"), ballastBytes: 0 },
    { entry: compiledThread() },
  );
  onTestFinished(() => thread.close());
  return thread;
}

describe("a database thread", () => {
  it.each([
    ["exits", "process.exit(1)"],
    ["throws", "throw new Error('out of luck')"],
  ])("that %s refuses everybody who waits or comes later, and says so once", async (_how, acts) => {
    const stopped: string[] = [];
    const thread = await startDatabaseThread(
      { path: "unused" },
      { entry: threadThat(acts), onStopped: (error) => stopped.push(error.message) },
    );
    const waiting = [
      thread.call(count),
      thread.call(count),
      thread.call(accept(Buffer.from("x"))),
      thread.health(),
    ];
    for (const outcome of await Promise.allSettled(waiting))
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "store_unavailable" } });
    await expect(thread.call(count)).rejects.toMatchObject({ code: "store_unavailable" });
    await expect(thread.maintain()).rejects.toMatchObject({ code: "store_unavailable" });
    expect(stopped).toEqual(["The database thread has stopped."]);
    await thread.close();
  });

  it("that cannot start says why", async () => {
    const entry = new URL("data:text/javascript,throw new Error('broken')");
    await expect(startDatabaseThread({ path: "unused" }, { entry })).rejects.toMatchObject({
      code: "store_unavailable",
    });
    const folder = makeTempFolder();
    await expect(startDatabaseThread({ path: folder }, { entry: compiledThread() })).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining(folder),
    });
  });

  it("is not stopped in the eyes of anybody when it is closed", async () => {
    const stopped: Error[] = [];
    const thread = await startDatabaseThread(
      { path: join(makeTempFolder(), "tocsin.db"), ballastBytes: 0 },
      { entry: compiledThread(), onStopped: (error) => stopped.push(error) },
    );
    await thread.close();
    expect(stopped).toEqual([]);
  });

  it("commits all that was called before it was closed", async () => {
    const path = join(makeTempFolder(), "tocsin.db");
    const open = () => startDatabaseThread({ path, ballastBytes: 0 }, { entry: compiledThread() });
    const thread = await open();
    const calls = Array.from({ length: 700 }, (_, index) => thread.call(accept(Buffer.from(`${index}`))));
    await thread.close();
    expect((await Promise.allSettled(calls)).filter(({ status }) => status === "fulfilled")).toHaveLength(
      700,
    );
    const again = await open();
    onTestFinished(() => again.close());
    expect(await again.call(count)).toMatchObject({ total: 700 });
  });

  it("does not hang on what cannot be sent to it", async () => {
    const thread = await openReal();
    const unsendable: Call = { name: "addMute", arguments: [{ matchers: () => "a function" }] };
    await expect(thread.call(unsendable)).rejects.toThrow("could not be cloned");
    expect(await thread.call(count)).toMatchObject({ total: 0 });
  });

  it("takes more and larger calls than go into one message", async () => {
    const thread = await openReal();
    const large = Array.from({ length: 20 }, () => thread.call(accept(Buffer.alloc(1024 * 1024, 1))));
    const small = Array.from({ length: 1100 }, () => thread.call(accept(Buffer.from("x"))));
    await Promise.all([...large, ...small]);
    expect(await thread.call(count)).toMatchObject({ total: 1120 });
  });
});

describe("bodies on their way to the thread", () => {
  const slab = Buffer.from("....first..second....");
  const bodies = [slab.subarray(4, 9), slab.subarray(11, 17), new Uint8Array()];
  const calls = [
    accept(bodies[0] as Buffer),
    count,
    accept(bodies[1] as Buffer),
    accept(bodies[2] as Uint8Array),
  ];

  it("are packed without what lies beside them", () => {
    const packed = packBodies(calls);
    expect(packed.bodies?.buffer.byteLength).toBe(11);
    const sizes = packed.calls.map((call) => (call.arguments[0] as { body?: unknown } | undefined)?.body);
    expect(sizes).toEqual([[0, 5], undefined, [5, 11], [11, 11]]);
  });

  it("come out as they went in, after the buffer has changed hands, and the caller keeps his", () => {
    const { calls: packed, bodies: packedBodies } = packBodies(calls);
    const arrived = structuredClone(
      { packed, packedBodies },
      { transfer: packedBodies ? [packedBodies.buffer] : [] },
    );
    expect(packedBodies?.byteLength).toBe(0);
    const unpacked = unpackBodies(arrived.packed, arrived.packedBodies);
    const texts = unpacked
      .filter(({ name }) => name === "acceptRequest")
      .map((call) => Buffer.from((call.arguments[0] as IncomingRequest).body).toString());
    expect(texts).toEqual(["first", "second", ""]);
    expect(unpacked[1]).toEqual(count);
    expect(slab.toString()).toBe("....first..second....");
    expect(calls[0]?.arguments).toMatchObject([{ body: bodies[0] }]);
  });

  it("of an empty request do not take the block along that they lie on", () => {
    const empty = Buffer.from("on the shared block").subarray(0, 0);
    const packed = packBodies([accept(empty)]);
    expect(packed.bodies?.buffer.byteLength).toBe(0);
  });

  it("are not packed when there are none", () => {
    expect(packBodies([count])).toEqual({ calls: [count] });
    expect(unpackBodies([count], undefined)).toEqual([count]);
  });
});

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startDatabaseThread } from "../../src/store/sqlite/database-thread.ts";
import type { Call } from "../../src/store/sqlite/group-commit.ts";
import { fromWireResult, packCalls, toWireResult, unpackCalls } from "../../src/store/sqlite/thread-protocol.ts";
import { openThreadedStore } from "../../src/store/sqlite/threaded-store.ts";
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

async function openReal(path = join(makeTempFolder(), "tocsin.db")) {
  const thread = await startDatabaseThread({ path, ballastBytes: 0 }, { entry: compiledThread() });
  onTestFinished(() => thread.close());
  return thread;
}

it.each([
  ["exits", "process.exit(1)"],
  ["throws", "throw new Error('out of luck')"],
])("a database thread that %s refuses everybody who waits or comes later, and says so once", async (_how, acts) => {
  const stopped: string[] = [];
  const onStopped = (error: Error) => void stopped.push(error.message);
  const thread = await startDatabaseThread({ path: "unused" }, { entry: threadThat(acts), onStopped });
  const calls = [count, count, accept(Buffer.from("x"))].map((call) => thread.call(call));
  const refused = { status: "rejected", reason: { code: "store_unavailable" } };
  for (const outcome of await Promise.allSettled([...calls, thread.ask("health", [])]))
    expect(outcome).toMatchObject(refused);
  for (const outcome of await Promise.allSettled([thread.call(count), thread.ask("maintain", [0])]))
    expect(outcome).toMatchObject(refused);
  expect(stopped).toEqual(["The database thread has stopped."]);
  await thread.close();
});

it("a database thread that cannot start says why", async () => {
  const code = "store_unavailable";
  const entry = new URL("data:text/javascript,throw new Error('broken')");
  await expect(startDatabaseThread({ path: "unused" }, { entry })).rejects.toMatchObject({ code });
  const path = makeTempFolder();
  const message = expect.stringContaining(path);
  await expect(startDatabaseThread({ path }, { entry: compiledThread() })).rejects.toMatchObject({ code, message });
});

it("a database thread commits all that was called before it was closed", async () => {
  const path = join(makeTempFolder(), "tocsin.db");
  const thread = await openReal(path);
  const calls = Array.from({ length: 700 }, (_, index) => thread.call(accept(Buffer.from(`${index}`))));
  await thread.close();
  expect((await Promise.allSettled(calls)).filter(({ status }) => status === "fulfilled")).toHaveLength(700);
  expect(await (await openReal(path)).call(count)).toMatchObject({ total: 700 });
});

it("a database thread does not hang on what cannot be sent to it", async () => {
  const thread = await openReal();
  const unsendable: Call = { name: "addMute", arguments: [{ matchers: () => "a function" }] };
  await expect(thread.call(unsendable)).rejects.toThrow("could not be cloned");
  expect(await thread.call(count)).toMatchObject({ total: 0 });
});

it("a database thread takes more and larger calls than go into one message", async () => {
  const thread = await openReal();
  const large = Array.from({ length: 20 }, () => thread.call(accept(Buffer.alloc(1024 * 1024, 1))));
  const small = Array.from({ length: 1100 }, () => thread.call(accept(Buffer.from("x"))));
  await Promise.all([...large, ...small]);
  expect(await thread.call(count)).toMatchObject({ total: 1120 });
});

it("what crosses to the thread and back is how alerts are routed, and what is recorded of others", () => {
  const drafts = [{ facts: { title: "é \ud83d" }, claims: [null, { token: "t" }] }];
  const routed: Call = { name: "acceptRequest", arguments: [request({ body: Buffer.from("b") }), drafts] };
  const recorded: Call = { name: "recordAttempt", arguments: [{ group: "g", fence: 1 }, { token: "t" }, []] };
  const [first, second] = unpackCalls(structuredClone(packCalls([routed, recorded])));
  expect([first?.arguments[1], second]).toEqual([drafts, recorded]);
});

it.each<[Call["name"], (recorded: object[]) => unknown]>([
  ["acceptRequest", (recorded) => ({ kind: "accepted", ids: ["a", "b"], conflict: false, recorded })],
  ["recordRouting", (recorded) => recorded],
])("what crosses to the thread and back is what was claimed with an alert: %s", (name, toAnswer) => {
  const claimed = { token: "t", deliveries: [{ seq: 1, facts: { title: "é" } }] };
  const value = toAnswer([{ alertSeq: 1, deliveries: [null, { seq: 2, id: "d", claimed }] }]);
  const call: Call = { name, arguments: [request({ ids: ["a", "b"] })] };
  expect(fromWireResult(structuredClone(toWireResult({ ok: true, value }, call)), call)).toEqual({ ok: true, value });
});

const open = async () => {
  const started: unknown[] = [];
  const note = (message: unknown) => void started.push(message);
  subscribe("worker_threads", note);
  onTestFinished(() => void unsubscribe("worker_threads", note));
  const threadEntry = compiledThread();
  const store = await openThreadedStore({ dataDir: makeTempFolder(), threadEntry, ballastBytes: 0 });
  onTestFinished(() => store.close());
  return { store, started };
};

it("the threads of a store are one until somebody reads, and then two, however many read at once", async () => {
  const { store, started } = await open();
  await store.acceptRequest(request({}));
  await store.listUnrouted(0, 10);
  await store.loadStatuses();
  expect(started).toHaveLength(1);
  const counts = await Promise.all([store.countAlerts(), store.countAlerts(), store.countAlerts()]);
  expect(counts.map(({ total }) => total)).toEqual([1, 1, 1]);
  expect(started).toHaveLength(2);
});

it("the threads of a store end with the store: who reads afterwards is refused and starts none", async () => {
  const { store, started } = await open();
  const reading = store.countAlerts();
  await store.close();
  await expect(reading).resolves.toMatchObject({ total: 0 });
  await expect(store.countAlerts()).rejects.toMatchObject({ code: "store_unavailable" });
  expect(started).toHaveLength(2);
});

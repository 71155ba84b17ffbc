import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { inScope, listen, pause, type Scope } from "../relays/scope.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { type RecordedRelay, type Recorder, type SentRecord, saveSent, startRecorder } from "./record.ts";

/** What a recording is made of: the relay at work, in some way. */
export interface Load {
  name: string;
  /** It begins on what a power cut amid that load has left. Default: on an empty disk. */
  after?: string;
  run(scene: Scene): Promise<void>;
}

type Scene = ReturnType<typeof createScene>;

/** So many senders at once, to one relay that is looked at meanwhile, until all has arrived. */
async function sendAll({ start, send, watch, quiet }: Scene, senders: number, count: number, pauseMs: number) {
  const relay = await start();
  const sending = Promise.all(Array.from({ length: senders }, () => send(relay, count, pauseMs)));
  await watch(relay, sending.then(quiet));
  await relay.stop();
}

export const loads: Load[] = [
  { name: "trickle", run: (scene) => sendAll(scene, 1, 80, 15) },
  { name: "flood", run: (scene) => sendAll(scene, 24, 40, 0) },
  {
    name: "restarts",
    async run({ start, send, watch }) {
      for (let round = 0; round < 4; round += 1) {
        const relay = await start();
        const sending = Promise.all(Array.from({ length: 3 }, () => send(relay, 1_000, 5)));
        const watching = watch(relay, sending);
        await pause(600 + round * 200);
        await relay.stop();
        await watching;
      }
    },
  },
  {
    name: "backups",
    async run({ recorder, start, send, mute, watch }) {
      const relay = await start();
      const sending = Promise.all(Array.from({ length: 4 }, () => send(relay, 60, 10)));
      const watching = watch(relay, sending);
      for (const name of ["first.db", "second.db"]) {
        await mute(relay);
        await recorder.command(["backup", join(recorder.disk, name), "--json"], { LOG_LEVEL: "warn" });
      }
      await watching;
      await relay.stop();
    },
  },
  { name: "second cut", after: "restarts", run: (scene) => sendAll(scene, 2, 40, 10) },
  {
    name: "maintenance",
    run: ({ recorder }) => recorder.script("keep-store.mjs", [recorder.dataDir, "12", "25"]),
  },
];

/** The short one of the test suite: a little of everything. */
export const shortLoad: Load = {
  name: "short",
  async run({ recorder, start, send, watch, mute, quiet }) {
    const first = await start();
    const sending = Promise.all(Array.from({ length: 6 }, () => send(first, 15, 3)));
    const watching = watch(first, sending);
    await mute(first);
    await recorder.command(["backup", join(recorder.disk, "copy.db"), "--json"], { LOG_LEVEL: "warn" });
    await first.stop();
    await watching;
    const second = await start();
    await send(second, 20, 15);
    await quiet();
    await second.stop();
  },
};

/** @param sent is told of all that is sent, and what was answered */
function createScene(
  recorder: Recorder,
  quiet: () => Promise<void>,
  random: SeededRandom,
  sent: SentRecord,
  config: string,
) {
  function makeBody(): { body: string; items: number } {
    const serial = sent.bodies.length + 1;
    const alert = { title: `Alert ${serial}`, eventId: `${config} ${serial}`, note: "n".repeat(random.below(1500)) };
    if (random.below(10) > 0) return { body: JSON.stringify(alert), items: 1 };
    const items = 2 + random.below(4);
    return { body: JSON.stringify(Array.from({ length: items }, (_, item) => ({ ...alert, item }))), items };
  }

  return {
    recorder,
    /** Starts the relay with two webhooks as destinations, one of them faulty. */
    start: () => recorder.serve({ TOCSIN_CONFIG: config }),
    /** Resolves when the destinations have heard nothing for a while. */
    quiet,
    /** Sends alerts one after another over a connection of its own, until all are answered or the relay is gone. */
    async send(relay: RecordedRelay, count: number, pauseMs: number) {
      for (let turn = 0; turn < count; turn += 1) {
        const { body, items } = makeBody();
        sent.bodies.push(body);
        const answer = await call(relay.hookUrl, { method: "POST", body }).catch(() => undefined);
        if (answer === undefined) return;
        if (answer.status === 202) {
          const { data } = JSON.parse(answer.text) as { data: { id?: string; ids?: string[] } };
          for (const id of data.ids ?? [data.id as string]) sent.accepted[id] = { body, items };
        }
        if (pauseMs > 0) await pause(random.below(pauseMs * 2));
      }
    },
    /** Looks at the API until `work` has ended. */
    async watch(relay: RecordedRelay, work: Promise<unknown>) {
      let isOver = false;
      const end = work.finally(() => (isOver = true));
      while (!isOver) {
        const looking = call(`${relay.url}/api/alerts?limit=20`, { token: relay.adminToken });
        if ((await looking.catch(() => undefined)) === undefined) break;
        await pause(30);
      }
      await end;
    },
    async mute(relay: RecordedRelay) {
      const body = JSON.stringify({ match: { title: "no such alert" }, for: "1h", reason: "power" });
      const asked = { method: "POST", body, token: relay.adminToken };
      const { status, text: said } = await call(`${relay.url}/api/mutes`, asked);
      if (status !== 201) throw new Error(`no mute: ${status} ${said}`);
    },
  };
}

/** Runs a load under strace and leaves the recording in `folder`. */
export const recordLoad = (load: Load, folder: string, seed: number): Promise<void> =>
  inScope(async (scope) => {
    const random = createSeededRandom(seed);
    const recorder = await startRecorder(folder);
    const receiver = await startReceiver(scope, random);
    scope.atEnd(recorder.end);
    const sent: SentRecord = { bodies: [], accepted: {} };
    const config = join(folder, "tocsin.yaml");
    writeFileSync(config, configuration(receiver.url));
    await load.run(createScene(recorder, receiver.quiet, random, sent, config));
    saveSent(folder, sent);
  });

/** Over a connection of its own. */
async function call(url: string, { method = "GET", body, token }: { method?: string; body?: string; token?: string }) {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const outgoing = request(url, { method, headers, agent: false }).end(body);
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, text: await text(answer) };
}

/** Takes webhooks: `/steady` each of them, `/faulty` some, after a while; others it refuses, or breaks the connection. */
async function startReceiver(scope: Scope, random: SeededRandom) {
  let calls = 0;
  const url = await listen(scope, async (incoming, answer) => {
    calls += 1;
    for await (const _ of incoming);
    const luck = incoming.url === "/steady" ? 9 : random.below(10);
    if (luck < 9) await pause(random.below(20));
    if (luck === 0) incoming.socket.destroy();
    else answer.writeHead(luck === 1 ? 503 : 204).end();
  });
  return {
    url,
    async quiet() {
      for (let before = -1; before !== calls; await pause(400)) before = calls;
    },
  };
}

const configuration = (url: string) => `
destinations:
  steady: { type: webhook, url: "${url}/steady", allowInternal: ["127.0.0.1"], digestOver: 10000 }
  faulty: { type: webhook, url: "${url}/faulty", allowInternal: ["127.0.0.1"], digestOver: 30 }
routes:
  - { name: all, to: [steady, faulty] }
delivery:
  ambiguous: { wait: 1s, repeats: 10 }
  webhook: { schedule: [1s, 1s, 1s, 1s, 1s, 1s] }
  breaker: { failures: 1000 }
`;

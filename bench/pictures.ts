/**
 * `npx tsx bench/pictures.ts [--seconds 120] [--perSecond 2] [--chats 24]`: what pictures cost the texts. Needs `npm run build`.
 *
 * Two relays as a user has them, one with `chart: true` and one without, get the same alerts in turn, so that whatever else
 * the machine does falls on both alike; each sends to Telegram's stand-in, which takes every pace. First the service hangs
 * for 30 s on every question: how long a text takes from the request to the chat, with and without. Then it answers: how long
 * after its text a picture stands.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type ChatStandIn, createChatStandIn } from "../src/sandbox/chat/chat-stand-in.ts";
import { createServiceSandbox } from "../src/sandbox/service/service.ts";
import { end, firstLine, start } from "./harness/processes.ts";
import { quantile } from "./harness/statistics.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "120" },
    perSecond: { type: "string", default: "2" },
    chats: { type: "string", default: "24" },
  },
});
const seconds = Number(values.seconds);
const everyMs = 1000 / Number(values.perSecond);
const chats = Array.from(
  { length: Number(values.chats) },
  (_, number) => `-100170000${String(number).padStart(4, "0")}`,
);
const secret = "bench-hook-kS93jdLwm2PzQe81";
const botToken = "7:bench-token-bench-token";
const anyPace = Number.POSITIVE_INFINITY;

interface Service {
  url: string;
  key: string;
  metrics: string[];
  close(): Promise<void>;
}

interface Relay {
  post(body: object): Promise<void>;
  stop(): Promise<void>;
}

async function startHanging(): Promise<Service> {
  const server = createServer((_request, response) => {
    setTimeout(() => response.writeHead(503).end(), 30_000).unref();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: "bench-key",
    metrics: chats.map((_, number) => `eth_token_total_tvl_0x${String(number).padStart(40, "0")}`),
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function startAnswering(): Promise<Service> {
  const sandbox = await createServiceSandbox({
    now: Date.now,
    random: Math.random,
    key: "bench-key-of-the-account",
    metricCount: 1_000,
  });
  const answer = await fetch(`${sandbox.alertingUrl}/metrics?chainId=eth&page=1`, {
    headers: { authorization: sandbox.apiKey, "x-api-key": sandbox.apiKey },
  });
  const { data } = (await answer.json()) as { data: { key: string }[] };
  return {
    url: sandbox.alertingUrl,
    key: sandbox.apiKey,
    metrics: data.map(({ key }) => key),
    close: () => sandbox.close(),
  };
}

async function startRelay(folder: string, chat: ChatStandIn, service: Service, chart: boolean): Promise<Relay> {
  mkdirSync(folder, { recursive: true });
  const destination = { type: "telegram", chart, pace: {} };
  const config = {
    destinations: Object.fromEntries(chats.map((chatId, number) => [`desk${number}`, { ...destination, chatId }])),
    routes: chats.map((_, number) => ({
      name: `to${number}`,
      match: `payload.desk=desk${number}`,
      to: `desk${number}`,
      updates: "new",
    })),
    delivery: { telegramBotPace: {} },
  };
  const configPath = join(folder, "tocsin.yaml");
  writeFileSync(configPath, JSON.stringify(config));
  const child = start([process.execPath, resolve("bin/tocsin.js"), "serve", "--json"], {
    place: "server",
    env: {
      PORT: "0",
      HOST: "127.0.0.1",
      DATA_DIR: folder,
      WEBHOOK_SECRET: secret,
      ADMIN_TOKEN: "bench-admin-Vb72kdPwq0XnRt64",
      LOG_LEVEL: "error",
      TOCSIN_CONFIG: configPath,
      TELEGRAM_BOT_TOKEN: botToken,
      TELEGRAM_API_ROOT: chat.url,
      ALERTING_URL: service.url,
      ALERTING_API_KEY: service.key,
    },
  });
  const { data } = JSON.parse(await firstLine(child)) as { data: { url: string } };
  return {
    async post(body) {
      const answer = await fetch(`${data.url}/hooks/${secret}`, { method: "POST", body: JSON.stringify(body) });
      if (answer.status !== 202) throw new Error(`the hook answered ${answer.status}`);
    },
    stop: () => end(child),
  };
}

const openChat = () =>
  createChatStandIn({
    now: Date.now,
    tokens: [botToken],
    chats: chats.map((id) => ({ id })),
    limits: { chatBurst: anyPace, chatPerSecond: anyPace, groupPerMinute: anyPace, botPerSecond: anyPace },
  });

interface Side {
  chat: ChatStandIn;
  relay: Relay;
  /** When each alert was posted, by its number. */
  postedAt: Map<number, number>;
}

async function openSide(root: string, service: Service, chart: boolean): Promise<Side> {
  const chat = await openChat();
  const relay = await startRelay(join(root, chart ? "with" : "without"), chat, service, chart);
  return { chat, relay, postedAt: new Map() };
}

async function closeSide({ relay, chat }: Side): Promise<void> {
  await relay.stop();
  await chat.close();
}

async function post({ relay, postedAt }: Side, number: number, service: Service): Promise<void> {
  const desk = number % chats.length;
  const body = {
    title: `Alert ${number} of a metric`,
    severity: "critical",
    status: "firing",
    metric: service.metrics[desk % service.metrics.length],
    value: 4_900_000 - number,
    threshold: 5_000_000,
    desk: `desk${desk}`,
  };
  postedAt.set(number, Date.now());
  await relay.post(body);
}

/** From the request to the chat, milliseconds, sorted. */
function textTimes({ chat, postedAt }: Side): number[] {
  const times = chats.flatMap((id) =>
    chat.messages(id).map(({ text, sentAt }) => {
      const [, number] = /Alert (\d+) of/.exec(text) ?? [];
      return sentAt - (postedAt.get(Number(number)) ?? Number.NaN);
    }),
  );
  return times.sort((a, b) => a - b);
}

/** From a text to its picture, milliseconds, sorted. */
function pictureTimes({ chat }: Side): number[] {
  const times = chats.flatMap((id) =>
    chat.messages(id).flatMap(({ sentAt, edits, picture }) => (picture ? [(edits.at(-1)?.at ?? 0) - sentAt] : [])),
  );
  return times.sort((a, b) => a - b);
}

const show = (times: number[]) =>
  `p50 ${quantile(times, 0.5)} ms, p95 ${quantile(times, 0.95)} ms, p99 ${quantile(times, 0.99)} ms, most ${times.at(-1)} ms (of ${times.length})`;

async function measure(name: string, service: Service): Promise<void> {
  const root = mkdtempSync(resolve(".bench-pictures-"));
  const sides = [await openSide(root, service, true), await openSide(root, service, false)] as const;
  try {
    const beginsAt = Date.now();
    for (let number = 0; Date.now() - beginsAt < seconds * 1000; number += 1) {
      // Which of them is first changes from alert to alert.
      for (const side of number % 2 === 0 ? sides : sides.toReversed()) {
        await post(side, number, service);
        await sleep(everyMs / 2);
      }
    }
    await sleep(8_000);
    const [withPictures, without] = sides;
    const calls = withPictures.chat.calls().filter(({ method }) => method === "editMessageMedia").length;
    console.log(`${name}`);
    console.log(`  texts with pictures     ${show(textTimes(withPictures))}`);
    console.log(`  texts without           ${show(textTimes(without))}`);
    console.log(`  pictures                ${calls === 0 ? "none" : show(pictureTimes(withPictures))}`);
  } finally {
    for (const side of sides) await closeSide(side);
    await service.close();
    rmSync(root, { recursive: true, force: true });
  }
}

if (!existsSync("dist/bundle/main.js")) throw new Error("dist/ is missing: run `npm run build` first");
await measure("The service hangs 30 s on each question", await startHanging());
await measure("The service answers", await startAnswering());

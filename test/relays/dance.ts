import type { Evidence, Finding } from "./judge.ts";
import { chats } from "./receivers.ts";

/*
 * What does not each get a message of its own: two keys that cross a threshold again and again, groups of alerts with one token, and
 * alerts that wait for a cause. Their chat has a bot of its own.
 */

const againMs = 20_000;
/** The pace of its chat is a message each 3 s. */
const oneMessageMs = 2_000;

/** Lines of the configuration, behind those of other destinations and routes. */
export const danceDestination = `
  dance: { type: telegram, chatId: "${chats.dance}", botToken: "\${DANCE_BOT_TOKEN}", chart: false, notices: false }`;
export const danceRoutes = `
  - { name: joined, match: { payload.kind: joined }, to: [dance], group: { by: [token], wait: 5s, again: ${againMs}ms } }
  - { name: dance, match: { payload.to: dance }, to: [dance] }`;
export const danceCauses = `
inhibit:
  - { name: bridge down, while: payload.kind=bridge, hold: payload.kind=pool, atMost: 1m }`;

/** What the nth alert of them says; all are warnings. Each other round ends what the round before has begun. */
export function danceBody(nth: number): object {
  const [round, place] = [Math.floor(nth / 10), nth % 10];
  const status = (isOver: boolean) => (isOver ? "resolved" : "firing");
  const told = { severity: "warning", to: "dance", threshold: 25 };
  if (place < 6) {
    // Each minute one goes further than all before it, past what a key has to go to ring.
    const isNews = round % 6 === 5 && place > 3;
    const value = isNews ? 25 * 0.93 ** ((round + 1) / 6) : 24.9;
    const isOver = place === 2 || place === 3;
    const said = { ...told, status: status(isOver), value: isOver ? 25.1 : value, isNews };
    return { ...said, alertKey: `dance-${nth % 2}`, kind: "dance" };
  }
  if (place < 8) {
    const isOver = place === 7 && round % 2 === 1;
    const alertKey = isOver ? `joined-${round - 1}-6` : `joined-${round}-${place}`;
    return { ...told, alertKey, kind: "joined", token: `T${Math.floor(round / 2) % 2}`, status: status(isOver) };
  }
  if (place === 8 && round % 4 < 3)
    return { ...told, alertKey: "bridge", kind: "bridge", status: status(round % 4 === 2) };
  return { ...told, alertKey: `pool-${round}-${place}`, kind: "pool", status: "firing" };
}

/** A key that is no news rings so often in six hours, which no journey takes. */
const mostRings = 4;

interface Row {
  name: string;
  /** Epoch milliseconds. What got no answer is sent again, and may so come after its own end. */
  received_at: number;
  said: { alertKey: string; kind: string; status: string; isNews?: boolean };
  /** Of its delivery to the chat, but for those that only change a message. Null: it has none. */
  damped: { by?: string; count: number } | null;
  delivery: string | null;
  /** An end that was judged behind what has fired again since is not sent. */
  is_past: boolean;
  held: number | null;
  /** When the message was sent that has it, epoch milliseconds. */
  told_at: number | null;
}

/** Every alert of the dance is named by a message, or counted in one or in what is held; nothing else makes a sound. */
export async function judgeDance({ fleet, receivers, sent }: Evidence): Promise<Finding[]> {
  const rows = await fleet.ask<Row>(
    `SELECT substring(a.facts FROM 'A\\d{6}Z') AS name, a.received_at::float8,
       convert_from(r.body, 'UTF8')::json AS said, d.damped::json AS damped, d.id AS delivery, (m.memory::json #>> '{held,count}')::int AS held,
       (SELECT max(t.at) FROM attempts t WHERE t.delivery_seq = d.seq AND t.outcome = 'sent')::float8 AS told_at,
       a.decisions LIKE '%"contained"%' AS is_past
     FROM alerts a JOIN requests r ON r.seq = a.request_seq
       LEFT JOIN deliveries d ON d.alert_seq = a.seq AND d.destination = 'dance' AND d.updates <> 'count'
       LEFT JOIN rings m ON m.destination = 'dance' AND m.alert_key = a.alert_key
     WHERE a.facts LIKE '%"dance"%'`,
  );
  const messages = receivers.messages("dance").map(({ silent, text, edits, sentAt }) => {
    return { silent, sentAt, texts: [...edits.map((edit) => edit.text), text] };
  });
  const find = (name: string) => messages.filter(({ texts }) => texts.some((text) => text.includes(name)));
  const isNamed = ({ name }: Row) => find(name).length > 0;
  const isCountedInDigest = ({ told_at: toldAt }: Row) =>
    messages.some(({ sentAt, texts }) => {
      const isIts = toldAt !== null && Math.abs(sentAt - toldAt) < oneMessageMs;
      return isIts && /and \d+ more: .*resolved/.test(texts.join());
    });
  const textsNear = ({ told_at: toldAt }: Row) =>
    messages
      .filter(({ sentAt }) => toldAt !== null && Math.abs(sentAt - toldAt) < 2 * oneMessageMs)
      .map(({ texts }) => JSON.stringify(texts.at(-1)))
      .join(", ");
  const findings: Finding[] = [];
  const complain = (name: string, what: string) => void findings.push({ name, what: `${name} ${what}` });
  if (sent.some(({ to }) => to[0] === "dance") && rows.length === 0) complain("the dance", "is not stored");
  for (const key of new Set(rows.map(({ said }) => said.alertKey))) {
    const alerts = rows.filter(({ said }) => said.alertKey === key);
    for (const { name, delivery, is_past: isPast } of alerts)
      if (delivery === null && !isPast) complain(name, "has no delivery to the dance");
    const [one] = alerts;
    // A beginning that is late goes out with its end.
    if (one !== undefined && ["joined", "pool"].includes(one.said.kind) && !alerts.some(isNamed))
      complain(one.name, `and its key ${key} are named by no message`);
    const isLast = ({ received_at: endedAt }: Row) =>
      alerts.every(({ said, received_at: at }) => said.status === "resolved" || at <= endedAt);
    const ends = alerts.filter(({ said }) => said.kind === "joined" && said.status === "resolved");
    for (const end of ends.filter(isLast)) {
      const isTold = alerts.some(({ name }) => find(name).some(({ texts }) => texts.join().includes("Over")));
      if (!isNamed(end) && !isTold && !isCountedInDigest(end))
        complain(end.name, `ended, and nobody was told; about then came ${textsNear(end)}`);
    }
    const firing = alerts.filter(({ said }) => said.kind === "dance" && said.status === "firing");
    const [first] = firing;
    if (first === undefined) continue;
    const rang = firing.filter(({ name, said }) => {
      return !said.isNews && messages.some(({ silent, texts }) => !silent && texts[0]?.includes(name));
    });
    if (rang.length > mostRings)
      complain(first.name, `and its key ${key} rang ${rang.length} times: ${rang.map(({ name }) => name)}`);
    const news = firing
      .filter(({ said }) => said.isNews)
      .sort((one, other) => one.received_at - other.received_at)
      .at(-1);
    // What is over by the time that it goes out is told with its end.
    const isToldWithEnd = ({ received_at: beganAt, damped }: Row) =>
      damped?.by === undefined &&
      alerts.some((end) => end.said.status === "resolved" && end.received_at >= beganAt && isNamed(end));
    if (news !== undefined && !isNamed(news) && !isToldWithEnd(news))
      complain(news.name, `is the worst of ${key}, and no message names it; when it was sent came ${textsNear(news)}`);
    const damped = firing.filter((one) => one.damped?.by !== undefined).length;
    const told = alerts.reduce((sum, one) => sum + (one.damped?.by === undefined ? (one.damped?.count ?? 0) : 0), 0);
    if (damped !== told + (first.held ?? 0))
      complain(first.name, `and its key ${key}: ${damped} did not ring, ${told} were told, ${first.held} are held`);
  }
  return findings;
}

/**
 * A load in a process of its own: `tsx bench/load.ts URL CONNECTIONS keep|new SECONDS`. Raw sockets, one request in
 * flight on each, every body different. Prints one JSON line: requests answered, seconds, and latencies in
 * milliseconds.
 */
import { connect, type Socket } from "node:net";

const [, , address = "", connectionsText = "1", mode = "keep", secondsText = "3"] = process.argv;
const url = new URL(address);
const connections = Number(connectionsText);
const keepAlive = mode === "keep";
const warmUpMs = 700;

const latencies: number[] = [];
let unexpected = 0;
let serial = 0;
let counting = false;
let ended = false;

const serialLength = 12;

/**
 * About 1.5 KB, as an alerting service may send it. Each connection stamps its serial number into a request of its own:
 * a load that wrote each body anew would take as much of a shared core as the server that is measured.
 */
function createRequest(): { bytes: Buffer; serialAt: number } {
  const eventId = `${process.pid}-`;
  const body = JSON.stringify({
    eventId: `${eventId}${"0".repeat(serialLength)}`,
    metric: "eth_token_total_tvl_0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
    chainId: "eth",
    token: { symbol: "USDC", address: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48" },
    condition: "below",
    value: "4912345.67",
    previousValue: "5100000.00",
    threshold: "5000000",
    severity: "warning",
    status: "firing",
    timestamp: "2026-11-20T12:00:00Z",
    link: "https://example.com/metrics/1",
    note: "n".repeat(1_060),
  });
  const bytes = Buffer.from(
    `POST ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\n` +
      `Connection: ${keepAlive ? "keep-alive" : "close"}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  return { bytes, serialAt: bytes.indexOf(eventId, bytes.indexOf("\r\n\r\n")) + eventId.length };
}

function run(): void {
  const { bytes, serialAt } = createRequest();
  let socket: Socket;
  let sentAt = 0n;
  let answer: Buffer[] = [];
  const send = () => {
    serial += 1;
    bytes.write(String(serial).padStart(serialLength, "0"), serialAt, "latin1");
    answer = [];
    sentAt = process.hrtime.bigint();
    socket.write(bytes);
  };
  const settle = (whole: Buffer) => {
    if (!isAccepted(whole)) unexpected += 1;
    if (counting) latencies.push(Number(process.hrtime.bigint() - sentAt) / 1e6);
  };
  const open = () => {
    sentAt = process.hrtime.bigint();
    socket = connect(Number(url.port), url.hostname);
    socket.setNoDelay(true);
    socket.on("connect", () => {
      const openedAt = sentAt;
      send();
      sentAt = openedAt;
    });
    socket.on("error", () => {
      unexpected += 1;
    });
    socket.on("data", (chunk) => {
      answer.push(chunk);
      const whole = answer.length === 1 ? chunk : Buffer.concat(answer);
      if (!isComplete(whole)) return;
      settle(whole);
      if (ended) socket.destroy();
      else if (keepAlive) send();
      else {
        socket.destroy();
        open();
      }
    });
  };
  open();
}

const accepted = Buffer.from("HTTP/1.1 202");

function isAccepted(answer: Buffer): boolean {
  return answer.compare(accepted, 0, accepted.length, 0, accepted.length) === 0;
}

let lengthBefore = 0;

/** Answers that are accepted are of one length, which is read from their headers once. */
function isComplete(answer: Buffer): boolean {
  if (answer.length === lengthBefore && isAccepted(answer)) return true;
  const end = answer.indexOf("\r\n\r\n");
  if (end === -1) return false;
  const length = /content-length: (\d+)/i.exec(answer.toString("latin1", 0, end))?.[1];
  const isWhole = length !== undefined && answer.length >= end + 4 + Number(length);
  if (isWhole && isAccepted(answer)) lengthBefore = answer.length;
  return isWhole;
}

for (let index = 0; index < connections; index += 1) run();
setTimeout(() => {
  counting = true;
  const startedAt = process.hrtime.bigint();
  setTimeout(() => {
    counting = false;
    ended = true;
    const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9;
    latencies.sort((a, b) => a - b);
    const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
    console.log(JSON.stringify({ requests: latencies.length, seconds, p50: at(0.5), p99: at(0.99), unexpected }));
    setTimeout(() => process.exit(0), 100);
  }, Number(secondsText) * 1000);
}, warmUpMs);

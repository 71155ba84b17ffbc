/**
 * A load in a process of its own: `tsx bench/load.ts URL CONNECTIONS keep|new SECONDS`. Raw sockets, one request in
 * flight on each, every body different. Prints one JSON line: requests answered, seconds, and latencies in milliseconds.
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

/** About 1.5 KB, as an alerting service may send it. */
function nextRequest(): Buffer {
  serial += 1;
  const id = String(serial).padStart(12, "0");
  const body = JSON.stringify({
    eventId: `${process.pid}-${id}`,
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
  return Buffer.from(
    `POST ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\n` +
      `Connection: ${keepAlive ? "keep-alive" : "close"}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}

function run(): void {
  let socket: Socket;
  let sentAt = 0n;
  let answer = "";
  const send = () => {
    answer = "";
    sentAt = process.hrtime.bigint();
    socket.write(nextRequest());
  };
  const settle = () => {
    if (!answer.startsWith("HTTP/1.1 202")) unexpected += 1;
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
      answer += chunk.toString("latin1");
      if (!isComplete(answer)) return;
      settle();
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

function isComplete(answer: string): boolean {
  const end = answer.indexOf("\r\n\r\n");
  if (end === -1) return false;
  const length = /content-length: (\d+)/i.exec(answer.slice(0, end))?.[1];
  return length !== undefined && answer.length >= end + 4 + Number(length);
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
    const at = (share: number) =>
      latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
    console.log(
      JSON.stringify({ requests: latencies.length, seconds, p50: at(0.5), p99: at(0.99), unexpected }),
    );
    setTimeout(() => process.exit(0), 100);
  }, Number(secondsText) * 1000);
}, warmUpMs);

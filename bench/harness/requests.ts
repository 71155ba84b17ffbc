/** The receiver of alerts: Tocsin's hook (also of the bare server), or Alertmanager's API. */
export type Dialect = "tocsin" | "alertmanager";

export interface Target {
  url: string;
  dialect: Dialect;
  /** The process whose processor time is measured. */
  pid: number;
  /** The file for the number of its statements, see `count-statements.cjs`. Absent: they are not counted. */
  statements?: string;
}

const serialLength = 12;
const marker = "bench-";
const placeholder = `${marker}${"0".repeat(serialLength)}`;
const metric = "eth_token_total_tvl_0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
const note = "n".repeat(960);

/** An alert of about 1.5 KB, as an alerting service may send it. Each has its own key. */
function tocsinAlert(): unknown {
  return {
    eventId: `${process.pid}-${placeholder}`,
    fingerprint: placeholder,
    title: `TVL of USDC fell ${placeholder}`,
    metric,
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
    note,
  };
}

/** The same facts in Alertmanager's form. */
function alertmanagerAlert(): unknown {
  return {
    labels: { alertname: "TVL", alert: placeholder, metric, chain: "eth", token: "USDC", severity: "warning" },
    annotations: {
      summary: `TVL of USDC fell ${placeholder}`,
      value: "4912345.67",
      previousValue: "5100000.00",
      threshold: "5000000",
      note,
    },
    generatorURL: "https://example.com/metrics/1",
  };
}

export interface Request {
  bytes: Buffer;
  /** Writes the next serial number into the bytes. A new body would cost as much as the server's work. */
  stamp(serial: number): void;
}

export function createRequest({ url, dialect }: Target, keepAlive: boolean): Request {
  const { host, pathname } = new URL(url);
  const body = JSON.stringify(dialect === "tocsin" ? tocsinAlert() : [alertmanagerAlert()]);
  const bytes = Buffer.from(
    `POST ${pathname} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n` +
      `Connection: ${keepAlive ? "keep-alive" : "close"}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  const places: number[] = [];
  for (let at = bytes.indexOf(placeholder); at >= 0; at = bytes.indexOf(placeholder, at + 1)) {
    places.push(at + marker.length);
  }
  return {
    bytes,
    stamp(serial) {
      const digits = String(serial).padStart(serialLength, "0");
      for (const place of places) bytes.write(digits, place, "latin1");
    },
  };
}

/** The serial numbers that a request names, with repeats. */
export function serialsIn(request: Buffer): number[] {
  const serials: number[] = [];
  for (let at = request.indexOf(marker); at >= 0; at = request.indexOf(marker, at + 1)) {
    const serial = Number(request.toString("latin1", at + marker.length, at + marker.length + serialLength));
    if (Number.isInteger(serial)) serials.push(serial);
  }
  return serials;
}

/** The serial number of the first alert in a message. -1 without any. */
export function serialIn(message: Buffer): number {
  const at = message.indexOf(marker);
  if (at < 0) return -1;
  return Number(message.toString("latin1", at + marker.length, at + marker.length + serialLength));
}
